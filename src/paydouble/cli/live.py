"""The live log of `serve`: a line for each request, event and attempt, as a timeline or as JSON.

What a line says is collected where the thing happens, since a fault or an endpoint may be gone a moment later. A thread
of its own turns that into text and writes it: a terminal that is held, or a pipe that nobody reads, must not stop the
service.

    note in the feed -> Follower -> rows or documents -> waiting -> thread: lines -> stream

A line costs about a quarter of what a deposit costs, and nobody reads thousands of lines a second. So each second has
room for a limited number of lines. Those beyond it are counted, and the count is a line in their place. Lines that are
lost because nobody reads them, or because a disk is full, are counted too.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO, assert_never

from paydouble.cli.terminal import Terminal
from paydouble.cli.writing import LineWriter
from paydouble.core.printable import printable
from paydouble.records import attempt_of, event_of, request_of, summary_of, unclaimed_of
from paydouble.timeline import (
    CONTROL,
    Renderer,
    Row,
    attempt_row,
    delivery_row,
    event_row,
    faults_of,
    instant,
    payment,
    request_row,
    resource_of,
    unclaimed_row,
)

if TYPE_CHECKING:
    from paydouble.feed import Kind, Note
    from paydouble.journal import RequestEntry, UnclaimedEntry
    from paydouble.payments.events import Event
    from paydouble.sandbox import Sandbox
    from paydouble.webhooks.deliveries import Attempt, Delivery

LogFormat = Literal["text", "json"]
ControlKind = Literal["clock", "fault", "reset"]
"""The kinds of notes about control calls."""
# Lines that wait for a slow reader; a few megabytes at most.
_MOST_WAITING: Final = 10_000
_PATIENCE_SECONDS: Final = 0.5
_PAUSE_SECONDS: Final = 0.02
_UNREAD: Final = "nobody read them"
# Instead of the lines that a second still takes: a line was refused, and the log's thread knows.
_FULL: Final = -1

Unwritten = tuple[Callable[[Any], Iterable[str]], Any]
"""What lines are made from, behind the function that makes them."""


class Room:
    """The room for lines in each second, and how many lines had none."""

    __slots__ = ("_ends_at", "_left", "_limit", "_on_full", "refused")

    def __init__(self, limit: int, on_full: Callable[[float], object]) -> None:
        """Have room for `limit` lines in each second, for any number with 0.

        `on_full` is called with the end of a second (`time.monotonic`) when the first of its lines is refused.
        """
        self._limit = limit
        self._left = 0
        self._ends_at = 0.0
        self._on_full = on_full
        self.refused = 0

    def take(self) -> bool:
        """Take room for a line, and return whether there was any."""
        if not self._limit:
            return True
        now = monotonic()
        if now >= self._ends_at:
            self._ends_at, self._left = now + 1, self._limit
        if self._left > 0:
            self._left -= 1
            return True
        self.refused += 1
        if self._left != _FULL:
            self._left = _FULL
            self._on_full(self._ends_at)
        return False

    def force(self) -> None:
        """Take room for a line that must be written, whether or not there is any."""
        if self._left > 0:
            self._left -= 1


class LiveLog:
    """Follows sandboxes and writes what happens in them."""

    def __init__(
        self,
        stream: TextIO,
        log_format: LogFormat,
        default: str,
        wanted: Callable[[str], bool] | None = None,
        *,
        limit: int = 0,
    ) -> None:
        """Write to a stream; the sandbox with the `default` id is not named on each line.

        With `wanted`, only events whose type it accepts are written, with their requests and attempts. `limit` is the
        number of lines in each second; with 0 all are written.
        """
        self._json = log_format == "json"
        self._stream = stream
        self._out = LineWriter(stream, self._remark) if self._json else LineWriter(stream)
        self._terminal = Terminal(stream=stream)
        self._waiting: deque[Unwritten | float] = deque()
        self._ready = threading.Event()
        """Something waits, or the log is to end."""
        self._missed = 0
        self._default = default
        self._wanted = wanted
        self._limit = limit
        self._room = Room(limit, self._enqueue)
        self._left_out = 0
        """How many of the lines without room have been counted in the log. Only the log's thread changes it."""
        self._closing = threading.Event()
        self._unclaimed: UnclaimedLines | UnclaimedJson
        self._unclaimed = UnclaimedJson() if self._json else UnclaimedLines(self._terminal)
        self._shown: Callable[[str], str] = self._terminal.json if self._json else self._terminal.shown
        # A daemon, so that a reader that has stopped does not keep the process from ending.
        self._thread = threading.Thread(target=self._work, name="paydouble-log", daemon=True)
        self._thread.start()

    def follow(self, box: Sandbox) -> None:
        """Write what happens in a sandbox from now on."""
        name = "" if box.identity.id == self._default else box.identity.id
        lines = JsonLines(box.identity.id) if self._json else Lines(self._terminal, name)
        box.feed.listen(Follower(box, lines, self._wanted, self._room, self._put).noted)

    def unclaimed(self, entry: UnclaimedEntry) -> None:
        """Write a request that no sandbox has claimed; it has caused no event."""
        if self._wanted is None and self._room.take():
            self._put(self._unclaimed.write, entry)

    def say(self, line: str) -> None:
        """Write a remark."""
        self._put(lambda text: (self._remark(text) if self._json else printable(text),), line)

    def close(self) -> None:
        """Write the lines that are waiting, if the reader takes them, and stop."""
        self._closing.set()
        self._ready.set()
        self._thread.join(_PATIENCE_SECONDS)

    def _remark(self, text: str) -> str:
        return self._terminal.json(json.dumps({"kind": "remark", "message": text}, ensure_ascii=False))

    def _put(self, write: Callable[[Any], Iterable[str]], made: object) -> None:
        if not self._enqueue((write, made)):
            self._missed += 1

    def _enqueue(self, item: Unwritten | float) -> bool:
        if len(self._waiting) >= _MOST_WAITING:
            return False
        self._waiting.append(item)
        if not self._ready.is_set():
            self._ready.set()
        return True

    def _work(self) -> None:
        closing = False
        try:
            while not closing:
                self._ready.wait()
                self._ready.clear()
                closing = self._closing.is_set()  # what comes after this question is not written
                while self._waiting:
                    self._write(self._waiting.popleft())
                if self._missed:
                    missed, self._missed = self._missed, 0
                    self._out.lose(missed, _UNREAD)
                    self._out.tell()
                # Lines that follow at once are written together: each call would hold up the service's thread.
                self._closing.wait(_PAUSE_SECONDS)
            self._tell_left_out()
            self._out.tell()
        except ValueError:
            if not self._stream.closed:
                raise

    def _write(self, item: Unwritten | float) -> None:
        """Write the lines of an item and of those behind it, up to the end of a second that is full."""
        lines: list[str] = []
        while isinstance(item, tuple):
            write, made = item
            lines.extend(map(self._shown, write(made)))
            if not self._waiting:
                break
            item = self._waiting.popleft()
        self._out.write(*lines)
        if isinstance(item, float):
            # Its lines are counted when it is over; until then no other line has room.
            self._closing.wait(item - monotonic())
            self._tell_left_out()

    def _tell_left_out(self) -> None:
        count = self._room.refused - self._left_out
        if count:
            self._left_out += count
            self._out.lose(count, f"more than {self._limit} a second; --log-limit 0 writes all")
            self._out.tell()


