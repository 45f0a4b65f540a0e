"""What comes just before an order is given up is looked at, whatever time each merchant gives its orders."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from small_shop import SmallOrder, SmallShop, Wish

from paydouble.core.errors import UsageError
from paydouble.stateful import MerchantBug, MerchantMachine, ServiceLike
from paydouble.stateful.catalogue_run import CatalogueRun, Extent, first_of
from paydouble.stateful.coverage import Coverage
from paydouble.stateful.holds import hold_of
from paydouble.stateful.steps import Hold

_MINUTE = 60_000
_HALF_AN_HOUR = 1800


class KeepsForHalfAnHour(SmallShop):
    """Gives an order up for good half an hour after its click, when its deposit ends. It asks about all orders."""

    def wish(self, order_id: str, body: str) -> Wish:
        """Let a deposit expire with its order."""
        is_deposit = '"payment_method"' in body
        return super().wish(order_id, body[:-1] + f', "expires_in": {_HALF_AN_HOUR}}}' if is_deposit else body)

    def order_status(self, order_id: str) -> str:
        """Return the status; `cancelled` for an order that is given up."""
        status, wish = super().order_status(order_id), self.orders[order_id].wish
        is_over = wish is not None and self.service.now() - wish.since >= _HALF_AN_HOUR
        return "cancelled" if status == "pending" and is_over else status

    def may_be_paid(self, order: SmallOrder) -> bool:
        """Return whether a click begins or continues a payment: not for an order that is given up."""
        is_over = order.wish is not None and self.service.now() - order.wish.since >= _HALF_AN_HOUR
        return not is_over and super().may_be_paid(order)


class AsksNoMore(KeepsForHalfAnHour):
    """Does not ask about an order that is given up."""

    def ask(self, order_id: str) -> bool:
        """Answer nothing for it."""
        return self.order_status(order_id) == "cancelled" or super().ask(order_id)


class TakesSilenceForNo(KeepsForHalfAnHour):
    """Asks once more when an order is to be given up, and takes a read without an answer for one that says no."""

    def __init__(self, service: ServiceLike) -> None:
        """Start with no order that is closed."""
        super().__init__(service)
        self.closed: set[str] = set()

    def ask(self, order_id: str) -> bool:
        """Close what is over."""
        if order_id in self.closed:
            return True
        answered = super().ask(order_id)
        if self.order_status(order_id) == "cancelled":
            self.closed.add(order_id)
        return answered


class KeepsForEver(SmallShop):
    """Never gives an order up, whatever the service says."""

    def order_status(self, order_id: str) -> str:
        """Return the status; an order without money is open."""
        status = super().order_status(order_id)
        return "pending" if status == "cancelled" else status


class KeepsForSeconds(KeepsForHalfAnHour):
    """Gives an order up at once."""

    def order_status(self, order_id: str) -> str:
        """Return the status, without any patience."""
        status, wish = super().order_status(order_id), self.orders[order_id].wish
        is_over = wish is not None and self.service.now() - wish.since >= 1
        return "cancelled" if status == "pending" and is_over else status


def _found(merchant: type[SmallShop]) -> list[tuple[str, MerchantBug]]:
    """Return the findings of the plays that depend on the hold, each with the reason of its play."""
    run = CatalogueRun(merchant, hold=hold_of(merchant))
    usual = {play.steps for play in run._replace(hold=None).plays()}
    found = []
    for play in run.plays():
        if play.steps not in usual:
            try:
                run.one(play)
            except MerchantBug as bug:
                found.append((play.reason, bug))
    return found


def test_a_hold_is_seen() -> None:
    """To the minute in the first hour, else to the half hour; a day at most, as a payment has by default."""
    assert hold_of(KeepsForHalfAnHour) == Hold(kept=29 * _MINUTE, over=30 * _MINUTE)
    assert hold_of(SmallShop) == Hold(kept=(23 * 60 + 30) * _MINUTE, over=24 * 60 * _MINUTE)
    assert hold_of(KeepsForEver) is None
    assert hold_of(KeepsForSeconds) is None


def test_a_shop_that_asks_about_what_it_has_given_up_is_right() -> None:
    """The money of an order that was given up is found and given back, or the order is paid all the same."""
    assert _found(KeepsForHalfAnHour) == []
    assert _found(SmallShop) == []


def test_money_of_the_last_minute_has_to_be_found() -> None:
    """The last read before an order is given up was in vain, or there was none."""
    found = _found(AsksNoMore)

    assert "the payer pays just before the order is given up" in {reason for reason, _ in found}
    assert any("play.wait('29m')" in bug.calls for _, bug in found)


def test_a_read_without_an_answer_is_not_a_no() -> None:
    """Only plays in which reads fail show it."""
    assert {reason for reason, _ in _found(TakesSilenceForNo)} >= {
        "the payer pays just before the order is given up, and reads fail",
        "reads fail until then",
    }


def test_without_a_hold_the_plays_are_left_out() -> None:
    """A machine says why. A number that only a shop with such a time has is refused when the run begins."""
    coverage = Coverage()
    with_hold, without = CatalogueRun(SmallShop, hold=Hold(1, 2)), CatalogueRun(SmallShop)

    left_out = len(with_hold.plays()) - len(without.plays(coverage))

    assert left_out > 50
    assert "no time was found at which the merchant gives an order up" in coverage.skipped.values()
    last = len(with_hold.plays())
    assert first_of(SmallShop, last, "first_play") == last
    with pytest.raises(UsageError, match=f"there is no play {last:,}; in this run there are {last - left_out:,}"):
        without.all(Coverage(), [], Extent(first=last))
    with pytest.raises(UsageError, match=f"allows {last:,}"):
        first_of(SmallShop, last + 1, "first_play")


def test_the_machine_looks_for_the_hold_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """And plays the merchant's own time."""
    held: list[Hold | None] = []

    def noted(self: CatalogueRun, *_: Any) -> None:  # noqa: ANN401 - as the method's
        held.append(self.hold)

    monkeypatch.setattr(CatalogueRun, "all", noted)
    machine: Any = type("Machine", (MerchantMachine,), {"merchant": KeepsForHalfAnHour, "phases": ("catalogue",)})

    machine.run(settings())

    assert held == [Hold(kept=29 * _MINUTE, over=30 * _MINUTE)]
