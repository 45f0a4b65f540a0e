"""What a payment provider does that neither the customer nor the merchant has asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from paydouble.payments.lifecycle import DISPUTE, PAID, PAY_IN, REFUNDED, first, unfinished
from paydouble.sandbox import Sandbox
from paydouble.stateful.books import Order, Truth


def _fails(box: Sandbox, _: Order, found: Truth) -> str | None:
    for pay_in in found.pay_ins:
        if pay_in.status in unfinished(PAY_IN):
            box.force_transition(pay_in, "failed")
            return "the provider declines the payment"
    return None


def _dispute(box: Sandbox, _: Order, found: Truth) -> str | None:
    if not found.paid or found.disputes:
        return None
    box.open_dispute(found.paid[0])
    return "the payer disputes the payment"


def _decide(box: Sandbox, found: Truth, to: str, words: str) -> str | None:
    for dispute in found.disputes:
        if dispute.status in unfinished(DISPUTE):
            box.force_transition(dispute, to)
            return words
    return None


def _reopen(box: Sandbox, _: Order, found: Truth) -> str | None:
    for dispute in found.disputes:
        if dispute.status == "won":
            box.force_transition(dispute, first(DISPUTE), force=True)
            return "the dispute that was won is opened again"
    return None


def _late_money(box: Sandbox, order: Order, found: Truth) -> str | None:
    for pay_in in found.pay_ins:
        if pay_in.status == "cancelled":
            order.late.add(pay_in.id)
            box.force_transition(pay_in, PAID, force=True)
            return "money comes for the payment that had expired"
    return None


def _refund_fails(box: Sandbox, _: Order, found: Truth) -> str | None:
    for refund in found.refunds:
        if refund.status == REFUNDED:
            box.force_transition(refund, "failed", force=True)
            return "the refund that had succeeded fails after all"
    return None


ACTS: Final[Mapping[str, Callable[[Sandbox, Order, Truth], str | None]]] = MappingProxyType(
    {
        "fails": _fails,
        "dispute": _dispute,
        "dispute won": lambda box, _, found: _decide(box, found, "won", "the dispute is won"),
        "dispute lost": lambda box, _, found: _decide(box, found, "lost", "the dispute is lost"),
        "dispute reopened": _reopen,
        "late money": _late_money,
        "refund fails late": _refund_fails,
    }
)
"""Each does something to an order and says what, or returns None when there is nothing to do it to."""
