"""What no sentence of the contract speaks of may be shown to a person, and a receiver may be woken by anything."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from small_shop import RANK, SmallOrder, SmallShop

from paydouble.stateful import Merchant, MerchantBug, Play, ServiceLike, Webhook


class ShowsItToAPerson(SmallShop):
    """Books everything, and wants a person to see a refund that it has not asked for, and a dispute that goes on."""

    def order_status(self, order_id: str) -> str:
        """Return `review` for an order with one of them."""
        is_new = len(self.orders[order_id].refunds) < len(self.of(order_id, "refund"))
        return "review" if is_new or self.goes_on(order_id) else super().order_status(order_id)

    def goes_on(self, order_id: str) -> bool:
        """Return whether a dispute has another version than `won` after it was won."""
        self.won: set[str] = self.__dict__.setdefault("won", set())
        for each in self.of(order_id, "dispute"):
            if each["status"] == "won":
                self.won.add(each["id"])
            elif each["id"] in self.won:
                return True
        return False


class BooksItLater(ShowsItToAPerson):
    """Leaves the books to the person as well."""

    def balance(self, order_id: str) -> Decimal:
        """Return what the customer has paid, as long as nobody has decided."""
        is_open = self.order_status(order_id) == "review"
        return self.orders[order_id].amount if is_open else super().balance(order_id)


@pytest.mark.parametrize("merchant", [ShowsItToAPerson, BooksItLater])
@pytest.mark.parametrize("acts", [("refund",), ("refund half",), ("dispute", "dispute won", "dispute reopened")])
def test_a_person_may_see_what_the_contract_does_not_speak_of(acts: tuple[str, ...], merchant: type[Merchant]) -> None:
    """It may be booked at once, or when that person has decided."""
    with Play(merchant, shows="at once") as play:
        play.pay()
        play.wait("10s")
        for act in acts:
            play.provider(act)
            play.wait("10s")
        play.end()
        assert play.status() == "review"


class KnowsTwoOutcomes(SmallShop):
    """Has words for a dispute that is won and for one that is lost, and leaves any other outcome to a person."""

    def order_status(self, order_id: str) -> str:
        """Return `review` for an order with another outcome."""
        return "review" if self.of(order_id, "dispute", "accepted") else super().order_status(order_id)

    def balance(self, order_id: str) -> Decimal:
        """Leave the money of one where it was."""
        is_open = self.order_status(order_id) == "review"
        return self.orders[order_id].amount if is_open else super().balance(order_id)


def test_a_person_may_decide_about_an_outcome_that_the_contract_does_not_name() -> None:
    """It names none."""
    with Play(KnowsTwoOutcomes, shows="at once") as play:
        play.pay()
        play.wait("10s")
        play.provider("dispute")
        play.provider("dispute accepted")


def test_a_person_need_not_see_what_the_shop_has_asked_for() -> None:
    """There is nothing to decide."""

    class ShowsAllRefunds(SmallShop):
        """Wants a person to see each refund."""

        def order_status(self, order_id: str) -> str:
            """Return `review` for an order with a refund."""
            return "review" if self.of(order_id, "refund") else super().order_status(order_id)

    with pytest.raises(MerchantBug, match="calls order-1 review in the end"), Play(ShowsAllRefunds) as play:
        play.pay()
        play.wait("10s")
        play.refund()
        play.wait("10s")


class AsksAboutUnknownStatuses(SmallShop):
    """Leaves an order to a person for good once the service has answered with a status that it does not know."""

    def __init__(self, service: ServiceLike) -> None:
        """Start with none."""
        super().__init__(service)
        self.odd: set[str] = set()

    def learn(self, resource: dict[str, Any]) -> None:
        """Note an unknown status."""
        if resource["status"] not in RANK:
            self.odd.add(str(self.order_of(resource)))
        super().learn(resource)

    def order_status(self, order_id: str) -> str:
        """Return `review` for such an order."""
        return "review" if order_id in self.odd else super().order_status(order_id)

    def ships_now(self, order: SmallOrder) -> bool:
        """Return whether no person has to look at it."""
        return order.id not in self.odd


class AsksAboutAll(AsksAboutUnknownStatuses):
    """Leaves each order to a person."""

    def learn(self, resource: dict[str, Any]) -> None:
        """Note each order."""
        self.odd.add(str(self.order_of(resource)))
        super().learn(resource)


def test_a_person_may_look_at_a_status_that_the_contract_does_not_have() -> None:
    """No shop can know what it means."""
    with Play(AsksAboutUnknownStatuses) as play:
        play.pay(1, "unknown status")
        play.wait("10s")
        play.end()
        assert play.status() == "review"

    with pytest.raises(MerchantBug, match="calls order-1 review"), Play(AsksAboutAll) as play:
        play.pay()
        play.wait("10s")


class WokenByAnything(SmallShop):
    """Stores each event, and works on what it has stored when anything comes, and in its job."""

    def __init__(self, service: ServiceLike) -> None:
        """Start with nothing stored."""
        super().__init__(service)
        self.stored: list[tuple[str, dict[str, Any]]] = []

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        """Store it; it is worked on with the next webhook."""
        self.stored.append((order_id, event))
        return 200

    def receive(self, webhook: Webhook) -> int:
        """Work on what is stored, and then take the webhook."""
        stored, self.stored = self.stored, []
        for order_id, event in stored:
            super().handle(order_id, event)
        return super().receive(webhook)

    def tick(self) -> None:
        """Work on what is stored, too."""
        super().tick()
        stored, self.stored = self.stored, []
        for order_id, event in stored:
            super().handle(order_id, event)


class ShipsForAnything(WokenByAnything):
    """Takes whatever comes for the money."""

    def receive(self, webhook: Webhook) -> int:
        """Ship, when a webhook has no meaning."""
        status = super().receive(webhook)
        if status == 400:
            for order in self.orders.values():
                order.shipped = 1
        return status


@pytest.mark.parametrize("how", ["no JSON", "wrong secret"])
def test_what_changes_nothing_may_wake_a_receiver(how: str) -> None:
    """It works on the events that it has acknowledged before."""
    with Play(WokenByAnything) as play:
        play.pay()
        play.pass_time("10s")
        assert play.status() == "pending"
        play.inject(how)
        assert play.status() == "paid"


def test_what_it_does_then_has_to_be_what_the_ledger_says() -> None:
    """Goods that nobody has paid for are sent because of the webhook."""
    found = pytest.raises(MerchantBug, match="changes its state because of")
    with found as caught, Play(ShipsForAnything) as play:
        play.pay()
        play.pass_time("1s")
        play.inject("no JSON")
    assert any("but no money has come" in each.text for each in caught.value.others)
