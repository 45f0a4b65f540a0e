"""The live log of `serve`: a timeline that a person reads, or JSON that a program does."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import threading
from typing import Any

import click
import pytest
from benches import DAY, SECOND, deposit
from bounds import AT_MOST_SECONDS
from drive import deposit_body

from paydouble import Sandbox
from paydouble.cli import live
from paydouble.cli.live import LiveLog, LogFormat
from paydouble.cli.options import event_filter
from paydouble.cli.writing import LineWriter
from paydouble.core.instants import write_instant
from paydouble.core.printable import printable
from paydouble.faults.model import parse_fault
from paydouble.inprocess import START_MS, InProcess, Unreachable, Webhook
from paydouble.journal import RequestEntry, UnclaimedEntry
from paydouble.testing import ReplyLost


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for the thread that writes as long as a busy machine needs; a test of giving up changes it."""
    monkeypatch.setattr(live, "_PATIENCE_SECONDS", AT_MOST_SECONDS)


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


def test_events_and_attempts_are_a_timeline() -> None:
    """The date once a day, then each event and attempt with its time and result."""
    answers = iter([500, 200, 200])

    def receive(_: Webhook) -> int:
        return next(answers)

    double, lines = logged(receiver=receive)
    deposit(double.sandbox, scenario="abandoned")
    double.advance(by=DAY + SECOND)

    made = next(iter(double.sandbox.outbox.deliveries.values())).event.object_id
    assert lines() == [
        "2026-01-01 UTC",
        f"00:00:00.000  service     pay-in.created order-1       {made}",
        "00:00:00.000  -> merchant pay-in.created order-1       NO 500 in <1 ms  again at 00:01:00",
        "00:01:00.000  -> merchant pay-in.created order-1       ok 200 in <1 ms, attempt 2",
        "2026-01-02 UTC",
        "00:00:00.000  service     pay-in.cancelled order-1     49.90 EUR",
        "00:00:00.000  -> merchant pay-in.cancelled order-1     ok 200 in <1 ms",
    ]


def test_a_request_comes_before_what_it_has_caused() -> None:
    """Its events are made while it is answered, and come after it in the log."""
    double, lines = logged(default="another", url=None)
    box = double.sandbox
    entry = RequestEntry("req_1", box.now, "POST", "/api/v1/pay-in/deposit-creation?x=1", None, b"", b"", status=200)
    box.publisher.cause = entry
    made = deposit(box)
    box.publisher.cause = None
    entry.order, entry.object_id, entry.verdict, entry.faults = "order-1", made.id, "replay", ("f",)
    entry.response_body = b'{"data":{"amount":49.90,"currency":"EUR"}}'
    box.feed.add(entry)

    assert lines() == [
        "2026-01-01 UTC  default",
        "00:00:00.000  default  merchant -> POST /pay-in/deposit-creation?x=1 order-1 49.90 EUR  200 replay, fired: f",
        f"00:00:00.000  default  service     pay-in.created order-1       no endpoint  {made.id}",
    ]


def stranger(key: str | None) -> UnclaimedEntry:
    """Return a request of the year 2026 that no sandbox has claimed."""
    entry = UnclaimedEntry("req_1", START_MS, "GET", "/api/v1/pay-in?x=1", None, b"", b"", status=401, business_key=key)
    entry.sequence = 1
    return entry


def test_a_request_that_no_sandbox_claims_has_a_line() -> None:
    """It is the only place that shows a wrong business key."""
    stream = io.StringIO()
    log = LiveLog(stream, "text", "default")
    log.unclaimed(stranger("live_key"))
    log.unclaimed(stranger(None))
    log.close()

    assert stream.getvalue().splitlines() == [
        "2026-01-01 UTC  of this machine",
        "00:00:00.000  merchant -> GET /pay-in?x=1              NO 401  no sandbox claims it (business key 'live_key')",
        "00:00:00.000  merchant -> GET /pay-in?x=1              NO 401  no sandbox claims it (no business key)",
    ]


