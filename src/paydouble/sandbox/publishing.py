"""Makes an event with frozen bytes from each change in the ledger, and passes it on for delivery.

Faults on webhooks are consulted here: when an event is made, and before each attempt to deliver it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast
from weakref import ref

from paydouble.core.ids import Ids
from paydouble.faults.bodies import set_path
from paydouble.faults.plans import AttemptPlan, EventPlan
from paydouble.payments import events
from paydouble.payments.ledger import Ledger
from paydouble.payments.lifecycle import finals
from paydouble.payments.resources import Document, PayIn, Resource
from paydouble.sandbox.trimming import DELIVERY_BYTES, EVENT_BYTES
from paydouble.webhooks.deliveries import Delivery

if TYPE_CHECKING:
    from paydouble.config import Settings
    from paydouble.faults.base import Effect
    from paydouble.faults.seeded_values import SeededValues
    from paydouble.faults.table import FaultTable
    from paydouble.faults.webhook_effects import Point, WebhookEffect
    from paydouble.feed import Feed
    from paydouble.journal import Journal, RequestEntry
    from paydouble.sandbox.delivery_scheduler import DeliveryScheduler
    from paydouble.sandbox.recording import Recording
    from paydouble.sandbox.trimming import Trimmer
    from paydouble.webhooks.deliveries import Outbox

P = TypeVar("P", EventPlan, AttemptPlan)


class Publisher:
    """Makes the events of one sandbox."""

    __slots__ = (
        "__weakref__",
        "_faults",
        "_feed",
        "_outbox",
        "_recording",
        "_scheduler",
        "_trimmer",
        "cause",
        "histories",
        "ids",
        "journal",
        "ledger",
        "notification_url",
        "overtaking",
        "settings",
    )

    def __init__(  # noqa: PLR0913 - the collaborators of one sandbox
        self,
        *,
        journal: Journal,
        trimmer: Trimmer,
        feed: Feed,
        faults: FaultTable,
        outbox: Outbox,
        scheduler: DeliveryScheduler,
        recording: Recording,
        settings: Settings,
        notification_url: str | None,
    ) -> None:
        """Work on a sandbox's records; `start` must be called before the first event."""
        self._scheduler = scheduler
        self._recording = recording
        self._faults = faults
        self._feed = feed
        self._outbox = outbox
        self._trimmer = trimmer
        self.journal = journal
        self.settings = settings
        self.notification_url = notification_url
        """The target of events whose pay-in has no URL of its own."""
        self.cause: RequestEntry | None = None
        """The request that is being carried out, or None."""
        self.overtaking: list[tuple[Delivery, int]] = []
        """Deliveries that must arrive before the reply of that request, each with its lead in milliseconds."""

    def start(self, ids: Ids, ledger: Ledger) -> None:
        """Use another ledger and other ids from now on."""
        self.ids = ids
        self.ledger = ledger
        self.histories: dict[str, list[str]] = {}
        """Event types so far, by pay-in; only for pay-ins whose scenario has a condition on the order of events."""

    def publish(self, kind: str, resource: Resource, document: Document, previous: Document, now: int) -> events.Event:
        """Record an event about a resource, schedule its delivery, and return it.

        `kind` is the event's type, `document` the resource as the event shows it, `previous` the former values of the
        members that changed, `now` the sandbox's time in milliseconds.
        """
        cause = self.cause
        settings = self.settings
        own = self._own_url(resource)
        target = own or self.notification_url
        plan = (
            self._plan(kind, resource, previous, now, has_endpoint=target is not None)
            if "event" in self._faults.active_points
            else None
        )
        created_at, livemode = (now, settings.livemode) if plan is None else self._as_planned(plan, resource, now)
        event_id = self.ids.make("evt")
        request_id = cause.id if cause else self._latest_request_id(resource)
        body = events.freeze(
            event_id=event_id,
            kind=kind,
            api_version=settings.api_version,
            created_at=self.ledger.stamp(created_at),
            resource=document,
            previous=previous,
            request_id=request_id,
            omit_request_id=settings.event_request_id == "omit",
            livemode=livemode,
        )
        event = events.Event(event_id, kind, resource.id, created_at, request_id, body, self.journal.next())
        self.journal.events.add(event)
        self._recording.add(event)
        self._trimmer.keep(EVENT_BYTES + DELIVERY_BYTES + len(body))
        if cause:
            cause.events += (event_id,)
        self._feed.add(event)
        if self.histories:
            self._continue_history(kind, resource)
        if plan is not None and plan.foreign is not None and target is not None:
            self._deliver_foreign(event, plan.foreign, target, follows_sandbox=own is None, now=now)
        delay = settings.webhooks.offsets[0]
        if target is not None:
            delivery = self._scheduler.schedule(
                event, target=target, follows_sandbox=own is None, now=now, delay=delay, plan=plan
            )
        elif plan is not None:
            delivery = self._outbox.create(event, target=None, follows_sandbox=True, now=now, delay=delay)
            delivery.faults = tuple(plan.fired)
        else:
            self._feed.add(self._outbox.keep_unsent(event, now + delay if delay else now))
            return event
        if delivery.status != "waiting":
            self._feed.add(delivery)
        if plan is not None and plan.lead_ms is not None:
            self.overtaking.append((delivery, plan.lead_ms))
        return event

    def _latest_request_id(self, resource: Resource) -> str | None:
        if self.settings.event_request_id != "object":
            return None
        latest = _latest_event(self.journal, resource.id)
        return latest and latest.request_id

    def _continue_history(self, kind: str, resource: Resource) -> None:
        history = self.histories.get(getattr(resource, "payin_id", resource.id))
        if history is not None:
            history.append(kind)

    def _as_planned(self, plan: EventPlan, resource: Resource, now: int) -> tuple[int, bool]:
        latest = _latest_event(self.journal, resource.id) if plan.tie else None
        created_at = latest.created_at if latest else now
        return created_at, self.settings.livemode if plan.livemode is None else plan.livemode

    def plan_attempt(self, delivery: Delivery, now: int) -> AttemptPlan | None:
        """Return what faults do to a delivery's next attempt, or None when none fires."""
        if "attempt" not in self._faults.active_points:
            return None
        context = EventContext(self, delivery.event.type, delivery.event.object_id, len(delivery.attempts) + 1)
        return self._plan_of("attempt", context, AttemptPlan(), now)

    def _plan(
        self, kind: str, resource: Resource, previous: Document, now: int, *, has_endpoint: bool
    ) -> EventPlan | None:
        was_final = previous.get("status") in finals(resource.TABLE)
        context = EventContext(self, kind, resource.id, has_endpoint=has_endpoint, was_final=was_final)
        return self._plan_of("event", context, EventPlan(), now)

    def _plan_of(self, point: Point, context: EventContext, plan: P, now: int) -> P | None:
        fired = self._faults.fire(point, context, now)
        for armed, seeded in fired:
            plan.fired.append(armed.id)
            armed.fault.effect.apply(plan, seeded)  # type: ignore[arg-type]  # a point has the effects of its own plan
        return plan if fired else None

    def _own_url(self, resource: Resource) -> str | None:
        # A deposit's own notification_url wins for its events and for those of its refunds and disputes.
        pay_in = resource if isinstance(resource, PayIn) else pay_in_of(self.ledger, resource.id)
        return pay_in.notification_url if pay_in else None

    def _deliver_foreign(
        self, event: events.Event, seeded: SeededValues, target: str, *, follows_sandbox: bool, now: int
    ) -> None:
        # The same event with ids of another business, which do not exist here. It is signed with this one's secret.
        mark = seeded.text("foreign")
        body = event.body
        object_id = _other_id(event.object_id, mark)
        for own_id in (event.object_id, getattr(self.ledger.find(event.object_id), "payin_id", None)):
            if own_id:
                body = body.replace(own_id.encode(), _other_id(own_id, mark).encode())
        foreign_id = self.ids.derive("evt", f"{event.id} foreign", seeded.number)
        body = set_path(body, "id", foreign_id)
        for path, value in (
            ("request_id", None),
            ("data.object.reference", f"{event.type[:3].upper()}-{mark[24:28].upper()}-{mark[28:32].upper()}"),
            ("data.object.external_identifier", f"foreign-{mark[32:40]}"),
        ):
            if f'"{path.rpartition(".")[2]}"'.encode() in body:
                body = set_path(body, path, value)
        foreign = events.Event(foreign_id, event.type, object_id, event.created_at, None, body, self.journal.next())
        self.journal.events.add(foreign)
        self._recording.add(foreign)
        self._trimmer.keep(EVENT_BYTES + DELIVERY_BYTES + len(body))
        self._feed.add(foreign)
        delivery = self._outbox.create(foreign, target=target, follows_sandbox=follows_sandbox, now=now)
        delivery.faults += (seeded.fault_id,)


