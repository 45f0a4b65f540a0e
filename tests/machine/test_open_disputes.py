"""A merchant is held to what it shows of disputed money when nothing goes wrong."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from bugzoo.unusual_shops import NeverAsks, PutsOffWhatCameFirst
from small_shop import SmallOrder, SmallShop

from paydouble.stateful import Merchant, MerchantBug, Play
from paydouble.stateful.calibration import when_it_shows


class ForgetsWhatCameFirst(PutsOffWhatCameFirst):
    """Acknowledges a dispute of a payment that has not succeeded yet, and forgets it."""

    def tick(self) -> None:
        self.put_off = ()
        super().tick()


class ReviewsAlone(ForgetsWhatCameFirst):
    """Leaves disputed money in its books."""

    def balance(self, order_id: str) -> Decimal:
        return NeverAsks.balance(self, order_id)


class HoldsAlone(ForgetsWhatCameFirst):
    """Takes disputed money off its books, and calls the order paid."""

    def status_of_paid(self, order: SmallOrder) -> str:
        return NeverAsks.status_of_paid(self, order)


class ReviewsForADay(PutsOffWhatCameFirst):
    """Lets the goods go again after a day."""

    def open_disputes(self, order_id: str) -> list[dict[str, Any]]:
        day_ago = (self.service.now() - 24 * 3600) * 1000
        return [each for each in super().open_disputes(order_id) if each["created_at"] > day_ago]


@pytest.mark.parametrize(
    ("merchant", "shown"),
    [
        (NeverAsks, None),
        (ReviewsForADay, None),
        (PutsOffWhatCameFirst, "in review and off the balance"),
        (ReviewsAlone, "in review"),
        (HoldsAlone, "off the balance"),
    ],
)
def test_what_it_shows_is_found_out(merchant: type[Merchant], shown: str | None) -> None:
    """For as long as the dispute is open."""
    assert when_it_shows(merchant).get("disputed") == shown


def overtaken(merchant: type[Merchant]) -> None:
    """Tell a merchant of a dispute before the success of its payment."""
    with Play(merchant, shows=when_it_shows(merchant)) as play:
        play.order()
        play.pay()
        play.pass_time("5s")
        play.webhooks("overtake")
        play.pass_time("5s")
        play.provider("dispute")
        play.work_off()
        assert [event for event, *_ in play.answers][-2:] == ["dispute.created", "pay-in.succeeded"]
        play.pass_time("10m")
        play.work_off()


@pytest.mark.parametrize(
    ("merchant", "text"),
    [
        (
            ReviewsAlone,
            "calls it paid; all of its money is disputed, and without any trouble it shows such an order in review",
        ),
        (HoldsAlone, "has a balance of 49.90 EUR for order-1; it should be 0.00"),
    ],
)
def test_a_dispute_that_came_first_and_is_forgotten_is_found(merchant: type[Merchant], text: str) -> None:
    """The report says what the merchant is held to, and its test has it too."""
    with pytest.raises(MerchantBug) as caught:
        overtaken(merchant)

    assert caught.value.verdict == f"The merchant answered 200 to the pay-in.succeeded of order-1 and {text}"
    shown = when_it_shows(merchant)["disputed"]
    assert f"an open dispute {shown}" in str(caught.value)
    assert f"'disputed': '{shown}'" in str(caught.value)


class AsksWhatCameFirst(PutsOffWhatCameFirst):
    """Asks the service in its job about an order of which a dispute came first."""

    def tick(self) -> None:
        NeverAsks.tick(self)
        if all(SmallShop.ask(self, str(self.order_of(resource))) for _, resource in self.put_off):
            self.put_off = ()


@pytest.mark.parametrize("merchant", [PutsOffWhatCameFirst, AsksWhatCameFirst])
def test_it_may_put_a_dispute_off_or_ask_about_it(merchant: type[Merchant]) -> None:
    """For some minutes, and until a read is answered."""
    overtaken(merchant)
