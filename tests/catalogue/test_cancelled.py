"""Orders that the customer cancels, and whose payment may succeed all the same."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from cancelling_shop import GivesBack, StaysCancelled, TakesUpAgain
from small_shop import SmallOrder, SmallShop
from verdicts_of import WHOLE, verdicts_of

from paydouble.stateful import Merchant, MerchantBug, Play, Refused, ServiceLike, explore
from paydouble.stateful.catalogue import catalogue
from paydouble.stateful.catalogue_run import Part
from paydouble.stateful.interruptions import LOSES_NOTES
from paydouble.stateful.steps import CataloguePlay


class GivesBackForEver(GivesBack):
    """Asks again each time that a refund has failed."""

    most_failures = float("inf")


class GivesBackAPart(GivesBack):
    """Gives back a half, as if it had a fee."""

    def part(self, amount: Decimal) -> Decimal:
        return amount / 2

    def order_status(self, order_id: str) -> str:
        status = super().order_status(order_id)
        return "cancelled" if status == "partly_refunded" else status


class CancelsWhatIsPaid(StaysCancelled):
    """Cancels also an order that is paid; its job gives the money back."""

    def cancel(self, order_id: str) -> None:
        self.service.checkpoint()
        self.cancelled.add(order_id)
        self.service.checkpoint()


class GivesBackAtOnce(CancelsWhatIsPaid):
    """Gives back in the call what is paid when an order is cancelled, and in its job only what comes later."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.at_once: set[str] = set()

    def cancel(self, order_id: str) -> None:
        paid = self.of(order_id, "payin", "succeeded")
        self.at_once.update(each["id"] for each in paid)
        super().cancel(order_id)
        for each in paid:
            super().give_back(order_id, each)

    def give_back(self, order_id: str, pay_in: dict[str, Any]) -> None:
        if pay_in["id"] not in self.at_once:
            super().give_back(order_id, pay_in)


class GivesNothingBack(StaysCancelled):
    """Has the money of a cancelled order in its books, and does nothing about it."""

    def ask_for(self, order_id: str, path: str, body: str) -> None:
        if "refund" not in path:
            super().ask_for(order_id, path, body)


class KeepsTheMoney(TakesUpAgain):
    """Works on no event of an order that is cancelled, and asks about none."""

    def learn(self, resource: dict[str, Any]) -> None:
        if self.order_of(resource) not in self.cancelled:
            super().learn(resource)


class OverwritesPayment(TakesUpAgain):
    """Decides by what it has read before, so that an event that comes in between is lost."""

    def cancel(self, order_id: str) -> None:
        if self.order_status(order_id) == "paid":
            raise Refused
        self.service.checkpoint()
        self.cancelled.add(order_id)

    def order_status(self, order_id: str) -> str:
        return "cancelled" if order_id in self.cancelled else super().order_status(order_id)


def found_by(merchant: type[Merchant], part: Part = WHOLE) -> Iterator[str]:
    """Yield what the plays of the catalogue with a cancellation find, or a part of them."""
    return verdicts_of(merchant, lambda play: any(step.command == "cancel" for step in play.steps), part)


@pytest.mark.parametrize(
    ("merchant", "part"),
    [
        (TakesUpAgain, 1),
        pytest.param(GivesBack, 2, marks=pytest.mark.long),
        pytest.param(StaysCancelled, 3, marks=pytest.mark.long),
    ],
)
def test_a_shop_may_take_up_the_order_again_or_give_the_money_back(merchant: type[Merchant], part: int) -> None:
    """Both are correct, whatever is disturbed; `python tests/zoo --correct 1` plays all with each."""
    assert list(found_by(merchant, Part(part, 3))) == []


KEPT = "The merchant calls order-1 cancelled in the end; the service's ledger says paid or review"
LOST = "The merchant called order-1 paid and now calls it cancelled, though its money is there"


@pytest.mark.parametrize(
    ("merchant", "verdict"),
    [(KeepsTheMoney, KEPT), (OverwritesPayment, KEPT), (GivesNothingBack, KEPT), (GivesBackAPart, LOST)],
)
def test_money_of_a_cancelled_order_has_to_be_known(merchant: type[Merchant], verdict: str) -> None:
    """The order may not be just cancelled while its money, or a part of it, is there."""
    assert verdict in found_by(merchant)


class EndsThePaymentToo(GivesNothingBack):
    """Asks the service to cancel the payment in the same call."""

    def cancel(self, order_id: str) -> None:
        super().cancel(order_id)
        self.tick()


def test_money_for_a_payment_that_was_cancelled_as_well_comes_early() -> None:
    """A shop that ends the payment with the order gets no other."""
    early = {play for play in catalogue()[:800] if not play.reason}
    plain = {"order", "pay", "cancel", "wait", "provider"}

    assert KEPT in verdicts_of(
        EndsThePaymentToo, lambda play: play in early and plain == {each.command for each in play.steps}
    )


