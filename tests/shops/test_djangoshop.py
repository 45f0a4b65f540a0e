"""The Django shop, by hand."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import djangoshop
import pytest
import requests

from paydouble import Sandbox, sign
from paydouble.stateful.requests_adapter import RequestsAdapter


class World:
    """A shop and a sandbox that know each other; there is one database for all, so it is emptied."""

    def __init__(self, *bugs: str) -> None:
        djangoshop.setup()
        from django.apps import apps
        from django.conf import settings
        from django.test import Client
        from djangoshop.jobs import Worker
        from djangoshop.models import Order

        for model in apps.get_app_config("djangoshop").get_models():
            model.objects.all().delete()
        self.sandbox = Sandbox({"webhooks": {"sign_with": "sandbox_clock"}}, seed=9, receiver=self.receive)
        settings.SHOP_BUGS, settings.SHOP_NOW = frozenset(bugs), self.now
        settings.SHOP_WEBHOOK_SECRET = self.sandbox.webhook_secret
        self.client = Client(enforce_csrf_checks=True)
        session = requests.Session()
        session.auth = (self.sandbox.business_key, self.sandbox.business_secret)
        session.mount("http://pay", RequestsAdapter(self.sandbox))
        self.worker = Worker(session, "http://pay", self.now, frozenset(bugs))
        Order.objects.create(id="o-1", amount="49.90", currency="EUR", email="d@shop.example")

    def now(self) -> float:
        return self.sandbox.clock.now.timestamp()

    def receive(self, webhook: Any) -> int:
        headers = dict(webhook.headers)
        return int(self.client.post("/hooks/payments", webhook.body, "application/json", headers=headers).status_code)

    def click(self) -> None:
        self.client.post("/checkout/o-1")

    def work(self, *steps: str) -> None:
        self.worker.run_due()
        for step in steps:
            self.sandbox.clock.advance(step)
            self.worker.run_due()

    def refund(self, refund_id: str, amount: str) -> int:
        form = {"id": refund_id, "amount": amount}
        return int(self.client.post("/orders/o-1/refunds", form, "application/json").status_code)

    def show(self) -> dict[str, Any]:
        shown: dict[str, Any] = self.client.get("/orders/o-1").json()
        return shown


def test_an_order_is_paid_once_and_shipped_once() -> None:
    """Two clicks, webhooks and polls make one pay-in and one parcel."""

    world = World()
    world.click()
    world.click()
    world.work("10m", "1h", "1h")

    assert world.show() == {"status": "paid", "parcels": 1, "balance": "49.90"}
    assert len(world.sandbox.pay_ins.list()) == 1


@pytest.mark.parametrize("effect", ["connection_reset", "html_error", "no_response"])
def test_a_job_without_an_answer_runs_again(effect: str) -> None:
    """The next run has the same key, so that nothing is paid twice."""

    world = World()
    world.sandbox.faults.add(effect, operation="deposit-creation", phase="after_commit", times=2)
    world.click()
    world.work("10m", "10m", "10m")

    assert world.show()["status"] == "paid"
    assert len(world.sandbox.pay_ins.list()) == 1


def test_a_dead_worker_loses_nothing() -> None:
    """A lease ends, and the job is taken up again."""

    world = World()
    world.click()
    world.worker.claim()
    world.work("1m")
    assert world.show()["status"] == "pending"
    world.work("10m", "10m")

    assert world.show()["status"] == "paid"


def test_refunds_and_disputes_are_booked() -> None:
    """Parts add up, a late failure is undone, and a lost dispute takes the money."""

    world = World()
    world.click()
    world.work("10m")
    assert [world.refund("r-1", "20.00"), world.refund("r-1", "20.00"), world.refund("r-2", "40.00")] == [202, 202, 409]
    world.work("200h", "1h")
    assert world.show() == {"status": "partly_refunded", "parcels": 1, "balance": "29.90"}
    refund = next(event.object_id for event in world.sandbox.events if event.type == "refund.created")
    world.sandbox.transition(refund, "failed", force=True)
    world.work("1m", "1m")
    assert world.show()["status"] == "paid"
    world.sandbox.transition(world.sandbox.dispute(world.sandbox.pay_ins.list()[0].id), "lost")
    world.work("1m", "1m")

    assert world.show()["status"] == "charged_back"
    assert Decimal(world.show()["balance"]) == 0


def test_signatures_are_checked() -> None:
    """Old, foreign, cut and unreadable ones are refused; an unreadable body is a 400."""

    world = World()
    body = b"no JSON"
    now = int(world.now())
    good = sign(body, world.sandbox.webhook_secret, now)
    headers = [None, "", "garbage", sign(body, world.sandbox.webhook_secret, now - 301), good[:-1], good]
    statuses = [
        world.client.post(
            "/hooks/payments", body, "application/json", headers={"X-Service-Signature": header} if header else {}
        ).status_code
        for header in headers
    ]

    assert statuses == [400, 400, 400, 400, 401, 400]


def test_a_mistake_is_switched_on() -> None:
    """A key of the job's own costs twice."""

    world = World("key_made_by_the_job")
    world.sandbox.webhook.change(secret="another")  # so that no webhook tells of the first
    world.sandbox.faults.add("connection_reset", operation="deposit-creation", phase="after_commit", times=1)
    world.click()
    world.work("1m", "1m")

    assert len(world.sandbox.pay_ins.list()) == 2
