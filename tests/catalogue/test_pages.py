"""Lists of the service, and of the shop's own work, that have more than one page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from small_shop import SmallOrder, SmallShop
from verdicts_of import verdicts_of

from paydouble.stateful import Merchant
from paydouble.stateful.steps import CataloguePlay


class StopsAtAShortPage(SmallShop):
    """Looks at all payments, and takes a page with fewer items than it has asked for as the last one."""

    def is_last(self, page: Mapping[str, Any]) -> bool:
        return len(page["items"]) < 100

    def list(self, path: str) -> list[dict[str, Any]]:
        path, _, wanted = path.partition("?")
        name, _, value = wanted.partition("=")
        return [each for each in super().list(f"{path}?") if each[name] == value]


class TriesOnce(SmallShop):
    """Leaves the next try to its job."""

    pauses = ()


class WorksOnAPage(TriesOnce):
    """Its job takes the first ten orders whose deposit or refund is not made, whatever became of them before."""

    def tick(self) -> None:
        waiting = [each for each in self.orders.values() if self.waits(each)]
        for order in waiting[:10]:
            for wish, path in self.wishes(order):
                if wish.state == "open":
                    self.send(wish, path)
        for order_id in self.orders:
            self.ask(order_id)

    def waits(self, order: SmallOrder) -> bool:
        return any(wish.state != "made" for wish, _ in self.wishes(order))


def found_by(merchant: type[Merchant], reason: str) -> set[str]:
    """Return what the plays with a reason find."""

    def is_wanted(play: CataloguePlay) -> bool:
        return play.reason == reason

    return set(verdicts_of(merchant, is_wanted))


def test_a_short_page_is_not_the_last_one() -> None:
    """The service may give fewer items than it is asked for."""
    told = found_by(StopsAtAShortPage, "pages are short")

    assert any("in the end; the service's ledger says" in each for each in told)
    assert found_by(SmallShop, "pages are short") == set()


@pytest.mark.parametrize(
    "reason",
    [
        "a page of deposits fails each time",
        "a page of refunds fails each time",
        "a page of refunds waits for the end of disputes",
    ],
)
def test_what_cannot_be_done_does_not_keep_the_rest_waiting(reason: str) -> None:
    """A job that always takes the same first ones never comes to the next one."""
    assert any("order-26" in each or "order-52" in each for each in found_by(WorksOnAPage, reason))
    assert found_by(TriesOnce, reason) == set()
