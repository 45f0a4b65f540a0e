"""What the machine makes of an answer that leaves open what a shop has done."""

from __future__ import annotations

from contextlib import nullcontext
from decimal import Decimal
from typing import Any

import pytest
from bugzoo.unusual_shops import NeverAsks
from small_shop import KEY_SECONDS, SmallShop, Unknown, Wish

from paydouble.stateful import DatabaseDown, MerchantBug, Play, Refused, ServiceLike


class Busy(SmallShop):
    """Answers 503 to an event of an order on which it is working."""

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        """Let the service send it again."""
        return 503 if self.orders[order_id].is_busy else super().handle(order_id, event)


class AlwaysBusy(Busy):
    """Answers 503 to each event."""

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        """Let the service send it again, always."""
        return 503


class GivesBackInItsJob(SmallShop):
    """Notes a cancellation, and gives the money back in its job; its adapter raises Refused on each answer but 200."""

    def __init__(self, service: ServiceLike) -> None:
        """Start with nothing cancelled."""
        super().__init__(service)
        self.cancelled: list[str] = []

    def cancel(self, order_id: str) -> None:
        """Note it; the database may fail in the commit, before or after it has stored it."""
        self.cancelled.append(order_id)
        try:
            self.service.checkpoint()
        except DatabaseDown:
            raise Refused from None

    def tick(self) -> None:
        """Give back what is left of the orders that were cancelled."""
        super().tick()
        for order_id in self.cancelled:
            if left := self.balance(order_id):
                self.refund(order_id, f"{order_id}-cancelled", left)


class GivesBackWhatItRefused(GivesBackInItsJob):
    """Refuses each cancellation, and gives the money back all the same."""

    def cancel(self, order_id: str) -> None:
        """Refuse it."""
        super().cancel(order_id)
        raise Refused


class RefundsNeverComeThrough(SmallShop):
    """Takes a refund, leaves it to a person when the service limits it once, and forgets it."""

    pauses = ()

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        """Take it."""
        self.reviewed: set[str] = self.__dict__.setdefault("reviewed", set())
        super().refund(order_id, refund_id, amount)
        wish = self.orders[order_id].refunds[refund_id]
        if wish.state == "open":
            wish.state = "refused"
            self.reviewed.add(order_id)

    def order_status(self, order_id: str) -> str:
        """Return `review` for an order whose refund was given up."""
        return "review" if order_id in getattr(self, "reviewed", ()) else super().order_status(order_id)


class LooksUpFirst(SmallShop):
    """Keeps the events of an order whose deposit has no known outcome until it has looked that up."""

    pauses = ()
    keeps = True

    def __init__(self, service: ServiceLike) -> None:
        """Start with nothing kept."""
        super().__init__(service)
        self.kept: list[tuple[str, dict[str, Any]]] = []

    def is_unknown(self, order_id: str) -> bool:
        """Return whether a deposit was asked for, and no reply or read has told of it."""
        wish = self.orders[order_id].wish
        return wish is not None and wish.state == "open"

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        """Keep it, or work on it."""
        if not self.is_unknown(order_id):
            return super().handle(order_id, event)
        if self.keeps:
            self.kept.append((order_id, event))
        return 200

    def tick(self) -> None:
        """Look up, and work on what was kept."""
        for order in self.orders.values():
            self.ask(order.id)
        kept, self.kept = self.kept, []
        for order_id, event in kept:
            self.handle(order_id, event)


class ForgetsWhatIsUnknown(LooksUpFirst):
    """Drops these events, and learns of nothing by reads but which deposits there are."""

    keeps = False

    def learn(self, resource: dict[str, Any]) -> None:
        """Take a read for the beginning."""
        super().learn({**resource, "status": "created"} if resource["id"] not in self.versions else resource)

    def ask(self, order_id: str) -> bool:
        """Look up what is unknown only."""
        return super().ask(order_id) if self.is_unknown(order_id) else True


class ReviewsWhatIsUnknown(SmallShop):
    """Leaves a deposit to a person that has no answer, and whose key has expired."""

    def order_status(self, order_id: str) -> str:
        """Return `review` for an order with one."""
        wish = self.orders[order_id].wish
        is_old = wish is not None and self.service.now() - wish.since > KEY_SECONDS
        is_unknown = is_old and wish is not None and wish.state == "refused"
        has_money = self.of(order_id, "payin", "succeeded")
        return "review" if is_unknown and not has_money else super().order_status(order_id)


@pytest.mark.parametrize("before", [(), ("card-declined",)])
def test_a_person_may_look_at_a_deposit_of_which_nothing_is_known(before: tuple[str, ...]) -> None:
    """Also where another attempt has ended before it."""
    with Play(ReviewsWhatIsUnknown) as play:
        play.order()
        for scenario in before:
            play.pay(1, scenario=scenario)
            play.wait("10s")
        play.pay(1, "request lost", lasts="end")
        play.outage("80h")
        play.wait("10s")
        assert play.status() == "review"


