"""The live log of `serve`: a line for each request, event and attempt, as a timeline or as JSON.

Lines are made where things happen and written by a thread of their own: a terminal that is held, or a pipe that nobody
reads, must not stop the service. Lines that are lost, also on a full disk, are counted, and the count is written.
"""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
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
    from paydouble.feed import Note
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
_UNREAD: Final = "nobody read them"


class LiveLog:
    """Follows sandboxes and writes what happens in them."""

    def __init__(
        self, stream: TextIO, log_format: LogFormat, default: str, wanted: Callable[[str], bool] | None = None
    ) -> None:
        """Write to a stream; the sandbox with the `default` id is not named on each line.

        With `wanted`, only events whose type it accepts are written, with their requests and attempts.
        """
        self._json = log_format == "json"
        self._out = LineWriter(stream, self._remark) if self._json else LineWriter(stream)
        self._terminal = Terminal(stream=stream)
        self._waiting: queue.Queue[str | None] = queue.Queue(_MOST_WAITING)
        self._missed = 0
        self._default = default
        self._wanted = wanted
        self._unclaimed = UnclaimedLines(self._terminal)
        # A daemon, so that a reader that has stopped does not keep the process from ending.
        self._thread = threading.Thread(target=self._work, name="paydouble-log", daemon=True)
        self._thread.start()

    def follow(self, box: Sandbox) -> None:
        """Write what happens in a sandbox from now on."""
        feed = box.feed
        name = "" if box.identity.id == self._default else box.identity.id
        lines = JsonLines(box.identity.id, self._wanted) if self._json else Lines(self._terminal, name, self._wanted)
        shown: Callable[[str], str] = self._terminal.json if self._json else self._terminal.shown

        def newest() -> None:
            notes, _ = feed.since(feed.sequence - 1)
            for note in notes:
                self._put(map(shown, lines.of(box, note)))

        feed.listen(newest)

    def unclaimed(self, entry: UnclaimedEntry) -> None:
        """Write a request that no sandbox has claimed; it has caused no event."""
        if self._wanted is not None:
            return
        if self._json:
            self._put(map(self._terminal.json, unclaimed_json(entry)))
        else:
            self._put(map(self._terminal.shown, self._unclaimed.of(entry)))

    def say(self, line: str) -> None:
        """Write a remark."""
        self._put([self._remark(line) if self._json else self._terminal.shown(printable(line))])

    def close(self) -> None:
        """Write the lines that are waiting, if the reader takes them, and stop."""
        try:
            self._waiting.put(None, timeout=_PATIENCE_SECONDS)
        except queue.Full:
            return
        self._thread.join(_PATIENCE_SECONDS)

    def _remark(self, text: str) -> str:
        return self._terminal.json(json.dumps({"kind": "remark", "message": text}, ensure_ascii=False))

    def _put(self, lines: Iterable[str]) -> None:
        for line in lines:
            try:
                self._waiting.put_nowait(line)
            except queue.Full:
                self._missed += 1

    def _work(self) -> None:
        try:
            while (line := self._waiting.get()) is not None:
                self._out.write(line)
                if self._missed and self._waiting.empty():
                    missed, self._missed = self._missed, 0
                    self._out.lose(missed, _UNREAD)
                    self._out.tell()
            self._out.tell()
        except ValueError:
            return  # the stream has been closed


class UnclaimedLines:
    """Turns requests that no sandbox claims into lines, at the machine's time."""

    def __init__(self, terminal: Terminal) -> None:
        """Write for a terminal."""
        self._renderer = Renderer(terminal, width=terminal.width, heading="of this machine")

    def of(self, entry: UnclaimedEntry) -> Iterator[str]:
        """Yield the lines of a request."""
        return self._renderer.lines(unclaimed_row(unclaimed_of(entry)))


