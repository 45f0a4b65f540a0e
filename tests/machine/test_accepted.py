"""Findings that a merchant's owner knows and accepts."""

from __future__ import annotations

import pytest
from small_shop import SmallShop

from paydouble.core.errors import UsageError
from paydouble.stateful import Accepted, MerchantBug, MerchantMachine, Play


class NeverShips(SmallShop):
    """Sends nothing that is paid."""

    def ships_now(self, order: object) -> bool:
        return False


class KnownToNeverShip(NeverShips):
    """The same, as its owner knows."""

    accepts = {  # noqa: RUF012 - as a user writes it
        r"never fulfilled order-\d+": "another system ships",
        r"has not fulfilled it": "the same",
        r"keeps the change": "it never happens",
    }


def test_a_finding_that_is_accepted_ends_no_play() -> None:
    """Others still do."""
    with pytest.raises(MerchantBug, match="never fulfilled order-1"), Play(NeverShips) as play:
        play.pay()
    with Play(KnownToNeverShip) as play:
        play.pay()
    assert dict(play.tried.accepted) == {r"never fulfilled order-\d+": 1}
    with pytest.raises(MerchantBug, match="is none of"), Play(_shows(KnownToNeverShip, "sent")) as play:
        play.pay()


class ShipsAfterDaysOnly(NeverShips):
    """The same, and its owner accepts it where the only event was lost, and the customer waited for a day."""

    accepts = {"fulfilled": Accepted("it is a known bug", after="No webhook is sent.*1d pass")}  # noqa: RUF012


def test_a_finding_can_be_accepted_after_certain_steps_alone() -> None:
    """Two causes can have the same sentence."""
    with Play(ShipsAfterDaysOnly) as play:
        play.webhooks("drop all")
        play.pay()
        play.pass_time("1d")
    assert dict(play.tried.accepted) == {"fulfilled": 1}

    with pytest.raises(MerchantBug, match="never fulfilled order-1"), Play(ShipsAfterDaysOnly) as play:
        play.pay()
        play.pass_time("1d")


def _shows(merchant: type[SmallShop], status: str) -> type[SmallShop]:
    return type("Shows", (merchant,), {"order_status": lambda _self, _order_id: status})


def test_the_summary_says_what_was_accepted() -> None:
    """And what never came, so that the list can be kept true."""

    class ShopMachine(MerchantMachine):
        merchant = KnownToNeverShip
        phases = ("catalogue",)
        catalogue_seconds = 2

    ShopMachine.TestCase().runTest()
    summary = ShopMachine.coverage.summary()
    assert r"'never fulfilled order-\d+' (another system ships)." in summary
    assert "Accepted, and not met so far: 'keeps the change' (it never happens)." in summary


def test_a_pattern_that_cannot_be_read_is_named() -> None:
    """Before anything is played."""
    for accepts in ({"(": "why"}, {"a": Accepted("why", after="(")}):
        with pytest.raises(UsageError, match=r"accepts has '\(', which is no regular expression: missing \)"):
            Play(type("Shop", (SmallShop,), {"accepts": accepts}))
