"""`paydouble webhook test` against a real server: the attempt, its result, and the exit status."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

import pytest
from rehearsals import fault
from servers import Box, Client, running

from paydouble.cli import webhook
from paydouble.cli.main import run
from paydouble.payments.events import EVENT_TYPES
from paydouble.server import ServerOptions
from paydouble.testing import Receiver

# How long a real receiver took, which on a busy machine may be more than a second.
LATENCY = r"in ((<1|\d+) ms|\d+\.\d s)"
CLOCK = {"mode": "manual", "start": "2026-01-01T00:00:00Z"}


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """Give a client of a fresh server."""
    async with running() as started:
        yield started


async def sent(box: Box, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], str]:
    """Run the command about a sandbox; returns its status, the lines that it printed, and what it complained of."""
    given = ["webhook", "test", "--server", box.client.server.base_url, "--sandbox", box.id, *arguments]
    status = await asyncio.to_thread(run, given)
    written = capsys.readouterr()
    return status, written.out.splitlines(), written.err


async def test_a_sample_event_arrives(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    """Signed as any other; the clock need not move."""
    async with Receiver() as receiver:
        box = await client.sandbox(notification_url=receiver.url, webhook_secret=receiver.secret)
        status, lines, complaint = await sent(box, capsys)

    event = receiver.received[0].event
    assert (status, complaint, event["type"], receiver.received[0].verified) == (0, "", "pay-in.succeeded", True)
    assert lines[0] == f"pay-in.succeeded  {event['id']}  to {receiver.url}"
    assert re.fullmatch(rf"(✓|ok) 200 {LATENCY}", lines[1])
    assert len(lines) == 2


@pytest.mark.parametrize("kind", EVENT_TYPES)
async def test_every_documented_type_can_be_sent(kind: str, client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    """The option takes every type of the contract."""
    async with Receiver() as receiver:
        box = await client.sandbox(notification_url=receiver.url, webhook_secret=receiver.secret)
        status, _, _ = await sent(box, capsys, "--type", kind)

    assert (status, [each.event["type"] for each in receiver.received]) == (0, [kind])


async def test_a_refusal_is_status_1(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    """With the time of the next attempt, on the sandbox's clock."""
    async with Receiver() as receiver:
        receiver.status = 503
        box = await client.sandbox(notification_url=receiver.url, webhook_secret=receiver.secret, clock=CLOCK)
        status, lines, _ = await sent(box, capsys, "--type", "refund.failed")

    assert status == 1
    assert re.fullmatch(rf"(✗|NO) 503 {LATENCY}", lines[1])
    assert lines[2] == "  again at 2026-01-01T00:01:00.000Z on the sandbox's clock"


async def test_nobody_who_listens_is_status_1(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    """With the error that the sender got."""
    async with Receiver() as receiver:
        url = receiver.url
    status, lines, _ = await sent(await client.sandbox(notification_url=url), capsys)

    assert (status, lines[1].split()[1]) == (1, "refused")


async def test_what_is_never_sent_is_status_1(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    """Without an endpoint, and where a fault keeps it."""
    homeless = await client.sandbox()
    nowhere = await sent(homeless, capsys)
    kept = []
    for effect in ("hold", "drop"):
        box = await client.sandbox(notification_url="http://127.0.0.1:9/")
        await box.control("POST", "/faults", fault(effect, on="webhooks"))
        kept.append(await sent(box, capsys))

    assert [each[0] for each in (nowhere, *kept)] == [1, 1, 1]
    assert "to http" not in nowhere[1][0]
    assert "not sent: the sandbox has no notification URL; start the server with --notification-url" in nowhere[1][1]
    assert f"PATCH /_paydouble/sandboxes/{homeless.id}/webhook" in nowhere[1][1]
    assert [each[1][1].partition(": ")[2] for each in kept] == ["a fault holds it back", "a fault has dropped it"]


async def test_what_is_not_sent_in_time_is_status_1(
    client: Client, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A delivery whose first attempt is due later says when."""
    monkeypatch.setattr(webhook, "_SPARE_SECONDS", 0.0)
    box = await client.sandbox(
        notification_url="http://127.0.0.1:9/",
        settings={"webhooks": {"timeout": "100ms", "schedule": ["1h"]}},
        clock=CLOCK,
    )
    status, lines, _ = await sent(box, capsys)

    due = "due at 2026-01-01T01:00:00.000Z on the sandbox's clock"
    assert (status, lines[1].partition(": ")[2]) == (1, f"its delivery is waiting, {due}")


async def test_what_cannot_be_used_is_status_2(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    """No such type, no such sandbox, no server."""
    box = await client.sandbox()
    unknown = await sent(box, capsys, "--type", "payin.succeeded")
    missing = await sent(box, capsys, "--sandbox", "no-such")
    nobody = await sent(box, capsys, "--server", "http://127.0.0.1:9")

    assert [each[0] for each in (unknown, missing, nobody)] == [2, 2, 2]
    assert "paydouble webhook test: Invalid value for '--type': 'payin.succeeded' is not one of" in unknown[2]
    assert "no-such" in missing[2]
    assert "http://127.0.0.1:9 does not answer" in nobody[2]


async def test_a_token_is_carried(capsys: pytest.CaptureFixture[str]) -> None:
    """With the same option as `serve`."""
    async with running(ServerOptions(port=0, control_token="t")) as client:
        given = ["webhook", "test", "--server", client.server.base_url]
        without = await asyncio.to_thread(run, given)
        refused = capsys.readouterr().err
        status = await asyncio.to_thread(run, [*given, "--control-token", "t"])

    assert (without, status) == (2, 1)
    assert "token" in refused
