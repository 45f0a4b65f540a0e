"""The live log of `serve`: a timeline that a person reads, or JSON that a program does."""

from __future__ import annotations

import contextlib
import io
import json
import threading
from typing import Any

import pytest
from benches import DAY, SECOND, deposit
from drive import deposit_body

from paydouble import Sandbox
from paydouble.cli import live
from paydouble.cli.live import LiveLog, LogFormat
from paydouble.core.instants import write_instant
from paydouble.faults.model import parse_fault
from paydouble.inprocess import InProcess, Unreachable, Webhook
from paydouble.journal import RequestEntry
from paydouble.testing import ReplyLost


def logged(*, log_format: LogFormat = "text", default: str = "default", receiver: Any = None, url: Any = ...) -> Any:  # noqa: ANN401
    """Return a double with a log that follows it, and a function that ends the log and gives its lines."""
    stream = io.StringIO()
    log = LiveLog(stream, log_format, default)
    target = {} if url is ... else {"notification_url": url}
    double = InProcess(receiver=receiver, **target)
    log.follow(double.sandbox)

    def lines() -> list[str]:
        log.close()
        return stream.getvalue().splitlines()

    return double, lines


def test_a_life_reads_like_a_timeline() -> None:
    """The date once a day, then time and event, and what became of each attempt."""
    answers = iter([500, 200, 200])

    def receive(_: Webhook) -> int:
        return next(answers)

    double, lines = logged(receiver=receive)
    deposit(double.sandbox, scenario="abandoned")
    double.advance(by=DAY + SECOND)

    first, second = (pay_in.event.object_id for pay_in in list(double.sandbox.outbox.deliveries.values())[:2])
    target = "http://receiver.test/webhooks"
    assert lines() == [
        "2026-01-01",
        f"00:00:00.000      pay-in.created  {first}",
        f"00:00:00.000    -> pay-in.created  500  attempt 1 to {target}, again at 2026-01-01T00:01:00.000Z",
        f"00:01:00.000    -> pay-in.created  200  attempt 2 to {target}",
        "2026-01-02",
        f"00:00:00.000      pay-in.cancelled  {second}",
        f"00:00:00.000    -> pay-in.cancelled  200  attempt 1 to {target}",
    ]


def test_a_request_comes_before_what_it_has_caused() -> None:
    """Its events are made while it is answered, and are read after it."""
    double, lines = logged(default="another", url=None)
    box = double.sandbox
    entry = RequestEntry("req_1", box.now, "POST", "/api/v1/pay-in/deposit-creation?x=1", None, b"", b"", status=200)
    box.cause = entry
    made = deposit(box)
    box.cause = None
    entry.external_identifier, entry.object_id, entry.verdict, entry.faults = "order-1", made.id, "replay", ("f",)
    box.feed.add(entry)

    assert lines()[1:] == [
        f"00:00:00.000  default  -> POST /pay-in/deposit-creation  200 (replay), struck by f  order-1  {made.id}",
        f"00:00:00.000  default      pay-in.created  {made.id}  (no endpoint)",
    ]


@pytest.mark.parametrize("name", ["in", "pay", "deposit-creation2"])
def test_an_order_is_named_though_its_name_is_part_of_the_path(name: str) -> None:
    """Only what the path names as a whole stands there already."""
    double, lines = logged(url=None)
    box = double.sandbox
    entry = RequestEntry("req_1", box.now, "POST", "/api/v1/pay-in/deposit-creation", None, b"", b"", status=200)
    entry.external_identifier = name
    box.feed.add(entry)

    assert lines()[-1].endswith(f"-> POST /pay-in/deposit-creation  200  {name}")


def test_what_faults_and_people_do_is_told() -> None:
    """Held events, added and removed faults, resets, and attempts that got no answer."""

    def down(_: Webhook) -> int:
        raise Unreachable

    double, lines = logged(receiver=down)
    box = double.sandbox
    fault = box.faults.add(
        parse_fault({"on": "webhooks", "match": {"event_type": "pay-in.created"}, "effect": {"type": "hold"}}), box.now
    )
    box.feed.say("fault", {"action": "added", "id": fault.id, "effect": {"type": "hold"}})
    entry = RequestEntry("req_1", box.now, "POST", "/api/v1/x", None, b"", b"")
    box.cause = entry
    made = deposit(box)
    box.cause = None
    box.feed.add(entry)
    box.faults.remove(fault.id)
    box.feed.say("fault", {"action": "removed", "deleted": fault.id})
    double.advance(by=2 * SECOND)
    box.feed.say("clock", box.now)
    box.hold(next(each for each in box.outbox.deliveries.values() if each.status == "waiting"))
    box.reset(frozenset({"requests"}))

    target = "http://receiver.test/webhooks"
    assert [line[14:] for line in lines()[1:]] == [
        "fault fault-1 hold added",
        "-> POST /x  no answer",
        f"    pay-in.created  {made.id}",
        f"    pay-in.created  {made.id} is held  by fault-1",
        "fault fault-1 removed",
        f"    pay-in.pending  {made.id}",
        f"  -> pay-in.pending  refused  attempt 1 to {target}, again at 2026-01-01T00:01:02.000Z",
        "the clock was moved to here",
        f"    pay-in.pending  {made.id} is held",
        "reset: requests",
    ]


