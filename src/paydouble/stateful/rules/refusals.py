"""Rules for what the merchant refuses to do: a deposit, a refund that it took for another order."""

from __future__ import annotations

from collections.abc import Iterator

from paydouble.core.money import write_amount
from paydouble.payments.lifecycle import UNSUCCESSFUL
from paydouble.stateful.expected import ExpectedState, Order, Refusal
from paydouble.stateful.findings import Found, Rule


def of_refund_limit(order: Order, does: str, amount: int, rest: int) -> Found:
    """Return what is wrong when a merchant takes a refund of more than is left, or asks the service for it."""
    money, left = (f"{write_amount(each, order.currency)} {order.currency}" for each in (amount, rest))
    return Rule.REFUNDS, f"{does} a refund of {money} of {order.id}, of which {left} is left"


def of_refused_refund(order: Order, state: ExpectedState, amount: int, rest: int) -> Iterator[Refusal]:
    """Yield a refund that the merchant refuses, though it took as much when no more was there than now.

    So only a merchant that counts a refund which has failed is concerned, and none that refunds less on principle.
    """
    if any(taken >= amount and there <= rest for there, taken in order.refunds_taken):
        money = f"{write_amount(amount, order.currency)} {order.currency}"
        text = f"refuses to refund {money} of {order.id}, though as much is left as when it took such a refund"
        yield Refusal(text, frozenset(each.id for each in state.refunds))


def of_refusals(order: Order, state: ExpectedState) -> Iterator[Found]:
    """Yield the refunds that the merchant has refused, unless it has made another one since.

    It may ask for a refund that has failed once more by itself, and wait for that meanwhile.
    """
    for refusal in order.refusals:
        if {each.id for each in state.refunds} <= refusal.refunds:
            yield Rule.REFUNDS, refusal.text


def of_declined_deposit(order: Order, before: ExpectedState, after: ExpectedState) -> Iterator[Found]:
    """Yield what the service has made by a click in which the merchant said that nothing was done."""
    known = {each.id for each in before.pay_ins}
    if any(each.id not in known and each.status not in UNSUCCESSFUL for each in after.pay_ins):
        yield Rule.DEPOSITS, f"declines the payment of {order.id}, though the service has made its deposit"


def of_declined_refund(order: Order, before: ExpectedState, after: ExpectedState) -> Iterator[Found]:
    """Yield what the service has made by a call for a refund in which the merchant said that nothing was done."""
    known = {each.id for each in before.refunds}
    for refund in after.refunds:
        if refund.id not in known and refund.status != "failed":
            money = f"{write_amount(refund.amount, order.currency)} {order.currency}"
            yield Rule.REFUNDS, f"declines to refund {money} of {order.id}, though the service has made the refund"


def of_unequal_refusal(order: Order, state: ExpectedState, amount: int, taken_of: str) -> Found:
    """Return what is wrong when a refund is refused that was taken of `taken_of`, another order in the same situation.

    The merchant shows both as paid, so it may have missed something about this one, such as the end of its dispute.
    """
    money = f"{write_amount(amount, order.currency)} {order.currency}"
    why, too = ("whose dispute was won", ", whose dispute was won too") if state.disputes else ("which is paid", "")
    return (
        Rule.REFUNDS,
        f"refuses to refund {money} of {order.id}, {why}, though it took the same refund of {taken_of}{too}",
    )
