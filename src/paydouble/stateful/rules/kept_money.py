"""Rules for money that came twice or for an order that was cancelled, and for money of a dispute that was won."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from paydouble.core.durations import UNITS_MS
from paydouble.core.money import write_amount
from paydouble.sandbox import Sandbox
from paydouble.stateful import expected
from paydouble.stateful.expected import ExpectedState, Order
from paydouble.stateful.findings import Found, Rule
from paydouble.stateful.merchant import Merchant
from paydouble.stateful.rules.shown import has_its_money


def of_kept_money(orders: Sequence[tuple[Order, str, ExpectedState]]) -> Iterator[Found]:
    """Yield the orders, given with their statuses, of which a merchant keeps what it gave back of another one.

    To keep what was paid twice, or what is left of a cancelled order, is a policy, and a merchant that gives it back
    once has another.
    """
    given = [order for order, _, state in orders if _is_paid_twice(order, state) and expected.own_refunds(order, state)]
    for order, _, state in orders if given else ():
        if not state.refunds and _is_paid_twice(order, state):
            yield Rule.END, f"{_twice_kept(order, state)}, though it gave back what was paid twice for {given[0].id}"
    given = [order for order, _, state in orders if _is_given_back(order, state)]
    for order, status, state in orders:
        alike = [each for each in given if each.was_shipped == order.was_shipped]
        if alike and _is_rest_kept(order, status, state):
            yield Rule.END, f"{_rest_kept(order, state)}, though it gave back what was left of {alike[0].id}"
    yield from _of_orders_taken_up(orders)


def _of_orders_taken_up(orders: Sequence[tuple[Order, str, ExpectedState]]) -> Iterator[Found]:
    """Yield the orders that are taken up again, though the money of the first one went back for the same reason.

    Both were cancelled before their money came. The first one's went back before the other one was paid for, so nobody
    else had what it had ordered.
    """
    if not orders:
        return
    (first, _, its), *others = orders
    unasked = len(expected.own_refunds(first, its)) > len(first.refunds_requested)
    if not (_was_cancelled_unpaid(first, its) and _is_soon(first, its) and unasked and expected.is_given_back(its)):
        return
    went_back_at = min(each.created_at for each in its.refunds)
    for order, status, state in others:
        is_alike = _is_taken_up(order, status, state) and _is_soon(order, state)
        if is_alike and went_back_at < min(each.created_at for each in state.pay_ins):
            yield Rule.END, f"{_taken_up(order)}, though it gave back what came for {first.id}"


def _was_cancelled_unpaid(order: Order, state: ExpectedState) -> bool:
    """Return whether money has come for an order of whose cancellation the customer had been told."""
    is_excused = order.refunds_disturbed_to_the_end or expected.amount_differs(state)
    return bool(order.cancellations and state.paid) and not (order.was_cancelled_paid or is_excused)


def _is_soon(order: Order, state: ExpectedState) -> bool:
    """Return whether an order's money came soon, and nobody disputes it: what becomes of it may depend on both."""
    return not (order.paid_late or state.disputes)


def _is_taken_up(order: Order, status: str, state: ExpectedState) -> bool:
    return _was_cancelled_unpaid(order, state) and status == "paid" and not state.refunds


def _taken_up(order: Order) -> str:
    return f"takes {order.id} up again, which was cancelled before its money came"


def of_double_payment(order: Order, status: str, state: ExpectedState) -> Iterator[Found]:
    """Yield what was paid twice for an order when nothing more will happen, and neither goes back nor is in review."""
    has_failed = any(each.status == "failed" for each in state.refunds)
    if status == "paid" and not has_failed and _is_paid_twice(order, state) and _surplus(order, state) > 0:
        yield Rule.END, f"{_twice_kept(order, state)}; it neither goes back in the end nor is the order in review"


