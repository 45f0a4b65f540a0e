"""The page of a payment: its requests, events and attempts in the order in which they were sent.

A request is placed where it arrived, an event where it was made, an attempt where it was sent (`Journal.next`). On a
manual clock many of them have the same instant, and only this order says what came first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from paydouble.core import json_text
from paydouble.core.money import write_minor
from paydouble.faults import labels
from paydouble.payments.lifecycle import PAID
from paydouble.payments.resources import Dispute, PayIn, Refund
from paydouble.records import VERDICTS, attempt_of, event_of, request_of
from paydouble.timeline import answered, resource_of
from paydouble.web.control.objects import show_pay_in
from paydouble.web.inspector.activity import (
    Activity,
    Badge,
    Tone,
    activities,
    answer_of,
    attempt_result,
    fired,
    is_over,
    last_attempt,
    next_due,
    same_order,
    state_tone,
)
from paydouble.web.inspector.copies import Copy, copies
from paydouble.web.inspector.differences import Difference, differences, shown_value
from paydouble.web.inspector.inbox import Due, due_of
from paydouble.web.inspector.retries import Comparison, compare, compared, series
from paydouble.web.inspector.visits import Page, PageRoute, Visit, home, payment_url, sandbox_url

if TYPE_CHECKING:
    from paydouble.journal import RequestEntry
    from paydouble.payments.events import Event
    from paydouble.records import Attempt, Request
    from paydouble.records import Event as EventRecord
    from paydouble.sandbox import Sandbox
    from paydouble.web.addresses import Reached
    from paydouble.webhooks import deliveries

_MOST_COMPARED: Final = 200
_STAMP: Final = "updated_at"
"""A member that every event changes, so that a difference in it says nothing."""
_RESEND: Final = (("redeliver", "Send again"),)
_ACTIONS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "waiting": (("redeliver", "Send now"), ("hold", "Hold")),
    "held": (("release", "Release"),),
}
"""By the status of a delivery."""


@dataclass(frozen=True, slots=True)
class RequestItem:
    """A request about the payment, and its answer."""

    kind: Literal["request"]
    sequence: int
    at: int
    real: int | None
    tone: Tone
    result: str
    """The answer as the client saw it."""
    record: Request
    verdict: str
    """What the idempotency key decided, as a sentence; empty without a key."""
    faults: tuple[Badge, ...]
    compared: Comparison | None
    """What differs from the earlier request of its key or order."""


@dataclass(frozen=True, slots=True)
class DeliveryLine:
    """The delivery of an event, as it is now."""

    id: str
    status: str
    tone: Tone
    target: str
    due: Due | None
    copy: str
    faults: tuple[Badge, ...]
    actions: tuple[tuple[str, str], ...]
    """What can be done with it: names of actions, and the labels of their buttons."""


@dataclass(frozen=True, slots=True)
class EventItem:
    """An event of the payment, and where its deliveries are."""

    kind: Literal["event"]
    sequence: int
    at: int
    real: None
    tone: Tone
    record: EventRecord
    about: str
    """`payment`, `refund` or `dispute`."""
    first: bool
    """Whether it is the first event of its object, which has nothing to differ from."""
    differences: tuple[Difference, ...]
    previous: str
    """The event's own `previous_attributes`, as JSON."""
    deliveries: tuple[DeliveryLine, ...]


@dataclass(frozen=True, slots=True)
class AttemptItem:
    """One attempt to deliver an event."""

    kind: Literal["attempt"]
    sequence: int
    at: int
    real: int | None
    tone: Tone
    record: Attempt
    result: str
    event: str
    """The type of the event."""
    delivery: str
    target: str
    copy: str
    faults: tuple[Badge, ...]


Item = RequestItem | EventItem | AttemptItem


@dataclass(frozen=True, slots=True)
class Related:
    """A refund or a dispute of the payment."""

    word: str
    id: str
    amount: str
    state: str
    tone: Tone


@dataclass(frozen=True, slots=True)
class Other:
    """Another payment of the same order."""

    id: str
    url: str
    amount: str
    state: str
    tone: Tone
    gap: int | None
    """The milliseconds between the two requests, in real time where that is known; None where one of them is not
    kept."""
    later: bool
    """Whether its request came after that of this payment."""
    same_key: bool
    """Whether both requests had the same idempotency key."""
    compared: Comparison | None
    """The later one of the two requests beside the earlier one."""
    request: str
    """The id of the later request."""


