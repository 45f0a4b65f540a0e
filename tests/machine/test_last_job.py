"""The end of a play waits for what the last run of the jobs has begun."""

from __future__ import annotations

from decimal import Decimal

import pytest
from small_shop import SmallOrder, SmallShop

from paydouble.stateful import MerchantBug, Play, ServiceLike

TWO_HOURS_SECONDS = 7_200


class GivesBackInTheNextJob(SmallShop):
    """Asks once about a cancelled order, hours later; what it has learned is worked on in the next job."""

    gives_back = True

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.cancelled: dict[str, float] = {}
        self.asked_back: set[str] = set()

    def cancel(self, order_id: str) -> None:
        """Cancel an order, paid or not."""
        self.cancelled.setdefault(order_id, self.service.now())

    def may_be_paid(self, order: SmallOrder) -> bool:
        """Return whether a click begins or continues a payment."""
        return order.id not in self.cancelled and super().may_be_paid(order)

    def ships_now(self, order: SmallOrder) -> bool:
        """Return whether goods are sent."""
        return order.id not in self.cancelled and super().ships_now(order)

    def order_status(self, order_id: str) -> str:
        """Return the status of an order."""
        return "cancelled" if order_id in self.cancelled else super().order_status(order_id)

    def tick(self) -> None:
        """Give back what an earlier job has found; then ask."""
        for order_id in sorted(self.cancelled.keys() - self.asked_back):
            left = self.balance(order_id)
            if left and self.gives_back:
                self._give_back(order_id, left)
        if all(self.service.now() - at >= TWO_HOURS_SECONDS for at in self.cancelled.values()):
            super().tick()

    def _give_back(self, order_id: str, amount: Decimal) -> None:
        self.asked_back.add(order_id)
        (paid,) = self.of(order_id, "payin", "succeeded")
        body = f'{{"payin_id": "{paid["id"]}", "amount": {amount}, "external_identifier": "back-{order_id}"}}'
        wish = self.orders[order_id].refunds["back"] = self.wish(order_id, body)
        self.send(wish, "/refund/refund-creation")


class KeepsIt(GivesBackInTheNextJob):
    """Gives nothing back."""

    gives_back = False


def _cancel_in_silence(merchant: type[GivesBackInTheNextJob]) -> None:
    with Play(merchant) as play:
        play.order()
        play.webhooks("drop all")
        play.pay(1, "reply lost", lasts="end")
        play.cancel()
        play.wait("10s")


def test_what_the_last_job_has_learned_is_worked_on_in_the_next_one() -> None:
    """Its balance has changed, and neither its status nor an event."""
    _cancel_in_silence(GivesBackInTheNextJob)
    with pytest.raises(MerchantBug, match="calls order-1 cancelled in the end"):
        _cancel_in_silence(KeepsIt)
