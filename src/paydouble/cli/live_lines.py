"""The notes of a sandbox's feed as lines of the live log.

A request comes before the events that it has caused, though those are made while it is still being answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

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
    from paydouble.cli.terminal import Terminal
    from paydouble.feed import Note
    from paydouble.journal import RequestEntry, UnclaimedEntry
    from paydouble.payments.events import Event
    from paydouble.sandbox import Sandbox
    from paydouble.webhooks.deliveries import Attempt, Delivery


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

        With `wanted`, only of events whose type it takes, and of the requests that have caused those.
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
            case _:
                if note.kind == "reset":
                    self._caused.clear()
                if self._wanted is None:
                    yield Row(box.now, CONTROL, _control(note.kind, record))

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


def _control(kind: str, record: Any) -> str:  # noqa: ANN401 - an instant or a document
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
