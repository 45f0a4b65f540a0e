"""The Flask shop, by hand."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from flaskshop.app import Shop, create_app
from flaskshop.gateway import Gateway
from flaskshop.models import Base
from sqlalchemy import StaticPool, create_engine
from sqlalchemy.orm import sessionmaker

from paydouble import Sandbox, sign
from paydouble.stateful.requests_adapter import RequestsAdapter


class World:
    """A shop and a sandbox that know each other."""

    def __init__(self, *bugs: str) -> None:
        self.sandbox = Sandbox({"webhooks": {"sign_with": "sandbox_clock"}}, seed=3, receiver=self.receive)
        engine = create_engine("sqlite://", poolclass=StaticPool)
        Base.metadata.create_all(engine)
        auth = (self.sandbox.business_key, self.sandbox.business_secret)
        gateway = Gateway("http://service", auth, self.now, self.sleep, frozenset(bugs))
        gateway.session.mount(gateway.base_url, RequestsAdapter(self.sandbox))
        self.shop = Shop(sessionmaker(engine), gateway, self.sandbox.webhook_secret, frozenset(bugs))
        self.client = create_app(self.shop).test_client()
        self.client.post("/orders", json={"id": "o-1", "amount": "49.90", "currency": "EUR"})

    def now(self) -> float:
        return self.sandbox.clock.now.timestamp()

    def sleep(self, seconds: float) -> None:
        self.sandbox.clock.advance(seconds)

    def receive(self, webhook: Any) -> int:
        return self.client.post("/webhooks", data=webhook.body, headers=list(webhook.headers)).status_code

    def show(self) -> dict[str, Any]:
        shown: dict[str, Any] = self.client.get("/orders/o-1").get_json()
        return shown

    def pay(self) -> None:
        self.client.post("/orders/o-1/pay")


def test_an_order_is_paid_once_and_shipped_once() -> None:
    """Two clicks and all webhooks make one pay-in and one parcel."""

    world = World()
    world.pay()
    world.pay()
    world.sandbox.clock.advance("1h")
    world.shop.reconcile()

    assert world.show() == {"status": "paid", "shipped": 1, "balance": "49.90"}
    assert len(world.sandbox.pay_ins.list()) == 1


@pytest.mark.parametrize("effect", ["connection_reset", "html_error", "no_response"])
def test_a_lost_reply_makes_no_second_payment(effect: str) -> None:
    """What was executed and not answered is found by the same key."""

    world = World()
    world.sandbox.faults.add(effect, operation="deposit-creation", phase="after_commit", times=2)
    world.pay()
    world.sandbox.clock.advance("1h")

    assert world.show()["status"] == "paid"
    assert len(world.sandbox.pay_ins.list()) == 1


def test_a_mistake_is_switched_on() -> None:
    """With a key for each attempt a lost reply costs twice."""

    world = World("key_made_in_the_loop")
    world.sandbox.faults.add("connection_reset", operation="deposit-creation", phase="after_commit", times=1)
    world.pay()

    assert len(world.sandbox.pay_ins.list()) == 2


def test_partial_refunds_add_up() -> None:
    """Parts make `partly_refunded`, all of them `refunded`; the same wish is one refund."""

    world = World()
    world.pay()
    world.sandbox.clock.advance("1h")
    for _ in range(2):
        world.client.post("/orders/o-1/refunds", json={"id": "r-1", "amount": "20.00"})
    world.sandbox.clock.advance("200h")
    assert world.show()["status"] == "partly_refunded"
    assert world.client.post("/orders/o-1/refunds", json={"id": "r-2", "amount": "30.00"}).status_code == 409
    world.client.post("/orders/o-1/refunds", json={"id": "r-3", "amount": "29.90"})
    world.sandbox.clock.advance("200h")

    assert world.show() == {"status": "refunded", "shipped": 1, "balance": "0.00"}


def test_a_lost_dispute_is_learnt_without_webhooks() -> None:
    """Reconciliation asks for disputes too."""

    world = World()
    world.pay()
    world.sandbox.clock.advance("1h")
    pay_in = world.sandbox.pay_ins.list()[0]
    world.sandbox.transition(world.sandbox.dispute(pay_in.id), "lost")
    world.shop.reconcile()

    assert world.show()["status"] == "charged_back"
    assert Decimal(world.show()["balance"]) == 0


def test_signatures_are_checked() -> None:
    """Old, foreign, cut and unreadable ones are refused; nothing of it crashes."""

    world = World()
    body = json.dumps({"id": "evt_1", "type": "pay-in.unknown", "data": {"object": {}}}).encode()
    good = sign(body, world.sandbox.webhook_secret, int(world.now()))
    statuses = [
        world.shop.webhook(header, body)
        for header in (
            None,
            "",
            "garbage",
            "t=ü,v1=ü",
            sign(body, world.sandbox.webhook_secret, int(world.now()) - 301),
            sign(body, "another", int(world.now())),
            good[:-1],
            good.replace("v1", "v0"),
        )
    ]

    assert statuses == [400, 400, 400, 400, 400, 401, 401, 400]


def test_events_of_the_other_environment_are_ignored() -> None:
    """One that is live changes nothing in a sandbox, and is acknowledged."""

    world = World()
    world.pay()
    event = world.sandbox.events[0].json()
    event["livemode"] = True
    event["data"]["object"] |= {"status": "succeeded", "updated_at": "2027-01-01T00:00:00.000Z", "amount": 49.9}
    body = json.dumps(event).encode()

    assert world.shop.webhook(sign(body, world.sandbox.webhook_secret, int(world.now())), body) == 200
    assert world.show()["status"] == "pending"
