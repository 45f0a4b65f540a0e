"""Correct shops of an unusual kind: what the contract leaves open is a choice, and no finding."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import pytest
from small_shop import SmallOrder, SmallShop, Wish

from paydouble.stateful import Merchant, MerchantBug, Play, explore
from paydouble.stateful.calibration import when_it_shows
from paydouble.stateful.catalogue import CatalogueRun, catalogue


class Rereads(SmallShop):
    """Takes a webhook as a hint, and believes what it reads from the service."""

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        return 200 if self.ask(order_id) else 503


class WorksLater(SmallShop):
    """Stores each event, and works on it in a job."""

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        self.service.checkpoint()
        self.stored = [*getattr(self, "stored", []), event]
        return 200

    def tick(self) -> None:
        stored, self.stored = getattr(self, "stored", []), []
        for event in stored:
            self.learn(event["data"]["object"])
        super().tick()


class NeverRetries(SmallShop):
    """Sends each request once, and closes an order whose attempt has failed."""

    retries_by_itself: ClassVar[bool] = False
    pauses = ()

    def may_be_paid(self, order: SmallOrder) -> bool:
        return order.wish is None

    def send(self, wish: Wish, path: str) -> None:
        """Look what has become of it instead."""
        if self.ask(wish.order_id) and wish.state == "open":
            wish.state = "refused"

    def send_first(self, wish: Wish, path: str) -> None:
        super().send(wish, path)


class FulfilsForThePayer(SmallShop):
    """Fulfils when the payer is back, or in its job, and only after the service has said that it is paid."""

    is_asked = False

    def ships_now(self, order: SmallOrder) -> bool:
        return self.is_asked

    def customer_returns(self, order_id: str) -> None:
        self.ask(order_id)

    def ask(self, order_id: str) -> bool:
        self.is_asked = True
        try:
            return super().ask(order_id)
        finally:
            self.is_asked = False


class Cron(SmallShop):
    """Sends nothing in a click; a job of each minute sends each open request once, and asks."""

    pauses = ()

    def send_first(self, wish: Wish, path: str) -> None:
        """Leave it to the job."""


class Jitters(SmallShop):
    """Pauses for about as long each time."""

    pauses = (2.1, 1.7, 2.4, 1.9)


class LearnsRefundsByAsking(SmallShop):
    """Works on the success of payments at once, and learns everything else in its job."""

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        if event["type"] == "pay-in.succeeded":
            self.learn(event["data"]["object"])
        return 200


class ClosesAfterARefusal(SmallShop):
    """Takes no further click on an order whose deposit was refused or whose payment has failed."""

    def may_be_paid(self, order: SmallOrder) -> bool:
        return order.wish is None or order.wish.state == "open"


SHOPS: Final = (
    ClosesAfterARefusal,
    SmallShop,
    Rereads,
    WorksLater,
    NeverRetries,
    FulfilsForThePayer,
    Cron,
    Jitters,
    LearnsRefundsByAsking,
)


@pytest.mark.parametrize("merchant", SHOPS)
def test_a_correct_shop_passes(merchant: type[Merchant]) -> None:
    """Each runs another part of the catalogue, and some examples of the hunt."""
    run = CatalogueRun(merchant, shows=when_it_shows(merchant))
    for play in catalogue()[SHOPS.index(merchant) :: len(SHOPS)]:
        if play.missing(merchant) is None:
            run.one(play)

    assert explore(merchant, examples=10, seed=1, phases=("hunt",)).examples >= 10


def test_a_trouble_that_lasts_also_meets_the_next_order() -> None:
    """Its reply is lost, so a shop that never retries does not know that the expired payment was its own."""
    with Play(NeverRetries, shows="at once") as play:
        play.order()
        play.dead_line(1, "80h", lasts=6)
        play.order()
        play.pay(2, scenario="abandoned")
        play.wait("25h")


def test_late_money_is_news_until_a_job_has_run() -> None:
    """Until then a shop that stores events shows the expired payment, and a click begins another; later it may not."""
    with Play(WorksLater, shows="after jobs") as play:
        play.order()
        play.pay(scenario="abandoned")
        play.wait("25h")
        play.provider("late money")
        play.pay()

    with pytest.raises(MerchantBug, match="made 2 deposits for order-1"), Play(ForgetsLateMoney) as play:
        play.order()
        play.pay(scenario="abandoned")
        play.wait("25h")
        play.provider("late money")
        play.wait("1m")
        play.pay()


class ForgetsLateMoney(WorksLater):
    """Takes an expired payment for the end of it."""

    def is_newer(self, resource: dict[str, Any], old: dict[str, Any]) -> bool:
        return old["status"] != "cancelled" and super().is_newer(resource, old)


def test_what_comes_while_jobs_run_is_left_to_the_next_ones() -> None:
    """A job takes long when it asks again and again; an event that comes meanwhile was not in its list."""
    with Play(WorksLater, shows="after jobs") as play:
        play.order()
        play.pay(1, "two replies lost", lasts="end")
        play.order()
        play.pay(2)
        play.work_off()
