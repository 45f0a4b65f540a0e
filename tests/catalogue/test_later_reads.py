"""Jobs that ask the service only about what they have heard nothing of for some minutes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from small_shop import SmallOrder, SmallShop

from paydouble.stateful import ServiceLike
from paydouble.stateful.calibration import when_it_shows
from paydouble.stateful.catalogue_run import CatalogueRun
from paydouble.stateful.coverage import Coverage

_QUIET_SECONDS = 300
# In these each entry is played alone.
_FIRST_TURN = 1_100


class AsksAfterMinutes(SmallShop):
    """Its job asks about an order that waits for something, once nothing has told of it for five minutes."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.heard: dict[str, float] = {}
        """When something was last heard of each order."""

    def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
        super().place_order(order_id, amount, currency)
        self.heard[order_id] = self.service.now()

    def learn(self, resource: dict[str, Any]) -> None:
        super().learn(resource)
        order_id = self.order_of(resource)
        if order_id is not None:
            self.heard[order_id] = self.service.now()

    def tick(self) -> None:
        for order in self.orders.values():
            for wish, path in self.wishes(order):
                if wish.state == "open":
                    self.send(wish, path)
            if self.waits(order) and self.service.now() - self.heard[order.id] >= _QUIET_SECONDS:
                self.ask(order.id)

    def waits(self, order: SmallOrder) -> bool:
        """Return whether a payment or a refund has no end yet."""
        has_end = self.of(order.id, "payin", "succeeded", "failed", "cancelled")
        return bool(order.wish) and (not has_end or bool(self.promised(order)))


def test_each_trouble_of_a_read_meets_them_early() -> None:
    """Where an event tells all, or nothing asks within ten seconds, a trouble of reads does nothing."""
    run = CatalogueRun(AsksAfterMinutes, shows=when_it_shows(AsksAfterMinutes))
    coverage = Coverage()
    early = [play for play in [*run.plays()][:_FIRST_TURN] if any(each.command == "reads" for each in play.steps)]
    for play in early:
        if play.missing(AsksAfterMinutes) is None:
            coverage.add(run.one(play))

    assert [each.name for each in coverage.untried() if each.table == "reads"] == []
