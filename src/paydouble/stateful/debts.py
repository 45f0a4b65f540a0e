"""What a merchant owes in the end of a play, and what excuses it.

A click owes a deposit, and a refund that the merchant took owes a refund, when what disturbed the request was short
enough to be outlasted by a client that tries as often as the contract recommends (section 7). Each debt carries its
reason, for the report. It is asked for in the end (`rules/at_the_end.py`).

Nothing is owed where a correct merchant may have stopped: the trouble lasts to the end, the service has refused the
request for good, also at a later click, a stored error answers each retry, reads met a trouble, the customer has
cancelled the order, or no job ran for an hour after a trouble, so that the merchant may have *given up*. A debt that
such a thing meets is dropped. Nor is a deposit owed where the merchant declines a click before it asks the service, and
another order of the play may have taken what it sells, the order is some minutes old and what was held for it may be
free again, or the merchant may sell nothing of that price.

An order is *disturbed* once a request about it has met a trouble: the merchant may not know which payment or refund
belongs to it, and is not held to what it cannot know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from paydouble.core.durations import UNITS_MS
from paydouble.faults.armed import Armed
from paydouble.payments.lifecycle import UNSUCCESSFUL
from paydouble.sandbox import Sandbox
from paydouble.stateful import expected, rules
from paydouble.stateful.disturbance import Disturbance, Limit
from paydouble.stateful.expected import Order, Promise
from paydouble.stateful.findings import Found, Rule
from paydouble.stateful.interruptions import LOSES_NOTES
from paydouble.stateful.left_to_jobs import LeftToJobs
from paydouble.stateful.shared_limit import end_of_limit
from paydouble.stateful.troubles import TO_THE_END, Trouble

_HOUR: Final = UNITS_MS["h"]
_DAY: Final = UNITS_MS["d"]
_TOO_MANY: Final = 429
_LONG_AFTER_A_LIMIT: Final = UNITS_MS["m"] * 30
# One that jobs have to notice first is sent in their next run.
_RUNS_AFTER_A_LIMIT: Final = 2
# What a merchant shows for an order of which it knows that its attempts have ended.
_MAY_BE_PAID_AGAIN: Final = frozenset({"unpaid", *UNSUCCESSFUL})


class Click(NamedTuple):
    """A click that is going on."""

    order: Order
    disturbance: Disturbance
    is_first: bool
    """Whether it is the order's first, and its payment will not take another course."""
    was_disturbed: bool
    was_refused: bool
    limit: Limit | None
    """What a 429 asks for; None when that is not known, or there is none."""
    attempts: int
    """How many payments the play's only order had before, which have all ended without money, as the merchant knows; 0
    when that is not so."""


class Ways(NamedTuple):
    """The ways of a merchant that decide what it owes."""

    retries_by_itself: bool
    deposits_are_alike: bool
    """Whether a trouble of one order's deposits meets those of others too, since nobody knows the identifier that the
    merchant will send."""
    waits_in_play_time: bool
    """Whether its jobs notice that the play's time passes; else nothing is known of what comes after a wait."""
    reconciles: bool
    """Whether it asks the service about payments, so that it can find out that one was never made."""


