"""What happens while a webhook is worked on: later events come, jobs run, the order is cancelled."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, ClassVar

import pytest
from cancelling_shop import TakesUpAgain
from small_shop import SmallShop
from verdicts_of import verdicts_of

from paydouble.stateful import Merchant, Play, ServiceLike


class WritesOver(SmallShop):
    """Its receiver compares with what it knows, and writes in another transaction."""

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        resource = event["data"]["object"]
        old = self.versions.get(resource["id"])
        is_news = old is None or self.is_newer(resource, old)
        self.service.checkpoint()
        if is_news:
            self.versions.pop(resource["id"], None)
            self.learn(resource)
        return 200


class ShipsTwice(SmallShop):
    """Takes each event once, but looks whether it has shipped in another transaction than it ships."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.seen: set[str] = set()

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        if event["id"] in self.seen:
            return 200
        self.seen.add(event["id"])
        order = self.orders[order_id]
        was_shipped, shipped = order.shipped > 0, order.shipped
        order.shipped = 1  # so that `learn` does not
        self.learn(event["data"]["object"])
        order.shipped = shipped
        if not was_shipped and self.order_status(order_id) == "paid":
            self.service.checkpoint()
            order.shipped += 1
        return 200


class LosesARefund(SmallShop):
    """Its receiver reads what was given back of an order, and writes the sum in another transaction."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.given_back: dict[str, Decimal] = {}

    def learn(self, resource: dict[str, Any]) -> None:
        old, order_id = self.versions.get(resource["id"], {}), self.order_of(resource)
        is_done = resource["object"] == "refund" and resource["status"] == "succeeded" != old.get("status")
        before = self.given_back.get(str(order_id), Decimal(0))
        super().learn(resource)
        if is_done:
            self.given_back[str(order_id)] = before + resource["amount"]

    def balance(self, order_id: str) -> Decimal:
        came = sum((each["amount"] for each in self.of(order_id, "payin", "succeeded")), Decimal(0))
        return came - self.given_back.get(order_id, Decimal(0))


class ShipsWhatIsCancelled(TakesUpAgain):
    """Looks whether an order is cancelled, and ships it in another transaction; what is cancelled stays so."""

    def order_status(self, order_id: str) -> str:
        return "cancelled" if order_id in self.cancelled else super().order_status(order_id)


def found_by(merchant: type[Merchant], name: str) -> Iterator[str]:
    """Yield what the plays of the catalogue find in which this happens while a webhook or a job is running."""
    return verdicts_of(merchant, lambda play: any(name in step.arguments for step in play.steps))


def test_an_event_is_older_than_one_that_is_worked_on_meanwhile() -> None:
    """It is not written over it, though it was news when it came."""
    found = list(found_by(WritesOver, "events meanwhile"))
    assert "The merchant called order-1 paid and now calls it pending, though its money is there" in found


def test_a_job_does_the_same_as_a_receiver() -> None:
    """Only one of them may ship."""
    assert any("fulfilled order-1 2 times" in each for each in found_by(ShipsTwice, "jobs meanwhile"))
    assert list(found_by(ShipsTwice, "again meanwhile")) == []


def test_an_order_is_cancelled_while_its_money_is_taken() -> None:
    """It is not both cancelled and kept."""
    kept = "The merchant calls order-1 cancelled in the end; the service's ledger says paid or review"
    assert kept in found_by(ShipsWhatIsCancelled, "cancelled meanwhile")


def test_two_refunds_end_at_once() -> None:
    """Both count."""
    found = list(found_by(LosesARefund, "events meanwhile"))
    assert any("order-1" in each and "33.27" in each for each in found), found


@pytest.mark.parametrize("merchant", [SmallShop, TakesUpAgain])
@pytest.mark.parametrize(
    "name", ["events meanwhile", "cancelled meanwhile", pytest.param("jobs meanwhile", marks=pytest.mark.long)]
)
def test_a_shop_that_compares_and_writes_at_once_is_correct(merchant: type[Merchant], name: str) -> None:
    """At whichever point of its code something happens."""
    if name != "cancelled meanwhile" or merchant is TakesUpAgain:
        assert list(found_by(merchant, name)) == []


def test_later_events_come_while_the_first_is_worked_on() -> None:
    """All of the payment's; when the first one is answered they come again, since nobody has waited for the answers."""

    class Told(SmallShop):
        told: ClassVar[list[str]] = []

        def handle(self, order_id: str, event: dict[str, Any]) -> int:
            status = super().handle(order_id, event)
            self.told.append(event["type"])
            return status

    with Play(Told) as play:
        play.order()
        play.interrupt_webhook("events meanwhile")
        play.pay()
        later = ["pay-in.pending", "pay-in.processing", "pay-in.succeeded"]
        assert Told.told == [*later, "pay-in.created", *later]
        assert play.status() == "paid"