class Lines:
    """Turns the notes of one sandbox into lines."""

    def __init__(self, terminal: Terminal, name: str, wanted: Callable[[str], bool] | None = None) -> None:
        """Write for a terminal, with the sandbox's `name` on each line unless that is empty.

        With `wanted`, only of events whose type it accepts, and of the requests that have caused those.
        """
        self._renderer = Renderer(terminal, width=terminal.width, heading=name, name=name)
        self._wanted = wanted
        self._caused: dict[str, list[Row]] = {}

    def of(self, box: Sandbox, note: Note) -> Iterator[str]:
        """Yield the lines of a note, and those that have waited for it."""
        for row in self._rows(box, note):
            yield from self._renderer.lines(row)

    def _rows(self, box: Sandbox, note: Note) -> Iterator[Row]:
        record: Any = note.record
        match note.kind:
            case "request":
                yield from self._request(box, record)
            case "event":
                if self._wants(record.type):
                    yield from self._behind(box, record.request_id, _event(box, record))
            case "attempt":
                if self._wants(record.event.type):
                    yield _attempt(box, record, note.detail)
            case "delivery":
                # Of one without an endpoint the event's own line says so.
                if record.status != "no_endpoint" and self._wants(record.event.type):
                    row = delivery_row(summary_of(record), box.now, _order(box, record.event), faults_of(box))
                    yield from self._behind(box, record.event.request_id, row)
            case "clock" | "fault" | "reset":
                yield from self._control(note.kind, record, box.now)
            case _:
                assert_never(note.kind)

    def _control(self, kind: ControlKind, record: Any, now: int) -> Iterator[Row]:  # noqa: ANN401 - see `_by_hand`
        if kind == "reset":
            self._caused.clear()
        if self._wanted is None:
            yield Row(now, CONTROL, _by_hand(kind, record))

    def _wants(self, kind: str) -> bool:
        return self._wanted is None or self._wanted(kind)

    def _behind(self, box: Sandbox, request_id: str | None, row: Row) -> Iterator[Row]:
        """Keep what a request has caused until the request has a line; yield everything else."""
        cause = box.publisher.cause
        if request_id is not None and cause is not None and cause.id == request_id:
            self._caused.setdefault(request_id, []).append(row)
        else:
            yield row

    def _request(self, box: Sandbox, entry: RequestEntry) -> Iterator[Row]:
        caused = self._caused.pop(entry.id, [])
        if self._wanted is not None and not caused:
            return
        # The object's own id is in the line of its event, if there is one.
        names = (entry.external_identifier, None if caused else entry.object_id)
        yield request_row(request_of(entry), faults_of(box), names)
        for row in caused:
            yield replace(row, at=entry.at)


def _event(box: Sandbox, event: Event) -> Row:
    row = event_row(event_of(event), _order(box, event))
    return row if box.notification_url or _has_target(box, event) else replace(row, result="no endpoint")


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


class JsonLines:
    """Turns the notes of one sandbox into JSON, an object a line: the documents of its stream, with its id."""

    def __init__(self, sandbox: str, wanted: Callable[[str], bool] | None = None) -> None:
        """With `wanted`, make lines only of what concerns events whose type it accepts."""
        self._sandbox = sandbox
        self._wanted = wanted
        self._causes: set[str] = set()
        """Requests without a line so far whose events have one."""

    def of(self, box: Sandbox, note: Note) -> Iterable[str]:  # noqa: ARG002 - as `Lines.of`
        """Return the line of a note, if it has one."""
        from paydouble.core import json_text
        from paydouble.web.control.stream import document

        if self._wanted is not None and not self._wants(note, self._wanted):
            return ()
        made: dict[str, Any] = {"sandbox": self._sandbox, "kind": note.kind, **document(note)}
        return (json_text.dumps(made).decode(),)

    def _wants(self, note: Note, wanted: Callable[[str], bool]) -> bool:
        record: Any = note.record
        if note.kind == "event":
            if not wanted(record.type):
                return False
            if record.request_id is not None:
                self._causes.add(record.request_id)
            return True
        if note.kind == "request" and record.id in self._causes:
            self._causes.remove(record.id)
            return True
        return note.kind in {"attempt", "delivery"} and wanted(record.event.type)


def unclaimed_json(entry: UnclaimedEntry) -> Iterable[str]:
    """Return the line of a request that no sandbox has claimed."""
    from paydouble.core import json_text
    from paydouble.records import show_unclaimed

    made: dict[str, Any] = {"sandbox": None, "kind": "unclaimed", **show_unclaimed(entry)}
    return (json_text.dumps(made).decode(),)
