"""The Falcon shop, by hand."""

from __future__ import annotations

import contextlib
import json
from decimal import Decimal
from typing import Any

import falcon.testing
import pytest
import requests
from falconshop.shop import Shop
from falconshop.store import Store
from falconshop.web import make_app

from paydouble import Sandbox, sign
from paydouble.stateful.requests_adapter import RequestsAdapter


class World:
    """A shop, its warehouse and a sandbox that know each other."""

    def __init__(self, *bugs: str, amount: str = "49.90", currency: str = "EUR") -> None:
        self.sandbox = Sandbox({"webhooks": {"sign_with": "sandbox_clock"}}, seed=3, receiver=self.receive)
        self.bugs = frozenset(bugs)
        self.store = Store(":memory:")
        self.parcels: dict[str, str] = {}
        self.warehouse_fails = False
        self.restart()
        self.shop.note_order(
            "o-1", amount, currency, {"first_name": "Ada", "last_name": "L", "email": "a@example.test"}
        )

    def restart(self) -> None:
        session = requests.Session()
        session.mount("http://", RequestsAdapter(self.sandbox))
        self.shop = Shop(
            database=self.store,
            session=session,
            base_url="http://service",
            business_key=self.sandbox.business_key,
            business_secret=self.sandbox.business_secret,
            webhook_secret=self.sandbox.webhook_secret,
            now=self.now,
            sleep=self.sleep,
            warehouse=self.ship,
            bugs=self.bugs,
        )
        self.client = falcon.testing.TestClient(make_app(self.shop))

    def now(self) -> float:
        return self.sandbox.clock.now.timestamp()

    def sleep(self, seconds: float) -> None:
        self.sandbox.clock.advance(seconds)

    def ship(self, shipment_id: str, order_id: str) -> None:
        self.parcels[shipment_id] = order_id
        if self.warehouse_fails:
            self.warehouse_fails = False
            raise ConnectionError

    def receive(self, webhook: Any) -> int:
        headers = dict(webhook.headers)
        return self.client.simulate_post("/webhooks/payments", body=webhook.body, headers=headers).status_code

    def pay(self) -> None:
        self.client.simulate_post("/orders/o-1/pay")

    def refund(self, amount: str, ticket: str) -> int:
        body = {"amount": amount, "ticket": ticket}
        return self.client.simulate_post("/orders/o-1/refunds", json=body).status_code

    def work(self, length: str = "1h") -> None:
        """Let time pass, then run the jobs."""
        self.sandbox.clock.advance(length)
        self.shop.run_jobs()
        self.shop.reconcile()
        self.shop.run_jobs()

    def show(self) -> dict[str, Any]:
        shown: dict[str, Any] = self.client.simulate_get("/orders/o-1").json
        return shown

    def booked(self) -> list[tuple[str, int]]:
        return [(row["kind"], row["amount"]) for row in self.store.rows("SELECT * FROM bookings ORDER BY id")]

    def lose_replies(self, operation: str, times: int) -> None:
        self.sandbox.webhook.change(notification_url=None)
        self.sandbox.faults.add("connection_reset", operation=operation, phase="after_commit", times=times)


@pytest.mark.parametrize(("amount", "currency"), [("49.90", "EUR"), ("1500", "JPY"), ("1.255", "KWD")])
def test_an_order_is_paid_once_and_shipped_once(amount: str, currency: str) -> None:
    """Two clicks, all webhooks and the jobs make one pay-in of the exact amount, and one parcel."""
    world = World(amount=amount, currency=currency)
    world.pay()
    world.pay()
    world.work()
    world.work()

    assert world.show()["state"] == "paid"
    assert list(world.parcels.values()) == ["o-1"]
    assert [pay_in.document["amount"] for pay_in in world.sandbox.pay_ins.list()] == [Decimal(amount)]


def pay_ins_after_lost_replies(world: World) -> int:
    """Lose all replies of a click, click again, then run the jobs of another process."""
    world.lose_replies("deposit-creation", 5)
    world.pay()
    world.pay()
    world.restart()
    world.work()
    return len(world.sandbox.pay_ins.list())


def test_lost_replies_leave_one_pay_in() -> None:
    """The key that was stored first is sent again by the job."""
    assert pay_ins_after_lost_replies(World()) == 1


def test_an_unknown_payment_that_is_not_live_is_paid_twice() -> None:
    """The harm of `unknown_is_not_live`: the second click makes another pay-in."""
    assert pay_ins_after_lost_replies(World("unknown_is_not_live")) == 2


def refunded(world: World) -> Decimal:
    """Refund ten without a reply, run the jobs, and refund ten again as another ticket when the shop says no."""
    world.pay()
    world.work()
    world.lose_replies("refund-creation", 5)
    world.refund("10.00", "t-1")
    if world.store.rows("SELECT state FROM refunds")[0]["state"] == "refused":
        world.refund("10.00", "t-2")
    world.restart()
    world.work()
    world.work()
    return Decimal(str(world.sandbox.pay_ins.list()[0].document["refunded_amount"]))


@pytest.mark.parametrize(
    ("bugs", "amount"), [((), 10), (("refund_gives_up_as_refused",), 20), (("refund_key_not_stored",), 20)]
)
def test_a_refund_without_a_reply(bugs: tuple[str, ...], amount: int) -> None:
    """It is given once, and twice with the mistakes."""
    assert refunded(World(*bugs)) == amount


