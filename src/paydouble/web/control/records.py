"""Control calls that show what happened: requests, events and deliveries."""

from __future__ import annotations

from collections.abc import Collection

from paydouble.core.errors import UnknownThing
from paydouble.faults.names import misspelt
from paydouble.payments.events import EVENT_TYPES
from paydouble.records import show_delivery, show_event, show_request, show_unclaimed
from paydouble.web.control import views
from paydouble.web.control.values import ControlCall, ControlError, Document
from paydouble.web.control.verification import order_of
from paydouble.webhooks.deliveries import DELIVERY_STATUSES


def requests(call: ControlCall) -> Document:
    """Show the request journal, oldest first."""
    log = call.sandbox.journal.requests
    return views.listing(log.entries, show_request, call.queries, evicted=log.evicted)


def unclaimed(call: ControlCall) -> Document:
    """Show the newest requests that no sandbox has claimed, oldest first."""
    log = call.host.unclaimed.log
    return views.listing(log.entries, show_unclaimed, call.queries, evicted=log.evicted)


def forget_requests(call: ControlCall) -> Document:
    """Empty the request journal."""
    return {"removed": call.sandbox.reset(frozenset({"requests"}))["requests"]}


def events(call: ControlCall) -> Document:
    """Show the events, oldest first; `type` and `object_id` choose."""
    call.sandbox.tick()
    log = call.sandbox.journal.events
    kind, object_id = _named(call, "type", EVENT_TYPES, "event type"), call.queries.get("object_id")
    chosen = (
        event
        for event in log.entries
        if (kind is None or event.type == kind) and (object_id is None or event.object_id == object_id)
    )
    return views.listing(chosen, show_event, call.queries, evicted=log.evicted)


def event(call: ControlCall) -> Document:
    """Show one event."""
    wanted = call.params["id"]
    for record in call.sandbox.journal.events.entries:
        if record.id == wanted:
            return show_event(record)
    raise UnknownThing(f"There is no event {wanted[:64]!r} in sandbox {call.sandbox.identity.id}.")


def deliveries(call: ControlCall) -> Document:
    """Show the deliveries, oldest first; `event_type`, `object_id`, `external_identifier` and `status` choose."""
    call.sandbox.tick()
    outbox = call.sandbox.outbox
    kind, object_id = _named(call, "event_type", EVENT_TYPES, "event type"), call.queries.get("object_id")
    order = call.queries.get("external_identifier")
    status = _named(call, "status", DELIVERY_STATUSES, "status of a delivery")
    chosen = (
        delivery
        for delivery in outbox.deliveries.values()
        if (kind is None or delivery.event.type == kind)
        and (object_id is None or delivery.event.object_id == object_id)
        and (order is None or order_of(call.sandbox, delivery) == order)
        and (status is None or delivery.status == status)
    )
    return views.listing(chosen, show_delivery, call.queries, evicted=outbox.evicted)


def delivery(call: ControlCall) -> Document:
    """Show one delivery with its attempts."""
    return show_delivery(call.sandbox.delivery(call.params["id"]))


def _named(call: ControlCall, member: str, names: Collection[str], what: str) -> str | None:
    # A misspelt name would choose nothing, which looks as if nothing had happened.
    value = call.queries.get(member)
    if value is not None and value not in names:
        raise ControlError(400, "invalid", f"{member}: {misspelt(value[:64], names, what)}", member)
    return value
