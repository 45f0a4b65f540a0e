"""A shop that holds something for an order only for a time, and gives back what it learns of afterwards."""

from __future__ import annotations

from decimal import Decimal

import pytest
from small_shop import SmallOrder, SmallShop
from verdicts_of import verdicts_of

from paydouble.payments.resources import Refund
from paydouble.stateful import MerchantBug, Play, Refused

HOLD_SECONDS = 900


class Holds(SmallShop):
    """Closes an order after a quarter of an hour, unless it knows then that it is paid."""

    hold_seconds = HOLD_SECONDS
    gives_back = 1

    def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
        """Note when it was placed."""
        super().place_order(order_id, amount, currency)
        self.placed[order_id] = self.service.now()

    @property
    def placed(self) -> dict[str, float]:
        """When each order was placed."""
        found: dict[str, float] = self.__dict__.setdefault("_placed", {})
        return found

    @property
    def closed(self) -> set[str]:
        """The orders whose hold is over."""
        found: set[str] = self.__dict__.setdefault("_closed", set())
        return found

    def order_status(self, order_id: str) -> str:
        """Return `cancelled` for an order that was closed, and `review` where its refund was refused."""
        if order_id not in self.closed:
            return super().order_status(order_id)
        back = self.orders[order_id].refunds.get("back")
        return "review" if back is not None and back.state == "refused" else "cancelled"

    def pay(self, order_id: str) -> None:
        """Decline a click when the hold is over."""
        self.close_what_is_over()
        if order_id in self.closed:
            raise Refused
        super().pay(order_id)

    def tick(self) -> None:
        """Close what is over, and give back what came for it."""
        self.close_what_is_over()
        super().tick()
        for order_id in self.closed:
            if self.of(order_id, "payin", "succeeded"):
                self.give_back(self.orders[order_id])

    def close_what_is_over(self) -> None:
        """Close the orders whose hold is over."""
        for order_id, at in self.placed.items():
            if self.service.now() - at >= self.hold_seconds and self.may_be_closed(order_id):
                self.closed.add(order_id)

    def may_be_closed(self, order_id: str) -> bool:
        """Return whether no money is known."""
        return not self.of(order_id, "payin", "succeeded")

    def give_back(self, order: SmallOrder) -> None:
        """Ask once for all of an order's money to go back."""
        (paid,) = self.of(order.id, "payin", "succeeded")
        body = f'{{"payin_id": "{paid["id"]}", "amount": {order.amount}, "external_identifier": "back-{order.id}"}}'
        wish = order.refunds.setdefault("back", self.wish(order.id, body))
        if wish.state == "open":
            self.send(wish, "/refund/refund-creation")

    def ships_now(self, order: SmallOrder) -> bool:
        """Return whether it is still held."""
        return order.id not in self.closed


class AsksAPerson(Holds):
    """A person decides about what has come."""

    gives_back = 0

    def order_status(self, order_id: str) -> str:
        """Return `review` for a closed order whose money is known."""
        is_paid = bool(self.of(order_id, "payin", "succeeded"))
        return "review" if is_paid and order_id in self.closed else super().order_status(order_id)

    def give_back(self, order: SmallOrder) -> None:
        """Give nothing back."""


class KeepsIt(Holds):
    """Nobody decides about it."""

    def give_back(self, order: SmallOrder) -> None:
        """Give nothing back."""


class ClosesWhatIsPaid(Holds):
    """Its job looks at the time alone."""

    def may_be_closed(self, order_id: str) -> bool:
        """Return that it may be closed."""
        return True


def play_late(merchant: type[Holds]) -> None:
    """Let a shop learn after its hold that an order was paid in time."""
    with Play(merchant) as play:
        play.order()
        play.dead_line(1, "1h")
        play.end()
        assert play.sandbox.ledger.count(Refund) == merchant.gives_back


def test_what_a_shop_learns_after_its_hold_may_go_back() -> None:
    """The goods may be sold to somebody else by then."""
    play_late(Holds)


def test_a_person_may_look_at_it() -> None:
    """The shop has closed it before, so there is something to decide."""
    play_late(AsksAPerson)


def test_it_is_not_kept() -> None:
    """Without the goods."""
    with pytest.raises(MerchantBug, match="calls order-1 cancelled in the end"):
        play_late(KeepsIt)


def test_what_comes_after_its_hold_may_go_back() -> None:
    """So may the money of a request that a job has sent once more."""

    class HoldsShortly(Holds):
        hold_seconds = 300

    with Play(HoldsShortly) as play:
        play.order()
        play.pay(1, "request lost", lasts=6)
        play.wait("10m")
        play.end()
        assert play.sandbox.ledger.count(Refund) == 1


def test_what_was_paid_and_called_paid_stays() -> None:
    """A job that closes paid orders is found."""
    told = "refunded 49.90 EUR of order-1, which nobody had requested"
    with pytest.raises(MerchantBug, match=told), Play(ClosesWhatIsPaid) as play:
        play.order()
        play.pay(1)
        play.wait("10s")
        play.wait("1h")
        play.end()


class ClosesWhatItHasRead(Holds):
    """Closes the orders that it has read as unpaid, and gives back only what comes for one that is closed already."""

    looks_again = False

    def close_what_is_over(self) -> None:
        """Read what is over, and then close one after the other."""
        over = [order_id for order_id, at in self.placed.items() if self.service.now() - at >= self.hold_seconds]
        for order_id in [each for each in over if each not in self.closed and self.may_be_closed(each)]:
            self.service.checkpoint()
            if not self.looks_again or self.may_be_closed(order_id):
                self.closed.add(order_id)
                self.came_before |= {order_id} if self.of(order_id, "payin", "succeeded") else set()

    @property
    def came_before(self) -> set[str]:
        """The orders that were paid when they were closed."""
        found: set[str] = self.__dict__.setdefault("_came_before", set())
        return found

    @came_before.setter
    def came_before(self, orders: set[str]) -> None:
        self.__dict__["_came_before"] = orders

    def give_back(self, order: SmallOrder) -> None:
        """Give back what has come since the order was closed."""
        if order.id not in self.came_before:
            super().give_back(order)


@pytest.mark.parametrize("looks_again", [True, False])
@pytest.mark.parametrize("play_with", ["payer pays meanwhile", "late four"])
def test_money_comes_while_a_job_ends_holds(play_with: str, *, looks_again: bool) -> None:
    """What the job has read a moment before is no longer true."""
    merchant = type("Shop", (ClosesWhatItHasRead,), {"looks_again": looks_again})
    told = set(verdicts_of(merchant, lambda play: play_with in str(play.steps) and "interrupt_jobs" in str(play.steps)))
    assert bool(told) is not looks_again


class RepeatsInAJob(Holds):
    """Its job repeats a lost request after half a minute, long before the hold is over, and no click does."""

    pauses = ()

    def tick(self) -> None:
        """Repeat it when it is due."""
        self.close_what_is_over()
        if all(self.service.now() - at >= HOLD_SECONDS / 30 for at in self.placed.values()):
            super().tick()


def test_jobs_run_within_a_hold() -> None:
    """Also at the end of a play, where they have hours; in production they run each minute."""
    with Play(RepeatsInAJob) as play:
        play.order()
        play.pay(1, "request lost")
        play.end()
        assert play.status() == "paid"