class Follower:
    """Passes on what the lines of a sandbox are made from: of the wanted events, as long as there is room.

    A request has a line whenever an event has one that was made while the request was carried out.
    """

    def __init__(
        self,
        box: Sandbox,
        lines: Lines | JsonLines,
        wanted: Callable[[str], bool] | None,
        room: Room,
        put: Callable[[Callable[[Any], Iterable[str]], Any], object],
    ) -> None:
        """Follow a sandbox; `put` gets what a line is made from, and the function that makes it."""
        self._box = box
        self._lines = lines
        self._wanted = wanted
        self._room = room
        self._put = put
        self._causes: set[str] = set()
        """Requests without a line so far whose events have one."""

    def noted(self) -> None:
        """Pass on the last note of the sandbox, if it has a line."""
        record = self._box.feed.last
        kind = record.note_kind
        if kind == "request" and record.id in self._causes:
            self._causes.remove(record.id)
            self._room.force()
        elif not self._takes(kind, record):
            return
        elif kind == "reset":
            self._causes.clear()
        elif kind != "request" and self._box.publisher.cause is not None:
            self._causes.add(self._box.publisher.cause.id)
        for made in self._lines.of(self._box, self._box.feed.newest()):
            self._put(self._lines.write, made)

    def _takes(self, kind: Kind, record: Any) -> bool:  # noqa: ANN401 - see `Note`
        if kind == "delivery" and record.status == "no_endpoint" and not self._lines.names_unsent:
            return False
        return (self._wanted is None or _is_about(kind, record, self._wanted)) and self._room.take()


def _is_about(kind: Kind, record: Any, wanted: Callable[[str], bool]) -> bool:  # noqa: ANN401 - see `Note`
    """Return whether a record is about an event of a wanted type."""
    match kind:
        case "event":
            return wanted(record.type)
        case "delivery":
            return wanted(record.event.type)
        case "attempt":
            return wanted(record.record.event.type)
        case _:
            return False


class UnclaimedLines:
    """Turns requests that no sandbox claims into lines, at the machine's time."""

    def __init__(self, terminal: Terminal) -> None:
        """Write for a terminal."""
        self._renderer = Renderer(terminal, width=terminal.width, heading="of this machine")

    def write(self, entry: UnclaimedEntry) -> Iterator[str]:
        """Yield the lines of a request."""
        return self._renderer.lines(unclaimed_row(unclaimed_of(entry)))


