"""A small shop whose customers can cancel an order."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from small_shop import Declined, SmallOrder, SmallShop, Unknown, Wish

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


class GivesBack(TakesUpAgain):
    """Asks the service to cancel the payment, and gives the money back when it comes all the same."""

    most_failures: float = 5

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.asked: dict[str, Wish] = {}

    def tick(self) -> None:
        """Cancel the payments of what was cancelled, and give back the money that came for it."""
        super().tick()
        for order_id in sorted(self.cancelled):
            for each in self.of(order_id, "payin", "created", "pending"):
                self.ask_for(order_id, f"/pay-in/{each['id']}/cancellation", "{}")
            for each in self.of(order_id, "payin", "succeeded"):
                self.give_back(order_id, each)

    def give_back(self, order_id: str, pay_in: dict[str, Any]) -> None:
        """Ask for a refund of a payment, unless there is one or too many have failed."""
        is_hopeless = len(self.of(order_id, "refund", "failed")) >= self.most_failures
        if not (is_hopeless or self.of(order_id, "refund", "created", "processing", "succeeded")):
            body = f'{{"payin_id": "{pay_in["id"]}", "amount": {self.part(pay_in["amount"])}}}'
            self.ask_for(order_id, "/refund/refund-creation", body)

    def part(self, amount: Decimal) -> Decimal:
        """Return how much is given back."""
        return amount

    def ask_for(self, order_id: str, path: str, body: str) -> None:
        """Send a request, the same one again while its outcome is unknown, and another one when a refund has failed."""
        name = f"{path} {body} {len(self.of(order_id, 'refund', 'failed'))}"
        wish = self.asked.setdefault(name, self.wish(order_id, body))
        if wish.state == "open":
            try:
                self.learn(self.post(path, wish))
                wish.state = "made"
            except Declined:
                wish.state = "refused"
            except Unknown:
                pass

    def order_status(self, order_id: str) -> str:
        """Return the status of an order; what was given back was cancelled."""
        status = super().order_status(order_id)
        return "cancelled" if order_id in self.cancelled and status == "refunded" else status

    def ships_now(self, order: SmallOrder) -> bool:
        """Return whether an order that is paid is fulfilled."""
        return order.id not in self.cancelled


class StaysCancelled(GivesBack):
    """Shows no more of an order that was cancelled than that, also while money waits for its refund."""

    def order_status(self, order_id: str) -> str:
        """Return the status of an order."""
        return "cancelled" if order_id in self.cancelled else super().order_status(order_id)
