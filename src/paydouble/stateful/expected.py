"""The expected state: what the sandbox's ledger holds for each order, and which statuses a merchant may show for it."""

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
    """An order as the machine placed it, with what the customer, the provider and the service did to it."""

    id: str
    amount: int
    currency: str
    clicks: int = 0
    """How many deposits the customer's clicks allow."""
    refunds_requested: dict[str, int] = field(default_factory=dict)
    """Refund id → amount in minor units."""
    paid_late: set[str] = field(default_factory=set)
    """Ids of pay-ins that the provider paid after they had ended."""
    deposit_due: str | None = None
    """Why a deposit must exist in the end; None when none has to."""
    key_has_stored_error: bool = False
    """Whether the service stored a 500 under the order's key, so that no retry under that key can succeed."""
    was_clicked: bool = False
    """Whether the customer has clicked on it before."""
    disturbed_to_the_end: bool = False
    """Whether a trouble of its deposits lasts to the end of the play, so that none has to succeed."""
    status: str = "unpaid"
    """The status that the merchant showed last."""

    @property
    def money(self) -> Decimal:
        """Return the amount as the merchant is given it."""
        return Decimal(write_amount(self.amount, self.currency))


@dataclass(slots=True, frozen=True)
class ExpectedState:
    """The sandbox's resources of one order, newest first."""

    pay_ins: list[PayIn]
    refunds: list[Refund]
    disputes: list[Dispute]

    @property
    def paid(self) -> list[PayIn]:
        """Return the pay-ins that brought money."""
        return [each for each in self.pay_ins if each.status == PAID]


def expected_state(box: Sandbox, order: Order) -> ExpectedState:
    """Return the resources of an order."""
    pay_ins = [each for each in box.ledger.newest_first(PayIn) if each.external_identifier == order.id]
    ids = {each.id for each in pay_ins}
    refunds = [each for each in box.ledger.newest_first(Refund) if each.payin_id in ids] if ids else []
    disputes = [each for each in box.ledger.newest_first(Dispute) if each.payin_id in ids] if ids else []
    return ExpectedState(pay_ins, refunds, disputes)


def amount_differs(state: ExpectedState) -> bool:
    """Return whether another amount was paid than the merchant asked for."""
    return any(each.settles_at is not None for each in state.paid)


def allowed_statuses(order: Order, state: ExpectedState) -> frozenset[str]:
    """Return the statuses that a merchant may show for an order when nothing more will happen."""
    if not state.pay_ins:
        return _UNPAID
    if not state.paid:
        if any(each.status in unfinished(PAY_IN) for each in state.pay_ins):
            return frozenset({"pending"})
        return _UNPAID - {"pending"}
    if amount_differs(state):
        # The contract does not say what to do about it; `paid` alone is wrong.
        return frozenset({"review", "unpaid", "pending", "failed", "partly_refunded", "refunded", "charged_back"})
    return _after_payment(state) | ({"review"} if order.paid_late else set())


def _after_payment(state: ExpectedState) -> frozenset[str]:
    refunded = _refunded(state)
    charged_back = any(each.status in {"lost", "accepted"} for each in state.disputes)
    total = sum(each.amount for each in state.paid)
    statuses = set()
    if charged_back:
        statuses.add("charged_back")
    if refunded and refunded >= total:
        statuses.add("refunded")
    elif refunded and not charged_back:
        statuses.add("partly_refunded")
    if not statuses:
        statuses.add("paid")
    return frozenset(statuses)


def expected_balance(order: Order, state: ExpectedState) -> Decimal:
    """Return the money that is left of an order; at least 0, also when a refund and a dispute took it back twice."""
    total = sum(each.amount for each in state.paid)
    lost = sum(each.amount for each in state.disputes if each.status in {"lost", "accepted"})
    return Decimal(max(0, total - _refunded(state) - lost)).scaleb(-MINOR_DIGITS[order.currency])


def _refunded(state: ExpectedState) -> int:
    return sum(each.amount for each in state.refunds if each.status == REFUNDED)
