"""The event-sourced shop against a sandbox without sockets."""

from __future__ import annotations

import time
from contextlib import suppress
from decimal import Decimal

import httpx
import pytest
from eventshop.ledger import Fact, Ledger
from eventshop.service import Service
from eventshop.shop import Rejected, Shop

from paydouble import Sandbox
from paydouble.testing.shop_time import follow_time
from paydouble.testing.transports import HttpxTransport


class ShopClock:
    """The computer's clock."""

    def now(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class Play:
    """A shop beside its sandbox."""

    def __init__(self, *bugs: str) -> None:
        known = frozenset(bugs)
        self.sandbox = Sandbox(
            {"webhooks": {"sign_with": "sandbox_clock"}},
            seed=5,
            receiver=lambda webhook: self.shop.webhook(dict(webhook.headers), webhook.body),
        )
        client = httpx.Client(
            transport=HttpxTransport(self.sandbox), base_url=self.sandbox.base_url, auth=self.sandbox.auth
        )
        self.ledger = Ledger(bugs=known)
        self.shop = Shop(
            self.ledger, Service(client, ShopClock(), known), ShopClock(), self.sandbox.webhook_secret, known
        )
        with follow_time(self.sandbox):
            self.shop.place("order-1", Decimal("49.90"), "EUR")


def test_facts_fold_to_a_paid_order() -> None:
    """The order is paid, and shipped in the same append."""
    play = Play()

    with follow_time(play.sandbox):
        play.shop.pay("order-1")
        play.sandbox.clock.advance("1h")
    order = play.shop.order("order-1")

    assert (order.status, order.balance, order.shipments, order.receipts) == ("paid", Decimal("49.90"), 1, 1)


def test_a_settlement_finds_what_no_webhook_has_told() -> None:
    """The report names the difference, and is complete the next day."""
    play = Play()
    play.sandbox.webhook.change(notification_url=None)

    with follow_time(play.sandbox):
        play.shop.pay("order-1")
        play.sandbox.clock.advance("1h")
        first, second = play.shop.settle(), play.shop.settle()

    assert [each.partition(": ")[2] for each in first.differences] == ["succeeded"]
    assert second.differences == []
    assert second.totals == {"EUR": Decimal("49.90")}


def two_clicks(play: Play) -> int:
    """Click twice at the same moment; returns the number of pay-ins."""
    clicks = iter([True])

    def click_again() -> None:
        if next(clicks, False):
            play.shop.pay("order-1")

    play.ledger.around_append = click_again
    with follow_time(play.sandbox):
        play.shop.pay("order-1")
    return len(play.sandbox.pay_ins.list())


def test_two_clicks_make_one_deposit() -> None:
    """The second click finds the request of the first one."""
    assert two_clicks(Play()) == 1


def test_without_versions_two_clicks_make_two_deposits() -> None:
    """The harm of `no_expected_version`: the customer is charged twice."""
    assert two_clicks(Play("no_expected_version")) == 2


def told_twice(play: Play) -> Decimal:
    """Tell a success under two event ids; returns the balance."""
    seen = {"id": "payin_1", "status": "succeeded", "amount": "49.90", "currency": "EUR", "version": "2026-01-01"}
    facts = [Fact("PayinSeen", {**seen, "reference": "order-1", "is_listed": False}, source) for source in ("a", "b")]
    for fact in facts:
        play.shop.decide("order-1", lambda _order, fact=fact: [fact])  # type: ignore[misc]
    return play.shop.order("order-1").balance


def test_money_is_counted_once() -> None:
    """A fact that is told twice is the same money."""
    assert told_twice(Play()) == Decimal("49.90")


def test_money_that_is_told_twice_is_doubled() -> None:
    """The harm of `fold_counts_twice`: the books show money that nobody has paid."""
    assert told_twice(Play("fold_counts_twice")) == Decimal("99.80")


def test_nothing_is_refunded_before_it_is_paid() -> None:
    """The shop rejects a refund without money."""
    with pytest.raises(Rejected):
        Play().shop.refund("order-1", "r-1", Decimal(1))


def deposits_after_a_limit(play: Play) -> int:
    """Lose the reply to a deposit, limit its retry, and click again; returns the number of pay-ins."""
    play.sandbox.webhook.change(notification_url=None)
    play.sandbox.faults.add("connection_reset", operation="deposit-creation", phase="after_commit", times=1)
    play.sandbox.faults.add("error", status=429, operation="deposit-creation", skip=1, times=1)
    with follow_time(play.sandbox):
        for _ in range(2):
            with suppress(Rejected):
                play.shop.pay("order-1")
    return len(play.sandbox.pay_ins.list())


def test_a_limit_is_waited_for() -> None:
    """A deposit whose reply was lost keeps its key over a rate limit."""
    assert deposits_after_a_limit(Play()) == 1


def test_a_limit_that_counts_as_a_refusal_makes_two_deposits() -> None:
    """The harm of `limit_is_refusal`: the next click has a new key."""
    assert deposits_after_a_limit(Play("limit_is_refusal")) == 2
