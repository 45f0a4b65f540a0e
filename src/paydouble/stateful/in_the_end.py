"""What holds for an order when everything has settled: which rules apply then, and under which policies.

A merchant is held to what it can know: what it has acknowledged, and what it reads. The contract promises events, and
shows no way to read refunds and disputes. What is a matter of policy is told as that, so that a merchant that has
another one can accept it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from paydouble.api.schemas import DisputeView, RefundView
from paydouble.payments.resources import Dispute, Refund
from paydouble.stateful import rules
from paydouble.stateful.acknowledged import Acknowledged
from paydouble.stateful.driver import Driver
from paydouble.stateful.expected import ExpectedState, Order
from paydouble.stateful.findings import Rule
from paydouble.stateful.policies import (
    ANOTHER_ATTEMPT,
    CANCELLED_ORDER,
    DOUBLE_PAYMENT,
    LATE_FAILURE,
    LATE_MONEY,
    LOST_EVENTS,
    TAKEN_UP,
    WON_DISPUTE,
)

_NEVER_ASKED: Final = (
    "; it acknowledged no event of the latest change, and asked the service nothing (for a shop that never asks,"
    " set reconciles to false)"
)
_DID_NOT_ASK: Final = (
    "; in the end its jobs ran {times} times, up to an hour apart, and asked the service nothing (a shop that does it"
    " less often needs a shorter interval in the test)"
)
_CLOCK_STOOD_STILL: Final = (
    "; its clock did not move meanwhile, since it is not set (set_time) and does not ask for the time at clock_url"
)
_ONLY_OTHERS: Final = "; of the reads only those about {orders} are disturbed"
_REFUND_READS: Final = rules.reads.Reads.of(RefundView)
_DISPUTE_READS: Final = rules.reads.Reads.of(DisputeView)


class InTheEnd:
    """Judges the orders of one play."""

    def __init__(self, driver: Driver, acknowledged: Acknowledged, orders: Sequence[Order]) -> None:
        """Take the merchant's driver, what the merchant has acknowledged, and the orders, which may still grow."""
        self._driver = driver
        self._add = driver.add_findings
        self._box = driver.double.sandbox
        self._acknowledged = acknowledged
        self._orders = orders
        self.policy_of_others: str | None = None
        """The policy of what is missing where nothing can be read about some orders."""

    def judge(self, order: Order, status: str, found: ExpectedState, not_told: str) -> bool:
        """Check what holds in the end for an order; returns whether the merchant has to know all of it.

        `not_told` says that the merchant has asked for nothing.
        """
        # Where the service itself breaks the contract, a person may have to find out all that is to be known.
        if order.is_unreadable or (order.was_wronged and status == "review"):
            return False
        merchant, has_heard = self._driver.merchant, self._acknowledged.has_heard_of
        alone, has_heard_all = merchant.retries_by_itself, has_heard(found.resources)
        order.refunds_with_stored_error = rules.refund_requests.with_stored_error(self._box, order)
        order.refund_is_untold = not self._acknowledged.has_taken_over(found.refunds)
        with self._driver.looking():
            shown = self._driver.shown
            self._add(rules.refusals.of_refusals(order, found))
            is_excused = self._acknowledged.missed_a_refund(order, found)
            if is_excused or not (merchant.reconciles or has_heard_all):
                return False
            was_told = self._acknowledged.has_taken_over(found.resources)
            hint, policy = ("" if was_told else not_told) or self._unread(), self.policy_of_others
            ended = chain(
                rules.at_the_end.of_settled(shown, order, status, found),
                rules.at_the_end.of_fulfilment(shown, order, status, found),
                rules.at_the_end.of_needed_effects(shown, merchant.needed_effects, order, status, found),
            )
            # One that knows an end has no reason to ask again, since the contract promises an event.
            is_missed = {
                LATE_FAILURE: self._acknowledged.missed_late_failure(found),
                LATE_MONEY: self._acknowledged.missed_late_money(found),
            }
            missed = [promise for promise in is_missed if is_missed[promise]]
            if missed:
                # What is wrong because of both cannot be told apart.
                if policy is None and len(missed) == 1:
                    self._add(_with(hint, ended), missed[0])
                return False
            owed = rules.at_the_end.of_debts(self._box, order, status, found, retries_by_itself=alone)
            self._add(_with(hint, owed), policy)
            if not self._can_know(found.refunds, _REFUND_READS) or not self._can_know(found.disputes, _DISPUTE_READS):
                if policy is None:
                    self._add(_with(hint, ended), LOST_EVENTS)
                return False
            self._add(_with(hint, ended), policy)
            self._add(_with(hint, rules.kept_money.of_won_dispute(shown, order, status, found)), WON_DISPUTE)
            self._add(rules.kept_money.of_order_taken_up(order, status, found), TAKEN_UP)
            self._add(rules.at_the_end.of_another_attempt(order, found), ANOTHER_ATTEMPT)
            if alone:
                self._add(rules.kept_money.of_double_payment(order, status, found), DOUBLE_PAYMENT)
                self._add(rules.kept_money.of_cancelled_order(self._box, order, status, found), CANCELLED_ORDER)
        return True

    def not_told(self, times: int) -> str:
        """Return that the merchant has asked the service nothing in the end, in words; its jobs ran so often."""
        reads = any(entry.method == "GET" for entry in self._box.journal.requests.entries)
        asked = _DID_NOT_ASK.format(times=times) if reads else _NEVER_ASKED
        return asked if self._driver.lives_through_days else f"{asked}{_CLOCK_STOOD_STILL}"

    def _unread(self) -> str:
        """Return of which orders nothing can be read, in words; empty when there are none."""
        broken = " or ".join(order.id for order in self._orders if order.is_unreadable)
        return _ONLY_OTHERS.format(orders=broken) if broken else ""

    def _can_know(self, resources: Collection[Refund | Dispute], reads: rules.reads.Reads) -> bool:
        """Return whether the merchant has acknowledged the newest event of each of these, or reads such objects.

        The contract promises events and shows no way to read refunds and disputes, so a merchant that never does need
        not know of what no event has told it. Nor need one that reads an object only when an event of it has come.
        """
        if self._acknowledged.has_taken_over(resources) or rules.reads.has_lists(self._box, reads):
            return True
        knows_ids = all(self._acknowledged.has_named(each.id) for each in resources)
        return knows_ids and rules.reads.has_unasked(self._box, reads)


def _with(hint: str, found: Iterable[tuple[Rule, str]]) -> Iterator[tuple[Rule, str]]:
    return ((rule, text + hint) for rule, text in found)
