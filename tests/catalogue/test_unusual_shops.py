"""No correct shop of an unusual kind breaks a rule."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar

import pytest
from bugzoo.unusual_shops import UNUSUAL_SHOPS, LeavesTheUnknown, NeverRetries, Rereads, WorksLater, play_a_part
from small_shop import SmallOrder, SmallShop, Wish

from paydouble.stateful import Merchant, MerchantBug, Play, Refused, ServiceLike, explore

# All shops together play a ninth of the catalogue; `python tests/zoo --correct 1` plays all of it with each.
_PARTS = 9 * len(UNUSUAL_SHOPS)


@pytest.mark.parametrize(
    "merchant",
    [pytest.param(each, marks=[pytest.mark.long] if at % 3 else []) for at, each in enumerate(UNUSUAL_SHOPS)],
)
def test_a_correct_shop_passes(merchant: type[Merchant]) -> None:
    """Each runs another part of the catalogue, and some examples of the hunt."""
    play_a_part(merchant, _PARTS)

    assert explore(merchant, examples=5, seed=1, phases=("hunt",)).examples >= 5


def test_a_trouble_that_lasts_also_meets_the_next_order() -> None:
    """Its reply is lost, so a shop that never retries does not know that the expired payment was its own."""
    with Play(NeverRetries, shows="at once") as play:
        play.order()
        play.dead_line(1, "80h", lasts=6)
        play.order()
        play.pay(2, scenario="abandoned")
        play.wait("25h")


def test_who_may_not_read_may_ask_for_the_event_again() -> None:
    """A shop that believes only what it reads answers 503 while its reads are refused with 429."""
    with Play(Rereads) as play:
        play.reads("429")
        play.order()
        play.pay()
        play.wait("1h")
        assert play.status() == "paid"


def test_an_event_that_comes_before_the_identifier_may_wait_for_a_job() -> None:
    """A shop that works on its events at once needs the reply for that; one that drops such an event is found."""
    with Play(LeavesTheUnknown, shows="at once") as play:
        play.order()
        play.pay(trouble="reply lost")
        play.pass_time("10s")
        play.work_off()

    found = r"answered 200 to the pay-in.succeeded of order-1 and still calls it pending"
    with pytest.raises(MerchantBug, match=found), Play(DropsTheUnknown, shows="at once") as play:
        play.order()
        play.pay(trouble="reply lost")
        play.pass_time("10s")
        play.work_off()


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


class DropsTheUnknown(LeavesTheUnknown):
    """Drops the events of payments and refunds that it does not have the identifier of, and never asks."""

    reconciles: ClassVar[bool] = False

    def ask(self, order_id: str) -> bool:
        return False

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        answer = super().handle(order_id, event)
        self.stored: list[dict[str, Any]] = []
        return answer


class SendsInJobs(WorksLater):
    """Leaves its deposits to the job, which sends them before it works on the events that are stored."""

    def send_first(self, wish: Wish, path: str) -> None:
        self.service.checkpoint()

    def tick(self) -> None:
        for order in self.orders.values():
            if order.wish and order.wish.state == "open":
                self.service.checkpoint()
                self.send(order.wish, "/pay-in/deposit-creation")
        super().tick()


def test_late_money_stays_news_when_the_job_has_failed() -> None:
    """The database was down before the job came to the event."""
    with Play(SendsInJobs, shows="after jobs") as play:
        play.order()
        play.pay(scenario="abandoned")
        play.wait("25h")
        play.provider("late money")
        play.order()
        play.pay(2, meanwhile="database down", at=1)
        play.pay(1)


class WaitsAfterAFailure(WorksLater):
    """Leaves its stored events alone for a minute after its work on them has failed."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.waits_until = 0.0

    def tick(self) -> None:
        if self.service.now() < self.waits_until:
            return
        self.waits_until = self.service.now() + 60
        super().tick()
        self.waits_until = 0.0


def test_late_money_stays_news_while_a_job_waits_after_a_failure() -> None:
    """A job that has failed may do nothing for a while, so that the next ones learn nothing."""
    with Play(WaitsAfterAFailure, shows="after jobs") as play:
        play.order()
        play.pay(scenario="abandoned")
        play.wait("25h")
        play.provider("late money")
        play.interrupt_jobs("database down")
        play.wait("10s")
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


class CancelsAtOnce(SmallShop):
    """Gives the money of a cancelled order back at once, and declines to be paid for it."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.gone: set[str] = set()

    def cancel(self, order_id: str) -> None:
        self.gone.add(order_id)
        if self.order_status(order_id) == "paid":
            self.refund(order_id, "cancelled", self.balance(order_id))

    def order_status(self, order_id: str) -> str:
        status = super().order_status(order_id)
        return "cancelled" if status == "pending" and order_id in self.gone else status

    def tick(self) -> None:
        super().tick()
        for order_id in self.gone:
            if self.order_status(order_id) == "paid":
                self.refund(order_id, "cancelled", self.balance(order_id))

    def pay(self, order_id: str) -> None:
        self.service.checkpoint()
        super().pay(order_id)
        if order_id in self.gone:
            raise Refused


@pytest.mark.parametrize("was_paid", [True, False])
def test_a_click_is_not_blamed_for_a_cancellation_that_came_in_between(was_paid: bool) -> None:
    """A refund is the cancellation's, and a deposit is no longer wanted; what was declined is the click."""
    with Play(CancelsAtOnce) as play:
        play.order()
        if was_paid:
            play.pay()
            play.wait("10s")
        play.pay(meanwhile="cancelled", at=0 if was_paid else 1)
        play.end()
        assert play.status() == "refunded"


