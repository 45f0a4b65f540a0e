"""What happens to a payment or refund that had ended, and whose event never comes."""

from __future__ import annotations

import pytest
from small_shop import SmallShop

from paydouble.stateful import Merchant, MerchantBug, Play


class AsksNoMore(SmallShop):
    """Asks about no refund that has ended."""

    def ask(self, order_id: str) -> bool:
        """Leave out what has ended."""
        return not self.of(order_id, "refund", "succeeded", "failed") and super().ask(order_id)


class DropsLateFailures(AsksNoMore):
    """Takes the first end of a refund for the only one."""

    def is_newer(self, resource: dict[str, object], old: dict[str, object]) -> bool:
        """Keep an end."""
        return old["status"] != "succeeded" and super().is_newer(resource, old)


def _story(merchant: type[Merchant], *, silent: bool) -> None:
    with Play(merchant) as play:
        play.order()
        play.pay()
        play.wait("10s")
        play.refund()
        play.wait("10s")
        if silent:
            play.webhooks("drop all")
        play.provider("refund fails late")
        play.wait("10s")


def test_who_knows_the_end_need_not_ask_again() -> None:
    """The contract promises an event; without it a merchant that asks no more cannot know."""
    _story(AsksNoMore, silent=True)
    _story(AsksNoMore, silent=False)


def test_an_event_that_came_has_to_be_followed() -> None:
    """A merchant that takes every end for the last one believes in money that came back."""
    with pytest.raises(MerchantBug, match="refunded"):
        _story(DropsLateFailures, silent=False)
