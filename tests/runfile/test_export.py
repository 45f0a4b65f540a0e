"""A server writes the run of a sandbox, on its own clock and with the answers of real receivers."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from bounds import AT_MOST_SECONDS
from drive import DEPOSITS, deposit_body, key
from servers import running

from paydouble import Sandbox
from paydouble.runfile.files import read_run, unpack
from paydouble.runfile.lines import RunFileError
from paydouble.runfile.replaying import replay
from paydouble.testing import AsyncPaydouble, ControlRefused, Paydouble, WebhookReceiver


def test_a_run_over_sockets_is_repeated_without_them(tmp_path: Path) -> None:
    """Requests, real latencies, failed attempts and a clock that runs by itself give the same bytes again."""
    # At a rate of 1000 an hour is over in 3.6 s, which five requests can take on a busy machine.
    settings = {"rate_limit": {"limit": 3, "window": "1000h", "headers": "always"}, "processing_time": "20ms"}
    # Where no window of a quota ends for days.
    clock = {"mode": "real", "rate": 1000, "start": "2026-01-01T00:00:00Z"}
    with (
        Paydouble.start() as server,
        server.sandbox(clock=clock, seed=4, settings=settings) as box,
        WebhookReceiver(secret=box.webhook_secret) as receiver,
    ):
        receiver.answer_next(500)
        box.change(notification_url=receiver.url)
        with httpx.Client(auth=box.auth, timeout=AT_MOST_SECONDS) as client:
            for number in range(5):
                body = deposit_body(external_identifier=f"order-{number}")
                client.post(box.base_url + DEPOSITS, json=body, headers={"Idempotency-Key": key(number)})
        box.deliveries.wait(type="pay-in.succeeded", count=3, timeout=AT_MOST_SECONDS)
        box.clock.set("manual")
        box.clock.advance("100h")
        run = read_run(box.export(tmp_path / "run.paydouble"))

    assert run.header["redacted"] is True
    assert replay(run) is None
    assert sum(line.get("do") == "outcome" for line in run.lines) > 12
    assert any(line.get("status") == 429 for line in run.lines)


async def test_the_call_answers_with_lines() -> None:
    """They are readable text, and a run file as they are; without `raw` personal data is replaced."""
    async with running() as client, httpx.AsyncClient(base_url=f"http://127.0.0.1:{client.server.port}") as http:
        box = await client.sandbox()
        await box.deposit(customer={"first_name": "Kanaria", "last_name": "X", "email": "k@vogel.example"})
        url = f"/_paydouble/sandboxes/{box.id}/export"
        answers = [await http.post(url, json=body) for body in ({"raw": True}, {})]

    for answer, raw in zip(answers, (True, False), strict=True):
        assert answer.status_code == 200
        assert answer.headers["Content-Type"] == "application/x-ndjson"
        assert ("Kanaria" in answer.text) == raw
        assert replay(unpack(answer.content)) is None


async def test_an_async_handle_writes_it_too(tmp_path: Path) -> None:
    """The call is the same."""
    async with AsyncPaydouble.start() as server, await server.sandbox() as box:
        assert replay(read_run(await box.export(tmp_path / "a.paydouble"))) is None


def test_a_run_that_was_lost_is_refused(tmp_path: Path) -> None:
    """The answer says how to keep more; a file that cannot be written is named."""
    box = Sandbox({"journal_limit": 1})
    with pytest.raises(RunFileError, match="the run cannot be written"):
        box.export(tmp_path)
    for _ in range(2):
        box.handle("GET", "/pay-in")

    with pytest.raises(ControlRefused, match="raise the settings journal_limit") as refused:
        box.export(tmp_path / "run")
    assert refused.value.status == 409