class NamesDeposits(SmallShop):
    """Tells the order of each deposit, so that nobody else knows the next identifier; jobs repeat its requests."""

    pauses = ()

    def order_of_deposit(self, external_identifier: str) -> str:
        return external_identifier


@pytest.mark.parametrize(
    "lost", ["the earlier click", "what jobs did for another", "the next click", "the click on a later order"]
)
def test_a_trouble_that_lasts_to_the_end_excuses_all_orders_that_it_meets(lost: str) -> None:
    """Without an identifier to match, the deposits of all orders meet it."""
    with Play(NamesDeposits) as play:
        play.order()
        play.order()
        if lost == "what jobs did for another":
            play.order()
            play.pay(3, trouble="request lost")
            play.wait("59m")
        if lost in {"the earlier click", "what jobs did for another"}:
            play.pay(2, trouble="request lost")
        play.pay(1, trouble="request lost", lasts="end")
        if lost == "the next click":
            play.pay(2)
        if lost == "the click on a later order":
            play.order()
            play.pay(3)
        play.wait("59m")


class GivesShortMoneyBack(SmallShop):
    """Gives a payment of another amount back in its job, and lets the customer pay again."""

    def status_of_paid(self, order: SmallOrder) -> str:
        short = self.short(order)
        if short and len(short) == len(self.of(order.id, "payin", "succeeded")):
            return "failed" if all(f"short-{each['id']}" in order.refunds for each in short) else "review"
        return "paid"

    def short(self, order: SmallOrder) -> list[dict[str, Any]]:
        return [each for each in self.of(order.id, "payin", "succeeded") if each["amount"] != order.amount]

    def tick(self) -> None:
        for order in self.orders.values():
            for each in self.short(order):
                body = f'{{"payin_id": "{each["id"]}", "amount": {each["amount"]}, "external_identifier": "short"}}'
                order.refunds.setdefault(f"short-{each['id']}", self.wish(order.id, body))
        super().tick()


def test_who_gives_a_short_payment_back_may_be_paid_again() -> None:
    """The second deposit is the customer's wish, and the order was charged once."""
    with Play(GivesShortMoneyBack) as play:
        play.order()
        play.pay(trouble="underpaid")
        play.wait("1h")
        play.retry()
        play.wait("1h")
        assert play.status() == "paid"


def test_a_job_may_give_a_short_payment_back_after_the_next_click() -> None:
    """What matters is that it goes back."""

    class IsPaidAgain(GivesShortMoneyBack):
        def status_of_paid(self, order: SmallOrder) -> str:
            status = super().status_of_paid(order)
            return "failed" if status == "review" else status

    with Play(IsPaidAgain) as play:
        play.order()
        play.pay(trouble="underpaid")
        play.pass_time("10s")
        play.retry()
        play.wait("1h")
        assert play.status() == "paid"


def test_who_gives_a_short_payment_back_may_close_the_order() -> None:
    """The shop itself has cancelled it."""

    class Closes(GivesShortMoneyBack):
        def status_of_paid(self, order: SmallOrder) -> str:
            status = super().status_of_paid(order)
            return "cancelled" if status == "failed" else status

    with Play(Closes) as play:
        play.order()
        play.pay(trouble="underpaid")
        play.wait("1h")
        assert play.status() == "cancelled"


def test_who_keeps_a_short_payment_may_not_charge_again() -> None:
    """Nobody has asked for the first one back."""

    class Keeps(GivesShortMoneyBack):
        def tick(self) -> None:
            SmallShop.tick(self)

        def status_of_paid(self, order: SmallOrder) -> str:
            return "failed" if len(self.of(order.id, "payin")) == 1 else "review"

    with pytest.raises(MerchantBug, match="charged order-1 2 times, since another"), Play(Keeps) as play:
        play.order()
        play.pay(trouble="underpaid")
        play.wait("1h")
        play.retry()


class HoldsForHalfAnHour(SmallShop):
    """Keeps what was ordered for half an hour, and declines a click after that."""

    def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
        super().place_order(order_id, amount, currency)
        self.until = self.service.now() + 1800

    def pay(self, order_id: str) -> None:
        if self.service.now() >= self.until and not self.of(order_id, "payin"):
            raise Refused
        super().pay(order_id)


def test_what_was_held_for_an_order_may_be_gone_after_minutes() -> None:
    """The first click comes late; at once the only order of a play has to be sold."""
    with Play(HoldsForHalfAnHour) as play:
        play.order()
        play.outage("1h")
        play.pay()

    class HoldsNothing(HoldsForHalfAnHour):
        def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
            super().place_order(order_id, amount, currency)
            self.until = 0.0

    with pytest.raises(MerchantBug, match="never made a deposit for order-1"), Play(HoldsNothing) as play:
        play.order()
        play.pay()