def test_events_may_wait_until_the_outcome_of_the_deposit_is_looked_up() -> None:
    """A job that gets no answer to that cannot work on them yet."""
    with Play(LooksUpFirst, shows="at once") as play:
        play.pay(1, "500 after the commit")
        play.pass_time("10s")
        play.work_off()
        play.wait("10s")
        assert play.status() == "paid"


def test_events_do_not_wait_once_a_read_has_told_of_the_deposit() -> None:
    """What was acknowledged meanwhile has to be worked on."""
    with pytest.raises(MerchantBug, match="order-1 pending in the end"), Play(ForgetsWhatIsUnknown) as play:
        play.pay(1, "500 after the commit")
        play.pass_time("10s")
        play.wait("10s")
        play.work_off()


def test_a_shop_may_be_busy_while_it_works_on_the_order() -> None:
    """The service sends the webhook again."""
    with Play(Busy) as play:
        play.pay(1, meanwhile="webhook first")
        play.wait("10s")
        assert ("pay-in.created", 503) in {(kind, status) for kind, status, _ in play.answers}
        assert play.status() == "paid"


def test_a_shop_that_does_nothing_else_is_not_busy() -> None:
    """It has no reason to refuse."""
    with pytest.raises(MerchantBug, match=r"answers 503 to a pay-in\.created"), Play(AlwaysBusy) as play:
        play.pay()
        play.wait("10s")


def play_cancellation(merchant: type[SmallShop], meanwhile: str) -> None:
    """Cancel an order that is paid."""
    with Play(merchant) as play:
        play.pay()
        play.wait("10s")
        play.cancel(1, meanwhile=meanwhile)
        play.wait("10s")


def test_a_refusal_after_a_failure_of_the_database_leaves_open_what_was_done() -> None:
    """An answer of 500 may come after the commit, so the order may be cancelled, and its money go back."""
    play_cancellation(GivesBackInItsJob, "database down")


def test_a_refusal_without_a_failure_says_that_nothing_was_done() -> None:
    """So nobody has asked for the money to go back."""
    with pytest.raises(MerchantBug, match="which nobody had requested"):
        play_cancellation(GivesBackWhatItRefused, "none")


def test_what_is_owed_is_told_before_what_the_order_is_called() -> None:
    """It is the reason for it."""
    with pytest.raises(MerchantBug) as caught, Play(RefundsNeverComeThrough) as play:
        play.pay()
        play.wait("10s")
        play.refund(1, "half", "429")
        play.wait("10m")
    assert caught.value.verdict.startswith("The merchant never refunded 24.95 EUR of order-1")
    assert any("calls order-1 review in the end" in each.text for each in caught.value.others)


class LeavesItToAPerson(SmallShop):
    """Gives a deposit up whose key is answered with an error each time, and notes it for a person."""

    pauses = ()
    most_tries = 4

    def post(self, path: str, wish: Wish) -> dict[str, Any]:
        """Count the tries."""
        self.tries = self.__dict__.get("tries", 0) + 1
        if self.tries > self.most_tries:
            raise Unknown
        return super().post(path, wish)

    def order_status(self, order_id: str) -> str:
        """Return `review` for one that was given up."""
        is_given_up = self.__dict__.get("tries", 0) > self.most_tries and not self.of(order_id, "payin")
        return "review" if is_given_up else super().order_status(order_id)


def test_a_person_may_find_out_what_a_key_with_a_stored_error_has_made() -> None:
    """Nobody can ask under it again, and no event comes; where a request was only lost, a job gets through."""
    with Play(LeavesItToAPerson) as play:
        play.order()
        play.pay(1, "stored 500")
        play.end()
        assert play.status() == "review"


class WaitsForever(SmallShop):
    """Takes an attempt for open until the service has a payment of it, also when its key is too old."""

    def send(self, wish: Wish, path: str) -> None:
        """Ask, and wait on."""
        if self.service.now() - wish.since <= KEY_SECONDS:
            super().send(wish, path)
        else:
            self.ask(wish.order_id)


@pytest.mark.parametrize("comes_back", [False, True])
@pytest.mark.parametrize("merchant", [SmallShop, NeverAsks, WaitsForever])
def test_an_attempt_that_was_lost_is_open_until_the_customer_comes_back(
    merchant: type[SmallShop], *, comes_back: bool
) -> None:
    """Then the order can be paid, or says that it cannot."""
    is_wrong = comes_back and merchant is WaitsForever
    found = pytest.raises(MerchantBug, match="calls order-1 pending in the end") if is_wrong else nullcontext()
    with found, Play(merchant) as play:
        play.pay(scenario="card-declined")
        play.wait("10s")
        play.webhooks("drop all")
        play.retry(1, "request lost", lasts=6)
        play.pass_time("25h")
        play.wait("10s")
        if comes_back:
            play.retry()
            play.wait("10s")
