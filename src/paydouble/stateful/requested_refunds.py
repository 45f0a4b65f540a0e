"""Whether a merchant may refuse a refund that is requested of it, and whether it may take it.

The contract does not say which refunds a merchant has to offer. So a merchant is compared with itself: what it took
for one order, it should not refuse for another one in the same case, nor for the same order when as much is left.
Where it may not know what has happened, nothing is compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from decimal import Decimal
from typing import NamedTuple

from paydouble.core.money import MINOR_DIGITS
from paydouble.sandbox import Sandbox
from paydouble.stateful import expected, rules
from paydouble.stateful.acknowledged import Acknowledged
from paydouble.stateful.debts import Debts
from paydouble.stateful.disturbance import Disturbance
from paydouble.stateful.expected import ExpectedState, Order
from paydouble.stateful.findings import Found
from paydouble.stateful.interruptions import Act


class RequestedRefund(NamedTuple):
    """A refund that is requested of the merchant, with what was known before."""

    order: Order
    refund_id: str
    amount: int
    """In minor units."""
    before: ExpectedState
    rest: int
    """What could be refunded, in minor units."""
    is_possible: bool
    """Whether it can be made, as far as the ledger says and the merchant shows."""
    case: Hashable
    """What makes two refunds the same; None where the merchant may not know what has happened."""
    knows_rest: bool
    """Whether the merchant knows what is left, and this refund is a new one."""
    since: int
    """As in `expected.Promise`."""

    @property
    def money(self) -> Decimal:
        """Return the amount as the merchant is given it."""
        return Decimal(self.amount).scaleb(-MINOR_DIGITS[self.order.currency])


class RequestedRefunds:
    """The refunds that were requested of a merchant in one play."""

    def __init__(self, box: Sandbox, acknowledged: Acknowledged, debts: Debts) -> None:
        """Start with none."""
        self._box = box
        self._acknowledged = acknowledged
        self._debts = debts
        self._taken: dict[Hashable, str] = {}
        """By case, the order of which the merchant took a refund first."""

    def request(self, order: Order, refund_id: str) -> RequestedRefund:
        """Return what is known of a refund before the merchant is called."""
        state = expected.expected_state(self._box, order)
        amount = order.refunds_requested[refund_id]
        return RequestedRefund(
            order,
            refund_id,
            amount,
            state,
            rest=expected.refundable(state),
            is_possible=self._is_possible(order, refund_id, state),
            case=self._case(order, amount, state),
            knows_rest=self._knows_rest(order, refund_id, state),
            since=self._box.journal.requests.total,
        )

    def take(self, asked: RequestedRefund, disturbance: Disturbance) -> None:
        """Note that the merchant took a refund."""
        order = asked.order
        order.refund_ids_taken.add(asked.refund_id)
        if asked.is_possible:
            order.refunds_taken.append((asked.rest, asked.amount))
            # A process that was killed has taken it before: the kill came in a job.
            was_killed = disturbance.trouble == "none" and disturbance.act is Act.KILL
            if was_killed or disturbance.meanwhile == "none":
                self._debts.owe_refund(order, asked.refund_id, disturbance, asked.since)
        if asked.case is not None and self._is_plain(disturbance):
            self._taken.setdefault(asked.case, order.id)

    def is_too_much(self, asked: RequestedRefund, disturbance: Disturbance) -> bool:
        """Return whether the merchant, which took it or left it to the service, knew that less is left."""
        return self._is_plain(disturbance) and asked.knows_rest and asked.amount > asked.rest

    def refuse(self, asked: RequestedRefund, disturbance: Disturbance) -> Iterator[Found]:
        """Note that the merchant refused a refund; yield what is wrong with that."""
        order = asked.order
        # A trouble of another order's refund may have met this one's as well.
        if asked.is_possible and not (order.disturbed or rules.answers.met_a_fault(self._box, order, asked.before)):
            order.refusals += rules.refusals.of_refused_refund(order, asked.before, asked.amount, asked.rest)
        if asked.case in self._taken and self._is_plain(disturbance):
            state = expected.expected_state(self._box, order)
            yield rules.refusals.of_unequal_refusal(order, state, asked.amount, self._taken[asked.case])

    def _is_plain(self, disturbance: Disturbance) -> bool:
        is_alone = disturbance.trouble == disturbance.meanwhile == "none"
        return is_alone and not self._debts.own_refunds_disturbed

    def _is_possible(self, order: Order, refund_id: str, state: ExpectedState) -> bool:
        # Asked for once more, one that has failed may be over: the merchant says so, or makes it under another key.
        failed = {each.amount for each in state.refunds if each.status == "failed"}
        if refund_id in order.refund_ids_taken and order.refunds_requested[refund_id] in failed:
            return False
        wanted = Counter(order.refunds_requested[each] for each in {refund_id, *order.refunds_due})
        # Of those that were taken, one that has failed takes no money any more.
        taken = Counter(each.amount for each in state.refunds if each.status != "failed")
        taken += wanted - Counter(each.amount for each in expected.own_refunds(order, state))
        return (
            len(state.paid) == 1
            and not (state.disputes or self._debts.reads_disturbed)
            and self._is_usual(order, state)
            and order.status in {"paid", "partly_refunded"}
            and sum(taken.elements()) <= order.amount
        )

    def _case(self, order: Order, amount: int, state: ExpectedState) -> Hashable:
        """Return what makes two refunds the same; None where the merchant may not know what has happened.

        A policy may forbid a refund, so a merchant is compared with what it did in the same case: where nothing was
        given back and nothing is disputed, or where all disputes are won.
        """
        is_known = bool(state.paid) and self._acknowledged.heard_of(state) == order.worked_off
        if not (is_known and not self._debts.reads_disturbed and self._is_usual(order, state)):
            return None
        if order.status not in {"paid", "partly_refunded"}:
            return None
        price = order.amount, order.currency, amount
        if state.disputes:
            is_won = all(each.status == "won" for each in state.disputes)
            numbers = len(state.pay_ins), len(state.refunds), len(state.disputes)
            return (*price, *numbers) if is_won and not order.disturbed else None
        return price if len(state.paid) == 1 and not (state.refunds or order.refund_calls) else None

    @staticmethod
    def _is_usual(order: Order, state: ExpectedState) -> bool:
        is_unusual = order.paid_late or order.is_cancelled or order.is_unreadable
        return not (is_unusual or expected.amount_differs(state))

    def _knows_rest(self, order: Order, refund_id: str, state: ExpectedState) -> bool:
        if refund_id in order.refunds_asked:
            return False
        if order.disturbed:
            return rules.refund_requests.knows_each_refund(self._box, order, state)
        return self._acknowledged.has_worked_on(order, state)
