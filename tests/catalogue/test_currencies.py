"""Merchants that sell in some currencies only."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from small_shop import SmallShop

from paydouble.core.errors import UsageError
from paydouble.payments.resources import PayIn
from paydouble.stateful import MerchantBug, Play, explore
from paydouble.stateful.catalogue import catalogue
from paydouble.stateful.catalogue_run import CatalogueRun
from paydouble.stateful.steps import Step, step


class SellsInAll(SmallShop):
    """Notes the prices of its orders."""

    seen: set[tuple[str, str]]

    def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
        self.seen.add((str(amount), currency))
        super().place_order(order_id, amount, currency)


def selling_in(*currencies: str) -> type[SellsInAll]:
    """Return a shop that sells in these currencies, or in all."""
    return type("Shop", (SellsInAll,), {"currencies": currencies, "seen": set()})


@pytest.mark.parametrize(
    ("sold", "price"),
    [
        ((), ("49.90", "EUR")),
        (("EUR",), ("49.90", "EUR")),
        (("USD", "EUR"), ("49.90", "EUR")),
        (("USD",), ("49.90", "USD")),
        (("JPY",), ("4990", "JPY")),
        (("KWD",), ("4.990", "KWD")),
    ],
)
def test_an_order_is_in_a_currency_that_is_sold(sold: tuple[str, ...], price: tuple[str, str]) -> None:
    """In the first one, where the usual one is none of them."""
    shop = selling_in(*sold)
    with Play(shop) as play:
        play.order()
        play.pay()
        play.wait("10s")
        assert play.status() == "paid"
    assert shop.seen == {price}


def test_no_phase_uses_another_currency() -> None:
    """Plays of the catalogue that name another one have the same minor units in the merchant's first one."""
    shop = selling_in("USD", "GBP")

    for play in catalogue():
        prices = [each.arguments for each in play.steps if each.command == "order" and each.arguments]
        if prices and play.dialect == "plain" and len(play.steps) < 5:
            CatalogueRun(shop).one(play)
    explore(shop, examples=10, phases=("hunt",))

    assert {currency for _, currency in shop.seen} == {"USD", "GBP"}
    assert {("19.99", "USD"), ("4.35", "GBP"), ("15.00", "USD"), ("10.05", "USD")} <= shop.seen


class RoundsDown(SellsInAll):
    """Counts cents with binary fractions."""

    def balance(self, order_id: str) -> Decimal:
        """Lose a cent of many amounts."""
        return Decimal(int(float(super().balance(order_id)) * 100)).scaleb(-2)


def test_a_shop_of_one_currency_is_tried_with_several_amounts() -> None:
    """49.90 survives what 19.99 does not."""
    with pytest.raises(MerchantBug, match=r"balance of 19\.98 EUR"):
        explore(type("Shop", (RoundsDown,), {"currencies": ("EUR",), "seen": set()}), phases=("catalogue",))


@pytest.mark.parametrize(
    ("shown", "written"),
    [("49.8", "49.80"), ("0", "0.00"), ("49.901", "49.901"), ("NaN", "NaN"), ("1E+999999", "1E+999999")],
)
def test_a_balance_has_the_digits_of_its_currency(shown: str, written: str) -> None:
    """However the adapter writes it; the ledger's amount beside it has them too."""

    class Miscounts(SmallShop):
        def balance(self, order_id: str) -> Decimal:
            return Decimal(shown)

    with pytest.raises(MerchantBug, match=re.escape(f"a balance of {written} EUR")), Play(Miscounts) as play:
        play.pay()
        play.wait("10s")


def test_a_currency_that_does_not_exist_is_named() -> None:
    """Before anything is played."""
    with pytest.raises(UsageError, match=r"'EURO', which the service does not know; did you mean EUR\?"):
        Play(selling_in("EURO")).order()


@pytest.mark.parametrize(
    ("currencies", "own", "other"),
    [
        ((), "EUR", "USD"),
        ((), "USD", "EUR"),
        (("EUR", "JPY", "CHF"), "EUR", "CHF"),
        (("JPY", "EUR"), "JPY", "EUR"),
        (("EUR",), "EUR", "USD"),
        (("USD",), "USD", "EUR"),
    ],
)
def test_the_other_currency_is_one_that_the_shop_knows(currencies: tuple[str, ...], own: str, other: str) -> None:
    """Of an amount in one that it does not know it makes nothing, whether it compares currencies or not."""
    with Play(type("Shop", (SmallShop,), {"currencies": currencies})) as play:
        play.order("1500", own)
        play.pay(1, "other currency")
        play.wait("10s")
        assert [each.currency for each in play.sandbox.ledger.oldest_first(PayIn)] == [other]


_PAID_IN_DOLLARS = r"calls order-1 paid in the end, though 49\.90 USD was paid and 49\.90 EUR was asked for"


class LooksAtTheNumber(SmallShop):
    """Takes any money for the right one when the number is right."""

    def learn(self, resource: dict[str, Any]) -> None:
        paid_for = self.orders.get(str(self.order_of(resource)))
        super().learn({**resource, "currency": paid_for.currency} if paid_for else resource)


@pytest.mark.parametrize("currency", ["EUR", "JPY", "KWD", "USD"])
@pytest.mark.parametrize("then", [(), (step("refund", 1, "half"),), (step("cancel"),), (step("provider", "dispute"),)])
def test_the_right_number_of_another_currency_is_not_the_money(currency: str, then: tuple[Step, ...]) -> None:
    """Also where the other currency has other digits, and whatever comes after it."""
    sold = type("Shop", (SmallShop,), {"currencies": (currency,)})
    steps = (step("order"), step("pay", 1, "other currency"), step("wait", "10s"), *then, step("wait", "10s"))
    with Play(sold) as play:
        for each in steps:
            each.take(play)
        assert play.status() == "review"

    careless = type("Shop", (LooksAtTheNumber,), {"currencies": ("EUR",)})
    with pytest.raises(MerchantBug, match=_PAID_IN_DOLLARS), Play(careless) as play:
        for each in steps[:3]:
            each.take(play)