def test_a_request_that_no_sandbox_claims_is_a_line_of_json() -> None:
    """Shaped as the control API shows it."""
    stream = io.StringIO()
    log = LiveLog(stream, "json", "default")
    log.unclaimed(stranger("live_key"))
    log.close()

    [line] = stream.getvalue().splitlines()
    shown = json.loads(line)
    assert (shown["sandbox"], shown["kind"], shown["business_key"]) == (None, "unclaimed", "live_key")
    assert (shown["status"], shown["target"], shown["sequence"]) == (401, "/api/v1/pay-in?x=1", 1)


@pytest.mark.parametrize("name", ["in", "pay", "deposit-creation2"])
def test_an_order_is_named_though_its_name_is_part_of_the_path(name: str) -> None:
    """A name is left out only if it is a whole segment of the path."""
    double, lines = logged(url=None)
    box = double.sandbox
    entry = RequestEntry("req_1", box.now, "POST", "/api/v1/pay-in/deposit-creation", None, b"", b"", status=200)
    entry.order = name
    box.feed.add(entry)

    assert lines()[-1].endswith(f"merchant -> POST /pay-in/deposit-creation {name}  ok 200")


def test_what_faults_and_people_do_is_shown() -> None:
    """Held events, added and removed faults, resets, and attempts that got no answer."""

    def down(_: Webhook) -> int:
        raise Unreachable

    double, lines = logged(receiver=down)
    box = double.sandbox
    fault = box.faults.add(
        parse_fault({"on": "webhooks", "match": {"event_type": "pay-in.created"}, "effect": {"type": "hold"}}), box.now
    )
    box.feed.note("fault", {"action": "added", "id": fault.id, "effect": {"type": "hold"}})
    entry = RequestEntry("req_1", box.now, "POST", "/api/v1/x", None, b"", b"")
    box.publisher.cause = entry
    made = deposit(box)
    box.publisher.cause = None
    box.feed.add(entry)
    box.faults.remove(fault.id)
    box.feed.note("fault", {"action": "removed", "deleted": fault.id})
    double.advance(by=2 * SECOND)
    box.feed.note("clock", box.now)
    box.hold(next(each for each in box.outbox.deliveries.values() if each.status == "waiting"))
    box.reset(frozenset({"requests"}))

    assert [" ".join(line[14:].split()) for line in lines()[1:]] == [
        "control fault fault-1 hold added",
        "merchant -> POST /x NO no answer",
        f"service pay-in.created order-1 {made.id}",
        "service pay-in.created order-1 NO held (fault-1)",
        "control fault fault-1 removed",
        "service pay-in.pending order-1 49.90 EUR",
        "-> merchant pay-in.pending order-1 NO refused in <1 ms again at 00:01:02",
        "control the clock was moved to here",
        "service pay-in.pending order-1 NO held",
        "control reset: requests",
    ]


def test_what_faults_have_done_is_said_beside_their_ids() -> None:
    """A lost reply differs from a plain 200, and a copy from the first delivery."""
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

    made = box.events[0].object_id
    _, *lines = stream.getvalue().splitlines()
    assert [line[14:].startswith("control     fault fault-") for line in lines[:5]] == [True] * 4 + [False]
    assert [" ".join(line[14:].split()) for line in lines[4:]] == [
        "merchant -> POST /pay-in/deposit-creation order-1 NO no answer, nothing done (fault-2)",
        "merchant -> POST /pay-in/deposit-creation order-1 49.90 EUR 201 new, reply lost (fault-1)",
        f"service pay-in.created order-1 {made}",
        "service pay-in.created (copy 1) order-1 due at 00:00:01, copied (fault-3)",
        "-> merchant pay-in.created order-1 ok 200 in <1 ms, tampered with (fault-4)",
        "-> merchant pay-in.created (copy 1) order-1 ok 200 in <1 ms, tampered with (fault-4)",
    ]


