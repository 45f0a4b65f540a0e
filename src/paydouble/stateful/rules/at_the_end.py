"""Rules that hold in the end, when all faults are gone and nothing more happens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from paydouble.core.money import write_amount
from paydouble.sandbox import Sandbox
from paydouble.stateful import expected
from paydouble.stateful.expected import ExpectedState, Order, Promise
from paydouble.stateful.findings import Found, Rule
from paydouble.stateful.merchant import Merchant
from paydouble.stateful.rules.journal import is_refused, text_in_body
from paydouble.stateful.rules.refund_requests import refunds_asked_for
from paydouble.stateful.rules.shown import allowed_statuses, has_its_money, is_only_paid, of_balance, should_be
from paydouble.stateful.service import settles


def of_settled(merchant: Merchant, order: Order, status: str, state: ExpectedState) -> Iterator[Found]:
    """Yield what is wrong with the status and the balance of an order when nothing more will happen."""
    allowed = allowed_statuses(merchant, order, state)
    is_closed = status == "cancelled" and expected.is_given_back(state)
    if status not in allowed and not is_closed:
        ledger = f"; {should_be(order, state, allowed)}"
        ledger += ", and there is nothing that a person has to decide" if status == "review" else ""
        wrong = next((each for each in state.paid if each.settles_at is not None), None)
        if status == "paid" and wrong is not None:
            paid, asked = _money(wrong.amount, wrong.currency), _money(order.amount, order.currency)
            ledger = f", though {paid} was paid and {asked} was asked for"
        yield Rule.END, f"calls {order.id} {status} in the end{ledger}"
    if not expected.amount_differs(state):
        for text in of_balance(merchant, order, state):
            yield Rule.END, text


def of_debts(
    box: Sandbox, order: Order, status: str, state: ExpectedState, *, retries_by_itself: bool
) -> Iterator[Found]:
    """Yield the deposits and refunds of an order that are still missing when nothing more will happen."""
    name = order.id
    if order.deposit_due and not state.pay_ins and retries_by_itself:
        yield Rule.OWED, f"never made a deposit for {name}, though {order.deposit_due}"
    is_limited = order.limited and box.now >= order.limited_until
    if is_limited and not state.pay_ins and status == "pending" and retries_by_itself:
        yield Rule.OWED, f"calls {name} pending in the end and has made no deposit for it; long before, {order.limited}"
    yield from of_refunds_due(box, order, status, state)


def of_another_attempt(order: Order, state: ExpectedState) -> Iterator[Found]:
    """Yield that an order whose payment has ended without money could not be paid again."""
    if order.attempts_before is not None and len(state.pay_ins) <= order.attempts_before and not state.paid:
        ended = " and ".join(dict.fromkeys(each.status for each in state.pay_ins))
        why = f"its payment has ended as {ended}, and the customer has pressed the button again"
        yield Rule.OWED, f"never made another deposit for {order.id}, though {why}"


def of_fulfilment(merchant: Merchant, order: Order, status: str, state: ExpectedState) -> Iterator[Found]:
    """Yield that the goods of an order are missing when nothing more will happen, or a payment too many is kept."""
    name = order.id
    if expected.amount_differs(state):
        yield from _of_wrong_payments(order, state)
        return
    # Until a person decides. Who has given a part back on the provider's own pages may want the goods to stay.
    decides = status == "review" and (bool(state.disputes) or not order.was_shipped)
    may_wait = decides or order.waits_for_a_person
    may_wait |= bool(order.refunded_elsewhere) and not order.was_shipped
    if merchant.shipments(name) == 0 and has_its_money(order, state) and not may_wait:
        rest = "of which a part was given back" if state.refunds else "which is paid"
        rest += ", and whose dispute was won" if state.disputes else ""
        yield Rule.END, f"{'no longer fulfils' if order.was_shipped else 'never fulfilled'} {name}, {rest}"


def of_needed_effects(
    merchant: Merchant, needed: Collection[str], order: Order, status: str, state: ExpectedState
) -> Iterator[Found]:
    """Yield the effects that have not happened for an order that is paid when nothing more will happen."""
    if status != "paid" or not is_only_paid(order, state) or expected.amount_differs(state):
        return
    done = merchant.effects(order.id)
    for name in [needed] if isinstance(needed, str) else needed:
        if not done.get(name):
            yield Rule.END, f"never did {name!r} for {order.id}, which is paid"


def _of_wrong_payments(order: Order, state: ExpectedState) -> Iterator[Found]:
    kept = [each for each in state.paid if not (expected.is_returned(each, state) or each.id in order.paid_late)]
    if len(kept) > 1 and not (state.disputes or order.refunds_disturbed_to_the_end):
        told = f"charged {order.id} {len(kept)} times, since another amount was paid than was asked for"
        yield Rule.DEPOSITS, f"{told}, and keeps that as well"


def of_refunds_due(box: Sandbox, order: Order, status: str, state: ExpectedState) -> Iterator[Found]:
    """Yield the refunds of an order that a merchant has promised and not made."""
    # Money under dispute is not refunded, and of money that has gone back elsewhere there is nothing left.
    if state.disputes or (order.refunded_elsewhere and expected.is_given_back(state)):
        return
    made = Counter(each.amount for each in expected.own_refunds(order, state))
    limited = order.refunds_limited.items()
    waited = {
        each: Promise(f"{why}, which was over long before", 0) for each, (why, until) in limited if box.now >= until
    }
    for refund_id, (reason, since) in {**order.refunds_due, **waited}.items():
        if status == "review" and refund_id in order.refunds_interrupted:
            continue  # a person may decide whether it has been sent
        if _is_answered(box, order, refund_id, since):
            continue
        amount = order.refunds_requested[refund_id]
        made[amount] -= 1
        if made[amount] < 0:
            money = _money(amount, order.currency)
            yield Rule.OWED, f"never refunded {money} of {order.id}, though it took the request and {reason}"


def _is_answered(box: Sandbox, order: Order, refund_id: str, since: int) -> bool:
    """Return whether the service has refused a refund, which is an answer as well.

    Some refusals settle nothing, such as a 401. One of those from before the merchant promised the refund once more,
    at the position `since` of the journal, is no answer.
    """
    others = order.refunds_requested.keys() - {refund_id}
    answers = [entry for entry, _, _ in refunds_asked_for(box, [order], 0) if settles(entry.status)]
    answers += [entry for entry, _, _ in refunds_asked_for(box, [order], since) if is_refused(entry)]
    # One that names another refund says nothing about this one.
    return any(text_in_body(entry, "external_identifier") not in others for entry in answers)


def _money(amount: int, currency: str) -> str:
    return f"{write_amount(amount, currency)} {currency}"
