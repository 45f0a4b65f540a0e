"""A small shop whose customers can cancel an order."""

from __future__ import annotations

from small_shop import SmallOrder, SmallShop

from paydouble.stateful import Refused, ServiceLike


class TakesUpAgain(SmallShop):
    """Cancels what is not paid; an order for which money comes is taken up again."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.cancelled: set[str] = set()

    def cancel(self, order_id: str) -> None:
        """Cancel an order for which no money has come."""
        self.service.checkpoint()
        if self.order_status(order_id) not in {"unpaid", "pending", "failed", "cancelled"}:
            raise Refused
        self.cancelled.add(order_id)
        self.service.checkpoint()

    def may_be_paid(self, order: SmallOrder) -> bool:
        """Return whether a click begins or continues a payment."""
        return order.id not in self.cancelled and super().may_be_paid(order)

    def order_status(self, order_id: str) -> str:
        """Return the status of an order."""
        status = super().order_status(order_id)
        return "cancelled" if order_id in self.cancelled and status in {"unpaid", "pending", "failed"} else status
