"""Replies that are overtaken by the events of what they tell about."""

from __future__ import annotations

from typing import Any

import pytest
from small_shop import SmallOrder, SmallShop, Wish

from paydouble.stateful import Merchant, MerchantBug, Play, ServiceLike
from paydouble.stateful.catalogue import CatalogueRun, catalogue

PLAYS = [play for play in catalogue() if any(("meanwhile", "events come") in step.options for step in play.steps)]


class SetsStatus(SmallShop):
    """Has a status of its own, which the reply of a deposit sets whatever it became meanwhile."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.reopened: set[str] = set()

    def send(self, wish: Wish, path: str) -> None:
        super().send(wish, path)
        if wish.state == "made":
            self.reopened.add(wish.order_id)

    def is_newer(self, resource: dict[str, Any], old: dict[str, Any]) -> bool:
        is_newer = super().is_newer(resource, old)
        if is_newer:
            self.reopened.discard(str(self.order_of(resource)))
        return is_newer

    def order_status(self, order_id: str) -> str:
        return "pending" if order_id in self.reopened else super().order_status(order_id)


class ReplacesRefund(SmallShop):
    """Writes the reply of a refund over what has come of it, and asks for no refund."""

    def send(self, wish: Wish, path: str) -> None:
        super().send(wish, path)
        for each in self.of(wish.order_id, "refund") if "refund" in path else ():
            self.versions[each["id"]] = {**each, "status": "created"}

    def ask(self, order_id: str) -> bool:
        return all(each["status"] == "succeeded" for each in self.of(order_id, "payin")) or super().ask(order_id)


class ShipsLater(SmallShop):
    """Correct: what is paid is sent by the job."""

    def ships_now(self, order: SmallOrder) -> bool:
        return not order.is_busy


def found_by(merchant: type[Merchant]) -> list[str]:
    """Return what the plays of the catalogue find in which the events of a request overtake its reply."""
    verdicts = []
    for play in PLAYS:
        try:
            CatalogueRun(merchant).one(play)
        except MerchantBug as bug:
            verdicts.append(bug.verdict)
    return verdicts


@pytest.mark.parametrize(
    ("merchant", "verdict"),
    [
        (SetsStatus, "The merchant called order-1 paid and now calls it pending, though its money is there"),
        (ReplacesRefund, "The merchant calls order-1 paid in the end; the service's ledger says partly_refunded"),
    ],
)
def test_a_reply_is_older_than_the_events_that_came_before_it(merchant: type[Merchant], verdict: str) -> None:
    """It tells what was, and is not written over what is."""
    assert verdict in found_by(merchant)


@pytest.mark.parametrize("merchant", [SmallShop, ShipsLater])
def test_a_shop_that_keeps_the_newest_version_is_correct(merchant: type[Merchant]) -> None:
    """At whichever point of its code the events come."""
    assert found_by(merchant) == []


def test_the_events_come_before_the_reply() -> None:
    """All four of a payment, before the shop goes on."""
    with Play(SmallShop) as play:
        play.order()
        play.pay(meanwhile="events come", at=1)
        events = ["pay-in.created", "pay-in.pending", "pay-in.processing", "pay-in.succeeded"]
        assert [event for event, *_ in play.answers] == events
        assert play.status() == "paid"