@dataclass(frozen=True, slots=True)
class PaymentView:
    """Everything that the page shows."""

    sandbox: str
    id: str
    order: str
    reference: str
    amount: str
    state: str
    tone: Tone
    over: bool
    scenario: str
    created: int
    now: int
    clock: str
    """The mode of the sandbox's clock."""
    payment_url: str
    method: str
    customer: str
    money: tuple[tuple[str, str], ...]
    """The sums that were refunded or disputed, where they are not zero."""
    failure: str
    related: tuple[Related, ...]
    others: tuple[Other, ...]
    """Other payments of the same order, the newest first; the customer may have been charged twice."""
    due: Due | None
    due_event: str
    """The type of the event whose attempt is due."""
    last: AttemptItem | None
    states: tuple[tuple[str, tuple[str, ...]], ...]
    """The states that it can be moved to: those that its lifecycle allows, and the others, each with a heading."""
    paid: bool
    refundable: str
    """How much can be refunded; empty if nothing can."""
    copies: tuple[Copy, ...]
    document: bytes
    """The payment as the API shows it."""
    line: tuple[Item, ...]
    evicted: int
    """How many requests, events and deliveries the sandbox has evicted, so that some of these may be missing."""


def show(visit: Visit, *, problem: str = "", status: int = 200) -> Page:
    """Show a payment, with the reason if something could not be done with it."""
    box = visit.sandbox
    box.tick()
    pay_in = box.ledger.get(PayIn, visit.params["id"])
    view = payment_view(box, pay_in, visit.reached)
    url = payment_url(view.sandbox, view.id)
    values = {
        "title": f"{view.order} · {view.amount}",
        "view": view,
        "problem": problem,
        "url": url,
        "stream": f"{url}/stream",
        "inbox": home(),
        "sandbox_url": sandbox_url(view.sandbox),
    }
    return Page("payment.html", values, status)


def payment_view(box: Sandbox, pay_in: PayIn, reached: Reached, *, masked: bool = False) -> PaymentView:
    """Return what the page of a payment shows; `masked` leaves credentials out of its copies."""
    found, _ = activities(box, same_order(box, pay_in))
    activity = found.pop(pay_in.id)
    document = show_pay_in(box, pay_in, reached)
    line = tuple(sorted(_items(box, activity), key=lambda item: item.sequence))
    last = last_attempt(activity.deliveries)
    following = next_due(activity.deliveries)
    money = {name: text for name, text in box.ledger.money(pay_in).items() if json_text.dumps(text).strip(b"0.")}
    customer = pay_in.customer
    return PaymentView(
        sandbox=box.identity.id,
        id=pay_in.id,
        order=pay_in.external_identifier,
        reference=pay_in.reference,
        amount=f"{write_minor(pay_in.amount, pay_in.digits)} {pay_in.currency}",
        state=pay_in.status,
        tone=state_tone(pay_in.status),
        over=is_over(pay_in),
        scenario=box.scenarios.of(pay_in).name,
        created=pay_in.created_at,
        now=box.now,
        clock=box.clock.mode,
        payment_url=reached.checkout + pay_in.id,
        method=f"{pay_in.payment_method.name} ({pay_in.payment_method.code})",
        customer=f"{customer.first_name} {customer.last_name} <{customer.email}>",
        money=tuple(
            (name.removesuffix("_amount").replace("_", " "), f"{json_text.dumps(text).decode()} {pay_in.currency}")
            for name, text in money.items()
        ),
        failure="" if pay_in.failure is None else f"{pay_in.failure.code}: {pay_in.failure.message}",
        related=tuple(_related(box, pay_in)),
        others=tuple(_other(box, activity, each) for each in found.values()),
        due=None if following is None else due_of(box, following[1]),
        due_event="" if following is None else following[0].event.type,
        last=None if last is None else _attempt_item(box, *last),
        states=_states(pay_in),
        paid=pay_in.status == PAID,
        refundable=_refundable(box, pay_in),
        copies=tuple(copies(box, activity, reached.api, masked=masked)),
        document=json_text.dumps(document),
        line=line,
        evicted=box.journal.requests.evicted + box.journal.events.evicted + box.outbox.evicted,
    )


def _states(pay_in: PayIn) -> tuple[tuple[str, tuple[str, ...]], ...]:
    following = tuple(pay_in.TABLE[pay_in.status])
    others = tuple(state for state in pay_in.TABLE if state not in {pay_in.status, *following})
    groups = (("Next in its lifecycle", following), ("Not allowed by its lifecycle", others))
    return tuple((label, states) for label, states in groups if states)


def _refundable(box: Sandbox, pay_in: PayIn) -> str:
    rest = box.ledger.refundable(pay_in, disputed_too=box.settings.refunds.while_disputed == "allow")
    return write_minor(rest, pay_in.digits) if pay_in.status == PAID and rest > 0 else ""


