"""What a merchant has acknowledged, and what it can be held to because of that.

A merchant that answers an event with 2xx has taken it over: the service does not send it again. Its effect must be
visible before a reconciliation or a later event repairs it. Which effects are visible, and when, depends on the
merchant: one works on an event at once, one leaves it to a background job, one only asks the service about it. So each
family of effects is tried once without any trouble (`calibration.py`), and a merchant is held to what it showed there.

An order is *known* when the newest event of each of its objects was acknowledged. Then the merchant's view has to be
what the ledger says, as in the end of a play. Where it may not have understood an event, it is not held to it: an
event of a refund before any event of its payment, two events of one object with the same time, a request whose reply
was lost.

An event can come before the merchant has the identifier of its payment or refund: the reply was lost or is overtaken,
or the merchant was killed before it kept the reply. Then a merchant that works on events at once may leave this one to
the next background job, which may have to look up first what became of the request. So may one to which an event of a
refund or dispute comes before the success of its payment, and it may put it off for some minutes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import parse_qsl

from paydouble.core.durations import UNITS_MS
from paydouble.journal import RequestEntry
from paydouble.payments.events import FAMILIES as EVENT_FAMILIES
from paydouble.payments.events import Event
from paydouble.payments.lifecycle import PAID, REFUNDED, finals
from paydouble.payments.resources import Dispute, PayIn, Refund
from paydouble.sandbox import Sandbox
from paydouble.stateful import rules
from paydouble.stateful.expected import ExpectedState, Order, amount_differs, expected_state, open_disputes
from paydouble.stateful.findings import Found
from paydouble.stateful.held_to import Family, Shows, of_each
from paydouble.stateful.merchant import Merchant
from paydouble.stateful.rules.shown import Answered

_PUT_OFF_MS: Final = 5 * UNITS_MS["m"]
"""For how long a merchant may leave an event aside that it cannot understand yet."""
PAID_EVENT: Final = f"pay-in.{PAID}"
_FINAL_EVENTS: Final = {f"{family}.{state}" for family, kind in EVENT_FAMILIES.items() for state in finals(kind.TABLE)}
"""Of payments and refunds. A dispute can go on after it was closed, and its events have names of their own."""


def families(state: ExpectedState) -> tuple[Family, ...]:
    """Return the families whose effects an order shows."""
    if not state.paid:
        return ("failure",)
    others: tuple[tuple[Family, bool], ...] = (("refund", bool(state.refunds)), ("dispute", bool(state.disputes)))
    return ("payment", *(family for family, is_there in others if is_there))


class Acknowledged:
    """The events that a merchant has acknowledged in one play."""

    def __init__(self, box: Sandbox, shows: Shows) -> None:
        """Start with none; `shows` is when the merchant shows the effects of each family."""
        self._box = box
        self._shows = of_each(shows)
        self._is_known_when = not isinstance(shows, str)
        self._answers: dict[tuple[str, str, int], int] = {}
        """The object, type and time of an event, and the answer. A copy under another id is the same fact."""
        self._taken_over: set[tuple[str, str, int]] = set()
        """The same of all events that were acknowledged, also before any event of their payment."""
        self._latest: dict[str, Answered] = {}
        """By order, what was acknowledged and has not been looked at."""
        self._judged: set[str] = set()
        """Orders whose payment was looked at after its event."""
        self._noted = self._noted_before_jobs = 0
        """How many events were noted, and how many of them before the latest background jobs began."""
        self._places: dict[str, int] = {}
        """By order, the number of the event that was noted last."""
        self._worked_off: set[tuple[str, str, int]] = set()
        """The events that were acknowledged before background jobs began that have ended since."""
        self._worked_at = 0
        """When the latest of those jobs began, in milliseconds."""
        self._attributed: set[tuple[str, str, int]] = set()
        """The events of disputes that came when a reply had told the merchant the identifier of their payment."""
        self._ahead: set[str] = set()
        """Orders with an event that came before the merchant had the identifier of its payment or refund."""
        self._overtaken: dict[str, int] = {}
        """When, in milliseconds, an event of a refund or dispute came before the one that says its order is paid."""

    @contextmanager
    def jobs(self, were_cut_short: Callable[[], bool]) -> Iterator[None]:
        """Note what background jobs that run meanwhile have worked off, unless they were cut short."""
        before, began_at = set(self._answers), self._box.now
        yield
        if not were_cut_short():
            self._worked_off |= before
            self._worked_at = began_at

    def begin_jobs(self) -> None:
        """Note that background jobs begin: what is acknowledged while they run may be left to the next ones."""
        self._noted_before_jobs = self._noted

    def note(self, order: Order, event: Event, answer: int) -> None:
        """Note that an event about an order was answered with a 2xx."""
        self._taken_over.add((event.object_id, event.type, event.created_at))
        resource = self._box.ledger.find(event.object_id)
        parent = getattr(resource, "payin_id", None)
        if parent is not None and not any(object_id == parent for object_id, _, _ in self._answers):
            return  # the merchant may not know the payment yet
        self._answers[event.object_id, event.type, event.created_at] = answer
        self._latest[order.id] = Answered(event.type, answer)
        self._noted += 1
        self._places[order.id] = self._noted
        # No reply has the identifier of a dispute; its events name the payment.
        known_by = parent if isinstance(resource, Dispute) and parent else event.object_id
        if isinstance(resource, Dispute) and self._is_told(known_by):
            self._attributed.add((event.object_id, event.type, event.created_at))
        if order.disturbed or not self._is_told(known_by):
            self._ahead.add(order.id)
        if parent is not None and not any(fact[0] == parent and fact[1] == PAID_EVENT for fact in self._answers):
            self._overtaken[order.id] = self._box.now

    def findings(
        self, merchant: Merchant, orders: Iterable[Order], *, jobs_ran: bool, asked_in_vain: bool = False
    ) -> Iterator[Found]:
        """Yield what is missing after the latest acknowledged events; `jobs_ran` is whether background jobs did.

        `asked_in_vain` is whether the jobs have asked the service something, and got no answer.
        """
        ships = self._shows["goods"] != ""
        for order in orders:
            latest = self._latest.get(order.id)
            if latest is None:
                continue
            state = expected_state(self._box, order)
            worked_off = jobs_ran and self._places[order.id] <= self._noted_before_jobs
            if self._may_be_put_off(order, state, worked_off=worked_off, asked_in_vain=asked_in_vain):
                continue
            is_held = all(self._is_held(family, jobs_ran=worked_off) for family in families(state))
            if is_held or worked_off:
                del self._latest[order.id]
            # What nobody has decided about is not judged: another amount, money after the end or for no order.
            is_undecided = order.paid_late or order.is_cancelled or amount_differs(state)
            if is_undecided or order.is_closed_unpaid:
                continue
            found = []
            paid = self._paid(state)
            if paid is not None and order.id not in self._judged and self._is_held("payment", jobs_ran=worked_off):
                self._judged.add(order.id)
                found = list(rules.shown.of_paid(merchant, order, state, paid, ships=ships))
            if not found and is_held and self._knows(order, state):
                found = list(rules.shown.of_known(merchant, order, state, latest, ships=ships))
            yield from found

    def _may_be_put_off(self, order: Order, state: ExpectedState, *, worked_off: bool, asked_in_vain: bool) -> bool:
        """Return whether a merchant may not have been able yet to work on an event that came too early."""
        if order.id in self._ahead:
            # It may have to look up first what became of its deposit.
            is_unknown = asked_in_vain and not all(self._is_told(each.id) for each in state.pay_ins)
            if not worked_off or is_unknown:
                return True
            self._ahead.discard(order.id)
        if order.id in self._overtaken:
            # It may have put that event off, or have to ask what it is about.
            is_fresh = self._box.now - self._overtaken[order.id] < _PUT_OFF_MS
            if not worked_off or asked_in_vain or is_fresh:
                return True
            del self._overtaken[order.id]
        return False

    def has_heard_of(self, resources: Iterable[PayIn | Refund | Dispute]) -> bool:
        """Return whether the newest event of each object was acknowledged."""
        return self._are_newest(resources, self._answers)

    def has_taken_over(self, resources: Iterable[PayIn | Refund | Dispute]) -> bool:
        """Return whether the newest event of each object was acknowledged, whatever the merchant knew by then.

        In the end that suffices: what it could not understand yet it had to keep, to ask about, or to refuse.
        """
        return self._are_newest(resources, self._taken_over)

    def has_named(self, object_id: str) -> bool:
        """Return whether an event that the merchant acknowledged, or a reply, has told it the id of an object."""
        return any(each == object_id for each, _, _ in self._taken_over) or self._is_told(object_id)

    def heard_of(self, state: ExpectedState) -> frozenset[tuple[str, int]]:
        """Return the objects of an order and their latest changes; none unless the newest event of each is known."""
        heard = self.has_heard_of(state.resources)
        return frozenset((each.id, each.updated_at) for each in state.resources) if heard else frozenset()

    def has_worked_on(self, order: Order, state: ExpectedState) -> bool:
        """Return whether a merchant has worked on the newest event of each object, by what it shows without trouble.

        One of which that is not known is taken for one that works on each at once.
        """
        at_once = all(self._shows[family] == "at once" for family in families(state))
        if at_once or not self._is_known_when:
            return self.has_heard_of(state.resources)
        return bool(order.worked_off) and self.heard_of(state) == order.worked_off

    def knows_disputes(self, state: ExpectedState) -> bool:
        """Return whether a merchant has worked on the newest event of each payment, and knows of each dispute."""
        is_paid_for = self._are_newest(state.pay_ins, self._worked_off)
        if is_paid_for and all(self._knows_of_dispute(each.id) for each in state.disputes):
            return True
        at_once = not self._is_known_when or all(self._shows[each] == "at once" for each in ("payment", "dispute"))
        return at_once and self.has_heard_of(state.pay_ins) and self._are_newest(state.disputes, self._attributed)

    def knows_refunds(self, order: Order, state: ExpectedState) -> bool:
        """Return whether a merchant knows the newest event of each refund, also of one that staff has made.

        That is so when it shows the order as refunded, or when jobs have run since that could work on it.
        """
        if order.disturbed or not all(self._is_told(each.payin_id) for each in state.refunds):
            return False
        if any(each.status != REFUNDED for each in state.refunds if each.id in order.refunded_elsewhere):
            return False  # it may still fail
        if order.status == "refunded":
            return self.has_taken_over(state.refunds)
        may_be_put_off = self._worked_at - self._overtaken.get(order.id, -_PUT_OFF_MS) < _PUT_OFF_MS
        return not may_be_put_off and self._are_newest(state.refunds, self._worked_off)

    def _knows_of_dispute(self, dispute_id: str) -> bool:
        # Any event of it tells that it holds money, and so does its end by which that is lost. Only one that was closed
        # and opened again may have held none in between.
        told = [each for each in self._box.journal.events.entries if each.object_id == dispute_id]
        if any(each.type == "dispute.closed" for each in told[:-1]):
            told = told[-1:]
        return any((each.object_id, each.type, each.created_at) in self._worked_off for each in told)

    def known_open_disputes(self, order: Order, state: ExpectedState) -> frozenset[str]:
        """Return the ids of the open disputes of which a merchant knows, as of the payment, since jobs have run.

        None when something about the order may not be clear to it yet.
        """
        is_too_early = order.id in self._ahead or order.id in self._overtaken
        if is_too_early or not self._knows(order, state) or not self._are_newest(state.pay_ins, self._worked_off):
            return frozenset()
        return frozenset(each for each in open_disputes(state) if self._knows_of_dispute(each))

    def missed_a_refund(self, order: Order, state: ExpectedState) -> bool:
        """Return whether nothing told the merchant of a refund that none of its code has made.

        It has no reason to ask for one.
        """
        return not self.has_taken_over(each for each in state.refunds if each.id in order.refunded_elsewhere)

    def missed_late_failure(self, state: ExpectedState) -> bool:
        """Return whether nothing told the merchant of a change to a refund after an end of it which it knew."""
        return any(self._is_missed(each.id) for each in state.refunds)

    def missed_late_money(self, state: ExpectedState) -> bool:
        """Return whether nothing told the merchant of a change to a payment after an end of it which it knew."""
        return any(self._is_missed(each.id) for each in state.pay_ins)

    def _are_newest(
        self, resources: Iterable[PayIn | Refund | Dispute], among: Collection[tuple[str, str, int]]
    ) -> bool:
        newest = {
            each.object_id: (each.object_id, each.type, each.created_at) for each in self._box.journal.events.entries
        }
        return all(newest[each.id] in among for each in resources if each.id in newest)

    def _is_told(self, object_id: str) -> bool:
        """Return whether a reply without a fault has told the merchant this identifier."""
        sought = f'"{object_id}"'.encode()
        return any(sought in entry.response_body for entry in self._box.journal.requests.entries if not entry.faults)

    def _is_missed(self, object_id: str) -> bool:
        events = [each for each in self._box.journal.events.entries if each.object_id == object_id]
        if len(events) <= 1 or events[-2].type not in _FINAL_EVENTS:
            return False
        return self._was_told(events[-2]) and not self._was_told(events[-1])

    def _was_told(self, event: Event) -> bool:
        return (event.object_id, event.type, event.created_at) in self._answers or any(
            entry.sequence > event.sequence and entry.method == "GET" and self._asks(entry, event)
            for entry in self._box.journal.requests.entries
        )

    def _asks(self, entry: RequestEntry, event: Event) -> bool:
        # A list of the order's payments, or of a payment's refunds, tells of all of them, however few of them are read.
        path, _, query = entry.target.partition("?")
        resource = self._box.ledger.find(event.object_id)
        parent = getattr(resource, "payin_id", None) or getattr(resource, "external_identifier", None)
        family = event.type.partition(".")[0]
        is_of_parent = path.endswith(f"/{family}") and parent in {value for _, value in parse_qsl(query)}
        return is_of_parent or f'"id":"{event.object_id}"'.encode() in entry.response_body

    def _is_held(self, family: Family, *, jobs_ran: bool) -> bool:
        shows = self._shows[family]
        return shows == "at once" or (shows == "after jobs" and jobs_ran)

    def _paid(self, state: ExpectedState) -> Answered | None:
        ids = {each.id for each in state.paid}
        found = [self._answers[fact] for fact in self._answers if fact[0] in ids and fact[1] == PAID_EVENT]
        return Answered(PAID_EVENT, found[-1]) if found else None

    def _knows(self, order: Order, state: ExpectedState) -> bool:
        # A click whose deposit is not made yet may be under way, and a request that met a trouble may have no reply.
        if order.disturbed or order.clicks > len(state.pay_ins):
            return False
        if order.refunded_elsewhere:  # the merchant may have to ask what such a refund is
            return False
        if rules.answers.met_a_fault(self._box, order, state):
            return False
        return all(self._knows_newest(each.id) for each in state.resources)

    def _knows_newest(self, object_id: str) -> bool:
        *earlier, newest = [each for each in self._box.journal.events.entries if each.object_id == object_id]
        if (newest.object_id, newest.type, newest.created_at) not in self._answers:
            return False
        # Which of two events with the same time is the later one is open, except that nothing follows a success.
        return newest.type == PAID_EVENT or _time_of(newest) not in map(_time_of, earlier)


def _time_of(event: Event) -> str:
    return str(json.loads(event.body)["created_at"])
