"""What happened in a sandbox, as lines for the report of a failed test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from paydouble import timeline as rows
from paydouble.core.printable import printable
from paydouble.faults import labels
from paydouble.records import Event, Fault, Request, UnclaimedRequest
from paydouble.testing.calls import Sync
from paydouble.testing.sandboxes import SandboxHandle
from paydouble.testing.socketless import Sandbox
from paydouble.testing.unused_faults import Happened, why
from paydouble.timeline import Find, Plain, Renderer, Row

_MOST_ROWS: Final = 200
# A scenario arms faults of its own for each order that plays it.
_MOST_IDLE: Final = 10
_MOST_UNCLAIMED: Final = 5


def timeline(box: SandboxHandle[Sync] | Sandbox) -> list[str]:
    """Return what a sandbox has seen, oldest first, at most the newest 200; then what became of its faults."""
    return _lines(happened(box), box.faults.list())


def happened(box: SandboxHandle[Sync] | Sandbox) -> Happened:
    """Return what a sandbox has seen."""
    return Happened(list(box.requests), list(box.events), list(box.deliveries))


def _lines(seen: Happened, faults: Sequence[Fault]) -> list[str]:
    found = rows_of(seen, {fault.id: fault.document for fault in faults}.get)
    renderer = Renderer(Plain())
    lines = [line for row in found[-_MOST_ROWS:] for line in renderer.lines(row)]
    if not found:
        lines = ["nothing has happened: no request came with its business key, and no event was made"]
    if len(found) > _MOST_ROWS:
        lines.insert(0, f"… {len(found) - _MOST_ROWS} earlier lines are left out")
    return [*lines, *map(printable, _fates(faults, seen))]


def unclaimed(requests: Sequence[UnclaimedRequest], business_key: str) -> Iterator[str]:
    """Yield the newest of some requests that no sandbox claims, for a test whose sandbox has a business key."""
    if not requests:
        return
    came = "1 request" if len(requests) == 1 else f"{len(requests)} requests"
    yield f"{came} came meanwhile that no sandbox claims; this one's business key is {business_key!r}"
    renderer = Renderer(Plain())
    for request in requests[-_MOST_UNCLAIMED:]:
        yield f"  {renderer.text(rows.unclaimed_row(request))}"


def never_fired(happened: Happened, faults: Sequence[Fault]) -> list[str]:
    """Return a line for each fault of a test that never fired, except disabled ones."""
    return [
        f"{fault.id} ({fault.effect}): {why(fault, happened)}"
        for fault in faults
        if not fault.times_fired and fault.document["enabled"] and fault.document["order"] is None
    ]


def _fates(faults: Sequence[Fault], happened: Happened) -> Iterator[str]:
    for fault in faults:
        if fault.times_fired:
            times = "once" if fault.times_fired == 1 else f"{fault.times_fired} times"
            yield f"fault {fault.id} ({fault.effect}) fired {times}"
    idle = [fault for fault in faults if not fault.times_fired]
    for fault in idle[:_MOST_IDLE]:
        yield f"fault {fault.id} ({fault.effect}) never fired: {why(fault, happened)}"
    if len(idle) > _MOST_IDLE:
        yield f"… {len(idle) - _MOST_IDLE} more faults never fired"


def rows_of(
    happened: Happened, find: Find, *, names_targets: bool = True, besides: Iterable[tuple[int, Row]] = ()
) -> list[Row]:
    """Return requests, events and attempts in the order in which they happened; `find` knows the faults.

    `names_targets` is whether an attempt says where it went. `besides` are other rows, each with the sequence number
    after which it comes.
    """
    orders = _orders(happened.events)
    # The sequence numbers give the order; on a manual clock many things have the same time.
    found = [(sequence + 0.5, row) for sequence, row in besides]
    found += [(request.sequence, rows.request_row(request, find, _names(request))) for request in happened.requests]
    deliveries = {each.event_id: each for each in happened.deliveries if not labels.copy(each.id)}
    for event in happened.events:
        row = rows.event_row(event, orders.get(event.object_id, ""))
        delivery = deliveries.get(event.id)
        # How an event left, where that says more than its attempts do.
        if delivery is not None:
            result, faults, good = rows.way(delivery, row.at, find)
            row = (
                replace(row, faults=faults)
                if delivery.attempts
                else replace(row, result=result, faults=faults, good=good)
            )
        found.append((event.sequence, row))
    for each in happened.deliveries:
        for attempt in each.attempts:
            notes = (*filter(None, (attempt.error,)), *([f"to {each.target}"] if names_targets else ()))
            row = rows.attempt_row(each, attempt, orders.get(each.object_id, ""), find, notes)
            found.append((attempt.sequence, row))
    return [row for _, row in sorted(found, key=lambda numbered: numbered[0])]


def _orders(events: Sequence[Event]) -> dict[str, str]:
    """Return the merchant's name for the payment of each object, as far as the events show it."""
    orders: dict[str, str] = {}
    for event in events:
        name = rows.payment(rows.resource_of(event.body))
        orders.setdefault(event.object_id, orders.get(name, name))
    return orders


def _names(request: Request) -> tuple[str | None, str | None]:
    """Return the order that a request is about, and the id of the object in its answer unless an event shows it."""
    resource = rows.answered(request.response_body)
    object_id = resource.get("id")
    return (
        rows.order_in(resource) or rows.order_in(rows.document(request.body)),
        rows.word(object_id) if isinstance(object_id, str) and not request.events else None,
    )
