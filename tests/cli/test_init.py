"""`serve --init`: a default sandbox with a past."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from drive import DEPOSITS, deposit_body
from servers import running

from paydouble import Sandbox
from paydouble.api.execution import Delayed
from paydouble.cli.initial import initial_sandbox
from paydouble.cli.main import run
from paydouble.cli.serve import banner
from paydouble.core.errors import UsageError
from paydouble.runfile.files import unpack
from paydouble.runfile.replaying import replay
from paydouble.runtime.host import ClockSpec, HostOptions, SandboxSpec
from paydouble.server import Server, ServerOptions
from paydouble.testing.calls import encode

START = 1_767_225_600_000
WORLD = """
- control: POST /faults
  json: {effect: {type: duplicate}, times: 1}
- api: POST /pay-in/deposit-creation
  json:
    amount: 49.90
    currency: EUR
    external_identifier: order-1
    payment_method: {type: CREDIT_CARD}
    customer: {first_name: Ada, last_name: Byron, email: ada@example.test}
- advance: 1m
- api: GET /pay-in
"""


def _options(**members: Any) -> ServerOptions:  # noqa: ANN401 - those of the options
    spec = SandboxSpec("default", 3, None, None, None, "sandbox_key", "sandbox_secret", "whsec_sandbox")
    return ServerOptions(port=0, default_sandbox=spec, shared=HostOptions(clock=ClockSpec("manual", START)), **members)


async def _state(options: ServerOptions, auth: tuple[str, str]) -> tuple[Any, Any, str, str]:
    async with running(options) as client:
        assert client.server.default is not None
        url = f"http://127.0.0.1:{client.server.port}"
        async with httpx.AsyncClient(base_url=url, auth=auth) as http:
            items = (await http.get("/api/v1/pay-in")).json()["data"]["items"]
            clock = (await http.get("/_paydouble/sandboxes/default/clock")).json()
            exported = (await http.post("/_paydouble/sandboxes/default/export")).text
        return items, clock, exported, "\n".join(banner(client.server))


async def test_a_run_file_is_a_start_state(tmp_path: Path) -> None:
    """Payments, credentials, ids and the time are those at the end of the run, and it goes on from there."""
    box = Sandbox({"scenario": "card-declined"}, seed=8)
    box.handle("POST", DEPOSITS, deposit_body())
    box.clock.advance("1h")
    path = box.export(tmp_path / "run.paydouble", raw=True)

    options = _options()
    started = _options(initial=initial_sandbox(path, options))
    items, clock, exported, shown = await _state(started, (box.business_key, box.business_secret))

    assert [each["id"] for each in items] == [each.id for each in box.pay_ins.list()]
    assert items[0]["status"] == "failed"
    assert items[0]["payment_url"].startswith("http://127.0.0.1:")
    assert (clock["mode"], clock["now"]) == ("manual", "2026-01-01T01:00:00.000Z")
    assert replay(unpack(exported.encode())) is None
    assert box.webhook_secret in shown


async def test_a_file_of_calls_is_a_start_state(tmp_path: Path) -> None:
    """Calls of both APIs, and time that passes; events wait for the server to send them."""
    path = tmp_path / "world.yaml"
    path.write_text(WORLD)

    started = _options(initial=initial_sandbox(path, _options()))
    items, clock, exported, _ = await _state(started, ("sandbox_key", "sandbox_secret"))

    assert [each["status"] for each in items] == ["succeeded"]
    assert clock["now"] == "2026-01-01T00:01:00.000Z"
    assert replay(unpack(exported.encode())) is None


async def test_what_was_in_flight_is_tried_again(tmp_path: Path) -> None:
    """An attempt without an outcome has failed; the key of a request that waited is free."""
    box = Sandbox({"processing_time": "1s"}, notification_url="http://127.0.0.1:9/")
    box.handle("POST", DEPOSITS, deposit_body())
    taken = box.core.sandbox.next_attempt("http://127.0.0.1:9/", 0)
    assert taken is not None
    waiting = box.core.request("POST", DEPOSITS, encode(deposit_body()), key="00000000-0000-4000-8000-00000000ffff")
    assert isinstance(box.core.pipeline.handle(waiting), Delayed)
    path = box.export(tmp_path / "run.paydouble", raw=True)

    found = initial_sandbox(path, _options())

    (delivery,) = found.outbox.deliveries.values()
    assert delivery.attempts[0].outcome is not None
    assert delivery.attempts[0].outcome.error is not None
    assert delivery.next_due_at is not None
    server = Server(_options(initial=found))
    async with server:
        assert server.default is found


def test_an_attempt_that_a_reset_removed_is_not_tried_again(tmp_path: Path) -> None:
    """Nothing is left of the delivery that was in flight at the reset."""
    box = Sandbox(notification_url="http://127.0.0.1:9/")
    box.handle("POST", DEPOSITS, deposit_body())
    assert box.core.sandbox.next_attempt("http://127.0.0.1:9/", 0) is not None
    box.core.sandbox.reset(frozenset({"deliveries"}))

    found = initial_sandbox(box.export(tmp_path / "run.paydouble", raw=True), _options())

    assert not found.outbox.deliveries


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1", "the file is a list of calls"),
        ("- [", "is not YAML"),
        ("- 7", "item 1: an item has one of api, control and advance"),
        ("- {advance: 1s, json: {}}", "item 1: an item has one of"),
        ("- {advance: 7}", "item 1: advance is a text"),
        ("- {advance: soon}", "item 1: 'soon' is not a duration"),
        ("- {api: POST}", "item 1: api: 'POST' is not a method and a path"),
        ("- {control: GET /nothing}", "item 1: There is no control call"),
        ("- {api: GET /pay-in}\n- {api: GET /nothing}", "item 2: GET /nothing was answered 404"),
    ],
)
def test_an_unusable_file_of_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str) -> None:
    """One line names the item and what is wrong."""
    path = tmp_path / "world.yaml"
    path.write_text(text)
    assert run(["serve", "--init", str(path), "--port", "0"]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_an_unusable_run_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is missing, is no run, or cannot be applied."""
    for name in ("nothing.paydouble", "nothing.yaml"):
        assert run(["serve", "--init", str(tmp_path / name), "--port", "0"]) == 2
        assert "cannot be read" in capsys.readouterr().err
    box = Sandbox()
    text = box.export_text().replace('{"end":{"at":"', '{"end":{"at":"x')
    path = tmp_path / "edited.paydouble"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"line 2: .* is not an instant"):
        initial_sandbox(path, _options())