def test_what_faults_have_done_is_said_beside_their_ids() -> None:
    """A reply that the caller never got is no plain 200, and a copy is no first delivery."""
    stream = io.StringIO()
    log = LiveLog(stream, "text", "default")
    box = Sandbox({"created_status": 201}, receiver=lambda _: 200)
    log.follow(box.core.sandbox)
    box.faults.add("connection_reset", phase="after_commit", times=1)
    box.faults.add("connection_reset", times=1)
    box.faults.add("duplicate", spacing="1s")
    box.faults.add("tamper", attempt=1)
    for _ in range(2):
        with contextlib.suppress(ReplyLost):
            box.handle("POST", "/pay-in/deposit-creation", deposit_body())
    box.deliver()
    box.clock.advance("1s")
    log.close()

    lines = [line[14:].partition(" to http")[0] for line in stream.getvalue().splitlines()[1:]]
    made = box.events[0].object_id
    assert lines == [
        "-> POST /pay-in/deposit-creation  no answer, nothing done (fault-2)  order-1",
        f"-> POST /pay-in/deposit-creation  201, reply lost (fault-1)  order-1  {made}",
        f"    pay-in.created  {made}",
        f"    pay-in.created (copy 1)  {made} is waiting  by fault-3",
        "  -> pay-in.created  200, tampered with (fault-4)  attempt 1",
        "  -> pay-in.created (copy 1)  200, tampered with (fault-4)  attempt 1",
    ]


def test_an_attempt_that_ends_a_delivery_says_how() -> None:
    """After the last rung of the ladder the delivery is exhausted."""
    double, lines = logged(receiver=lambda _: 503)
    deposit(double.sandbox, scenario="abandoned")
    double.advance(by=4 * DAY)

    assert any(line.endswith("503  attempt 8 to http://receiver.test/webhooks, then exhausted") for line in lines())


def test_a_deposits_own_endpoint_is_an_endpoint() -> None:
    """Only an event that goes nowhere is marked."""
    double, lines = logged(url=None)
    deposit(double.sandbox, notification_url="http://127.0.0.1:9/own")

    assert "(no endpoint)" not in lines()[1]


def test_json_lines_are_the_streams_documents() -> None:
    """One object a line, with the sandbox's id and the kind of what happened."""
    double, lines = logged(log_format="json", receiver=lambda _: 200)
    made = deposit(double.sandbox)
    double.deliver()

    event, attempt = (json.loads(line) for line in lines())
    assert (event["sandbox"], event["kind"], event["object_id"]) == ("default", "event", made.id)
    assert (attempt["kind"], attempt["attempt"]["status"]) == ("attempt", 200)
    assert event["created_at"] == write_instant(double.sandbox.now)


class Stuck(io.StringIO):
    """A reader that does not read until it is let go."""

    def __init__(self) -> None:
        """Hold whoever writes."""
        super().__init__()
        self.reached = threading.Event()
        self.released = threading.Event()

    def write(self, text: str) -> int:
        """Wait, then write."""
        self.reached.set()
        self.released.wait(10)
        return super().write(text)


def test_a_reader_that_does_not_read_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it misses is counted, and told when it reads on."""
    monkeypatch.setattr(live, "_MOST_WAITING", 2)
    stream = Stuck()
    log = LiveLog(stream, "text", "default")
    log.say("first")
    assert stream.reached.wait(10)
    for number in range(5):
        log.say(str(number))

    stream.released.set()
    log.close()

    assert stream.getvalue().splitlines() == ["first", "0", "1", "(3 lines were not written: nobody read them)"]


def test_the_end_does_not_wait_for_a_reader_that_has_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing gives up after its patience."""
    monkeypatch.setattr(live, "_MOST_WAITING", 1)
    monkeypatch.setattr(live, "_PATIENCE_SECONDS", 0.01)
    stream = Stuck()
    log = LiveLog(stream, "text", "default")
    log.say("first")
    assert stream.reached.wait(10)
    log.say("second")

    log.close()

    stream.released.set()


def test_a_reader_that_has_gone_ends_the_log() -> None:
    """A closed stream is no traceback."""
    stream = io.StringIO()
    log = LiveLog(stream, "text", "default")
    stream.close()

    log.say("anybody?")
    log.close()
