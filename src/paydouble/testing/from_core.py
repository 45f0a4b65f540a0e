"""Records of a sandbox in this process as the same plain values that a server's handle gives."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from paydouble import journal
from paydouble.faults.armed import Armed
from paydouble.faults.model import document
from paydouble.payments import events
from paydouble.testing.records import Attempt, Delivery, Event, Request
from paydouble.testing.results import Fault
from paydouble.webhooks import deliveries

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def instant(milliseconds: int) -> datetime:
    """Return an instant of the core as a `datetime`."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


def request(entry: journal.RequestEntry) -> Request:
    """Return a line of the request journal."""
    return Request(
        id=entry.id,
        at=instant(entry.at),
        method=entry.method,
        path=entry.target.partition("?")[0],
        target=entry.target,
        operation=entry.operation,
        headers=tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in entry.headers),
        body=entry.body,
        status=entry.status,
        response_body=entry.response_body,
        idempotency_key=entry.key,
        verdict=entry.verdict,
        bytes_differ=entry.bytes_differ,
        faults=tuple(entry.faults),
        events=tuple(entry.events),
    )


def event(record: events.Event) -> Event:
    """Return an event."""
    return Event(record.id, record.type, record.object_id, instant(record.created_at), record.request_id, record.body)


def delivery(record: deliveries.Delivery) -> Delivery:
    """Return a delivery with its attempts."""
    due = record.next_due_at if record.status == "waiting" else None
    return Delivery(
        id=record.id,
        event_id=record.event.id,
        event_type=record.event.type,
        object_id=record.event.object_id,
        target=record.target,
        status=record.status,
        next_due_at=None if due is None else instant(due),
        faults=tuple(record.faults),
        attempts=tuple(map(attempt, record.attempts)),
    )


def attempt(record: deliveries.Attempt) -> Attempt:
    """Return one attempt."""
    outcome = record.outcome
    error = outcome.error if outcome else None
    return Attempt(
        number=record.number,
        due_at=instant(record.due_at),
        sent_at=instant(outcome.sent_at) if outcome else None,
        signed_at=record.signed_at,
        headers=record.headers,
        body=record.body,
        status=outcome.status if outcome else None,
        error_kind=error.kind if error else None,
        error=error.message if error else None,
        latency_ms=outcome.latency_ms if outcome else None,
        response_body=outcome.response_body if outcome else None,
        faults=record.faults,
    )


def fault(armed: Armed, now: int) -> Fault:
    """Return a fault with its counts."""
    return Fault(armed.id, armed.matched, armed.fired, armed.alive(now), {**document(armed.fault), "id": armed.id})
