"""What the journals of a sandbox hold about its payments. Both the inbox and the page of a payment are made from it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from paydouble.faults import labels
from paydouble.payments.lifecycle import finals
from paydouble.payments.resources import Dispute, PayIn, Refund
from paydouble.sandbox.publishing import pay_in_of
from paydouble.timeline import document, faults_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from paydouble.journal import RequestEntry
    from paydouble.payments.events import Event
    from paydouble.sandbox import Sandbox
    from paydouble.webhooks.deliveries import Attempt, Delivery

Tone = Literal["good", "bad", "busy", "idle"]
"""How a state is marked: as it should be, failed, still going on, or nothing to mark."""
_BAD_STATES: Final = frozenset({"failed", "cancelled", "lost", "returned", "exhausted", "dropped"})
_GOOD_STATES: Final = frozenset({"succeeded", "won", "accepted", "delivered"})
_IDLE_STATES: Final = frozenset({"no_endpoint"})
_FIRST_ERROR: Final = 400
MOST_OF_AN_ORDER: Final = 20
"""Payments of one order that are looked at together; tests may give all of theirs the same order."""
_SUCCESSES: Final = range(200, 300)


@dataclass(slots=True)
class Activity:
    """The records about one payment, each kind oldest first."""

    pay_in: PayIn
    requests: list[RequestEntry] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)

    @property
    def faulted(self) -> bool:
        """Return whether a fault has fired."""
        return (
            any(each.faults for each in self.requests)
            or any(each.faults for each in self.deliveries)
            or any(attempt.faults for each in self.deliveries for attempt in each.attempts)
        )


class Badge(NamedTuple):
    """A fault that fired: its id, and what it did."""

    fault: str
    label: str


def activities(box: Sandbox, wanted: Collection[str] | None = None) -> tuple[dict[str, Activity], list[RequestEntry]]:
    """Return what the journals hold about each payment, by its id, and the requests that belong to none.

    `wanted` are the ids of the payments to look for; all of them without it.
    """
    ledger = box.ledger
    pay_ins = ledger.oldest_first(PayIn) if wanted is None else map(ledger.find, wanted)
    found = {each.id: Activity(each) for each in pay_ins if isinstance(each, PayIn)}
    owners = _Owners(box, found)
    others = []
    for entry in box.journal.requests.entries:
        if (about := owners.of_request(entry)) is not None:
            about.requests.append(entry)
        elif wanted is None:
            others.append(entry)
    for event in box.journal.events.entries:
        if (about := owners.of(event.object_id)) is not None:
            about.events.append(event)
    for delivery in box.outbox.deliveries.values():
        if (about := owners.of(delivery.event.object_id)) is not None:
            about.deliveries.append(delivery)
    return found, others


class _Owners:
    """Finds the payment that a record is about."""

    def __init__(self, box: Sandbox, found: Mapping[str, Activity]) -> None:
        self._box = box
        self._found = found
        self._known: dict[str, Activity | None] = {}

    def of(self, object_id: str) -> Activity | None:
        """Return the payment that an object is or belongs to."""
        if object_id not in self._known:
            pay_in = pay_in_of(self._box.ledger, object_id)
            self._known[object_id] = None if pay_in is None else self._found.get(pay_in.id)
        return self._known[object_id]

    def of_request(self, entry: RequestEntry) -> Activity | None:
        """Return the payment that a request is about."""
        owner = owner_of(self._box, entry)
        return None if owner is None else self.of(owner)


def owner_of(box: Sandbox, entry: RequestEntry) -> str | None:
    """Return the id of the object that a request is about; one that was refused may name only a payment's order."""
    if entry.object_id and box.ledger.find(entry.object_id):
        return entry.object_id
    order = entry.external_identifier
    return None if order is None else box.ledger.holder(PayIn, order)


