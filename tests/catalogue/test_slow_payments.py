"""A payment may take days: it is neither forgotten nor taken for paid meanwhile."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from late_shipping_shop import ShipsUntouchedOnly
from small_shop import SmallOrder, SmallShop, Wish
from verdicts_of import verdicts_of

from paydouble.core.durations import parse_duration
from paydouble.scenarios.library import shipped
from paydouble.scenarios.steps import PayInStep
from paydouble.stateful.troubles import SLOW_REFUND, SLOW_SCENARIOS

if TYPE_CHECKING:
    from typing import Any

    from paydouble.stateful import Merchant
    from paydouble.stateful.steps import CataloguePlay

HOUR_SECONDS = 3600
DAY_SECONDS = 24 * HOUR_SECONDS


def is_slow(play: CataloguePlay) -> bool:
    """Return whether a play has a payment or a refund of days."""
    slow = {*SLOW_SCENARIOS, SLOW_REFUND}
    return any(dict(step.options).get("scenario") in slow for step in play.steps)


class GivesUpAsking(SmallShop):
    """Asks about young orders only."""

    def ask(self, order_id: str) -> bool:
        """Ask on the first day."""
        wish = self.orders[order_id].wish
        is_young = wish is None or self.service.now() - wish.since < DAY_SECONDS
        return super().ask(order_id) if is_young else True


class ClosesEarly(SmallShop):
    """Closes an order that is not paid after an hour, and forgets it."""

    def is_over(self, order: SmallOrder) -> bool:
        """Return whether an order was not paid in time."""
        wish = order.wish
        return wish is not None and not order.shipped and self.service.now() - wish.since > HOUR_SECONDS

    def learn(self, resource: dict[str, Any]) -> None:
        """Leave out orders that are over."""
        order = self.orders.get(self.order_of(resource) or "")
        if order is None or not self.is_over(order):
            super().learn(resource)

    def order_status(self, order_id: str) -> str:
        """Show it as cancelled."""
        return "cancelled" if self.is_over(self.orders[order_id]) else super().order_status(order_id)


class TrustsTime(SmallShop):
    """Ships when a payment has been under way for a day."""

    def tick(self) -> None:
        """Run the jobs, and lose patience."""
        super().tick()
        for order in self.orders.values():
            waits = order.wish is not None and self.service.now() - order.wish.since > DAY_SECONDS
            if waits and not order.shipped and self.order_status(order.id) == "pending":
                order.shipped += 1


class RepeatsSlowRefunds(SmallShop):
    """Asks again, as for another refund, for one that is under way for a day."""

    def tick(self) -> None:
        """Run the jobs, and lose patience with a refund."""
        super().tick()
        for order in self.orders.values():
            for name, wish in list(order.refunds.items()):
                is_open = any(
                    each["status"] in {"created", "processing"} and each["external_identifier"] == name
                    for each in self.of(order.id, "refund")
                )
                if is_open and self.service.now() - wish.since > DAY_SECONDS and f"{name}+" not in order.refunds:
                    body = wish.body.replace(f'"{name}"'.encode(), f'"{name}+"'.encode())
                    order.refunds[f"{name}+"] = self.wish(order.id, body.decode())
                    self.send(order.refunds[f"{name}+"], "/refund/refund-creation")


class ReservesForAnHour(SmallShop):
    """Keeps the goods for an hour, and gives back money that comes later: a correct shop."""

    def ships_now(self, order: SmallOrder) -> bool:
        """Say whether the goods are still there."""
        return order.wish is not None and self.service.now() - order.wish.since < HOUR_SECONDS

    def tick(self) -> None:
        """Run the jobs, and give back what came too late."""
        super().tick()
        for order in self.orders.values():
            for each in () if order.shipped else self.of(order.id, "payin", "succeeded"):
                body = f'{{"payin_id": "{each["id"]}", "amount": {order.amount}, "external_identifier": "late"}}'
                wish: Wish = order.refunds.setdefault("late", self.wish(order.id, body))
                if wish.state == "open":
                    self.send(wish, "/refund/refund-creation")


class LeavesItToAPerson(SmallShop):
    """Asks for a week what becomes of a refund, and notes for a person that it does not know: a correct shop."""

    def is_left(self, order_id: str) -> bool:
        """Return whether a refund of an order has had no outcome for a week."""
        since = {name: wish.since for name, wish in self.orders[order_id].refunds.items()}
        return any(
            each["status"] in {"created", "processing"}
            and self.service.now() - since.get(each["external_identifier"], self.service.now()) > 7 * DAY_SECONDS
            for each in self.of(order_id, "refund")
        )

    def ask(self, order_id: str) -> bool:
        """Ask no more."""
        return True if self.is_left(order_id) else super().ask(order_id)

    def order_status(self, order_id: str) -> str:
        """Show the note."""
        return "review" if self.is_left(order_id) else super().order_status(order_id)


class LeavesWhatItIsTold(LeavesItToAPerson):
    """Takes the event of the end, and keeps the note all the same."""

    def learn(self, resource: dict[str, Any]) -> None:
        """Leave out what a person was asked to find out."""
        order_id = self.order_of(resource)
        if order_id is None or not self.is_left(order_id):
            super().learn(resource)


class SendsWhatGoesBack(ShipsUntouchedOnly):
    """Does not look at refunds that are under way before it sends the goods."""

    def promised(self, order: SmallOrder) -> Decimal:
        """Return nothing."""
        return Decimal(0)


class KnowsTheRest(SmallShop):
    """Promises to ask for no more than is left."""

    demands = ("refund limit",)


class FreesAfterAWeek(KnowsTheRest):
    """Takes the money of a refund for free again when it has had no outcome for a week."""

    def promised(self, order: SmallOrder) -> Decimal:
        """Return the money of the younger refunds."""
        now, since = self.service.now(), {name: wish.since for name, wish in order.refunds.items()}
        old = sum(
            each["amount"]
            for each in self.of(order.id, "refund", "created", "processing")
            if now - since[each["external_identifier"]] > 7 * DAY_SECONDS
        )
        return super().promised(order) - Decimal(old)


@pytest.mark.parametrize(
    ("merchant", "verdict"),
    [
        (SendsWhatGoesBack, "The merchant fulfilled order-1 after all of its money was given back"),
        (FreesAfterAWeek, "The merchant takes a refund of 24.95 EUR of order-1, of which 16.64 EUR is left"),
        (LeavesWhatItIsTold, "The merchant answered 200 to the refund.succeeded of order-1 and calls it review"),
        (GivesUpAsking, "The merchant calls order-1 pending in the end; the service's ledger says paid"),
        (ClosesEarly, "The merchant calls order-1 cancelled in the end; the service's ledger says paid"),
        (RepeatsSlowRefunds, "The merchant refunded 24.95 EUR of order-1 2 times ("),
        (TrustsTime, "The merchant fulfilled order-1, but no money has come"),
    ],
)
def test_who_does_not_wait_is_found(merchant: type[Merchant], verdict: str) -> None:
    """Each with its own sentence."""
    assert any(each.startswith(verdict) for each in verdicts_of(merchant, is_slow))


@pytest.mark.parametrize("merchant", [KnowsTheRest, ReservesForAnHour, LeavesItToAPerson, ShipsUntouchedOnly])
def test_who_waits_or_gives_the_money_back_passes(merchant: type[Merchant]) -> None:
    """After days a merchant may have sold the goods to somebody else, or have no answer about a refund."""
    assert list(verdicts_of(merchant, is_slow)) == []


@pytest.mark.parametrize("name", SLOW_SCENARIOS)
def test_the_time_of_a_slow_payment_is_half_an_hour_before_its_end(name: str) -> None:
    """So that a job can read just before it."""
    scenario = shipped(name)
    assert scenario is not None
    steps = [step for step in scenario.lifecycle.pay_in or () if isinstance(step, PayInStep)]
    assert sum(step.after for step in steps) - parse_duration(SLOW_SCENARIOS[name]) == parse_duration("30m")