def interrupted(merchant: type[Merchant]) -> set[str]:
    """Return what is found by the plays in which a cancellation is interrupted and nothing else happens."""

    def is_wanted(play: CataloguePlay) -> bool:
        commands = {step.command for step in play.steps}
        is_interrupted = any(
            step.command == "cancel" and dict(step.options).get("meanwhile") in LOSES_NOTES for step in play.steps
        )
        return is_interrupted and commands <= {"order", "pay", "cancel", "wait"}

    return set(verdicts_of(merchant, is_wanted))


def test_the_refund_of_a_cancelled_order_is_not_forgotten() -> None:
    """The database may fail between the note that the order is cancelled and its refund."""
    assert interrupted(CancelsWhatIsPaid) == set()
    assert interrupted(GivesBackAtOnce) == {KEPT}


@pytest.mark.parametrize("decision", ["dispute lost", ""])
def test_an_order_stays_cancelled_when_a_dispute_takes_its_money(decision: str) -> None:
    """Nothing is kept then, and a refund would be one too many."""
    with Play(GivesNothingBack) as play:
        play.pay()
        play.cancel()
        play.pass_time("1h")
        play.provider("dispute")
        if decision:
            play.provider(decision)
        assert play.status() == "cancelled"


def test_a_refund_that_always_fails_is_given_up() -> None:
    """A few attempts are right, and one at each run of the job is not."""
    told = "The merchant asks for a refund of order-1 without end: 11 have failed, 11 of them within a day"
    assert set(verdicts_of(GivesBackForEver, lambda play: "which always fails" in play.reason)) == {told}
    assert set(found_by(GivesBackForEver, Part(2, 3))) <= {told}


def test_an_order_that_is_cancelled_has_no_button() -> None:
    """No click on it is played, and no deposit is due for it."""
    with Play(TakesUpAgain) as play:
        play.pay(1, "request lost", lasts=6)
        play.cancel()
        play.retry()
        play.dead_line()
        assert play.status() == "cancelled"
        assert len(play.story.calls) == 3  # the first is the order


def test_a_cancellation_that_is_declined_changes_nothing() -> None:
    """The rules of an order that goes on apply."""

    class Declines(SmallShop):
        """Cancels nothing, and says so; it forgets to send what is paid."""

        def cancel(self, order_id: str) -> None:
            raise Refused

        def ships_now(self, order: SmallOrder) -> bool:
            return False

    with pytest.raises(MerchantBug, match="never fulfilled order-1"), Play(Declines) as play:
        play.pay()
        play.cancel()


class ForgetsWithoutReply(StaysCancelled):
    """Takes a payment for cancelled when its request for that has no answer, and hears no more of it."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.forgotten: set[str] = set()

    def ask_for(self, order_id: str, path: str, body: str) -> None:
        super().ask_for(order_id, path, body)
        if path.endswith("cancellation") and any(
            each.state == "open" and name.startswith(path) for name, each in self.asked.items()
        ):
            self.forgotten.add(order_id)

    def learn(self, resource: dict[str, Any]) -> None:
        if self.order_of(resource) not in self.forgotten:
            super().learn(resource)


def test_a_request_for_a_cancellation_meets_troubles() -> None:
    """The payment goes on as long as the service has not heard of it."""

    def disturbs(play: CataloguePlay) -> bool:
        return any(each.command == "cancellations" for each in play.steps)

    assert "The merchant has a balance of 49.90 EUR for order-1; it should be 0.00" in verdicts_of(
        ForgetsWithoutReply, disturbs
    )
    for correct in (TakesUpAgain, GivesBack, StaysCancelled, CancelsWhatIsPaid):
        assert not list(verdicts_of(correct, disturbs))


class PayReopens(StaysCancelled):
    """Writes back at the end of a click what it has read at its start."""

    def pay(self, order_id: str) -> None:
        was_cancelled = order_id in self.cancelled
        super().pay(order_id)
        if not was_cancelled:
            self.cancelled.discard(order_id)


def test_a_click_to_pay_does_not_undo_a_cancellation() -> None:
    """A shop may take an order up again, but not where it gives the money of another one back."""

    def overwrites(play: CataloguePlay) -> bool:
        return "a click to pay overwrites a cancellation" in play.reason

    assert (
        "The merchant takes order-2 up again, which was cancelled before its money came, though it gave back what came"
        " for order-1"
    ) in verdicts_of(PayReopens, overwrites)
    for correct in (TakesUpAgain, GivesBack, StaysCancelled, GivesBackAtOnce):
        assert not list(verdicts_of(correct, overwrites))


def test_the_hunt_disturbs_the_request_that_cancels_a_payment() -> None:
    """Also where a job sends it."""
    tried = explore(GivesBack, seed=2, examples=60, phases=("hunt",)).counts()

    assert [name for table, name in tried if table == "cancellation"]
