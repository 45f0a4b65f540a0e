"""The aiohttp shop against a sandbox without sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from decimal import Decimal

import pytest
from aiohttpshop.app import NotAccepted, Shop, application
from aiohttpshop.gateway import Gateway
from aiohttpshop.store import Store

from paydouble import Sandbox
from paydouble.testing.aiohttp_connector import SandboxConnector
from paydouble.testing.shop_time import follow_time


class Play:
    """A shop beside its sandbox."""

    def __init__(self, *bugs: str) -> None:
        self.sandbox = Sandbox({"webhooks": {"sign_with": "sandbox_clock"}}, seed=5)
        gateway = Gateway(
            self.sandbox.base_url, self.sandbox.auth, lambda: SandboxConnector(self.sandbox), frozenset(bugs)
        )
        self.shop = Shop(Store(), gateway, self.sandbox.webhook_secret, frozenset(bugs))
        self.shop.place("order-1", Decimal("49.90"), "EUR")

    async def hear(self, since: int = 0) -> None:
        """Hand the events over, and let the background work end."""
        for event in self.sandbox.events[since:]:
            self.shop.accept(event.body)
        await asyncio.gather(*self.shop.tasks)


@pytest.fixture
def correct() -> Iterator[Play]:
    """Return a shop without a mistake, whose time is the sandbox's."""
    play = Play()
    with follow_time(play.sandbox):
        yield play


def test_a_lost_reply_is_charged_once(correct: Play) -> None:
    """A retry has the key of the request whose reply was lost."""
    correct.sandbox.faults.add("connection_reset", operation="deposit-creation", phase="after_commit", times=1)

    async def buy() -> None:
        await correct.shop.pay("order-1")
        correct.sandbox.clock.advance("1h")
        await correct.hear()
        await correct.shop.gateway.close()

    asyncio.run(buy())

    assert len(correct.sandbox.pay_ins.list()) == 1
    assert correct.shop.status("order-1") == "paid"
    assert correct.shop.store.order("order-1")["fulfilled"] == 1


def test_an_unsigned_webhook_is_refused(correct: Play) -> None:
    """Without a signature nothing is accepted."""
    assert correct.shop.refusal(b"{}", None) == 400


def test_the_application_has_the_receiver(correct: Play) -> None:
    """The route of the webhooks is part of the application."""
    paths = {route.resource.canonical for route in application(correct.shop).router.routes() if route.resource}

    assert "/webhooks/payments" in paths


def refund_twice(play: Play) -> Decimal:
    """Refund two parts of ten; returns what the payer gets."""

    async def buy_and_refund() -> None:
        await play.shop.pay("order-1")
        play.sandbox.clock.advance("1h")
        await play.hear()
        for reference in ("r-1", "r-2"):
            await play.shop.refund("order-1", reference, Decimal("10.00"))
        play.sandbox.clock.advance("1h")
        await play.shop.gateway.close()

    with follow_time(play.sandbox):
        asyncio.run(buy_and_refund())
    return Decimal(str(play.sandbox.pay_ins.list()[0].document["refunded_amount"]))


def test_two_partial_refunds_are_two() -> None:
    """Each refund has a key of its own."""
    assert refund_twice(Play()) == 20


def test_a_key_for_each_order_swallows_the_second_refund() -> None:
    """The harm of `refund_key_per_order`: the payer gets one refund instead of two."""
    assert refund_twice(Play("refund_key_per_order")) == 10


def test_a_stale_reply_hides_the_payment() -> None:
    """The harm of `stale_save`: a reply that is stored after the webhooks takes a paid order back."""
    play = Play("stale_save")
    play.sandbox.faults.add("connection_reset", operation="deposit-creation", phase="after_commit", times=5)

    async def buy() -> None:
        await play.shop.pay("order-1")
        play.shop.store.run("UPDATE attempts SET state = 'sent'")
        play.sandbox.clock.advance("1h")
        await play.hear()
        assert play.shop.status("order-1") == "paid"
        play.shop.store.run("UPDATE attempts SET state = 'sent'")
        await play.shop.pay("order-1")
        await play.shop.gateway.close()

    with follow_time(play.sandbox):
        asyncio.run(buy())

    assert play.shop.status("order-1") == "pending"


def test_a_refund_needs_money(correct: Play) -> None:
    """Nothing is refunded before something has come in."""
    with pytest.raises(NotAccepted):
        asyncio.run(correct.shop.refund("order-1", "r-1", Decimal(1)))