@pytest.mark.parametrize(
    ("bugs", "parcels"), [((), 1), (("ship_in_second_transaction",), 1), (("shipment_id_made_at_dispatch",), 2)]
)
def test_a_warehouse_whose_answer_is_lost(bugs: tuple[str, ...], parcels: int) -> None:
    """It hears of the shipment again, and knows it unless its id is another one."""
    world = World(*bugs)
    world.pay()
    world.warehouse_fails = True
    for _ in range(2):
        with contextlib.suppress(ConnectionError):
            world.work()
    world.work()

    assert len(world.parcels) == parcels
    assert world.show()["state"] == ("unpaid" if "ship_in_second_transaction" in bugs else "paid")


def test_a_refund_that_fails_late_comes_back() -> None:
    """The money is in the books again, and can be refunded."""
    world = World()
    world.pay()
    world.work()
    world.refund("20.00", "t-1")
    world.refund("20.00", "t-1")
    world.work("200h")
    refund = next(event.object_id for event in world.sandbox.events if event.type == "refund.created")
    world.sandbox.transition(refund, "failed", force=True)
    world.work()

    assert world.booked() == [("payment", 4990), ("refund", -2000), ("refund_back", 2000)]
    assert world.refund("49.90", "t-2") == 201
    assert world.refund("0.01", "t-3") == 422


@pytest.mark.parametrize(
    ("bugs", "lost"),
    [((), [-1000, -500]), (("dispute_by_payin",), [-1000]), (("dispute_amount_is_order_total",), [-4990, -4990])],
)
def test_two_disputes_about_parts(bugs: tuple[str, ...], lost: list[int]) -> None:
    """Each is booked once, with its amount."""
    world = World(*bugs)
    world.pay()
    world.work()
    pay_in = world.sandbox.pay_ins.list()[0]
    for amount in ("10.00", "5.00"):
        world.sandbox.pay_ins.dispute(pay_in.id, amount=Decimal(amount))
    world.work()
    world.work()

    assert [amount for kind, amount in world.booked() if kind == "dispute"] == lost


def test_signatures_are_checked_before_anything_is_stored() -> None:
    """Old, foreign, cut and unreadable ones are refused and leave no trace."""
    world = World()
    body = json.dumps({"id": "evt_1", "type": "pay-in.succeeded", "data": {"object": {}}}).encode()
    now = int(world.shop.now())
    good = sign(body, world.sandbox.webhook_secret, now)
    headers = [None, "", "garbage", "t=ü,v1=ü", sign(body, world.sandbox.webhook_secret, now - 301), good[:-1]]

    assert [world.shop.webhook(header, body) for header in headers] == [400, 400, 400, 400, 400, 401]
    assert world.store.rows("SELECT * FROM inbox") == []
    assert world.shop.webhook(good, body) == 200


@pytest.mark.parametrize(("bugs", "balance"), [((), 0), (("dispute_accepted_is_won",), 4990)])
def test_a_dispute_that_is_accepted(bugs: tuple[str, ...], balance: int) -> None:
    """Its money is gone; the harm of the mistake is that the books still have it."""
    world = World(*bugs)
    world.pay()
    world.work()
    world.sandbox.transition(world.sandbox.dispute(world.sandbox.pay_ins.list()[0].id), "accepted")
    world.work()

    assert sum(amount for _, amount in world.booked()) == balance


@pytest.mark.parametrize(("bugs", "amount"), [((), Decimal("49.90")), (("refund_rest_ignores_partial",), 10)])
def test_the_rest_is_refunded(bugs: tuple[str, ...], amount: Decimal) -> None:
    """A refund without an amount gives back what is left; with the mistake the service refuses it."""
    world = World(*bugs)
    world.pay()
    world.work()
    world.refund("10.00", "t-1")
    world.client.simulate_post("/orders/o-1/refunds", json={})
    world.work("200h")

    assert world.sandbox.pay_ins.list()[0].document["refunded_amount"] == amount


@pytest.mark.parametrize(("bugs", "status"), [((), 201), (("refund_failed_still_counts",), 422)])
def test_after_a_failed_refund_there_is_another(bugs: tuple[str, ...], status: int) -> None:
    """The harm of the mistake: the customer never gets the money."""
    world = World(*bugs)
    world.pay()
    world.work()
    world.refund("49.90", "t-1")
    world.work("200h")
    refund = next(event.object_id for event in world.sandbox.events if event.type == "refund.created")
    world.sandbox.transition(refund, "failed", force=True)
    world.work()

    assert world.refund("49.90", "t-2") == status


@pytest.mark.parametrize(("bugs", "times"), [((), 1), (("refund_reply_overwrites_event",), 2)])
def test_a_refund_succeeds_between_two_attempts(bugs: tuple[str, ...], times: int) -> None:
    """The worker has booked it when the reply comes at last; with the mistake it is booked again."""
    world = World(*bugs)
    world.pay()
    world.work()

    def sleep_beside_a_worker(seconds: float) -> None:
        world.sleep(seconds)
        world.shop.process_inbox()

    world.shop.gateway.sleep = sleep_beside_a_worker
    world.sandbox.faults.add("connection_reset", operation="refund-creation", phase="after_commit", times=2)
    world.refund("10.00", "t-1")
    world.work()

    assert world.booked()[1:] == [("refund", -1000)] * times
