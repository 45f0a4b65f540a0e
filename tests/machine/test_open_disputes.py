"""A merchant is held to what it shows of disputed money when nothing goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest
from bugzoo.unusual_shops import NeverAsks, PacksLater, PutsOffWhatCameFirst
from small_shop import SmallOrder, SmallShop

from paydouble.core.errors import UsageError
from paydouble.stateful import Merchant, MerchantBug, Play
from paydouble.stateful.calibration import when_it_shows
from paydouble.stateful.held_to import FAMILIES, Disputed, while_disputed


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


class PacksAfterTheNewest(PacksLater):
    """Knows of an order's newest dispute alone."""

    def is_wanted(self, order: SmallOrder) -> bool:
        disputes = self.of(order.id, "dispute")
        return bool(self.balance(order.id)) and (not disputes or disputes[-1]["status"] in {"won", "lost"})


class PacksAfterADay(PacksLater):
    """Holds goods back for a day, and no longer."""

    def is_wanted(self, order: SmallOrder) -> bool:
        return super().is_wanted(order) or self.service.now() - self.paid_at[order.id] > 24 * 3600


@pytest.mark.parametrize(
    ("merchant", "shown"),
    [
        (NeverAsks, ()),
        (PacksLater, ("goods held back",)),
        (PacksAfterTheNewest, ("goods held back",)),
        (PacksAfterADay, ()),
        (ReviewsForADay, ()),
        (PutsOffWhatCameFirst, ("in review", "off the balance")),
        (ReviewsAlone, ("in review",)),
        (HoldsAlone, ("off the balance",)),
    ],
)
def test_what_it_shows_is_found_out(merchant: type[Merchant], shown: tuple[Disputed, ...]) -> None:
    """For as long as the dispute is open."""
    assert while_disputed(when_it_shows(merchant)) == shown


@contextmanager
def paid(merchant: type[Merchant]) -> Iterator[Play]:
    """Play what follows a payment whose success is known, and whose goods staff may pack in five minutes."""
    with Play(merchant, shows=when_it_shows(merchant)) as play:
        play.order()
        play.pay()
        play.wait("10s")
        yield play


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
    shown = while_disputed(when_it_shows(merchant))
    assert f"an open dispute: {', '.join(shown)}" in str(caught.value)
    assert f"'disputed': {shown}" in str(caught.value)


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


def disputed_twice(merchant: type[Merchant], ends: str) -> None:
    """Dispute an order twice before its goods are sent, and decide the newer one."""
    with paid(merchant) as play:
        play.provider("dispute half")
        play.provider("another dispute")
        play.wait("10m")
        play.provider(ends)
        play.wait("10m")


@pytest.mark.parametrize("ends", ["dispute won", "dispute lost"])
def test_goods_are_held_back_for_each_dispute(ends: str) -> None:
    """Also when the newer one has ended."""
    disputed_twice(PacksLater, ends)
    with pytest.raises(MerchantBug) as caught:
        disputed_twice(PacksAfterTheNewest, ends)

    why = "a dispute of it is open, and without any trouble this shop holds such goods back"
    assert caught.value.verdict == f"The merchant sends the goods of order-1 though {why}"
    assert "an open dispute: goods held back" in str(caught.value)


class PacksWhatItHadChosen(PacksLater):
    """Chooses what is to be packed, and asks the service about other things before it is."""

    def tick(self) -> None:
        due = [order_id for order_id, paid_at in self.paid_at.items() if self.service.now() - paid_at >= 300]
        chosen = [self.orders[order_id] for order_id in due if self.is_wanted(self.orders[order_id])]
        SmallShop.tick(self)
        for order in chosen:
            order.shipped = 1


def test_goods_that_are_being_packed_when_a_dispute_comes_are_right() -> None:
    """The dispute was known before they were sent, and not before the job began."""
    with paid(PacksWhatItHadChosen) as play:
        play.pass_time("5m")
        play.interrupt_jobs("disputed meanwhile")
        play.wait("1s")
        assert [event for event, *_ in play.answers][-1] == "dispute.created"
        assert play.shipments() == 1


class PacksBeforeItLearns(PacksLater):
    """Keeps each event of a dispute for its job, which packs first, and does the rest then."""

    events: tuple[dict[str, Any], ...] = ()

    def handle(self, order_id: str, event: dict[str, Any]) -> int:
        if event["data"]["object"]["object"] != "dispute":
            return super().handle(order_id, event)
        self.events += (event["data"]["object"],)
        return 200

    def tick(self) -> None:
        first = [*self.events]
        super().tick()
        self.events = ()
        for each in first:
            self.learn(each)

    def ask(self, order_id: str) -> bool:
        return True


class HoldsForLonger(PacksLater):
    """Lets the goods go before the third day of a dispute is over."""

    def is_wanted(self, order: SmallOrder) -> bool:
        return super().is_wanted(order) or self.service.now() - self.paid_at[order.id] > 2.2 * 24 * 3600


def test_goods_may_be_packed_in_the_job_that_learns_of_a_dispute() -> None:
    """The packing may have been due first."""
    with paid(PacksBeforeItLearns) as play:
        play.pass_time("10m")
        play.provider("dispute half")
        play.wait("10s")
        assert play.shipments() == 1


def test_goods_that_are_held_back_for_longer_than_the_trial_may_be_sent_then() -> None:
    """A dispute is open for three days."""
    with paid(HoldsForLonger) as play:
        play.provider("dispute half")
        play.wait("1h")
        play.wait("60h")
        assert play.shipments() == 1


@pytest.mark.parametrize("disputed", ["in review", ["in view"], 7])
def test_what_cannot_be_shown_is_refused(disputed: object) -> None:
    """As a report of an earlier version had it, say."""
    shows: Any = {**dict.fromkeys(FAMILIES, "at once"), "disputed": disputed}
    with pytest.raises(UsageError, match="shows of disputed has to be a list of: in review, off the balance"):
        Play(NeverAsks, shows=shows)
