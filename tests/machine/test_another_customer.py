"""Another customer orders and pays while the merchant works on something else."""

from __future__ import annotations

from collections.abc import Callable, Collection
from decimal import Decimal

import pytest
from small_shop import SmallShop
from verdicts_of import verdicts_of

from paydouble.stateful import Merchant, MerchantBug, Play, Refused
from paydouble.stateful.interruptions import ANOTHER_CUSTOMER, ANOTHER_CUSTOMER_MEANWHILE
from paydouble.stateful.steps import CataloguePlay

POINTS = range(8)


class OneLeft(SmallShop):
    """Has one piece. Who clicks first gets it, until the attempt has ended without money and a job has seen that."""

    def pay(self, order_id: str) -> None:
        """Hold the piece, or decline."""
        self.hold(order_id)
        super().pay(order_id)

    @property
    def holders(self) -> list[str]:
        """Return the orders that the piece is held for."""
        found: list[str] = self.__dict__.setdefault("_holders", [])
        return found

    def hold(self, order_id: str) -> None:
        """Look and hold in one step."""
        self.service.checkpoint()
        if [each for each in self.holders if each != order_id]:
            raise Refused
        if order_id not in self.holders:
            self.holders.append(order_id)
        self.service.checkpoint()

    def tick(self) -> None:
        """Give up what is held for attempts that have ended."""
        super().tick()
        for order_id in [each for each in self.holders if self.order_status(each) in {"failed", "cancelled"}]:
            self.free(order_id)

    def free(self, order_id: str) -> None:
        """Hold it for nobody."""
        self.service.checkpoint()
        self.holders.remove(order_id)
        self.service.checkpoint()

    def broken_rules(self) -> Collection[str]:
        """Return whether it is sold twice."""
        return [f"the last piece is held for {' and '.join(self.holders)}"] if len(self.holders) > 1 else []


class LooksBeforeItHolds(OneLeft):
    """Notes who has the piece in a second step."""

    def hold(self, order_id: str) -> None:
        if [each for each in self.holders if each != order_id]:
            raise Refused
        self.service.checkpoint()
        if order_id not in self.holders:
            self.holders.append(order_id)


class KeepsOneOrderInMind(SmallShop):
    """Keeps the order that it works on in an attribute, as an object does that all requests share."""

    def pay(self, order_id: str) -> None:
        self.in_mind = self.orders[order_id]
        self.service.checkpoint()
        super().pay(self.in_mind.id)


def _names(play: CataloguePlay) -> set[object]:
    return {each for step in play.steps for each in step.arguments}


def _in_a_click(play: Play, at: int) -> None:
    play.pay(meanwhile=ANOTHER_CUSTOMER, at=at)


def _in_a_job(play: Play, at: int) -> None:
    play.pay()
    play.pass_time("5s")
    play.interrupt_jobs(ANOTHER_CUSTOMER_MEANWHILE, at)


def _in_a_webhook(play: Play, at: int) -> None:
    play.pay()
    play.interrupt_webhook(ANOTHER_CUSTOMER_MEANWHILE, at)


def _play(shop: type[Merchant], act: Callable[[Play, int], None]) -> set[str]:
    """Return the orders' statuses in the end, of a play for each point."""
    found: set[str] = set()
    for at in POINTS:
        with Play(shop) as play:
            play.order()
            act(play, at)
            play.wait("10m")
        found.add(f"{play.status(1)}, {play.status(2) if len(play.orders) > 1 else 'none'}")
    return found


@pytest.mark.parametrize("act", [_in_a_click, _in_a_job, _in_a_webhook])
def test_a_correct_shop_serves_both(act: Callable[[Play, int], None]) -> None:
    """Or tells one of them that nothing is left."""
    assert "paid, paid" in _play(SmallShop, act)
    found = _play(OneLeft, act)

    assert "paid, paid" not in found
    assert "paid, unpaid" in found


@pytest.mark.parametrize(
    ("shop", "told"),
    [
        (LooksBeforeItHolds, "the last piece is held for order-2 and order-1"),
        (KeepsOneOrderInMind, "never made a deposit for order-1"),
    ],
)
def test_what_two_customers_share_is_found(shop: type[Merchant], told: str) -> None:
    """It shows in no play of one order, and in none in which one order follows another."""
    with pytest.raises(MerchantBug, match=told) as caught:
        _play(shop, _in_a_click)

    assert "another customer, who has ordered before, pays meanwhile" in str(caught.value)


def test_what_is_freed_while_somebody_takes_it_is_found() -> None:
    """A job frees what an order held, and money comes for that order after another customer has taken it."""

    class TakesItBack(OneLeft):
        """Sells what it has freed, and takes it back when money comes late."""

        def learn(self, resource: dict[str, object]) -> None:
            super().learn(resource)
            order_id = self.order_of(resource)
            if order_id in self.orders and self.order_status(order_id) == "paid" and order_id not in self.holders:
                self.holders.append(order_id)

    found = verdicts_of(TakesItBack, lambda play: {ANOTHER_CUSTOMER_MEANWHILE, "late money"} <= _names(play))

    assert any("the last piece is held for order-2 and order-1" in each for each in found)


def test_an_order_of_a_play_has_a_price_that_the_shop_sells_at() -> None:
    """Also the one that another customer places."""

    class Sells(SmallShop):
        currencies = ("JPY",)

        def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
            assert currency == "JPY"
            super().place_order(order_id, amount, currency)

    assert "paid, paid" in _play(Sells, _in_a_click)