def _other(box: Sandbox, shown: Activity, other: Activity) -> Other:
    pay_in = other.pay_in
    mine, its = _made_by(shown), _made_by(other)
    gap, later, comparison = None, its, None
    if mine is not None and its is not None:
        earlier, later = sorted((mine, its), key=lambda entry: entry.sequence)
        gap = later.arrived - earlier.arrived if later.arrived and earlier.arrived else later.at - earlier.at
        comparison = compare(earlier, later)
    return Other(
        pay_in.id,
        payment_url(box.identity.id, pay_in.id),
        f"{write_minor(pay_in.amount, pay_in.digits)} {pay_in.currency}",
        pay_in.status,
        state_tone(pay_in.status),
        gap,
        later is its,
        mine is not None and its is not None and mine.key == its.key,
        comparison,
        "" if later is None else later.id,
    )


def _made_by(activity: Activity) -> RequestEntry | None:
    """Return the request that created a payment, if it is kept."""
    return next((each for each in activity.requests if each.object_id == activity.pay_in.id), None)


def _related(box: Sandbox, pay_in: PayIn) -> Iterator[Related]:
    ledger = box.ledger
    found: list[Refund | Dispute] = [*ledger.oldest_first(Refund), *ledger.oldest_first(Dispute)]
    for each in found:
        if each.payin_id == pay_in.id:
            amount = f"{write_minor(each.amount, each.digits)} {each.currency}"
            yield Related(each.OBJECT, each.id, amount, each.status, state_tone(each.status))


# The line of time


def _items(box: Sandbox, activity: Activity) -> Iterator[Item]:
    # Polls are not compared, and each request is compared with all others.
    writes = [entry for entry in activity.requests if entry.method != "GET"]
    for entry in activity.requests:
        beside = None
        if entry.method != "GET" and len(writes) <= _MOST_COMPARED:
            beside = compared(series(writes, entry), entry)
        yield _request_item(box, entry, beside)
    by_event: dict[str, list[deliveries.Delivery]] = {}
    for delivery in activity.deliveries:
        by_event.setdefault(delivery.event.id, []).append(delivery)
    shown: dict[str, dict[str, Any]] = {}
    for event in activity.events:
        yield _event_item(box, event, shown, by_event.get(event.id, []))
    for delivery in activity.deliveries:
        for attempt in delivery.attempts:
            yield _attempt_item(box, delivery, attempt)


def _request_item(box: Sandbox, entry: RequestEntry, comparison: Comparison | None) -> RequestItem:
    result, tone = answer_of(box, entry)
    return RequestItem(
        "request",
        entry.sequence,
        entry.at,
        entry.arrived or None,
        tone,
        result,
        request_of(entry),
        "" if entry.verdict == "none" else VERDICTS[entry.verdict],
        fired(box, entry.faults, labels.to_request),
        comparison,
    )


def _event_item(
    box: Sandbox, event: Event, shown: dict[str, dict[str, Any]], sent: list[deliveries.Delivery]
) -> EventItem:
    """Return the item of an event; `shown` keeps the object as each event showed it last."""
    resource = resource_of(event.body)
    before = shown.get(event.object_id)
    shown[event.object_id] = resource
    about = {"refund": "refund", "dispute": "dispute"}.get(event.type.partition(".")[0], "payment")
    return EventItem(
        "event",
        event.sequence,
        event.created_at,
        None,
        state_tone(str(resource.get("status", ""))),
        event_of(event),
        about,
        before is None,
        () if before is None else tuple(each for each in differences(before, resource) if each.member != _STAMP),
        shown_value(_previous(event.body)),
        tuple(_delivery_line(box, each) for each in sent),
    )


def _delivery_line(box: Sandbox, delivery: deliveries.Delivery) -> DeliveryLine:
    due = delivery.next_due_at if delivery.status == "waiting" else None
    return DeliveryLine(
        delivery.id,
        delivery.status,
        state_tone(delivery.status),
        delivery.target or "",
        None if due is None else due_of(box, due),
        labels.copy(delivery.id).strip(),
        fired(box, delivery.faults, labels.to_event),
        delivery_actions(delivery),
    )


def delivery_actions(delivery: deliveries.Delivery) -> tuple[tuple[str, str], ...]:
    """Return what can be done with a delivery: names of actions, and the labels of their buttons."""
    return _ACTIONS.get(delivery.status, _RESEND if delivery.target else ())


def _attempt_item(box: Sandbox, delivery: deliveries.Delivery, attempt: deliveries.Attempt) -> AttemptItem:
    result, tone = attempt_result(attempt)
    outcome = attempt.outcome
    return AttemptItem(
        "attempt",
        attempt.sequence,
        attempt.due_at,
        None if outcome is None else outcome.sent_at,
        tone,
        attempt_of(attempt),
        result,
        delivery.event.type,
        delivery.id,
        attempt.url,
        labels.copy(delivery.id).strip(),
        fired(box, attempt.faults, labels.to_attempt),
    )


def _previous(body: bytes) -> object:
    return answered(body).get("previous_attributes", {})


ROUTES: Final = (PageRoute("GET", "inspector/sandboxes/{s}/payments/{id}", show),)
