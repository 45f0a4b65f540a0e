"""What was acknowledged has its effect, before a reconciliation or a later event repairs it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from bugzoo.adapter import ZooMerchant
from bugzoo.receiver import Receiver
from bugzoo.shop import Shop
from bugzoo.store import total
from bugzoo.unusual_shops import WorksLater
from verdicts_of import verdicts_of

from paydouble.stateful import MerchantBug, Play
from paydouble.stateful.calibration import when_it_shows
from paydouble.stateful.catalogue import catalogue
from paydouble.stateful.catalogue_run import CatalogueRun


def shop(**parts: Any) -> type[ZooMerchant]:  # noqa: ANN401 - parts of the zoo's merchant
    """Return the correct merchant with other parts."""
    return type("ShopAdapter", (ZooMerchant,), parts)


def ignoring(*events: str) -> type[ZooMerchant]:
    """Return the correct merchant, which acknowledges some events and leaves them to its reconciliation."""

    class Ignores(Receiver):
        def apply(self, kind: str, order_id: str, event: dict[str, Any]) -> None:
            if event["type"] not in events:
                super().apply(kind, order_id, event)

    return shop(receiver_part=Ignores)


def fail_a_refund_late(play: Play) -> None:
    """A refund of all succeeds, and fails later."""
    play.wait("10s")
    play.refund()
    play.wait("10s")
    play.provider("refund fails late")


def refund_half(play: Play) -> None:
    """A refund of one half succeeds."""
    play.wait("10s")
    play.refund(1, "half")
    play.wait("10s")


def lose_a_dispute(play: Play) -> None:
    """The payer wins a dispute."""
    play.wait("10s")
    play.provider("dispute")
    play.provider("dispute lost")


def reopen_a_dispute_and_lose(play: Play) -> None:
    """The shop wins a dispute, which is opened again and lost."""
    play.wait("10s")
    for act in ("dispute", "dispute won", "dispute reopened", "dispute lost"):
        play.provider(act)


def expire(play: Play) -> None:
    """A payment that nobody makes expires."""
    play.wait("25h")


def decline(play: Play) -> None:
    """The provider declines a payment."""
    play.pass_time("1s")
    play.provider("fails")


def decline_the_first(play: Play) -> None:
    """The first payment of two is declined, and its event comes while the second is under way."""
    play.pass_time("1s")
    play.webhooks("late")
    play.provider("fails")
    play.returns()
    play.retry()
    play.pass_time("4s")
    for delivery in play.sandbox.outbox.deliveries.values():
        if delivery.event.type == "pay-in.failed":
            play.sandbox.redeliver(delivery)
    play.pass_time("1s")


@pytest.mark.parametrize(
    ("event", "happens", "scenario", "found"),
    [
        ("refund.succeeded", refund_half, "happy-path", "calls it paid; the service's ledger says partly_refunded"),
        ("refund.failed", fail_a_refund_late, "happy-path", "calls it refunded; the service's ledger says paid"),
        ("dispute.closed", lose_a_dispute, "happy-path", "calls it paid; the service's ledger says charged_back"),
        ("dispute.closed", reopen_a_dispute_and_lose, "happy-path", "calls it paid; .* says charged_back"),
        ("pay-in.failed", decline, "happy-path", "calls it pending; .* says cancelled or failed or unpaid"),
        ("pay-in.cancelled", expire, "abandoned", "calls it pending; .* says cancelled or failed or unpaid"),
    ],
)
def test_each_event_has_its_effect(event: str, happens: Callable[[Play], None], scenario: str, found: str) -> None:
    """A merchant that acknowledges it and leaves it to a job that asks the service is found out before the job runs."""
    for merchant in (ZooMerchant, ignoring(event)):
        play = Play(merchant, shows="at once")
        play.order()
        play.pay(1, scenario=scenario)
        if merchant is ZooMerchant:
            happens(play)
            play.end()
        else:
            with pytest.raises(MerchantBug, match=rf"answered 200 to the {event} of order-1 and {found}"):
                happens(play)
        play.close()


class FailsTheOrder(Receiver):
    """Takes the failure of any payment for one of the order."""

    def apply(self, kind: str, order_id: str, event: dict[str, Any]) -> None:
        super().apply(kind, order_id, event)
        if kind == "payin" and event["type"] == "pay-in.failed":
            self.store.run(
                "update objects set status = 'failed' where order_id = ? and status <> 'succeeded'", order_id
            )


def test_a_failed_attempt_does_not_fail_the_next() -> None:
    """An order is not called failed while another payment is under way."""
    for part in (Receiver, FailsTheOrder):
        play = Play(shop(receiver_part=part), shows="at once")
        play.order()
        play.pay()
        if part is Receiver:
            decline_the_first(play)
            play.end()
        else:
            with pytest.raises(MerchantBug, match="and calls it failed, though a payment is under way"):
                decline_the_first(play)
        play.close()


class ForgetsToBook(Shop):
    """Books refunds in its reconciliation."""

    booked = Decimal(0)

    def balance(self, order_id: str) -> Decimal:
        return total(self.store.objects("payin", order_id), "succeeded") - self.booked

    def reconcile(self) -> None:
        super().reconcile()
        for order in self.store.all("select id from orders"):
            self.booked = total(self.store.objects("refund", order["id"]), "succeeded")


def test_the_books_have_it_too() -> None:
    """The status alone is not enough."""
    play = Play(shop(shop_part=ForgetsToBook), shows="at once")
    play.order()
    play.pay()
    found = r"refund.succeeded of order-1 and has a balance of 49.90 EUR for order-1; it should be 24.95"
    with pytest.raises(MerchantBug, match=found):
        refund_half(play)
    play.close()


class Later(Receiver):
    """Keeps events in memory, and works on them in a job."""

    queue: list[dict[str, Any]]

    def accept(self, event: dict[str, Any]) -> int:
        self.queue = [*getattr(self, "queue", []), event]
        return 200

    def work_off(self) -> None:
        for event in getattr(self, "queue", []):
            super().accept(event)
        self.queue = []


@pytest.mark.parametrize("restarted", [False, True])
def test_an_event_that_waits_for_a_job_is_looked_at_after_it(restarted: bool) -> None:
    """A queue in memory loses it with the process."""
    play = Play(shop(receiver_part=Later), shows="after jobs")
    play.order()
    play.pay()
    play.wait("10s")
    play.refund(1, "half")
    play.pass_time("10s")
    if restarted:
        play.restart()
        with pytest.raises(MerchantBug, match=r"refund.succeeded of order-1 and calls it paid"):
            play.work_off()
    else:
        play.work_off()
        play.end()
    play.close()


@pytest.mark.parametrize(
    ("events", "silent"),
    [
        (("refund.created", "refund.processing", "refund.succeeded", "refund.failed"), "refund"),
        (("dispute.created", "dispute.updated", "dispute.closed"), "dispute"),
        (("pay-in.failed", "pay-in.cancelled"), "failure"),
    ],
)
def test_a_merchant_that_asks_about_some_events_is_held_to_the_others(events: tuple[str, ...], silent: str) -> None:
    """To learn of refunds by a job alone is a choice."""
    merchant = ignoring(*events)
    shows = when_it_shows(merchant)

    assert [family for family, when in shows.items() if when != "at once"] == [silent]
    for happens in (refund_half, fail_a_refund_late, lose_a_dispute):
        with Play(merchant, shows=shows) as play:
            play.order()
            play.pay()
            happens(play)


class DoneWhenAccepted(Shop):
    """Calls a refund done when it is accepted, and takes it back when it fails."""

    def status_of_paid(self, order: Any, paid: list[Any]) -> str:  # noqa: ANN401 - a row
        refunds = self.store.objects("refund", order["id"])
        if total(refunds, "created", "processing", "succeeded"):
            return "partly_refunded"
        return super().status_of_paid(order, paid)

    def balance(self, order_id: str) -> Decimal:
        under_way = total(self.store.objects("refund", order_id), "created", "processing")
        return super().balance(order_id) - under_way


def test_a_refund_may_count_when_it_is_accepted() -> None:
    """The contract does not say when; a failure is still held to have its effect."""
    merchant = shop(shop_part=DoneWhenAccepted)

    assert when_it_shows(merchant)["refund"] == "at once"
    with Play(merchant, shows="at once") as play:
        play.order()
        play.pay(1, scenario="refund-fails")
        refund_half(play)


class HoldsDisputedMoney(Shop):
    """Takes the money off its books when a dispute opens, and lets a person look at the order."""

    def status_of_paid(self, order: Any, paid: list[Any]) -> str:  # noqa: ANN401 - a row
        is_open = total(self.store.objects("dispute", order["id"]), "needs_response", "under_review")
        return "review" if is_open else super().status_of_paid(order, paid)

    def balance(self, order_id: str) -> Decimal:
        is_open = total(self.store.objects("dispute", order_id), "needs_response", "under_review")
        return max(Decimal(0), super().balance(order_id) - is_open)


@pytest.mark.parametrize("then", [(), ("dispute won",), ("dispute lost",), ("dispute won", "dispute reopened")])
def test_disputed_money_may_be_held(then: tuple[str, ...]) -> None:
    """The contract does not say when it moves; when the dispute is decided, it has moved once or come back."""
    with Play(shop(shop_part=HoldsDisputedMoney), shows="at once") as play:
        play.order()
        play.pay()
        play.wait("10s")
        for act in ("dispute", *then):
            play.provider(act)


class ShowsDebt(Shop):
    """Lets a balance become negative when the same money is refunded and charged back."""

    def balance(self, order_id: str) -> Decimal:
        came = total(self.store.objects("payin", order_id), "succeeded")
        back = total(self.store.objects("refund", order_id), "succeeded")
        return came - back - total(self.store.objects("dispute", order_id), "lost", "accepted")


class CountsTwice(ShowsDebt):
    """Takes refunded money off its books twice."""

    def balance(self, order_id: str) -> Decimal:
        return super().balance(order_id) - total(self.store.objects("refund", order_id), "succeeded")


def refund_and_lose(merchant: type[ZooMerchant]) -> Decimal | None:
    """Refund all of an order, lose a dispute about it, and return the balance."""
    with Play(merchant, shows="at once") as play:
        play.order()
        play.pay()
        play.wait("10s")
        play.refund()
        play.wait("10s")
        play.provider("dispute")
        play.provider("dispute lost")
        return play.balance()


def test_a_balance_may_be_a_debt() -> None:
    """When a refund and a lost dispute took the same money; any other amount is found."""
    assert refund_and_lose(shop(shop_part=ShowsDebt)) == Decimal("-49.90")
    with pytest.raises(MerchantBug, match=r"has a balance of -49.90 EUR for order-1; it should be 0.00"):
        refund_and_lose(shop(shop_part=CountsTwice))


def test_what_cannot_be_understood_is_not_judged() -> None:
    """A dispute of a payment of which no event has come, and two events of the same time."""
    strict = shop(receiver_part=IgnoresSameTime)
    for merchant, trouble in ((ZooMerchant, "late four"), (strict, "tie")):
        with Play(merchant, shows="at once") as play:
            play.order()
            play.webhooks(trouble)
            play.pay()
            play.wait("10s")
            play.webhooks("tie")
            play.provider("dispute")
            play.provider("dispute lost")


class IgnoresSameTime(Receiver):
    """Takes the first of two events with the same time."""

    def apply(self, kind: str, order_id: str, event: dict[str, Any]) -> None:
        seen = self.store.one(
            "select at from seen where event_id = ?", f"{event['data']['object']['id']} {event['created_at']}"
        )
        if seen is None or kind == "payin":
            self.store.run(
                "insert or ignore into seen values (?, 0)", f"{event['data']['object']['id']} {event['created_at']}"
            )
            super().apply(kind, order_id, event)


def test_a_report_says_what_the_merchant_was_held_to() -> None:
    """For each family of effects, where they differ."""
    shows = {"payment": "at once", "failure": "", "refund": "at once", "dispute": "after jobs"}
    play = Play(ignoring("refund.succeeded"), shows=shows)  # type: ignore[arg-type]
    play.order()
    play.pay()
    with pytest.raises(MerchantBug) as caught:
        refund_half(play)
    play.close()

    assert f"with Play(ShopAdapter, shows={shows}) as play:" in str(caught.value)


class SwallowsRefunds(Receiver):
    """Acknowledges events of refunds and disputes that its database did not keep."""

    def accept(self, event: dict[str, Any]) -> int:
        try:
            return super().accept(event)
        except Exception:
            if event["type"].startswith("pay-in."):
                raise
            return 200


class WonIsFinal(Receiver):
    """Ignores what comes of a dispute after it was won."""

    def apply(self, kind: str, order_id: str, event: dict[str, Any]) -> None:
        known = self.store.one("select status from objects where id = ?", event["data"]["object"]["id"])
        if kind != "dispute" or known is None or known["status"] != "won":
            super().apply(kind, order_id, event)


@pytest.mark.parametrize(
    ("merchant", "plays", "found"),
    [
        pytest.param(
            shop(receiver_part=SwallowsRefunds),
            {"'refund'", "'database down'"},
            "answered 200 to the refund.",
            marks=pytest.mark.long,
        ),
        (ignoring("refund.failed"), {"'refund'"}, "answered 200 to the refund.failed"),
        (
            shop(receiver_part=WonIsFinal),
            {"'provider'"},
            "answered 200 to the dispute.closed of order-1 and calls it paid",
        ),
        (ignoring("pay-in.cancelled"), {"'pay'"}, "answered 200 to the pay-in.cancelled"),
    ],
)
def test_the_catalogue_finds_what_a_reconciliation_repairs(
    merchant: type[ZooMerchant], plays: set[str], found: str
) -> None:
    """Of refunds, disputes and payments that did not succeed; the first of the plays with these that fails says so."""
    verdict = next(verdicts_of(merchant, lambda play: all(each in repr(play.steps) for each in plays)))

    assert found in verdict


class CancelsByEvent(Receiver):
    """Cancels an order at each event of a cancelled payment, however old it is."""

    def apply(self, kind: str, order_id: str, event: dict[str, Any]) -> None:
        super().apply(kind, order_id, event)
        if event["type"] == "pay-in.cancelled":
            self.store.run("update objects set status = 'cancelled' where order_id = ?", order_id)


def test_the_event_of_the_end_may_come_after_the_money() -> None:
    """The catalogue has the play in which an expired payment brings money before the event of its end comes."""
    (play,) = (each for each in catalogue() if each.reason == "the event of the end comes after the money")

    CatalogueRun(ZooMerchant).one(play)
    with pytest.raises(MerchantBug, match="called order-1 paid and now calls it cancelled, though its money is there"):
        CatalogueRun(shop(receiver_part=CancelsByEvent)).one(play)


class TakesBackAtOnce(WorksLater):
    """Works on events in a job, and makes the goods worthless as soon as all of their money is asked back."""

    def shipments(self, order_id: str) -> int:
        """Return what the customer can use."""
        order = self.orders[order_id]
        return 0 if order.shipped and self.balance(order_id) <= self.promised(order) else order.shipped


@pytest.mark.parametrize("asked", ["refund all", "refund halves", "elsewhere"])
def test_goods_may_be_taken_back_while_the_money_goes_back(asked: str) -> None:
    """The refund may still fail; then they are given out again, or a person looks at it."""
    with Play(TakesBackAtOnce, shows=when_it_shows(TakesBackAtOnce)) as play:
        play.order()
        play.pay()
        play.wait("10s")
        if asked == "elsewhere":
            play.provider("refund")
        for _ in range(2 if asked == "refund halves" else 0):
            play.refund(1, "half")
        if asked == "refund all":
            play.refund()
        play.work_off()
