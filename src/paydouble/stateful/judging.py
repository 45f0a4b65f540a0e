"""What is judged while a play goes on: after each step, at each webhook, and around each call that may ask for refunds.

What holds only when everything has settled is in `in_the_end.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from paydouble.core.durations import UNITS_MS
from paydouble.inprocess import Webhook
from paydouble.payments.resources import Dispute
from paydouble.stateful import expected, rules
from paydouble.stateful.acknowledged import Acknowledged
from paydouble.stateful.debts import Debts
from paydouble.stateful.driver import Driver
from paydouble.stateful.expected import ExpectedState, Order
from paydouble.stateful.merchant import OPEN
from paydouble.stateful.policies import ACCEPTED_REFUND, DISPUTED_REFUND, PAID_IN_TIME, RECEIVED_PAYMENT

# More orders than a play otherwise has.
_CROWD: Final = 4
_SOON_MS: Final = UNITS_MS["m"]


class Judge:
    """Checks the rules that hold at any time of one play."""

    def __init__(self, driver: Driver, acknowledged: Acknowledged, debts: Debts, orders: Sequence[Order]) -> None:
        """Take the merchant's driver, what the merchant has acknowledged and owes, and the orders, which may grow."""
        self._driver = driver
        self._add = driver.add_findings
        self._box = driver.double.sandbox
        self._acknowledged = acknowledged
        self._debts = debts
        self._orders = orders
        self._seen = 0
        """How many requests have been judged."""
        self._jobs_ran_at = -_SOON_MS
        """When a wait has run the jobs, in milliseconds."""
        self.left_to_jobs = False
        """Whether work on a webhook was cut short. A merchant that has stored it may leave the rest to its jobs."""

    def judge_step(self) -> None:
        """Check the requests of a step that has been taken, and what the merchant shows after it."""
        box, orders, seen = self._box, self._orders, self._seen
        self._add(rules.requests.of_requests(box, seen))
        self._add(rules.requests.of_repeated_refusals(box, orders, seen))
        self._add(rules.requests.of_endless_refusals(box, orders, self._driver.service.lost, seen))
        self._add(rules.requests.of_declined_orders(box, orders, seen))
        self._add(rules.refund_requests.of_refund_targets(box, orders, seen))
        self._add(rules.refund_requests.of_excessive_refunds(box, orders, seen))
        self._add(rules.ledger.of_ledger(box, orders))
        for order in rules.answers.with_refused_refunds(box, orders, seen):
            order.refund_was_refused = True
        for order in rules.answers.refused_for_no_reason(box, orders, seen):
            order.was_wronged = True
        self._seen = box.journal.requests.total
        self.judge_view()

    def judge_view(self, orders: Sequence[Order] | None = None) -> None:
        """Check what the merchant shows of some orders, or of all."""
        with self._driver.looking():
            for order in self._orders if orders is None else orders:
                status = self._driver.shown.order_status(order.id)
                self._judge_order(order, status, expected.expected_state(self._box, order))
            self._add(rules.shown.of_own_rules(self._driver.shown))

    def _judge_order(self, order: Order, status: str, found: ExpectedState) -> None:
        shown, acknowledged, now = self._driver.shown, self._acknowledged, self._box.now
        self._add(rules.shown.of_view(shown, order, status, found))
        self._add(rules.shown.of_accepted_refund(self._box, order, status, found), ACCEPTED_REFUND)
        if acknowledged.has_taken_over(found.pay_ins):
            self._add(rules.shown.of_received_payment(order, status, found, now), RECEIVED_PAYMENT)
        expected.look(order, status, found, now)
        order.shipped = shown.shipments(order.id) or 0
        if acknowledged.has_taken_over(found.disputes):
            self._add(rules.shown.of_disputed_goods(order, found))
        self._add(rules.shown.of_sent_goods(order, found, now))
        order.was_shipped |= order.shipped > 0
        if order.is_held_to("goods held back") and not order.was_shipped:
            order.known_disputes = acknowledged.known_open_disputes(order, found)
        order.was_given_back = expected.is_given_back(found) and (
            not order.refunded_elsewhere or acknowledged.knows_refunds(order, found)
        )
        order.was_charged_back = expected.is_charged_back(found) and acknowledged.knows_disputes(found)

    def judge_webhook(self, webhook: Webhook, answer: int, outermost: bool) -> None:  # noqa: FBT001 - the driver's call
        """Check what the merchant shows after it has answered a webhook, within another call or `outermost`."""
        order = self.order_of(webhook)
        # Of a crowd the others are looked at after the step; each webhook would ask for all of them otherwise.
        self.judge_view([order] if order is not None and len(self._orders) > _CROWD else None)
        if order is None or not 200 <= answer < 300:  # noqa: PLR2004 - HTTP
            return
        self._acknowledged.note(order, webhook.delivery.event, answer)
        expected.note_received(order, expected.expected_state(self._box, order))
        if outermost and not self.left_to_jobs:
            self.judge_acknowledged(jobs_ran=False)

    def judge_acknowledged(self, *, jobs_ran: bool, asked_in_vain: bool = False) -> None:
        """Check that what the merchant has acknowledged has its effect: at once, or when its jobs have run.

        `asked_in_vain` is whether a job got no answer to a read.
        """
        # One that wanted to ask the service before it acted could not, while reads were disturbed.
        if not self._debts.reads_disturbed:
            with self._driver.looking():
                self._add(
                    self._acknowledged.findings(
                        self._driver.shown, self.readable(), jobs_ran=jobs_ran, asked_in_vain=asked_in_vain
                    )
                )

    def readable(self) -> list[Order]:
        """Return the orders of which the service can be asked."""
        return [order for order in self._orders if not order.is_unreadable]

    @contextmanager
    def paid_kept(self) -> Iterator[None]:
        """Check that a run of the jobs gives up no order whose payment has succeeded before.

        Only one that has succeeded soon after a run that left the order open: later its hold may have been over.
        """
        paid = [] if self._debts.reads_disturbed else [*self._open_and_paid()]
        yield
        self._jobs_ran_at = self._box.now
        with self._driver.looking():
            for order, state in paid:
                self._add(
                    rules.shown.of_given_up(order, self._driver.shown.order_status(order.id), state), PAID_IN_TIME
                )

    def _open_and_paid(self) -> Iterator[tuple[Order, ExpectedState]]:
        """Yield the orders that the merchant shows as open, though a payment of them has succeeded and can be read."""
        for order in self.readable():
            if order.status not in OPEN or order.disturbed:
                continue
            state = expected.expected_state(self._box, order)
            is_in_time = any(0 <= each.updated_at - self._jobs_ran_at <= _SOON_MS for each in state.paid)
            is_open = False
            with self._driver.looking():
                is_open = is_in_time and self._driver.shown.order_status(order.id) in OPEN
            if is_open:
                yield order, state

    @contextmanager
    def disputes_known(self) -> Iterator[None]:
        """Check that a call asks for no refund of money that is disputed, as far as the merchant knows before."""
        start, known = self._box.journal.requests.total, []
        for order in self._orders if self._box.ledger.count(Dispute) else ():
            state = expected.expected_state(self._box, order)
            held = expected.taken_by_disputes(state)
            if held and self._acknowledged.knows_disputes(state):
                known.append(rules.refund_requests.Disputed(order, expected.refundable(state), held))
        yield
        if known:
            self._add(rules.refund_requests.of_disputed_refunds(self._box, known, start), DISPUTED_REFUND)

    def is_behind(self, order: Order) -> bool:
        """Return whether the merchant shows something else of an order than what it has acknowledged all of."""
        state = expected.expected_state(self._box, order)
        if not self._acknowledged.has_taken_over(state.resources):
            return False
        differences = ["it shows nothing"]
        with self._driver.looking():
            looked_at = replace(order, status=self._driver.shown.order_status(order.id))
            differences = list(rules.shown.of_effects(self._driver.shown, looked_at, state))
        return bool(differences)

    def order_of(self, webhook: Webhook) -> Order | None:
        """Return the order that a webhook is about; None for one of another system."""
        found: Any = self._box.ledger.find(webhook.delivery.event.object_id)
        found = self._box.ledger.find(getattr(found, "payin_id", "")) or found
        named = getattr(found, "external_identifier", None)
        return next((order for order in self._orders if order.owns(named)), None)
