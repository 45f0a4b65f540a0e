"""A correct shop that ships by its job, which sends what is paid and leaves every other order alone."""

from __future__ import annotations

from small_shop import SmallOrder, SmallShop


class ShipsUntouchedOnly(SmallShop):
    """Sends no goods of an order of which a part has gone back, or that a person has to look at."""

    def ships_now(self, order: SmallOrder) -> bool:  # noqa: ARG002 - the job does
        """Leave it to the job."""
        return False

    def tick(self) -> None:
        """Ship what is paid."""
        super().tick()
        for order in self.orders.values():
            order.shipped |= self.order_status(order.id) == "paid" and not self.promised(order)