class Debts:
    """What a merchant owes for the orders of one play."""

    def __init__(self, box: Sandbox, orders: list[Order], left: LeftToJobs, ways: Ways) -> None:
        """Start with nothing owed; `orders` are those of the play, which grow."""
        self._box = box
        self._orders = orders
        self._left = left
        self._ways = ways
        self.reads_disturbed = False
        """Whether a read has met a trouble, so that the merchant may not have learnt what it asked for."""
        self._waiting_for_refunds: list[Armed] = []
        """The faults that wait for any refund, also for one that is asked for."""
        self._refund_limit = ""
        """The 429 that waits for any refund, in words, where no other trouble does."""
        self._refunds_disturbed_to_the_end = False
        self._deposits_disturbed_to_the_end = False

    @property
    def own_refunds_disturbed(self) -> bool:
        """Return whether a trouble waits for any refund, also for one that is asked for."""
        return any(each.is_active(self._box.now) for each in self._waiting_for_refunds)

    def placed(self, order: Order) -> None:
        """Note a new order: a trouble that waits for any deposit or refund may meet its own too."""
        order.refunds_disturbed_to_the_end |= self._refunds_disturbed_to_the_end
        if self._deposits_disturbed_to_the_end:
            self._disturb_to_the_end(order)

    # Deposits

    def allow_deposit(self, order: Order) -> None:
        """Note that the customer clicks: where nothing is paid or under way, one more deposit is allowed."""
        self._left.discard(order)
        order.declined_after, order.clicked_plainly = None, False
        # Of money that has just come for a payment that had ended, a merchant that works on events in a job may not
        # know yet.
        state = expected.expected_state(self._box, order)
        is_news = order.late_money_is_news and order.status in _MAY_BE_PAID_AGAIN
        if all(
            each.status in UNSUCCESSFUL or (is_news and each.id in order.paid_late) or expected.is_wrong(each)
            for each in state.pay_ins
        ):
            order.clicks = len(state.pay_ins) + 1

    def begin_click(self, order: Order, disturbance: Disturbance, *, is_usual: bool) -> Click:
        """Note that a click begins; `is_usual` is whether its payment takes the first scenario."""
        click = Click(
            order,
            disturbance,
            is_first=not order.was_clicked and is_usual,
            was_disturbed=order.disturbed,
            was_refused=rules.answers.was_refused(self._box, order),
            # A trouble of an earlier click that lasts to the end comes first, and asks for another pause.
            limit=None if order.disturbed_to_the_end else disturbance.limit("deposit-creation"),
            attempts=self._ended_attempts(order),
        )
        order.disturbed |= not disturbance.is_none
        return click

    def _ended_attempts(self, order: Order) -> int:
        pay_ins = expected.expected_state(self._box, order).pay_ins
        has_ended = order.status in _MAY_BE_PAID_AGAIN and all(each.status in UNSUCCESSFUL for each in pay_ins)
        return len(pay_ins) if has_ended and len(self._orders) == 1 else 0

    def end_click(self, click: Click, *, was_declined: bool, was_met: bool, was_followed: bool) -> None:
        """Note what a click owes, when its calls are over.

        `was_declined` is whether the merchant told the customer no before it asked the service. That excuses it where
        the play has another order, which may have what was left in stock, where a hold may be over, and where the order
        may be too expensive. `was_met` is
        whether a request met the click's trouble, and `was_followed` whether a further one met what comes then.
        """
        order, disturbance = click.order, click.disturbance
        order.clicked_at, order.waits_after_a_limit = self._box.now, 0
        is_in_vain = was_declined or self.reads_disturbed or order.disturbed_to_the_end
        order.clicked_plainly = disturbance.is_none and self._ways.reconciles and not is_in_vain
        met = disturbance.met
        if disturbance.lasts_to_the_end:
            self._disturb_deposits_to_the_end(order)
        order.key_has_stored_error |= disturbance.trouble == "stored 500"
        is_late = self._box.now - order.placed_at >= expected.SHORTEST_HOLD
        may_be_gone = was_declined and (len(self._orders) > 1 or is_late or order.may_be_too_expensive)
        may_be_closed = (
            may_be_gone or order.given_up or click.was_refused or order.disturbed_to_the_end or self.reads_disturbed
        )
        # Both clicks may have sent the same request, so what an earlier one has left open is over too.
        if (was_met and met.is_final) or (was_followed and any(each.is_final for each in disturbance.following)):
            order.deposit_due = None
        if not (may_be_closed or order.is_cancelled) and _leads_to_a_deposit(disturbance, order):
            order.deposit_due = f"the customer has pressed the button and {_outcome(order, disturbance)}"
        if click.attempts and disturbance.is_none and not (is_late or may_be_closed or order.is_cancelled):
            order.attempts_before = click.attempts
        met_one = disturbance.meanwhile == disturbance.then == "none" and not disturbance.lasts_to_the_end
        can_be_left = met_one and self._ways.waits_in_play_time
        if can_be_left and disturbance.trouble != "none" and click.is_first and not may_be_gone:
            self._left.add(self._box, order, (disturbance.trouble, disturbance.lasts))
        is_alone = can_be_left and not (may_be_closed or click.was_disturbed)
        order.limited = met.description if is_alone and met.retry_after_seconds is not None else None
        # One that gives up after a few tries may wait until its key is no longer valid before it says so.
        order.limited_until = 0 if disturbance.is_short else self._box.now + _DAY

    def _disturb_deposits_to_the_end(self, order: Order) -> None:
        """Note that a trouble of an order's deposits lasts to the end of the play."""
        self._disturb_to_the_end(order)
        if self._ways.deposits_are_alike:
            self._deposits_disturbed_to_the_end = True
            for each in self._orders:
                self._disturb_to_the_end(each)
                self._owe_no_deposit(each)

    def _owe_no_deposit(self, order: Order) -> None:
        order.deposit_due = order.limited = order.attempts_before = None
        self._left.discard(order)

    @staticmethod
    def _disturb_to_the_end(order: Order) -> None:
        order.disturbed = order.disturbed_to_the_end = True

    def after_a_limit(self) -> Iterator[Found]:
        """Yield what is wrong after a run of the jobs with deposits that a 429 to another request has kept waiting.

        A limit is over at its reset. A merchant that misreads the reset may ask for nothing for an hour or for years.
        """
        ends = [end_of_limit(entry) for entry in self._box.journal.requests.entries if entry.status == _TOO_MANY]
        # One that announces no end, or one that was past, leaves the pause to the merchant.
        announced = [end for end in ends if end is not None]
        if not announced or len(announced) < len(ends):
            return
        for order in self._orders:
            waits = order.deposit_due and not (order.disturbed or expected.expected_state(self._box, order).pay_ins)
            if not waits or self._box.now - max(*announced, order.clicked_at) < _LONG_AFTER_A_LIMIT:
                continue
            order.waits_after_a_limit += 1
            if order.waits_after_a_limit == _RUNS_AFTER_A_LIMIT:
                minutes = (self._box.now - order.clicked_at) // UNITS_MS["m"]
                late = f"has asked for no deposit for {order.id} {minutes} minutes after the click of its customer"
                yield Rule.OWED, f"{late}; the reset of a 429 to another request is long over"

    # Refunds

    def disturb_own_refunds(self, armed: Iterable[Armed], trouble: Trouble, lasts: int | str) -> None:
        """Note a trouble that waits for any refund: also for one that is asked for, and of an order placed later."""
        is_alone = not (self._waiting_for_refunds or self._refunds_disturbed_to_the_end)
        is_limit = trouble.retry_after_seconds is not None and lasts != TO_THE_END
        is_waited_for = is_limit and self._ways.waits_in_play_time
        self._refund_limit = trouble.description if is_alone and is_waited_for else ""
        self._waiting_for_refunds += armed
        self._refunds_disturbed_to_the_end |= lasts == TO_THE_END
        self._let_refunds_meet_it()

    def _let_refunds_meet_it(self) -> None:
        for order in self._orders:
            self.placed(order)
            # One that was asked for and is left to a job may meet it.
            self._owe_no_refund(order)

    @staticmethod
    def _owe_no_refund(order: Order) -> None:
        order.refunds_due.clear()
        order.refunds_interrupted.clear()
        order.refunds_limited.clear()
        order.refunds_given_up.update(order.refunds_requested)

    def disturb_refund(self, order: Order, disturbance: Disturbance) -> Limit | None:
        """Note that a refund is requested; return what a 429 asks for.

        A trouble of an earlier refund that lasts to the end comes first, and asks for another pause. So does one that
        waits for any refund. None when that is not known, or there is none.
        """
        order.disturbed |= not disturbance.is_none or self.own_refunds_disturbed
        is_met_before = order.refunds_disturbed_to_the_end or self.own_refunds_disturbed
        return None if is_met_before else disturbance.limit("refund-creation")

    def end_refund(self, disturbance: Disturbance) -> None:
        """Note that the calls of a refund are over: a trouble that lasts to the end meets the refunds of all orders."""
        if disturbance.lasts_to_the_end:
            self._refunds_disturbed_to_the_end = True
            self._let_refunds_meet_it()

    def owe_refund(self, order: Order, refund_id: str, disturbance: Disturbance, since: int) -> None:
        """Note that the merchant took a refund that can be made: it has to be, unless its trouble excuses it.

        `since` is as in `Promise`.
        """
        # A refund that was taken is a promise, so a job waits for a 429's reset where a customer would click again.
        met = disturbance.met
        gets_through = met.gets_through or met.retry_after_seconds is not None
        by_itself = disturbance.trouble == "none" or (gets_through and self._ways.retries_by_itself)
        if not by_itself or order.refunds_disturbed_to_the_end or refund_id in order.refunds_given_up:
            return
        if not self.own_refunds_disturbed:
            if disturbance.is_short:
                reason = _outcome(order, disturbance)
                if disturbance.meanwhile != "none":
                    reason = "its process was killed while a job sent it"
                    order.refunds_interrupted.add(refund_id)
                order.refunds_due[refund_id] = Promise(reason, since)
        elif self._refund_limit and disturbance.is_none and self._ways.retries_by_itself:
            # The tries after which a client may give up are those of errors, and a 429 is none (contract, section 7).
            order.refunds_limited[refund_id] = self._refund_limit, self._box.now + _DAY

    # What excuses a merchant

    def cancel(self, order: Order) -> None:
        """Note that the customer cancels an order."""
        order.is_cancelled = order.disturbed = True
        self._owe_no_deposit(order)

    def neglect(self, milliseconds: int) -> None:
        """Note that no job runs for a time."""
        # After hours without a job an attempt whose outcome was unknown may be given up, and a key be too old.
        if milliseconds < _HOUR:
            return
        # A limit is the whole business's, so the requests of other orders wait as well.
        was_limited = any(entry.status == _TOO_MANY for entry in self._box.journal.requests.entries)
        for order in self._orders:
            may_wait = was_limited and not expected.expected_state(self._box, order).pay_ins
            order.given_up |= order.disturbed or may_wait
            order.limited = None
            if order.given_up:
                order.deposit_due = None
                self._owe_no_refund(order)


def _leads_to_a_deposit(disturbance: Disturbance, order: Order) -> bool:
    may_be_forgotten = disturbance.meanwhile in LOSES_NOTES or order.key_has_stored_error
    gets_through = disturbance.trouble == "none" or disturbance.met.gets_through
    return gets_through and disturbance.is_short and not may_be_forgotten


def _outcome(order: Order, disturbance: Disturbance) -> str:
    """Return what became of a request, for a sentence; an earlier request may have met a trouble."""
    if disturbance.met.description:
        return disturbance.met.description
    return "this request got through" if order.disturbed else "nothing went wrong"
