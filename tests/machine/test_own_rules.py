"""Rules of a merchant's own, which no single order shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from decimal import Decimal

import pytest
from small_shop import SmallOrder, SmallShop

from paydouble.stateful import MerchantBug, Play
from paydouble.stateful.catalogue import catalogue

_ENDED = {"unpaid", "failed", "cancelled"}


class Theatre(SmallShop):
    """Holds the first free seat for each order, until its payment has ended without money."""

    def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
        super().place_order(order_id, amount, currency)
        held = {self.seats[each] for each in self.orders if each in self.seats and not self._has_ended(each)}
        self.seats[order_id] = next(seat for seat in range(1, 100) if seat not in held)

    @property
    def seats(self) -> dict[str, int]:
        """Order → its seat."""
        found: dict[str, int] = self.__dict__.setdefault("_seats", {})
        return found

    def _has_ended(self, order_id: str) -> bool:
        return self.order_status(order_id) in _ENDED and self.orders[order_id].wish is not None

    def _is_taken(self, order: SmallOrder) -> bool:
        """Return whether a later order has the same seat."""
        later = list(self.orders)[list(self.orders).index(order.id) + 1 :]
        return any(self.seats[each] == self.seats[order.id] and not self._has_ended(each) for each in later)

    def status_of_paid(self, order: SmallOrder) -> str:
        status = super().status_of_paid(order)
        return "review" if status == "paid" and not order.shipped and self._is_taken(order) else status

    def broken_rules(self) -> Collection[str]:
        sold = Counter(self.seats[each.id] for each in self.orders.values() if each.shipped)
        return [f"seat {seat} has {count} tickets" for seat, count in sold.items() if count > 1]


class SellsTwice(Theatre):
    """Takes the seat back without looking when the money comes late."""

    def _is_taken(self, order: SmallOrder) -> bool:
        return False


def test_a_broken_rule_is_a_finding() -> None:
    """With the shop's own text, in a play of the catalogue in which another order comes in between."""
    plays = [play for play in catalogue() if play.reason == "somebody else buys what the order no longer has"]
    found: list[str] = []
    for each in plays:
        if each.missing(SellsTwice) is None:
            try:
                with Play(SellsTwice) as play:
                    for step in each.steps:
                        step.take(play)
            except MerchantBug as bug:
                found.append(bug.verdict)

    assert "The merchant breaks a rule of its own: seat 1 has 2 tickets" in {each.rstrip(".") for each in found}
    for each in plays:
        if each.missing(Theatre) is None:
            with Play(Theatre) as play:
                for step in each.steps:
                    step.take(play)


@pytest.mark.parametrize("returned", ["seat 1", None, [1]])
def test_what_is_no_list_of_texts_is_named(returned: object) -> None:
    """A single text would be told letter by letter."""
    shop = type("Shop", (SmallShop,), {"broken_rules": lambda _: returned})

    with pytest.raises(MerchantBug, match=r"broken_rules\(\) returned .*; it must return a list of texts"):
        Play(shop).order()


def test_a_text_of_the_shop_does_not_reach_the_terminal_raw() -> None:
    """Control characters are shown as such."""
    shop = type("Shop", (SmallShop,), {"broken_rules": lambda _: ["\x1b[31mred"]})

    with pytest.raises(MerchantBug) as caught:
        Play(shop).order()

    assert "\x1b" not in str(caught.value)


def test_a_rule_about_the_payment_says_more() -> None:
    """The shop's own rule is told beside it, also when it was broken first."""

    class KeepsItsBooks(SmallShop):
        """Books no refund, and notices that its points do not fit."""

        def balance(self, order_id: str) -> Decimal:
            return self.orders[order_id].amount if self.of(order_id, "payin", "succeeded") else Decimal(0)

        def broken_rules(self) -> Collection[str]:
            return (
                ["the points do not fit"] if any(self.of(each, "refund", "succeeded") for each in self.orders) else []
            )

    with pytest.raises(MerchantBug) as caught, Play(KeepsItsBooks) as play:
        play.pay()
        play.wait("10s")
        play.refund()
        play.wait("10s")

    assert "has a balance of 49.90 EUR for order-1; it should be 0.00" in caught.value.verdict
    assert "breaks a rule of its own: the points do not fit" in str(caught.value)
