"""What happened in a sandbox, as lines for a person: requests, the events that they caused, and the attempts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from paydouble.faults import words
from paydouble.testing.calls import Sync
from paydouble.testing.records import Attempt, Delivery, Event, Request
from paydouble.testing.results import Document, Fault
from paydouble.testing.sandboxes import SandboxHandle
from paydouble.testing.unstruck import Happened, why

_MOST_LINES: Final = 200
# A scenario arms faults of its own for each order that plays it.
_MOST_IDLE: Final = 10
# When, after which request of that instant, and what comes first of what that request has caused.
_Place = tuple[datetime, int, int, int]


def timeline(box: SandboxHandle[Sync]) -> list[str]:
    """Return what a sandbox has seen, the oldest first; of very much the newest. Then what became of its faults."""
    requests, events, deliveries, faults = (
        box.requests.list(),
        box.events.list(),
        box.deliveries.list(),
        box.faults.list(),
    )
    declared = {fault.id: fault.document for fault in faults}
    rows = sorted(_rows(requests, events, deliveries, declared))
    lines = [f"{_clock(place[0])}  {text}" for place, text in rows]
    if not lines:
        lines = ["nothing has happened: no request came with its business key, and no event was made"]
    if len(lines) > _MOST_LINES:
        lines = [f"… {len(lines) - _MOST_LINES} earlier lines are left out", *lines[-_MOST_LINES:]]
    return [*lines, *_fates(faults, Happened(requests, events, deliveries))]


def _fates(faults: list[Fault], happened: Happened) -> Iterator[str]:
    for fault in faults:
        if fault.times_fired:
            times = "once" if fault.times_fired == 1 else f"{fault.times_fired} times"
            yield f"fault {fault.id} ({fault.effect}) struck {times}"
    idle = [fault for fault in faults if not fault.times_fired]
    for fault in idle[:_MOST_IDLE]:
        yield f"fault {fault.id} ({fault.effect}) never struck: {why(fault, happened)}"
    if len(idle) > _MOST_IDLE:
        yield f"… {len(idle) - _MOST_IDLE} more faults never struck"


def _rows(
    requests: list[Request], events: list[Event], deliveries: list[Delivery], declared: Mapping[str, Document]
) -> Iterator[tuple[_Place, str]]:
    # On a clock that stands everything has the same instant, so what a request caused is told behind the request.
    number = {request.id: at for at, request in enumerate(requests)}
    cause = {event.id: number.get(event.request_id or "", len(requests)) for event in events}
    for at, request in enumerate(requests):
        yield (request.at, at, 0, 0), _request(request, declared)
    ways = {delivery.event_id: delivery for delivery in deliveries if not words.copy(delivery.id)}
    for at, event in enumerate(events):
        way = _way(ways.get(event.id), declared)
        yield (event.created_at, cause[event.id], 1, at), f"event    {event.type} {event.object_id}{way}"
    for at, delivery in enumerate(deliveries):
        after = cause.get(delivery.event_id, len(requests))
        for attempt in delivery.attempts:
            yield (attempt.due_at, after, 2, at), _attempt(delivery, attempt, declared)


def _request(request: Request, declared: Mapping[str, Document]) -> str:
    verdict = "" if request.verdict == "none" else f" {request.verdict}"
    silence = "no answer" if request.faults else "in flight or lost"
    status = silence if request.status is None else str(request.status)
    struck = words.told(request.faults, declared.get, words.to_request)
    return f"request  {request.method} {request.target}: {status}{verdict}{struck}"


def _way(delivery: Delivery | None, declared: Mapping[str, Document]) -> str:
    # How an event left, where that says more than its attempts do.
    if delivery is None:
        return ""
    struck = words.told(delivery.faults, declared.get, words.to_event)
    if delivery.attempts or f", {delivery.status} " in struck:
        return struck
    due = f", due at {_clock(delivery.next_due_at)}" if delivery.next_due_at is not None else ""
    return {"waiting": due, "no_endpoint": ", no endpoint"}.get(delivery.status, f", {delivery.status}") + struck


def _attempt(delivery: Delivery, attempt: Attempt, declared: Mapping[str, Document]) -> str:
    answer = attempt.error if attempt.error is not None else str(attempt.status or "in flight")
    what = f"{attempt.number} of {delivery.event_type}{words.copy(delivery.id)}"
    struck = words.told(attempt.faults, declared.get, words.to_attempt)
    return f"attempt  {what} to {delivery.target}: {answer}{struck}"


def _clock(instant: datetime) -> str:
    return instant.strftime("%Y-%m-%d %H:%M:%S.") + f"{instant.microsecond // 1000:03d}"
