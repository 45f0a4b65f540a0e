"""Payments of another amount than was asked for, and goods that are held back."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from small_shop import SmallOrder, SmallShop
from verdicts_of import verdicts_of

from paydouble.stateful import Merchant, Play, Refused


class TakesMore(SmallShop):
    """Takes an order for paid when enough has come, and keeps the rest."""

    def rest(self, order: SmallOrder) -> Decimal:
        """Return what has come beyond the order's price."""
        return sum((each["amount"] for each in self.of(order.id, "payin", "succeeded")), Decimal(0)) - order.amount

    def status_of_paid(self, order: SmallOrder) -> str:
        return "paid" if self.rest(order) > 0 else super().status_of_paid(order)


class GivesTheRestBack(TakesMore):
    """Gives back what has come beyond the price."""

    def tick(self) -> None:
        super().tick()
        for order in self.orders.values():
            if self.rest(order) > 0:
                paid = self.of(order.id, "payin", "succeeded")[0]
                body = f'{{"payin_id": "{paid["id"]}", "amount": {self.rest(order)}, "external_identifier": "rest"}}'
                wish = order.refunds.setdefault("rest", self.wish(order.id, body))
                if wish.state == "open":
                    self.send(wish, "/refund/refund-creation")


class TakesLess(SmallShop):
    """Does not look at the amount."""

    def status_of_paid(self, order: SmallOrder) -> str:
        return "paid"


class SendsForAnyCurrency(SmallShop):
    """Compares the number alone when it sends the goods; its books show the currency to a person."""

    def learn(self, resource: dict[str, Any]) -> None:
        super().learn(resource)
        order = self.orders.get(self.order_of(resource) or "")
        if order is not None and not order.shipped:
            paid = self.of(order.id, "payin", "succeeded")
            order.shipped = int(any(each["amount"] == order.amount for each in paid))


class HoldsWhileDisputed(SmallShop):
    """Sends nothing while its payment is disputed."""

    def ships_now(self, order: SmallOrder) -> bool:
        return not self.of(order.id, "dispute", "needs_response", "under_review")


def found_by(merchant: type[Merchant], trouble: str) -> set[str]:
    """Return what the plays of the catalogue with a trouble find."""
    return set(verdicts_of(merchant, lambda play: any(trouble in step.arguments for step in play.steps)))


@pytest.mark.parametrize("merchant", [SmallShop, GivesTheRestBack])
def test_what_was_paid_too_much_may_go_back(merchant: type[Merchant]) -> None:
    """The order is paid then, or a person looks at it."""
    assert found_by(merchant, "overpaid") == set()


@pytest.mark.parametrize(
    ("merchant", "trouble", "verdict"),
    [
        (TakesMore, "overpaid", "The merchant calls order-1 paid in the end, though 50.90 EUR was paid and 49.90 EUR"),
        (TakesLess, "underpaid", "The merchant fulfilled order-1, but another amount was paid than was asked for"),
        (SendsForAnyCurrency, "other currency", "The merchant fulfilled order-1, but it was paid in another currency"),
    ],
)
def test_another_amount_is_not_simply_paid(merchant: type[Merchant], trouble: str, verdict: str) -> None:
    """What is missing is missing, and what is too much is not the shop's."""
    assert any(each.startswith(verdict) for each in found_by(merchant, trouble))


def test_goods_are_held_back_while_the_payment_is_disputed() -> None:
    """Also when the dispute is known before the payment."""
    with Play(HoldsWhileDisputed, shows="at once") as play:
        play.order()
        play.pay()
        play.pass_time("5s")
        play.webhooks("late")
        play.pass_time("5s")
        play.provider("dispute")
        play.pass_time("80h")
        assert [event for event, *_ in play.answers][-2:] == ["dispute.created", "pay-in.succeeded"]
        assert play.shipments() == 0


class WritesForPeople(SmallShop):
    """Reads an amount from the text that it shows, with a separator of thousands: `float` of PHP stops there."""

    def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
        super().place_order(order_id, Decimal(f"{amount:,}".partition(",")[0]), currency)


class SellsNothingExpensive(SmallShop):
    """Takes no order of more than 500."""

    def pay(self, order_id: str) -> None:
        if self.orders[order_id].amount > 500:
            raise Refused
        super().pay(order_id)


class TakesNothingExpensive(SmallShop):
    """Takes no such order into its books."""

    def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
        if amount > 500:
            raise Refused
        super().place_order(order_id, amount, currency)


def test_an_order_may_have_an_amount_of_more_than_a_thousand() -> None:
    """Which a shop may decline."""
    assert any("1.00 EUR" in each for each in found_by(WritesForPeople, "1234.56"))
    for correct in (SmallShop, SellsNothingExpensive, TakesNothingExpensive):
        assert found_by(correct, "1234.56") == set()
