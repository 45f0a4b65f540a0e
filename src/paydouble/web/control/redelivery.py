"""Control calls that hold, release and repeat deliveries, and that emit events at will."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from paydouble.core.errors import UnknownThing, UsageError
from paydouble.payments.resources import Dispute, PayIn, Refund, Resource
from paydouble.records import show_delivery, show_event
from paydouble.web.control.models import EmitEvent, Redeliver, TestWebhook
from paydouble.web.control.values import ControlCall, Document

_FAMILY: Final[Mapping[str, type[Resource]]] = {"pay-in": PayIn, "refund": Refund, "dispute": Dispute}


def redeliver(call: ControlCall) -> Document:
    """Send a delivery once more, now, whatever became of it."""
    box = call.sandbox
    delivery = box.delivery(call.params["id"])
    call.host.act(box, lambda: box.redeliver(delivery))
    return show_delivery(delivery)


def redeliver_failed(call: ControlCall) -> Document:
    """Send everything again whose last attempt has failed, or failed since an instant."""
    wanted: Redeliver = call.body
    box = call.sandbox
    chosen = box.failed_deliveries(wanted.since)
    for delivery in chosen:
        call.host.act(box, lambda each=delivery: box.redeliver(each))  # type: ignore[misc]
    return {"redelivered": [delivery.id for delivery in chosen]}


def hold(call: ControlCall) -> Document:
    """Keep a waiting delivery back until it is released."""
    box = call.sandbox
    delivery = box.delivery(call.params["id"])
    box.hold(delivery)
    return show_delivery(delivery)


def release(call: ControlCall) -> Document:
    """Let a held delivery go, now."""
    box = call.sandbox
    delivery = box.delivery(call.params["id"])
    call.host.act(box, lambda: box.release(delivery))
    return show_delivery(delivery)


def emit(call: ControlCall) -> Document:
    """Emit a documented event for an object that exists; the object stays as it is."""
    wanted: EmitEvent = call.body
    box = call.sandbox
    box.tick()
    name = wanted.type.partition(".")[0]
    resource = box.ledger.find(wanted.object_id)
    if resource is None:
        raise UnknownThing(f"There is no object {wanted.object_id!r} in sandbox {box.identity.id}.")
    if not isinstance(resource, _FAMILY[name]):
        raise UsageError(f"{wanted.object_id} is no {name}, which {wanted.type} is about", member="object_id")
    return show_event(call.host.act(box, lambda: box.emit_event(wanted.type, resource)))


def test_webhook(call: ControlCall) -> Document:
    """Send a sample event of a documented type, as the service's dashboard does."""
    wanted: TestWebhook = call.body
    box = call.sandbox
    box.tick()
    return show_event(call.host.act(box, lambda: box.send_test_webhook(wanted.type)))
