"""From what the ledger tells to events with frozen bytes, and on to deliveries; faults on events act here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from paydouble.core.tuples import maker
from paydouble.faults.bodies import set_path
from paydouble.faults.mischief import AttemptPlan, EventPlan
from paydouble.payments import events
from paydouble.payments.resources import Document, Living, PayIn
from paydouble.webhooks.deliveries import Delivery

if TYPE_CHECKING:
    from paydouble.faults.base import Effect
    from paydouble.faults.roll import Roll
    from paydouble.sandbox.business import Sandbox

# Other effects on events are about sending them.
_OF_THE_EVENT_ITSELF: Final = frozenset({"tie", "livemode"})
P = TypeVar("P", EventPlan, AttemptPlan)
_event = maker(events.Event)


class EventContext:
    """What an event, or an attempt to deliver it, is for the matching of faults."""

    __slots__ = ("_attempt", "_box", "_kind", "_object_id", "_sent")

    def __init__(
        self, box: Sandbox, kind: str, object_id: str, attempt: int | None = None, *, sent: bool = True
    ) -> None:
        """Describe an event; `attempt` is the number of the attempt that is about to be made.

        One that is not to be `sent` has no endpoint.
        """
        self._box = box
        self._kind = kind
        self._object_id = object_id
        self._attempt = attempt
        self._sent = sent

    def value(self, member: str) -> str | int | None:
        """Return a member of `match`."""
        match member:
            case "event_type":
                return self._kind
            case "object_id":
                return self._object_id
            case "attempt":
                return self._attempt
            case _:
                pay_in = root(self._box, self._object_id)
                return getattr(pay_in, member, None) if pay_in else None

    def relevant(self, effect: Effect) -> bool:
        """Return whether the effect has something to act on."""
        kind: str = effect.type  # type: ignore[attr-defined]
        if not self._sent and kind not in _OF_THE_EVENT_ITSELF:
            return False
        if kind == "change_on_resend":
            return (self._attempt or 1) > 1
        if kind == "before_response":
            return self._box.cause is not None
        return kind != "tie" or last_event_at(self._box, self._object_id) is not None


def root(box: Sandbox, object_id: str) -> PayIn | None:
    """Return the pay-in that an object is, or belongs to."""
    resource = box.ledger.find(object_id)
    pay_in = box.ledger.find(getattr(resource, "payin_id", object_id))
    return pay_in if isinstance(pay_in, PayIn) else None


def last_event_at(box: Sandbox, object_id: str) -> int | None:
    """Return when an object's latest event was made, if it has one that is still kept."""
    return next((each.created_at for each in reversed(box.journal.events.entries) if each.object_id == object_id), None)


def emit(  # noqa: PLR0913, PLR0917 - what the ledger tells, in its order
    box: Sandbox, kind: str, resource: Living, document: Document, previous: Document, now: int
) -> events.Event:
    """Record an event and send it on its way."""
    cause = box.cause
    settings = box.rules
    own = _own_url(box, resource)
    target = own or box.notification_url
    plan = _plan(box, kind, resource.id, sent=target is not None) if "event" in box.faults.asked else None
    created_at, livemode = (now, settings.livemode) if plan is None else _as_planned(box, plan, resource, now)
    event_id = box.ids.make("evt")
    body = events.freeze(
        event_id=event_id,
        kind=kind,
        api_version=settings.api_version,
        created_at=box.ledger.stamp(created_at),
        resource=document,
        previous=previous,
        request_id=cause.id if cause else None,
        omit_request_id=settings.event_request_id == "omit",
        livemode=livemode,
    )
    event = _event((event_id, kind, resource.id, created_at, cause.id if cause else None, body))
    box.journal.events.add(event)
    if cause:
        cause.events += (event_id,)
    box.feed.add(event)
    if box.living is not None and box.living.stories:
        box.living.note(kind, resource)
    if plan is not None and plan.foreign is not None and target is not None:
        _post_foreign(box, event, plan.foreign, target, follows_sandbox=own is None, now=now)
    delay = settings.webhooks.offsets[0]
    if target is not None:
        delivery = box.dispatch.post(event, target=target, follows_sandbox=own is None, now=now, delay=delay, plan=plan)
    elif plan is not None:
        delivery = box.outbox.post(event, target=None, follows_sandbox=True, now=now, delay=delay)
        delivery.faults = tuple(plan.fired)
    else:
        box.feed.add(box.outbox.leave(event, now + delay if delay else now))
        return event
    if delivery.status != "waiting":
        box.feed.add(delivery)
    if plan is not None and plan.lead_ms is not None:
        box.overtaking.append((delivery, plan.lead_ms))
    return event


def _as_planned(box: Sandbox, plan: EventPlan, resource: Living, now: int) -> tuple[int, bool]:
    created_at = (last_event_at(box, resource.id) or now) if plan.tie else now
    return created_at, box.rules.livemode if plan.livemode is None else plan.livemode


def plan_attempt(box: Sandbox, delivery: Delivery) -> AttemptPlan | None:
    """Return what faults do to the attempt that a delivery is about to make."""
    if "attempt" not in box.faults.asked:
        return None
    context = EventContext(box, delivery.event.type, delivery.event.object_id, len(delivery.attempts) + 1)
    return _collect(box, "attempt", context, AttemptPlan())


def _plan(box: Sandbox, kind: str, object_id: str, *, sent: bool) -> EventPlan | None:
    return _collect(box, "event", EventContext(box, kind, object_id, sent=sent), EventPlan())


def _collect(box: Sandbox, lane: str, context: EventContext, plan: P) -> P | None:
    fired = box.faults.fire(lane, context, box.now)
    for armed, roll in fired:
        plan.fired.append(armed.id)
        armed.fault.effect.apply(plan, roll)  # type: ignore[arg-type]  # a lane holds the effects of its own plan
    return plan if fired else None


def _own_url(box: Sandbox, resource: Living) -> str | None:
    # A deposit's own notification_url wins for its events and for those of its refunds and disputes.
    pay_in = resource if isinstance(resource, PayIn) else root(box, resource.id)
    return pay_in.notification_url if pay_in else None


def _post_foreign(  # noqa: PLR0913 - what a delivery is made of
    box: Sandbox, event: events.Event, roll: Roll, target: str, *, follows_sandbox: bool, now: int
) -> None:
    # Another business's fact, in the same form: nothing in it is known here but the secret that signs it.
    mark = roll.text("foreign")
    body = event.body
    object_id = _other_id(event.object_id, mark)
    for own_id in (event.object_id, getattr(box.ledger.find(event.object_id), "payin_id", None)):
        if own_id:
            body = body.replace(own_id.encode(), _other_id(own_id, mark).encode())
    foreign_id = box.ids.derive("evt", f"{event.id} foreign", roll.number)
    body = set_path(body, "id", foreign_id)
    for path, value in (
        ("request_id", None),
        ("data.object.reference", f"{event.type[:3].upper()}-{mark[24:28].upper()}-{mark[28:32].upper()}"),
        ("data.object.external_identifier", f"foreign-{mark[32:40]}"),
    ):
        if f'"{path.rpartition(".")[2]}"'.encode() in body:
            body = set_path(body, path, value)
    foreign = events.Event(foreign_id, event.type, object_id, event.created_at, None, body)
    box.journal.events.add(foreign)
    box.feed.add(foreign)
    delivery = box.outbox.post(foreign, target=target, follows_sandbox=follows_sandbox, now=now)
    delivery.faults += (roll.fault_id,)


def _other_id(own_id: str, mark: str) -> str:
    return f"{own_id.partition('_')[0]}_{mark[:24]}"
