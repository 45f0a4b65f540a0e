"""Control calls about deliveries and their attempts."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Final

from pydantic import AfterValidator, AliasChoices, Field

from paydouble import records
from paydouble.config import Whole
from paydouble.core.documents import Document, components_of
from paydouble.core.json_schema import TEXT, list_of, object_of
from paydouble.faults.names import EventTypePattern
from paydouble.payments.events import EVENT_TYPES
from paydouble.records import show_delivery
from paydouble.sandbox import Sandbox
from paydouble.sandbox.publishing import pay_in_of
from paydouble.verification import Criterion
from paydouble.web.control.calls import PAGE, SANDBOX, Body, ControlCall, Instant, Noun, listed, listing, shown
from paydouble.web.control.calls import ControlRoute as Row
from paydouble.web.control.journal import named
from paydouble.web.control.verification import VERDICT, Journal, Members, Question, alone, given
from paydouble.webhooks.deliveries import DELIVERY_STATUSES, Delivery, DeliveryStatus


class DeliveryMatch(Body):
    """Which deliveries: all that is given must hold; texts take `*`."""

    # Events call it `type`, deliveries `event_type`; both names are accepted.
    event_type: Annotated[EventTypePattern | None, Field(validation_alias=AliasChoices("event_type", "type"))] = None
    object_id: str | None = None
    external_identifier: str | None = None
    status: DeliveryStatus | None = None
    attempt_count: Whole | None = Field(None, ge=0)


class DeliveryQuestion(Question):
    """What the deliveries should be."""

    match: DeliveryMatch = DeliveryMatch()
    sequence: Annotated[
        Annotated[tuple[DeliveryMatch, ...], Field(min_length=1, max_length=1000)] | None, AfterValidator(alone)
    ] = None


class Redeliver(Body):
    """What to send again: every exhausted delivery, or those that failed since an instant."""

    since: Instant | None = None


_MEMBERS: Members[Delivery] = {
    "event_type": (lambda delivery: delivery.event.type, False),
    "object_id": (lambda delivery: delivery.event.object_id, False),
    "status": (lambda delivery: delivery.status, False),
    "attempt_count": (lambda delivery: len(delivery.attempts), False),
}


def order_of(box: Sandbox, delivery: Delivery) -> str | None:
    """Return the `external_identifier` of the pay-in of a delivery's event, also for its refunds and disputes."""
    pay_in = pay_in_of(box.ledger, delivery.event.object_id)
    return None if pay_in is None else pay_in.external_identifier


def _criteria(match: DeliveryMatch, box: Sandbox) -> list[Criterion[Delivery]]:
    members: Members[Delivery] = {**_MEMBERS, "external_identifier": (partial(order_of, box), False)}
    return [Criterion(name, wanted, *members[name]) for name, wanted in given(match).items()]


_JOURNAL: Final[Journal[Delivery]] = Journal(
    lambda box: box.outbox.deliveries.values(),
    lambda box: box.outbox.evicted,
    lambda delivery: {"id": delivery.id, "event_type": delivery.event.type, "object_id": delivery.event.object_id},
    _criteria,
)


def deliveries(call: ControlCall) -> Document:
    """Show the deliveries, oldest first, filtered by `event_type`, `object_id`, `external_identifier` and `status`."""
    call.sandbox.tick()
    outbox = call.sandbox.outbox
    kind, object_id = named(call, "event_type", EVENT_TYPES, "event type"), call.queries.get("object_id")
    order = call.queries.get("external_identifier")
    status = named(call, "status", DELIVERY_STATUSES, "status of a delivery")
    chosen = (
        delivery
        for delivery in outbox.deliveries.values()
        if (kind is None or delivery.event.type == kind)
        and (object_id is None or delivery.event.object_id == object_id)
        and (order is None or order_of(call.sandbox, delivery) == order)
        and (status is None or delivery.status == status)
    )
    return listing(chosen, show_delivery, call.queries, evicted=outbox.evicted)


def delivery(call: ControlCall) -> Document:
    """Show one delivery with its attempts."""
    return show_delivery(call.sandbox.delivery(call.params["id"]))


def redeliver(call: ControlCall) -> Document:
    """Send a delivery once more, now, whatever its status is."""
    box = call.sandbox
    delivery = box.delivery(call.params["id"])
    call.host.act(box, lambda: box.redeliver(delivery))
    return show_delivery(delivery)


def redeliver_failed(call: ControlCall) -> Document:
    """Send every delivery again whose last attempt has failed, or has failed since a time."""
    wanted: Redeliver = call.body
    box = call.sandbox
    chosen = box.failed_deliveries(wanted.since)
    for delivery in chosen:
        call.host.act(box, lambda each=delivery: box.redeliver(each))  # type: ignore[misc]
    return {"redelivered": [delivery.id for delivery in chosen]}


def hold(call: ControlCall) -> Document:
    """Hold a waiting delivery until it is released."""
    box = call.sandbox
    delivery = box.delivery(call.params["id"])
    box.hold(delivery)
    return show_delivery(delivery)


def release(call: ControlCall) -> Document:
    """Send a held delivery, now."""
    box = call.sandbox
    delivery = box.delivery(call.params["id"])
    call.host.act(box, lambda: box.release(delivery))
    return show_delivery(delivery)


NOUN: Final = Noun(
    routes=(
        Row(
            "delivery-list",
            "GET",
            f"{SANDBOX}/deliveries",
            "The deliveries.",
            deliveries,
            listed(shown(records.Delivery)),
            queries=("event_type", "object_id", "external_identifier", "status", *PAGE),
        ),
        Row(
            "delivery-read",
            "GET",
            f"{SANDBOX}/deliveries/{{id}}",
            "One delivery, with every attempt.",
            delivery,
            shown(records.Delivery),
        ),
        Row(
            "delivery-verify",
            "POST",
            f"{SANDBOX}/deliveries/verify",
            "Whether the deliveries are as expected.",
            _JOURNAL.verify,
            VERDICT,
            DeliveryQuestion,
        ),
        Row(
            "delivery-wait",
            "POST",
            f"{SANDBOX}/deliveries/wait",
            "The same, once it holds or when `timeout` is over.",
            _JOURNAL.wait,
            VERDICT,
            DeliveryQuestion,
            advice=("`timeout` is real time. When it is over the answer says so, with the same explanation."),
        ),
        Row(
            "delivery-redeliver-failed",
            "POST",
            f"{SANDBOX}/deliveries/redeliver",
            "Send all failed deliveries again, or those that failed since an instant.",
            redeliver_failed,
            object_of({"redelivered": list_of(TEXT)}),
            Redeliver,
        ),
        Row(
            "delivery-redeliver",
            "POST",
            f"{SANDBOX}/deliveries/{{id}}/redeliver",
            "Send a delivery once more, now.",
            redeliver,
            shown(records.Delivery),
        ),
        Row(
            "delivery-hold",
            "POST",
            f"{SANDBOX}/deliveries/{{id}}/hold",
            "Hold a delivery.",
            hold,
            shown(records.Delivery),
        ),
        Row(
            "delivery-release",
            "POST",
            f"{SANDBOX}/deliveries/{{id}}/release",
            "Send a held delivery.",
            release,
            shown(records.Delivery),
        ),
    ),
    tags={"delivery": "Events on their way to a receiver."},
    components=components_of(records.Attempt, records.Delivery),
)