class EventContext:
    """An event, or an attempt to deliver it, as faults see it."""

    __slots__ = ("_kind", "_object_id", "_publisher", "_was_final", "attempt", "has_endpoint")

    def __init__(  # noqa: PLR0913 - what there is to know
        self,
        publisher: Publisher,
        kind: str,
        object_id: str,
        attempt: int | None = None,
        *,
        has_endpoint: bool = True,
        was_final: bool = False,
    ) -> None:
        """Describe an event; `attempt` is the number of the attempt that is about to be made.

        `has_endpoint` is whether there is a target to send it to, `was_final` whether the object had been in
        a final state.
        """
        self._publisher = publisher
        self._kind = kind
        self._object_id = object_id
        self.attempt = attempt
        self.has_endpoint = has_endpoint
        self._was_final = was_final

    def value(self, member: str) -> str | int | None:
        """Return the value of a member of `match`, or None when there is none."""
        match member:
            case "event_type":
                return self._kind
            case "object_id":
                return self._object_id
            case "attempt":
                return self.attempt
            case "external_identifier" | "scenario":
                pay_in = pay_in_of(self._publisher.ledger, self._object_id)
                return getattr(pay_in or self._publisher.ledger.find(self._object_id), member, None)
            case _:
                raise KeyError(member)

    def relevant(self, effect: Effect) -> bool:
        """Return whether the effect has something to act on."""
        return cast("WebhookEffect", effect).can_act(self)

    @property
    def in_a_request(self) -> bool:
        """Return whether a request that has not been answered yet caused the event."""
        return self._publisher.cause is not None

    def may_tie(self) -> bool:
        """Return whether the object has had an event before, and no final state."""
        return not self._was_final and _latest_event(self._publisher.journal, self._object_id) is not None


