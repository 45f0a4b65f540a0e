"""What jobs do long after a payment, in several runs, or page by page is interrupted as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from cancelling_shop import GivesBack
from small_shop import SmallShop
from verdicts_of import verdicts_of

from paydouble.stateful import Merchant, ServiceLike, Webhook
from paydouble.stateful.steps import CataloguePlay

_HALF_AN_HOUR = 1800


def _with_reason(reason: str) -> Callable[[CataloguePlay], bool]:
    return lambda play: play.reason == reason


class PaysSellers(SmallShop):
    """Pays the seller of an order half an hour after its payment, and notes that in the same transaction."""

    def __init__(self, service: ServiceLike) -> None:
        """Start with nobody to pay."""
        super().__init__(service)
        self.paid_at: dict[str, float] = {}
        self.payouts: dict[str, int] = {}
        self.booked: set[str] = set()

    def effects(self, order_id: str) -> Mapping[str, int]:
        """Return how often the seller was paid."""
        return {"payout": self.payouts.get(order_id, 0)}

    def tick(self) -> None:
        """Run the jobs, and pay who has waited."""
        super().tick()
        for order_id in self.orders:
            if self.order_status(order_id) == "paid":
                self.paid_at.setdefault(order_id, self.service.now())
        for order_id, since in self.paid_at.items():
            if order_id not in self.booked and self.service.now() - since >= _HALF_AN_HOUR:
                self.pay_out(order_id)

    def pay_out(self, order_id: str) -> None:
        """Pay a seller."""
        self.service.checkpoint()
        if order_id not in self.booked:
            self.payouts[order_id] = self.payouts.get(order_id, 0) + 1
            self.booked.add(order_id)


class BooksLater(PaysSellers):
    """Books a payout in a transaction of its own."""

    def pay_out(self, order_id: str) -> None:
        """Pay a seller; a process that ends now pays once more."""
        self.payouts[order_id] = self.payouts.get(order_id, 0) + 1
        self.service.checkpoint()
        self.booked.add(order_id)


class GivesAllBack(GivesBack):
    """Promises to give the money back that comes for a cancelled order."""

    demands = ("cancelled before payment",)

    def restart(self) -> None:
        """Lose nothing: all of it is in the books."""


class KeepsWorkInMemory(GivesAllBack):
    """Sends the refunds that it owes in the next run of its job, from a list that ends with the process."""

    def __init__(self, service: ServiceLike) -> None:
        """Start with nothing to send."""
        super().__init__(service)
        self.seen: set[str] = set()
        self.listed: list[str] = []

    def restart(self) -> None:
        """Forget what is in memory."""
        self.listed = []

    def give_back(self, order_id: str, pay_in: dict[str, Any]) -> None:
        """Leave it to the next run."""
        if order_id in self.listed:
            super().give_back(order_id, pay_in)
        elif order_id not in self.seen:
            self.seen.add(order_id)
            self.listed.append(order_id)


class WalksTheList(SmallShop):
    """Learns what became of payments from a list of all of them, as far as it has not read it yet."""

    position = ""
    saves_each_page = False

    def receive(self, webhook: Webhook) -> int:
        """Take no events."""
        return 200

    def tick(self) -> None:
        """Read the list, the newest first, until what was read before."""
        newest, cursor = "", ""
        while True:
            answer = self.service.call("GET", f"/api/v1/pay-in?limit=100{cursor}", self.headers)
            page = self.data(answer.body) if answer.status == 200 else None
            if page is None:
                return
            found = [each for each in page["items"] if each["created_at"] > self.position]
            newest = newest or (found[0]["created_at"] if found else self.position)
            for each in found:
                self.learn(each)
            is_last = len(found) < len(page["items"]) or not page["next_cursor"]
            if is_last or self.saves_each_page:
                self.position = newest
            if is_last:
                return
            cursor = f"&cursor={page['next_cursor']}"


class SavesEachPage(WalksTheList):
    """Notes that it has read everything when it has read one page."""

    saves_each_page = True


def _silent_payments(play: CataloguePlay) -> bool:
    is_of_pages = play.reason == "the first page of a list is all that can be read for a while"
    return is_of_pages and not any(each.command == "provider" for each in play.steps)


@pytest.mark.parametrize(
    ("wrong", "right", "wanted", "verdict"),
    [
        (
            BooksLater,
            PaysSellers,
            _with_reason("a job has something to do long after the payment"),
            "The merchant did 'payout' 2 times for order-1; it may happen once",
        ),
        (
            KeepsWorkInMemory,
            GivesAllBack,
            _with_reason("the process ends between two runs of its jobs"),
            "The merchant takes order-1 up again, which was cancelled before its money came",
        ),
        (SavesEachPage, WalksTheList, _silent_payments, "The merchant calls order-1 pending in the end"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_work_that_is_interrupted_late_is_found(
    wrong: type[Merchant], right: type[Merchant], wanted: Callable[[CataloguePlay], bool], verdict: str
) -> None:
    """And who keeps what has to be done in its books passes."""
    assert any(each.startswith(verdict) for each in verdicts_of(wrong, wanted))
    assert list(verdicts_of(right, wanted)) == []