def answer_of(box: Sandbox, entry: RequestEntry) -> tuple[str, Tone]:
    """Return the answer to a request as its client saw it, such as `409` or `200, reply lost`, and how it is marked."""
    find = faults_of(box)
    found = (find(each) for each in entry.faults)
    broken = next(filter(None, (labels.broken_reply(each) for each in found if each is not None)), "")
    if entry.status is None:
        return ("no answer", "bad") if broken else ("in flight", "busy")
    return (f"{entry.status}, {broken}", "bad") if broken else (str(entry.status), status_tone(entry.status))


def is_refused(entry: RequestEntry) -> bool:
    """Return whether a request was answered with an error."""
    return entry.status is not None and entry.status >= _FIRST_ERROR


def refused_as(entry: RequestEntry) -> str:
    """Return the status of a refused request, and what its idempotency key decided: `409 conflict`."""
    return f"{entry.status} {'conflict' if entry.verdict == 'conflict' else 'refused'}"


def refusal(entry: RequestEntry) -> str:
    """Return the message of the error that a request was answered with; empty without one."""
    error = document(entry.response_body).get("error")
    message = error.get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) else ""


def last_attempt(deliveries: Iterable[Delivery]) -> tuple[Delivery, Attempt] | None:
    """Return the attempt that was sent last."""
    attempts = [(each, attempt) for each in deliveries for attempt in each.attempts[-1:]]
    return max(attempts, key=lambda pair: pair[1].sequence, default=None)


def next_due(deliveries: Iterable[Delivery]) -> tuple[Delivery, int] | None:
    """Return the delivery whose attempt is the next one, and when it is due (milliseconds on the sandbox's clock)."""
    due = [(each, each.next_due_at) for each in deliveries if each.status == "waiting" and each.next_due_at is not None]
    return min(due, key=lambda pair: pair[1], default=None)


def same_order(box: Sandbox, pay_in: PayIn) -> list[str]:
    """Return the ids of the payments of an order, the oldest first: a payment, and the newest of the others."""
    newest = box.ledger.holders(PayIn, pay_in.external_identifier)[-MOST_OF_AN_ORDER:]
    return list(newest) if pay_in.id in newest else [pay_in.id, *newest]


def attempt_result(attempt: Attempt) -> tuple[str, Tone]:
    """Return what became of an attempt: a status, a kind of error, or that it is in flight."""
    outcome = attempt.outcome
    if outcome is None:
        return "in flight", "busy"
    text = outcome.error.kind if outcome.error else str(outcome.status)
    return text, "good" if outcome.succeeded else "bad"


def status_tone(status: int | None) -> Tone:
    """Return how the status of an answer is marked."""
    if status is None:
        return "busy"
    return "bad" if status >= _FIRST_ERROR else "good"


def state_tone(state: str) -> Tone:
    """Return how the state of a payment, a refund, a dispute or a delivery is marked."""
    if state in _GOOD_STATES:
        return "good"
    if state in _BAD_STATES:
        return "bad"
    return "idle" if state in _IDLE_STATES else "busy"


def fired(
    box: Sandbox, ids: Iterable[str], say: Callable[[labels.Declaration], str], known: dict[str, Badge] | None = None
) -> tuple[Badge, ...]:
    """Return the faults that fired; `say` is a function of `faults/labels.py`. `known` keeps those found before."""
    find = faults_of(box)
    badges = []
    for fault_id in dict.fromkeys(ids):
        badge = None if known is None else known.get(fault_id)
        if badge is None:
            fault = find(fault_id)
            badge = Badge(fault_id, "fault fired" if fault is None else say(fault))
            if known is not None:
                known[fault_id] = badge
        badges.append(badge)
    return tuple(badges)


def is_over(pay_in: PayIn) -> bool:
    """Return whether a payment is in a final state."""
    return pay_in.status in finals(pay_in.TABLE)


OBJECTS: Final[Mapping[str, type[PayIn | Refund | Dispute]]] = {
    "payment": PayIn,
    "refund": Refund,
    "dispute": Dispute,
}
"""What a payment's events are about, by the word for it."""