def pay_in_of(ledger: Ledger, object_id: str) -> PayIn | None:
    """Return the pay-in that an object is or belongs to, or None for any other object."""
    resource = ledger.find(object_id)
    pay_in = ledger.find(getattr(resource, "payin_id", object_id))
    return pay_in if isinstance(pay_in, PayIn) else None


def _latest_event(journal: Journal, object_id: str) -> events.Event | None:
    """Return an object's latest event, or None when none is kept."""
    return next((each for each in reversed(journal.events.entries) if each.object_id == object_id), None)


class Publishing:
    """What the ledger calls for each event.

    It refers to its publisher weakly: the publisher has the ledger, and a reference cycle would keep both in memory
    until a full garbage collection, which is slow and rare in a server with a hundred megabytes of journals.
    """

    __slots__ = ("_publisher",)

    def __init__(self, publisher: Publisher) -> None:
        """Pass events on to a publisher."""
        self._publisher = ref(publisher)

    def __call__(self, kind: str, resource: Resource, document: Document, previous: Document, now: int) -> None:
        """Publish an event, unless the sandbox exists no more."""
        found = self._publisher()
        if found is not None:
            found.publish(kind, resource, document, previous, now)


def _other_id(own_id: str, mark: str) -> str:
    return f"{own_id.partition('_')[0]}_{mark[:24]}"