class Lines:
    """Turns the notes of one sandbox into lines."""

    names_unsent = False
    """Whether a delivery without an endpoint has a line; here the event's own line says so."""

    def __init__(self, terminal: Terminal, name: str) -> None:
        """Write for a terminal, with the sandbox's `name` on each line unless that is empty."""
        self._renderer = Renderer(terminal, width=terminal.width, heading=name, name=name)
        self._caused: dict[str, list[Row]] = {}
        self.write: Callable[[Row], Iterator[str]] = self._renderer.lines

    def of(self, box: Sandbox, note: Note) -> Iterator[Row]:
        """Yield the row of a note, and those that have waited for it."""
        record: Any = note.record
        match note.kind:
            case "request":
                yield from self._request(box, record)
            case "event":
                yield from self._behind(box, record.request_id, _event(box, record))
            case "attempt":
                yield _attempt(box, record, note.detail)
            case "delivery":
                row = delivery_row(summary_of(record), box.now, _order(box, record.event), faults_of(box))
                yield from self._behind(box, record.event.request_id, row)
            case "clock" | "fault" | "reset":
                if note.kind == "reset":
                    self._caused.clear()
                yield Row(box.now, CONTROL, _by_hand(note.kind, record))
            case _:
                assert_never(note.kind)

    def _behind(self, box: Sandbox, request_id: str | None, row: Row) -> Iterator[Row]:
        """Keep what a request has caused until the request has a line; yield everything else."""
        cause = box.publisher.cause
        if request_id is not None and cause is not None and cause.id == request_id:
            self._caused.setdefault(request_id, []).append(row)
        else:
            yield row

    def _request(self, box: Sandbox, entry: RequestEntry) -> Iterator[Row]:
        caused = self._caused.pop(entry.id, [])
        # The object's own id is in the line of its event, if there is one.
        names = (entry.external_identifier, None if caused else entry.object_id)
        yield request_row(request_of(entry), faults_of(box), names)
        for row in caused:
            yield row if row.at == entry.at else replace(row, at=entry.at)


def _event(box: Sandbox, event: Event) -> Row:
    result = "" if box.notification_url or _has_target(box, event) else "no endpoint"
    return event_row(event_of(event), _order(box, event), result)


def _attempt(box: Sandbox, delivery: Delivery, attempt: Attempt) -> Row:
    notes = [] if attempt.url == box.notification_url else [f"to {attempt.url}"]
    if delivery.status == "waiting" and delivery.next_due_at is not None:
        notes.append(f"again {instant(delivery.next_due_at, attempt.due_at)}")
    elif delivery.status != "delivered":
        notes.append(f"then {delivery.status}")
    return attempt_row(summary_of(delivery), attempt_of(attempt), _order(box, delivery.event), faults_of(box), notes)


def _order(box: Sandbox, event: Event) -> str:
    """Return the merchant's name for the payment that an event is about."""
    from paydouble.sandbox.publishing import pay_in_of

    pay_in = pay_in_of(box.ledger, event.object_id)
    # Without one the event is a sample, or its pay-in was removed.
    return payment(resource_of(event.body)) or event.object_id if pay_in is None else pay_in.external_identifier


def _by_hand(kind: ControlKind, record: Any) -> str:  # noqa: ANN401 - an instant or a document
    if kind == "clock":
        return "the clock was moved to here"
    if kind == "reset":
        return f"reset: {', '.join(record['scope'])}"
    effect = record.get("effect", {}).get("type", "")
    return " ".join(("fault", record.get("id", record.get("deleted")), *effect.split(), record["action"]))


def _has_target(box: Sandbox, event: Event) -> bool:
    from paydouble.sandbox.publishing import pay_in_of

    pay_in = pay_in_of(box.ledger, event.object_id)
    return pay_in is not None and pay_in.notification_url is not None


def _json(made: dict[str, Any]) -> Iterable[str]:
    from paydouble.core import json_text

    return (json_text.dumps(made).decode(),)


class JsonLines:
    """Turns the notes of one sandbox into JSON, an object a line: the documents of its stream, with its id."""

    names_unsent = True

    def __init__(self, sandbox: str) -> None:
        """Write lines of the sandbox with this id."""
        self._sandbox = sandbox

    def of(self, box: Sandbox, note: Note) -> Iterable[dict[str, Any]]:  # noqa: ARG002 - as `Lines.of`
        """Return the document of a note."""
        from paydouble.web.control.stream import document

        return ({"sandbox": self._sandbox, "kind": note.kind, **document(note)},)

    write = staticmethod(_json)


class UnclaimedJson:
    """Turns requests that no sandbox claims into JSON."""

    @staticmethod
    def write(entry: UnclaimedEntry) -> Iterable[str]:
        """Return the line of a request."""
        from paydouble.records import show_unclaimed

        return _json({"sandbox": None, "kind": "unclaimed", **show_unclaimed(entry)})