def of_cancelled_order(box: Sandbox, order: Order, status: str, state: ExpectedState) -> Iterator[Found]:
    """Yield what is left of an order that was cancelled after its payment, when nothing more will happen.

    Money that is disputed, or was charged back, cannot go back. A refund that failed may be asked for again within a
    day, and who has requested one hears of its failure.
    """
    failed = [each for each in state.refunds if each.status == "failed"]
    is_recent = any(each.updated_at >= box.now - UNITS_MS["d"] for each in failed)
    may_be_asked = is_recent or bool(failed and order.refunds_requested)
    if _is_rest_left(order, status, state) and not expected.taken_by_disputes(state) and not may_be_asked:
        known = f"{_rest_kept(order, state)}{', and whose refund failed' if failed else ''}"
        yield Rule.END, f"{known}; it neither goes back in the end nor is the order in review"


def of_order_taken_up(order: Order, status: str, state: ExpectedState) -> Iterator[Found]:
    """Yield an order that was cancelled before its money came, and is paid for all the same in the end."""
    if _is_taken_up(order, status, state):
        yield Rule.END, _taken_up(order)


def of_won_dispute(merchant: Merchant, order: Order, status: str, state: ExpectedState) -> Iterator[Found]:
    """Yield an order that is still in review when nothing more will happen, though its disputes were won.

    Only one whose goods were not sent, or were taken back: with them sent there is nothing left to decide. What the
    service has refused may be looked at for longer than the dispute.
    """
    is_held = status == "review" and merchant.shipments(order.id) == 0
    is_held &= not order.refund_was_refused
    is_won = bool(state.disputes) and has_its_money(order, state)
    if is_won and is_held and not state.refunds and not expected.amount_differs(state):
        yield Rule.END, f"leaves {order.id} in review in the end, though its dispute was won and its money is there"


def _twice_kept(order: Order, state: ExpectedState) -> str:
    surplus = write_amount(_surplus(order, state), order.currency)
    times = "twice" if len(state.paid) == 2 else f"{len(state.paid)} times"  # noqa: PLR2004 - as it says
    return f"keeps {surplus} {order.currency} of {order.id}, which was paid {times}"


def _surplus(order: Order, state: ExpectedState) -> int:
    """Return what is there beyond the price of an order, and is not on its way back."""
    back = sum(each.amount for each in state.refunds if each.status != "failed")
    return sum(each.amount for each in state.paid) - back - order.amount


def _is_rest_kept(order: Order, status: str, state: ExpectedState) -> bool:
    """Return whether a merchant keeps what is left, and has met nothing but the cancellation."""
    has_failed = any(each.status == "failed" for each in state.refunds)
    return _is_rest_left(order, status, state) and not (state.disputes or has_failed)


def _is_rest_left(order: Order, status: str, state: ExpectedState) -> bool:
    """Return whether money of an order that was cancelled after its payment is there, and nobody looks at it."""
    is_plain = not (order.refunds_disturbed_to_the_end or expected.amount_differs(state))
    return order.was_cancelled_paid and is_plain and expected.refundable(state) > 0 and status != "review"


def _is_given_back(order: Order, state: ExpectedState) -> bool:
    """Return whether all that was left of a cancelled order went back, without a request for it."""
    unasked = len(expected.own_refunds(order, state)) > len(order.refunds_requested)
    return order.was_cancelled_paid and unasked and not state.disputes and expected.refundable(state) == 0


def _rest_kept(order: Order, state: ExpectedState) -> str:
    money = f"{write_amount(expected.refundable(state), order.currency)} {order.currency}"
    return f"keeps {money} of {order.id}, which was cancelled after its payment"


def _is_paid_twice(order: Order, state: ExpectedState) -> bool:
    has_other_refunds = order.refunds_requested or order.refunded_elsewhere
    is_plain = not (has_other_refunds or order.is_cancelled or order.refunds_disturbed_to_the_end)
    is_twice = sum(each.amount for each in state.paid) > order.amount
    return is_plain and is_twice and not state.disputes and not expected.amount_differs(state)
