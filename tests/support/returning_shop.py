"""A correct shop that gives back, without being asked, what was paid twice."""

from __future__ import annotations

from typing import Any

from small_shop import SmallOrder, SmallShop


class ReturnsTheSecond(SmallShop):
    """Gives back, without being asked, what was paid twice."""

    kept = 1

    def too_much(self, paid: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return which of several payments go back."""
        return paid[self.kept :]

    def tick(self) -> None:
        """Run the jobs, and give back what is too much."""
        super().tick()
        for order in self.orders.values():
            paid = self.of(order.id, "payin", "succeeded")
            for each in self.too_much(paid) if len(paid) > 1 else ():
                body = f'{{"payin_id": "{each["id"]}", "amount": {order.amount}, "external_identifier": "surplus"}}'
                wish = order.refunds.setdefault(each["id"], self.wish(order.id, body))
                if wish.state == "open":
                    self.send(wish, "/refund/refund-creation")

    def status_of_paid(self, order: SmallOrder) -> str:
        """Return the status of an order for which money has come, once or more often."""
        came = sum(each["amount"] for each in self.of(order.id, "payin", "succeeded"))
        gone = sum(each["amount"] for each in self.of(order.id, "refund", "succeeded"))
        if came == order.amount:
            return super().status_of_paid(order)
        # What was paid twice and went back takes nothing from the order.
        return "paid" if came - gone >= order.amount else "partly_refunded" if came > gone else "refunded"
