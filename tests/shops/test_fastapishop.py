"""The FastAPI shop, by hand."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from typing import Any

import httpx
import pytest
from fastapishop.client import PaymentClient
from fastapishop.database import Database
from fastapishop.main import Shop, create_app

from paydouble import Sandbox, sign
from paydouble.testing.transports import AsyncHttpxTransport


class World:
    """A shop and a sandbox that know each other."""

    def __init__(self, *bugs: str, amount: str = "49.90", currency: str = "EUR") -> None:
        self.sandbox = Sandbox({"webhooks": {"sign_with": "sandbox_clock"}}, seed=5, receiver=self.receive)
        self.bugs = frozenset(bugs)
        self.database = Database()
        self.restart()
        self.shop.place("o-1", Decimal(amount), currency)

    def restart(self) -> None:
        async def sleep(seconds: float) -> None:
            self.sandbox.clock.advance(seconds)

        def make_client() -> httpx.AsyncClient:
            auth = (self.sandbox.business_key, self.sandbox.business_secret)
            return httpx.AsyncClient(transport=AsyncHttpxTransport(self.sandbox), base_url="http://pay", auth=auth)

        client = PaymentClient(make_client, self.now, sleep, self.bugs)
        self.shop = Shop(self.database, client, self.sandbox.webhook_secret, self.bugs)
        self.app = create_app(self.shop)

    def now(self) -> float:
        return self.sandbox.clock.now.timestamp()

    def receive(self, webhook: Any) -> int:
        headers = {name.lower(): value for name, value in webhook.headers}
        status = self.shop.check_signature(headers["x-service-signature"], webhook.body)
        if status == 200:
            event = json.loads(webhook.body, parse_float=Decimal)
            self.shop.take(event["data"]["object"], event["type"])
        return status

    def ask(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://shop") as client:
                return await client.request(method, path, **arguments)

        return asyncio.run(send())

    def show(self) -> dict[str, Any]:
        shown: dict[str, Any] = self.ask("GET", "/orders/o-1").json()
        return shown


@pytest.mark.parametrize(("amount", "currency"), [("49.90", "EUR"), ("1500", "JPY"), ("1.255", "KWD")])
def test_an_order_is_paid_once_and_fulfilled_once(amount: str, currency: str) -> None:
    """Two clicks, webhooks, the return page and the jobs make one pay-in of the exact amount."""

    world = World(amount=amount, currency=currency)
    world.ask("POST", "/checkout/o-1")
    world.ask("POST", "/checkout/o-1")
    world.sandbox.clock.advance("1h")
    world.ask("GET", "/orders/o-1/thanks")
    asyncio.run(world.shop.run_jobs())

    assert world.show() == {"status": "paid", "balance": amount, "fulfilled": 1}
    assert len(world.sandbox.pay_ins.list()) == 1


def test_an_attempt_survives_a_restart() -> None:
    """The key is kept, so that the job finishes what nobody answered."""

    world = World()
    world.sandbox.faults.add("connection_reset", operation="deposit-creation", phase="after_commit", times=4)
    world.ask("POST", "/checkout/o-1")
    world.restart()
    asyncio.run(world.shop.run_jobs())
    world.sandbox.clock.advance("1h")

    assert world.show()["status"] == "paid"
    assert len(world.sandbox.pay_ins.list()) == 1


def test_after_a_day_it_looks_before_it_sends() -> None:
    """An expired key is not relied on."""

    world = World()
    world.sandbox.faults.add("connection_reset", operation="deposit-creation", phase="after_commit", times=4)
    world.sandbox.down()
    world.ask("POST", "/checkout/o-1")
    world.sandbox.up()
    asyncio.run(world.shop.run_jobs())
    world.sandbox.clock.advance("25h")
    asyncio.run(world.shop.run_jobs())

    assert world.show()["status"] == "paid"
    assert len(world.sandbox.pay_ins.list()) == 1


def test_refunds_add_up_and_one_may_fail() -> None:
    """What failed late is given back to the shop's books, and others stay."""

    world = World()
    world.ask("POST", "/checkout/o-1")
    world.sandbox.clock.advance("1h")
    for refund_id, amount in (("r-1", "20.00"), ("r-1", "20.00"), ("r-2", "10.00")):
        world.ask("POST", f"/orders/o-1/refunds/{refund_id}", params={"amount": amount})
    world.sandbox.clock.advance("200h")
    assert world.show() == {"status": "partly_refunded", "balance": "19.90", "fulfilled": 1}
    pay_in = world.sandbox.pay_ins.list()[0]
    refunds = [event.object_id for event in world.sandbox.events if event.type == "refund.created"]
    world.sandbox.transition(refunds[0], "failed", force=True)
    world.sandbox.clock.advance("1h")

    assert world.show()["balance"] == "39.90"
    assert pay_in.document["amount"] == Decimal("49.90")


def test_signatures_are_checked() -> None:
    """Old, foreign, cut and unreadable ones are refused, and a body with umlauts is taken."""

    world = World()
    body = json.dumps({"name": "Zoë"}, ensure_ascii=False).encode()
    now = int(world.now())
    good = sign(body, world.sandbox.webhook_secret, now)
    headers = ["", "garbage", "t=ü,v1=ü", sign(body, world.sandbox.webhook_secret, now - 301), good[:-1], good]

    assert [world.shop.check_signature(header, body) for header in headers] == [400, 400, 400, 400, 401, 200]


def test_a_mistake_is_switched_on() -> None:
    """A dinar with two digits is charged too little."""

    world = World("two_digits_for_all", amount="1.255", currency="KWD")
    world.ask("POST", "/checkout/o-1")

    assert world.sandbox.pay_ins.list()[0].document["amount"] == Decimal("1.250")
