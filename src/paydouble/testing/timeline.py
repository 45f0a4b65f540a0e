"""What happened in a sandbox, as lines for a person: requests, the events that they caused, and the attempts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from paydouble.core.documents import Document, read_json
from paydouble.core.printable import printable
from paydouble.faults import labels
from paydouble.records import Attempt, Delivery, Fault, Request, UnclaimedRequest
from paydouble.testing.calls import Sync
from paydouble.testing.sandboxes import SandboxHandle
from paydouble.testing.socketless import Sandbox
from paydouble.testing.unused_faults import Happened, why

_MOST_LINES: Final = 200
# A scenario arms faults of its own for each order that plays it.
_MOST_IDLE: Final = 10
_MOST_STRANGERS: Final = 5
# Of the message of a refusal; the whole of it stands in the request's `response_body`.
_LONGEST_MESSAGE: Final = 200


def timeline(box: SandboxHandle[Sync] | Sandbox) -> list[str]:
    """Return what a sandbox has seen, the oldest first; of very much the newest. Then what became of its faults."""
    return _lines(happened(box), box.faults.list())


def happened(box: SandboxHandle[Sync] | Sandbox) -> Happened:
    """Return what a sandbox has seen."""
    return Happened(list(box.requests), list(box.events), list(box.deliveries))


def _lines(seen: Happened, faults: Sequence[Fault]) -> list[str]:
    told = list(_told(seen, {fault.id: fault.document for fault in faults}))
    if not told:
        told = ["nothing has happened: no request came with its business key, and no event was made"]
    if len(told) > _MOST_LINES:
        told = [f"… {len(told) - _MOST_LINES} earlier lines are left out", *told[-_MOST_LINES:]]
    return [printable(line) for line in (*told, *_fates(faults, seen))]


def strangers(requests: Sequence[UnclaimedRequest], business_key: str) -> Iterator[str]:
    """Yield the newest of some requests that no sandbox has claimed, for a test whose sandbox has a business key."""
    if not requests:
        return
    came = "1 request" if len(requests) == 1 else f"{len(requests)} requests"
    yield f"{came} came meanwhile that no sandbox claims; this one's business key is {business_key!r}"
    for request in requests[-_MOST_STRANGERS:]:
        key = "no business key" if request.business_key is None else f"business key {request.business_key!r}"
        yield f"  {request.method} {request.target}, {key}: {request.status}{_refusal(request)}"


def never_fired(happened: Happened, faults: Sequence[Fault]) -> list[str]:
    """Return a line for each fault that a test has armed in vain; one that it has disabled itself is none."""
    return [
        f"{fault.id} ({fault.effect}): {why(fault, happened)}"
        for fault in faults
        if not fault.times_fired and fault.document["enabled"] and fault.document["order"] is None
    ]


def _fates(faults: Sequence[Fault], happened: Happened) -> Iterator[str]:
    for fault in faults:
        if fault.times_fired:
            times = "once" if fault.times_fired == 1 else f"{fault.times_fired} times"
            yield f"fault {fault.id} ({fault.effect}) struck {times}"
    idle = [fault for fault in faults if not fault.times_fired]
    for fault in idle[:_MOST_IDLE]:
        yield f"fault {fault.id} ({fault.effect}) never struck: {why(fault, happened)}"
    if len(idle) > _MOST_IDLE:
        yield f"… {len(idle) - _MOST_IDLE} more faults never struck"


def _told(happened: Happened, declared: Mapping[str, Document]) -> Iterator[str]:
    # Each has its number in the order of what happened; instants do not tell on a clock that stands.
    rows = [(request.sequence, request.at, _request(request, declared)) for request in happened.requests]
    ways = {delivery.event_id: delivery for delivery in happened.deliveries if not labels.copy(delivery.id)}
    rows += [
        (
            event.sequence,
            event.created_at,
            f"event    {event.type} {event.object_id}{_way(ways.get(event.id), declared)}",
        )
        for event in happened.events
    ]
    rows += [
        (attempt.sequence, attempt.due_at, _attempt(delivery, attempt, declared))
        for delivery in happened.deliveries
        for attempt in delivery.attempts
    ]
    for _, at, text in sorted(rows):
        yield f"{_clock(at)}  {text}"


def _request(request: Request, declared: Mapping[str, Document]) -> str:
    verdict = "" if request.verdict == "none" else f" {request.verdict}"
    silence = "no answer" if request.faults else "in flight or lost"
    status = silence if request.status is None else str(request.status)
    struck = labels.describe(request.faults, declared.get, labels.to_request)
    return f"request  {request.method} {request.target}: {status}{verdict}{struck}{_refusal(request)}"


def _refusal(request: Request) -> str:
    """Return code and message of an answer that says what was wrong, as the end of a line; empty for any other."""
    if request.status is None or request.status < 400:  # noqa: PLR2004 - HTTP
        return ""
    try:
        error = read_json(request.response_body)["error"]
        text = f": {error['code']}: {error['message']}"
    except (ValueError, LookupError, TypeError):
        return ""  # a fault has put something else in place of the service's own answer
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}…"


def _way(delivery: Delivery | None, declared: Mapping[str, Document]) -> str:
    # How an event left, where that says more than its attempts do.
    if delivery is None:
        return ""
    struck = labels.describe(delivery.faults, declared.get, labels.to_event)
    if delivery.attempts or f", {delivery.status} " in struck:
        return struck
    due = f", due at {_clock(delivery.next_due_at)}" if delivery.next_due_at is not None else ""
    return {"waiting": due, "no_endpoint": ", no endpoint"}.get(delivery.status, f", {delivery.status}") + struck


def _attempt(delivery: Delivery, attempt: Attempt, declared: Mapping[str, Document]) -> str:
    answer = attempt.error if attempt.error is not None else str(attempt.status or "in flight")
    what = f"{attempt.number} of {delivery.event_type}{labels.copy(delivery.id)}"
    struck = labels.describe(attempt.faults, declared.get, labels.to_attempt)
    return f"attempt  {what} to {delivery.target}: {answer}{struck}"


def _clock(instant: datetime) -> str:
    return instant.strftime("%Y-%m-%d %H:%M:%S.") + f"{instant.microsecond // 1000:03d}"
