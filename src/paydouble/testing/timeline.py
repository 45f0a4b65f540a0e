"""What happened in a sandbox, as lines for a person: requests, the events that they caused, and the attempts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from paydouble.testing.calls import Sync
from paydouble.testing.records import Attempt, Delivery, Event, Request
from paydouble.testing.sandboxes import SandboxHandle

_MOST_LINES: Final = 200
# When, after which request of that instant, and what comes first of what that request has caused.
_Place = tuple[datetime, int, int, int]


def timeline(box: SandboxHandle[Sync]) -> list[str]:
    """Return what a sandbox has seen, the oldest first; of very much the newest."""
    requests, events, deliveries = box.requests.list(), box.events.list(), box.deliveries.list()
    faults = [fault for fault in box.faults.list() if fault.times_fired]
    rows = sorted(_rows(requests, events, deliveries))
    lines = [f"{_clock(place[0])}  {text}" for place, text in rows]
    if not lines:
        lines = ["nothing has happened: no request came, and no event was made"]
    if len(lines) > _MOST_LINES:
        lines = [f"… {len(lines) - _MOST_LINES} earlier lines are left out", *lines[-_MOST_LINES:]]
    return [*lines, *(f"fault {fault.id} ({fault.effect}) has fired {fault.times_fired} times" for fault in faults)]


def _rows(requests: list[Request], events: list[Event], deliveries: list[Delivery]) -> Iterator[tuple[_Place, str]]:
    # On a clock that stands everything has the same instant, so what a request caused is told behind the request.
    number = {request.id: at for at, request in enumerate(requests)}
    cause = {event.id: number.get(event.request_id or "", len(requests)) for event in events}
    for at, request in enumerate(requests):
        yield (request.at, at, 0, 0), _request(request)
    for at, event in enumerate(events):
        yield (event.created_at, cause[event.id], 1, at), f"event    {event.type} {event.object_id}"
    for at, delivery in enumerate(deliveries):
        after = cause.get(delivery.event_id, len(requests))
        for attempt in delivery.attempts:
            yield (attempt.due_at, after, 2, at), _attempt(delivery, attempt)


def _request(request: Request) -> str:
    verdict = "" if request.verdict == "none" else f" {request.verdict}"
    status = "in flight or lost" if request.status is None else str(request.status)
    return f"request  {request.method} {request.target}: {status}{verdict}{_by(request.faults)}"


def _attempt(delivery: Delivery, attempt: Attempt) -> str:
    answer = attempt.error if attempt.error is not None else str(attempt.status or "in flight")
    return f"attempt  {attempt.number} of {delivery.event_type} to {delivery.target}: {answer}{_by(attempt.faults)}"


def _by(faults: tuple[str, ...]) -> str:
    return f" [{', '.join(faults)}]" if faults else ""


def _clock(instant: datetime) -> str:
    return instant.strftime("%Y-%m-%d %H:%M:%S.") + f"{instant.microsecond // 1000:03d}"
