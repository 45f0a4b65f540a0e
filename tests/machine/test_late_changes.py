"""What happens to a payment or refund that had ended, and whose event never comes."""

from __future__ import annotations

from typing import Any

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


def test_two_changes_never_have_the_same_time() -> None:
    """An act comes at any moment, also just when the refund has succeeded. No read could order the two."""
    times: dict[str, str] = {}

    class Notes(SmallShop):
        def learn(self, resource: dict[str, Any]) -> None:
            if resource["object"] == "refund":
                times.setdefault(resource["status"], resource["updated_at"])
            super().learn(resource)

    with Play(Notes) as play:
        play.order()
        play.pay()
        play.wait("10s")
        play.refund()
        while "succeeded" not in times:
            play.pass_time("1s")
        play.provider("refund fails late")
    assert times["succeeded"] < times["failed"]