def test_an_attempt_that_ends_a_delivery_says_how() -> None:
    """After the last attempt of the schedule the delivery is exhausted."""
    double, lines = logged(receiver=lambda _: 503)
    deposit(double.sandbox, scenario="abandoned")
    double.advance(by=4 * DAY)

    log = lines()
    assert any(line.endswith("pay-in.created order-1       NO 503 in <1 ms, attempt 8  then exhausted") for line in log)
    assert any(line.endswith("503 in <1 ms, attempt 6  again on 2026-01-02 at 10:36:00") for line in log)


def test_a_deposits_own_endpoint_is_an_endpoint() -> None:
    """Only an event that goes nowhere is marked."""
    double, lines = logged(url=None)
    deposit(double.sandbox, notification_url="http://127.0.0.1:9/own")

    assert "no endpoint" not in lines()[1]


def test_json_lines_are_the_streams_documents() -> None:
    """One object per line, with the sandbox's id and the kind of what happened."""
    double, lines = logged(log_format="json", receiver=lambda _: 200)
    made = deposit(double.sandbox)
    double.deliver()

    event, attempt = (json.loads(line) for line in lines())
    assert (event["sandbox"], event["kind"], event["object_id"]) == ("default", "event", made.id)
    assert (attempt["kind"], attempt["attempt"]["status"]) == ("attempt", 200)
    assert event["created_at"] == write_instant(double.sandbox.now)


class Stuck(io.StringIO):
    """A reader that does not read until it is released."""

    def __init__(self) -> None:
        """Block every write."""
        super().__init__()
        self.reached = threading.Event()
        self.released = threading.Event()

    def write(self, text: str) -> int:
        """Wait, then write."""
        self.reached.set()
        self.released.wait(AT_MOST_SECONDS)
        return super().write(text)


def test_a_reader_that_does_not_read_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lost lines are counted, and the count is written when it reads again."""
    monkeypatch.setattr(live, "_MOST_WAITING", 2)
    stream = Stuck()
    log = LiveLog(stream, "text", "default")
    log.say("first")
    assert stream.reached.wait(AT_MOST_SECONDS)
    for number in range(5):
        log.say(str(number))

    stream.released.set()
    log.close()

    assert stream.getvalue().splitlines() == ["first", "0", "1", "(3 lines were not written: nobody read them)"]


def test_the_end_does_not_wait_for_a_reader_that_has_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing gives up after a time limit."""
    monkeypatch.setattr(live, "_MOST_WAITING", 1)
    monkeypatch.setattr(live, "_PATIENCE_SECONDS", 0.01)
    stream = Stuck()
    log = LiveLog(stream, "text", "default")
    log.say("first")
    assert stream.reached.wait(AT_MOST_SECONDS)
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


class _File(io.RawIOBase):
    """A file on a disk that is full at times."""

    def __init__(self) -> None:
        """Begin empty."""
        self.content = b""
        self.room: int | None = None
        """Bytes that still fit; None for all."""
        self.error = OSError(28, "No space left on device")
        self.refused = threading.Semaphore(0)

    def writable(self) -> bool:
        """Return that it can be written."""
        return True

    def write(self, data: Any) -> int:  # noqa: ANN401 - whatever holds bytes
        """Take what fits."""
        if self.room == 0:
            self.refused.release()
            raise self.error
        taken = bytes(data[: self.room])
        self.content += taken
        if self.room is not None:
            self.room -= len(taken)
        return len(taken)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(28, "No space left on device"), "no space left on device"),
        (OSError(5, "Input/output error"), "input/output error"),
        (BrokenPipeError(32, "Broken pipe"), "broken pipe"),
    ],
)
def test_what_a_full_disk_did_not_take_is_counted_when_there_is_room_again(error: OSError, reason: str) -> None:
    """The log goes on; an unfinished line is ended, and lost lines are counted once."""
    file = _File()
    file.error = error
    log = LiveLog(io.TextIOWrapper(io.BufferedWriter(file), "utf-8", line_buffering=True), "text", "default")
    file.room = len("first\nsec")
    log.say("first")
    for line in ("second", "third"):
        log.say(line)
        assert file.refused.acquire(timeout=AT_MOST_SECONDS)

    file.room = None
    log.say("fourth")
    log.say("fifth")
    log.close()

    assert file.content.decode().splitlines() == [
        "first",
        "sec",
        f"(2 lines were not written: {reason})",
        "fourth",
        "fifth",
    ]


