"""What happens while the request of a click waits for its reply: its events come, jobs run, the order is cancelled."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from cancelling_shop import TakesUpAgain
from small_shop import SmallOrder, SmallShop, Wish
from verdicts_of import verdicts_of

from paydouble.stateful import Merchant, Play, Refused, ServiceLike, Webhook


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


class RefusesRefunds(SetsStatus):
    """Looks at that status for refunds alone, so its books show nothing of the mistake."""

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        if order_id in self.reopened:
            raise Refused
        super().refund(order_id, refund_id, amount)

    def order_status(self, order_id: str) -> str:
        return SmallShop.order_status(self, order_id)


class BeginsAnew(SmallShop):
    """Its job sends an attempt without a payment again, as a new one, also while a click waits for the reply to it."""

    def tick(self) -> None:
        for order in self.orders.values():
            if order.wish and order.wish.state == "open" and self.ask(order.id) and not self.of(order.id, "payin"):
                order.wish = self.wish(order.id, order.wish.body.decode())
        super().tick()


class ForgetsTheAttempt(TakesUpAgain):
    """Takes an attempt without a reply for one that was never made when its order is cancelled."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.forgotten: set[str] = set()

    def cancel(self, order_id: str) -> None:
        super().cancel(order_id)
        wish = self.orders[order_id].wish
        if wish is not None and wish.state == "open":
            self.forgotten.add(order_id)

    def learn(self, resource: dict[str, Any]) -> None:
        if self.order_of(resource) not in self.forgotten:
            super().learn(resource)


class ShipsLater(SmallShop):
    """Correct: what is paid is sent by the job."""

    def ships_now(self, order: SmallOrder) -> bool:
        return not order.is_busy


def found_by(merchant: type[Merchant], *names: str) -> Iterator[str]:
    """Yield what the plays of the catalogue find in which one of these happens while a call is running."""
    meanwhile = {("meanwhile", name) for name in names}
    return verdicts_of(merchant, lambda play: any(meanwhile.intersection(step.options) for step in play.steps))


@pytest.mark.parametrize(
    ("merchant", "verdict"),
    [
        (SetsStatus, "The merchant called order-1 paid and now calls it pending, though its money is there"),
        (ReplacesRefund, "The merchant calls order-1 paid in the end; the service's ledger says partly_refunded"),
    ],
)
def test_a_reply_is_older_than_the_events_that_came_before_it(merchant: type[Merchant], verdict: str) -> None:
    """It tells what was, and is not written over what is."""
    assert verdict in found_by(merchant, "events come")


def test_what_a_reply_has_overwritten_shows_in_a_refund() -> None:
    """The refund of one paid order is refused, and that of another one was taken."""
    told = set(found_by(RefusesRefunds, "events come"))
    refused = (
        "The merchant refuses to refund 24.95 EUR of order-2, which is paid, though it took the same refund of order-1"
    )
    assert told == {refused}


def test_jobs_find_an_attempt_that_waits_for_its_reply() -> None:
    """They must not take it for one that was never made."""
    assert any(each.startswith("The merchant made 2 deposits") for each in found_by(BeginsAnew, "jobs run"))


class HasSlowJobs(SmallShop):
    """Its click waits a little, so that webhooks come meanwhile, and its jobs wait for long."""

    def pay(self, order_id: str) -> None:
        super().pay(order_id)
        self.service.sleep(3)

    def receive(self, webhook: Webhook) -> int:
        self.service.checkpoint()
        return super().receive(webhook)

    def tick(self) -> None:
        self.service.sleep(24)
        super().tick()


@pytest.mark.parametrize("at", range(8))
def test_the_time_of_jobs_is_not_that_of_a_webhook_which_they_interrupt(at: int) -> None:
    """They run at a point of the receiver's code, as its webhook has come while the click waits."""
    with Play(HasSlowJobs) as play:
        play.order()
        play.pay(meanwhile="jobs run", at=at)


def test_an_order_is_cancelled_while_its_attempt_waits_for_the_reply() -> None:
    """A payment may come of it all the same."""
    kept = "The merchant calls order-1 cancelled in the end; the service's ledger says paid or review"
    assert kept in found_by(ForgetsTheAttempt, "cancelled")


class CancelsWhatItLookedAt(TakesUpAgain):
    """Looks whether anything is paid, and cancels in another transaction; what is cancelled stays so."""

    def cancel(self, order_id: str) -> None:
        if self.order_status(order_id) != "unpaid":
            raise Refused
        self.service.checkpoint()
        self.cancelled.add(order_id)

    def order_status(self, order_id: str) -> str:
        return "cancelled" if order_id in self.cancelled else super().order_status(order_id)


def test_an_order_is_paid_for_while_it_is_cancelled() -> None:
    """The one that comes second has to see the first one."""
    kept = "The merchant calls order-1 cancelled in the end; the service's ledger says paid or review"
    assert kept in found_by(CancelsWhatItLookedAt, "paid for")


@pytest.mark.parametrize("merchant", [ShipsLater, TakesUpAgain])
def test_a_shop_that_keeps_the_newest_version_is_correct(merchant: type[Merchant]) -> None:
    """At whichever point of its code something happens."""
    allowed = {"cancelled", "paid for"} if merchant is TakesUpAgain else {"cancelled"}
    assert list(found_by(merchant, "events come", "jobs run", *allowed)) == []


def test_the_events_come_before_the_reply() -> None:
    """All four of a payment, before the shop goes on."""
    with Play(SmallShop) as play:
        play.order()
        play.pay(meanwhile="events come", at=1)
        events = ["pay-in.created", "pay-in.pending", "pay-in.processing", "pay-in.succeeded"]
        assert [event for event, *_ in play.answers] == events
        assert play.status() == "paid"
