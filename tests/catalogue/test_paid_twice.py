"""Orders that are paid twice, by a merchant that gives such money back."""

from __future__ import annotations

from typing import Any

import pytest
from returning_shop import ReturnsTheSecond
from small_shop import SmallOrder, SmallShop, Wish
from verdicts_of import verdicts_of

from paydouble.stateful import Merchant, Play, ServiceLike


def kept(order: int, other: int) -> str:
    """Return what is said when the money of an order is kept."""
    what = f"The merchant keeps 49.90 EUR of order-{order}, which was paid twice"
    return f"{what}, though it gave back what was paid twice for order-{other}"


class TriesOnce(ReturnsTheSecond):
    """Sends a refund once, whatever becomes of it."""

    pauses = ()

    def send(self, wish: Wish, path: str) -> None:
        super().send(wish, path)
        if b'"surplus"' in wish.body and wish.state == "open":
            wish.state = "refused"


class InMemory(ReturnsTheSecond):
    """Remembers until a restart alone that it has to give money back."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.seen: set[str] = set()
        self.begun: set[str] = set()

    def tick(self) -> None:
        for order in self.orders.values():
            paid = {each["id"] for each in self.of(order.id, "payin", "succeeded")}
            if len(paid) > 1 and order.id not in self.seen:
                self.seen.add(order.id)
                self.begun.add(order.id)
        kept = dict(self.orders)
        self.orders = {name: order for name, order in kept.items() if name in self.begun}
        super().tick()
        self.orders = kept
        SmallShop.tick(self)

    def restart(self) -> None:
        self.seen |= set(self.orders)


class WhileOpen(ReturnsTheSecond):
    """Gives back what comes before a job has seen the order paid."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.closed: set[str] = set()

    def tick(self) -> None:
        kept = dict(self.orders)
        self.orders = {name: order for name, order in kept.items() if name not in self.closed}
        super().tick()
        self.orders = kept
        SmallShop.tick(self)
        self.closed |= {each.id for each in self.orders.values() if len(self.of(each.id, "payin", "succeeded")) == 1}


def found_by(merchant: type[Merchant]) -> set[str]:
    """Return what the plays with two orders that are paid twice find."""
    return set(verdicts_of(merchant, lambda play: "paid twice for one order" in play.reason))


@pytest.mark.parametrize("merchant", [SmallShop, ReturnsTheSecond])
def test_to_keep_it_is_a_policy_and_to_give_it_back_too(merchant: type[Merchant]) -> None:
    """Whatever disturbs the second order."""
    assert found_by(merchant) == set()


@pytest.mark.parametrize(
    ("merchant", "verdict"),
    [
        pytest.param(TriesOnce, kept(2, 1), marks=pytest.mark.long),
        pytest.param(InMemory, kept(2, 1), marks=pytest.mark.long),
        (WhileOpen, kept(1, 2)),
    ],
)
def test_what_goes_back_for_one_order_goes_back_for_the_next(merchant: type[Merchant], verdict: str) -> None:
    """A refund that is forgotten, or made in some states alone, is noticed beside one that was made."""
    assert found_by(merchant) == {verdict}


class ReturnsOnce(ReturnsTheSecond):
    """Gives one payment of an order back, however many have come."""

    demands = ("double payment",)

    def too_much(self, paid: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return super().too_much(paid)[:1]


class ReturnsAll(ReturnsTheSecond):
    """Promises to keep nothing of it."""

    demands = ("double payment",)


def test_each_surplus_payment_goes_back() -> None:
    """Two earlier attempts may bring money late."""

    def found(merchant: type[Merchant]) -> set[str]:
        return set(verdicts_of(merchant, lambda play: play.reason == "an order is paid three times"))

    told = "The merchant keeps 49.90 EUR of order-1, which was paid 3 times"
    assert found(ReturnsOnce) == {f"{told}; it neither goes back in the end nor is the order in review"}
    assert found(ReturnsAll) == set()


@pytest.mark.parametrize("acts", [("late money", "refund half"), ("refund half", "late money")])
def test_what_staff_gives_back_of_one_payment_leaves_the_rest_open(acts: tuple[str, str]) -> None:
    """Nobody knows for which of the two they meant it, and the other one may be refused by then."""
    with Play(ReturnsAll) as play:
        play.order()
        play.pay(scenario="card-declined")
        play.wait("10s")
        play.retry()
        play.wait("10s")
        for act in acts:
            play.provider(act)
        play.wait("10s")
        assert play.status() == "paid"


class ReturnsLateMoney(ReturnsTheSecond):
    """Sells the goods to somebody else when an attempt has ended, and gives back what comes for it then."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.sold: set[str] = set()

    def tick(self) -> None:
        SmallShop.tick(self)
        for order in self.orders.values():
            pay_ins = self.of(order.id, "payin")
            if pay_ins and all(each["status"] in {"failed", "cancelled"} for each in pay_ins):
                self.sold |= {each["id"] for each in pay_ins}
            for each in self.of(order.id, "payin", "succeeded"):
                if each["id"] in self.sold:
                    body = f'{{"payin_id": "{each["id"]}", "amount": {each["amount"]}}}'
                    wish = order.refunds.setdefault(each["id"], self.wish(order.id, body))
                    if wish.state == "open":
                        self.send(wish, "/refund/refund-creation")

    def ships_now(self, order: SmallOrder) -> bool:
        return any(each["id"] not in self.sold for each in self.of(order.id, "payin", "succeeded"))

    def order_status(self, order_id: str) -> str:
        status = super().order_status(order_id)
        return "cancelled" if status == "refunded" and not self.orders[order_id].shipped else status


def test_late_money_may_go_back_when_nobody_waits_for_it() -> None:
    """The goods are sold to somebody else by then."""
    told = verdicts_of(ReturnsLateMoney, lambda play: any("late money" in each.arguments for each in play.steps))

    assert set(told) == set()
