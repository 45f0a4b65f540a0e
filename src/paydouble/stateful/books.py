"""The truth: what the sandbox's books say of each order, and what a merchant may therefore believe of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from paydouble.core.money import MINOR_DIGITS, write_amount
from paydouble.payments.lifecycle import PAID, PAY_IN, REFUNDED, unfinished
from paydouble.payments.resources import Dispute, PayIn, Refund
from paydouble.sandbox import Sandbox

_UNPAID = frozenset({"unpaid", "failed", "cancelled", "pending"})


@dataclass(slots=True)
class Order:
    """An order, as the machine has placed it."""

    id: str
    amount: int
    currency: str
    presses: int = 0
    """How often the customer has pressed the button."""
    wishes: dict[str, int] = field(default_factory=dict)
    """Refund id → minor units that were to be given back."""
    late: set[str] = field(default_factory=set)
    """Pay-ins that were paid after they had ended; the provider's doing."""
    due: str | None = None
    """Why a deposit has to exist in the end, when it has to."""
    poisoned: bool = False
    """Whether the service has kept a 500 under its key, so that no retry under that key can help."""
    status: str = "unpaid"
    """What the merchant said last."""

    @property
    def money(self) -> Decimal:
        """Return the amount as the merchant is given it."""
        return Decimal(write_amount(self.amount, self.currency))


@dataclass(slots=True, frozen=True)
class Truth:
    """What holds of an order."""

    pay_ins: list[PayIn]
    refunds: list[Refund]
    disputes: list[Dispute]

    @property
    def paid(self) -> list[PayIn]:
        """Return the pay-ins that brought money."""
        return [each for each in self.pay_ins if each.status == PAID]


def truth(box: Sandbox, order: Order) -> Truth:
    """Look an order up."""
    pay_ins = [each for each in box.ledger.newest_first(PayIn) if each.external_identifier == order.id]
    ids = {each.id for each in pay_ins}
    refunds = [each for each in box.ledger.newest_first(Refund) if each.payin_id in ids] if ids else []
    disputes = [each for each in box.ledger.newest_first(Dispute) if each.payin_id in ids] if ids else []
    return Truth(pay_ins, refunds, disputes)


def drifted(found: Truth) -> bool:
    """Return whether another amount was paid than was asked for."""
    return any(each.settles_at is not None for each in found.paid)


def allowed(order: Order, found: Truth) -> frozenset[str]:
    """Return what a merchant may believe of an order once everything has come to rest."""
    paid = found.paid
    if not found.pay_ins:
        return _UNPAID
    if not paid:
        if any(each.status in unfinished(PAY_IN) for each in found.pay_ins):
            return frozenset({"pending"})
        return _UNPAID - {"pending"}
    if drifted(found):
        # Whatever it does about it: it must not simply be paid.
        return frozenset({"review", "unpaid", "pending", "failed", "partly_refunded", "refunded", "charged_back"})
    return _after_payment(found) | ({"review"} if order.late else set())


def _after_payment(found: Truth) -> frozenset[str]:
    back = _given_back(found)
    charged_back = any(each.status in {"lost", "accepted"} for each in found.disputes)
    total = sum(each.amount for each in found.paid)
    states = set()
    if charged_back:
        states.add("charged_back")
    if back and back >= total:
        states.add("refunded")
    elif back and not charged_back:
        states.add("partly_refunded")
    if not states:
        states.add("paid")
    return frozenset(states)


def balance(order: Order, found: Truth) -> Decimal:
    """Return the money that is left of an order: never less than none, whatever was taken back twice."""
    total = sum(each.amount for each in found.paid)
    lost = sum(each.amount for each in found.disputes if each.status in {"lost", "accepted"})
    return Decimal(max(0, total - _given_back(found) - lost)).scaleb(-MINOR_DIGITS[order.currency])


def _given_back(found: Truth) -> int:
    return sum(each.amount for each in found.refunds if each.status == REFUNDED)