def test_of_lines_that_are_written_together_those_are_lost_that_did_not_end() -> None:
    """A line of which a part was written is lost, with those behind it."""
    file = _File()
    writer = LineWriter(io.TextIOWrapper(io.BufferedWriter(file), "utf-8"))
    file.room = len("first\nsecond\nthi")

    refused = [writer.write("first", "second", "third", "fourth")]
    file.room = len("\n(")
    refused.append(writer.write("fifth"))
    file.room = None
    assert writer.write("sixth", "seventh") is None

    assert refused == [file.error, file.error]
    assert file.content.decode().splitlines() == [
        "first",
        "second",
        "thi",
        "(",
        "(3 lines were not written: no space left on device)",
        "sixth",
        "seventh",
    ]


def test_lines_to_a_stream_without_a_file_are_lost_together() -> None:
    """Such a stream does not say how much it has taken."""

    class Full(io.StringIO):
        room = False

        def write(self, text: str) -> int:
            if not self.room:
                raise OSError
            return super().write(text)

    stream = Full()
    writer = LineWriter(stream)
    assert isinstance(writer.write("first", "second"), OSError)
    stream.room = True
    writer.write("third")

    assert stream.getvalue().splitlines() == ["(2 lines were not written: oserror)", "third"]


def test_a_reader_that_is_slow_on_a_pipe_that_does_not_block_gets_everything() -> None:
    """Another process may have made standard error non-blocking; nothing is lost or raised."""
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    lines = [f"{number:06d} {'x' * 1_000}" for number in range(200)]
    with open(theirs, "w", encoding="utf-8") as stream, open(ours, "rb") as reader:  # noqa: PTH123 - descriptors
        log = LiveLog(stream, "text", "default")
        for line in lines:
            log.say(line)
        got = b"".join(reader.readline() for _ in lines)
        log.close()

    assert got.decode().splitlines() == lines


def test_a_log_on_a_full_disk_leaves_the_server_alone() -> None:
    """A write that always fails ends nothing and prints nothing."""
    with open("/dev/full", "w", encoding="utf-8") as stream:  # noqa: PTH123 - a device
        log = LiveLog(stream, "json", "default")
        log.say("lost")
        log.close()

        assert not log._thread.is_alive()  # noqa: SLF001 - it has come to its end by itself


EVIL = "a\n00:00:00.000  \x1b[2J\x1b[31m\x9b1m\u202e\u2028\x7f"
SHOWN = "a\\n00:00:00.000  \\x1b[2J\\x1b[31m\\x9b1m\\u202e\\u2028\\x7f"


