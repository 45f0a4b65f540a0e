"""Control calls that show what happened: requests, events and deliveries."""

from __future__ import annotations

from paydouble.core.errors import UnknownThing
from paydouble.web.control import views
from paydouble.web.control.values import ControlCall, Document


def requests(call: ControlCall) -> Document:
    """Show the request journal, oldest first."""
    log = call.sandbox.journal.requests
    return views.listing(log.entries, views.request, call.queries, evicted=log.evicted)


def forget_requests(call: ControlCall) -> Document:
    """Empty the request journal."""
    return {"removed": call.sandbox.reset(frozenset({"requests"}))["requests"]}


def events(call: ControlCall) -> Document:
    """Show the events, oldest first; `type` and `object_id` choose."""
    call.sandbox.tick()
    log = call.sandbox.journal.events
    kind, object_id = call.queries.get("type"), call.queries.get("object_id")
    chosen = (
        event
        for event in log.entries
        if (kind is None or event.type == kind) and (object_id is None or event.object_id == object_id)
    )
    return views.listing(chosen, views.event, call.queries, evicted=log.evicted)


def event(call: ControlCall) -> Document:
    """Show one event."""
    wanted = call.params["id"]
    for record in call.sandbox.journal.events.entries:
        if record.id == wanted:
            return views.event(record)
    raise UnknownThing(f"There is no event {wanted[:64]!r} in sandbox {call.sandbox.identity.id}.")


def deliveries(call: ControlCall) -> Document:
    """Show the deliveries, oldest first; `event_type`, `object_id` and `status` choose."""
    call.sandbox.tick()
    outbox = call.sandbox.outbox
    kind, object_id = call.queries.get("event_type"), call.queries.get("object_id")
    status = call.queries.get("status")
    chosen = (
        delivery
        for delivery in outbox.deliveries.values()
        if (kind is None or delivery.event.type == kind)
        and (object_id is None or delivery.event.object_id == object_id)
        and (status is None or delivery.status == status)
    )
    return views.listing(chosen, views.delivery, call.queries, evicted=outbox.evicted)


def delivery(call: ControlCall) -> Document:
    """Show one delivery with its attempts."""
    return views.delivery(call.sandbox.delivery(call.params["id"]))