class _Screen(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO, _Screen])
def test_nothing_from_a_request_reaches_the_terminal_raw(
    stream: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An order, a path, a method and an endpoint are shown; they forge no line and change no colour."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "500")
    screen = stream()
    log = LiveLog(screen, "text", "default")
    double = InProcess(receiver=lambda _: 200)
    log.follow(double.sandbox)
    deposit(double.sandbox, external_identifier=EVIL, notification_url="http://127.0.0.1/" + EVIL)
    entry = RequestEntry("req_1", double.sandbox.now, "GE\x1b[1mT", "/api/v1/x" + EVIL, None, b"", b"", status=404)
    entry.order = entry.object_id = EVIL
    double.sandbox.feed.add(entry)
    double.deliver()
    log.say(EVIL)
    log.close()

    lines = [click.unstyle(line) for line in screen.getvalue().removesuffix("\n").split("\n")]
    arrow, good, bad = ("→", "✓", "✗") if stream is _Screen else ("->", "ok", "NO")
    made = double.sandbox.journal.events.entries[0].object_id
    assert lines == [
        "2026-01-01 UTC",
        f"00:00:00.000  service     pay-in.created {SHOWN}  {made}",
        f"00:00:00.000  {f'merchant {arrow}':<11} GE\\x1b[1mT /x{SHOWN} {SHOWN} {SHOWN}  {bad} 404",
        f"00:00:00.000  {f'{arrow} merchant':<11} pay-in.created {SHOWN}  {good} 200 in <1 ms  to http://127.0.0.1/{SHOWN}",
        SHOWN,
    ]
    raw = screen.getvalue()
    own = [re.sub("\x1b\\[(0|1|2|31|32)m", "", line) for line in raw.removesuffix("\n").split("\n")]
    assert all(printable(line) == line for line in own)
    assert raw.count("\x1b[31m") == (1 if stream is _Screen else 0)  # the 404 alone


def test_json_stays_json_whatever_is_in_it() -> None:
    """Control characters are JSON escapes; a remark is an object as well."""
    double, lines = logged(log_format="json", receiver=lambda _: 200)
    entry = RequestEntry("req_1", double.sandbox.now, "GET", "/api/v1/" + EVIL, None, b"", EVIL.encode(), status=404)
    double.sandbox.feed.add(entry)

    (line,) = lines()

    assert json.loads(line)["target"] == "/api/v1/" + EVIL
    assert printable(line) == line


def test_remarks_in_a_log_of_json_are_json() -> None:
    """Messages of `--watch`, and the count of lost lines."""
    stream = io.StringIO()
    log = LiveLog(stream, "json", "default")
    log.say("scenario mine is read again")
    log.close()

    assert json.loads(stream.getvalue()) == {"kind": "remark", "message": "scenario mine is read again"}


def test_the_day_is_that_of_each_sandbox() -> None:
    """Sandboxes with different dates do not repeat them for each line."""
    stream = io.StringIO()
    log = LiveLog(stream, "text", "default")
    boxes = [Sandbox({}, start=f"2026-01-0{day}T23:59:59Z") for day in (1, 5)]
    boxes[1].core.sandbox.identity = boxes[1].core.sandbox.identity._replace(id="other")
    for box in boxes:
        log.follow(box.core.sandbox)
    for _ in range(2):
        for box in boxes:
            box.handle("GET", "/pay-in")
    boxes[0].clock.advance("1s")
    boxes[0].handle("GET", "/pay-in")
    log.close()

    call = f"merchant -> {'GET /pay-in':<27}  ok 200"
    assert stream.getvalue().splitlines() == [
        "2026-01-01 UTC",
        f"23:59:59.000  {call}",
        "2026-01-05 UTC  other",
        f"23:59:59.000  other  {call}",
        f"23:59:59.000  {call}",
        f"23:59:59.000  other  {call}",
        "2026-01-02 UTC",
        f"00:00:00.000  {call}",
    ]


def test_a_line_is_folded_where_a_terminal_is_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its parts, aligned with its text."""
    monkeypatch.setenv("COLUMNS", "60")
    stream = _Screen()
    log = LiveLog(stream, "text", "default")
    double = InProcess(receiver=lambda _: 200)
    log.follow(double.sandbox)
    made = deposit(double.sandbox)
    log.close()

    assert [click.unstyle(line) for line in stream.getvalue().splitlines()][1:] == [
        "00:00:00.000  service     pay-in.created order-1",
        f"{'':26}{made.id}",
    ]


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_some_events_can_be_shown_alone(log_format: LogFormat) -> None:
    """With the requests that caused them and their attempts; everything else is left out."""
    stream = io.StringIO()
    log = LiveLog(stream, log_format, "default", event_filter(("pay-in.c*", "refund.*")))
    box = Sandbox({}, receiver=lambda _: 200)
    log.follow(box.core.sandbox)
    box.faults.add("duplicate", spacing="1s", match={"event_type": "pay-in.created"})
    box.handle("POST", "/pay-in/deposit-creation", deposit_body())
    box.handle("GET", "/pay-in")
    box.clock.advance("1m")
    log.close()

    lines = stream.getvalue().splitlines()
    if log_format == "json":
        kinds = [(json.loads(line)["kind"], json.loads(line).get("event_type")) for line in lines]
        created = "pay-in.created"
        assert kinds == [
            ("event", None),
            ("delivery", created),
            ("request", None),
            ("attempt", created),
            ("attempt", created),
        ]
        return
    assert [" ".join(line[14:].split()).split(" ok 200")[0] for line in lines[1:]] == [
        "merchant -> POST /pay-in/deposit-creation order-1 49.90 EUR",
        f"service pay-in.created order-1 {box.events[0].object_id}",
        "service pay-in.created (copy 1) order-1 due at 00:00:01, copied (fault-1)",
        "-> merchant pay-in.created order-1",
        "-> merchant pay-in.created (copy 1) order-1",
    ]


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time of the log's limit, in a list that a test changes."""
    moment = [100.0]
    monkeypatch.setattr("paydouble.cli.live.monotonic", lambda: moment[0])
    return moment


def wait_for_lines(stream: io.StringIO, count: int) -> None:
    """Wait until a log has written so many lines."""
    written = threading.Event()
    while len(stream.getvalue().splitlines()) < count:
        written.wait(0.001)


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_lines_beyond_the_limit_are_counted_where_they_are_missing(log_format: LogFormat, seconds: list[float]) -> None:
    """Each second has room for so many lines; a request has a line if its event has one."""
    stream = io.StringIO()
    log = LiveLog(stream, log_format, "default", limit=3)
    box = Sandbox({})
    log.follow(box.core.sandbox)
    for _ in range(4):
        box.handle("POST", "/pay-in/deposit-creation", deposit_body(external_identifier="kept"))
    for _ in range(5):
        box.handle("GET", "/pay-in/left-out")
    seconds[0] += 1
    wait_for_lines(stream, 4)
    box.handle("GET", "/pay-in/kept")
    log.close()

    lines = stream.getvalue().splitlines()
    count = len(box.requests) + len(box.events) - (len(lines) - (2 if log_format == "text" else 1))
    remark = f"{count} lines were not written: more than 3 a second; --log-limit 0 writes all"
    assert "left-out" not in stream.getvalue()
    if log_format == "json":
        found = [json.loads(line) for line in lines]
        assert [each["kind"] for each in found] == ["event", "request", "event", "request", "remark", "request"]
        assert found[4] == {"kind": "remark", "message": remark}
    else:
        assert [" ".join(line.split()[2:5]) for line in lines[1:5]] == [
            "-> POST /pay-in/deposit-creation",
            f"pay-in.created kept {box.events[0].object_id}",
            "-> POST /pay-in/deposit-creation",
            f"pay-in.created kept {box.events[1].object_id}",
        ]
        assert lines[5] == f"({remark})"
        assert "/pay-in/kept" in lines[6]


def test_lines_that_are_left_out_at_the_end_are_counted(seconds: list[float]) -> None:
    """The end of the log does not wait for the end of the second."""
    del seconds
    stream = io.StringIO()
    log = LiveLog(stream, "text", "default", limit=1)
    for _ in range(3):
        log.unclaimed(stranger(None))
    log.say("stopped")
    log.close()

    assert stream.getvalue().splitlines()[2:] == [
        "(2 lines were not written: more than 1 a second; --log-limit 0 writes all)",
        "stopped",
    ]


def test_a_log_that_nobody_reads_still_counts_what_its_limit_left_out(
    seconds: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both counts are written, whether or not the queue had a place for the note about the limit."""
    del seconds
    monkeypatch.setattr(live, "_MOST_WAITING", 1)
    stream = Stuck()
    log = LiveLog(stream, "text", "default", limit=1)
    log.say("first")
    assert stream.reached.wait(AT_MOST_SECONDS)
    for _ in range(3):
        log.unclaimed(stranger(None))
    stream.released.set()
    log.close()

    assert stream.getvalue().splitlines()[-1] == (
        "(2 lines were not written: more than 1 a second; --log-limit 0 writes all)"
    )
