"""The Starlette shop, by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from decimal import Decimal
from typing import Any, TypeVar

import httpx
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import StaticPool
from starletteshop.shop import Shop, disputes, ledger, refunds, use_immediate_transactions

from paydouble import Sandbox, sign
from paydouble.testing.transports import AsyncHttpxTransport

T = TypeVar("T")
CUSTOMER = {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"}


class World:
    """A shop and a sandbox that know each other. The test delivers the webhooks, between two calls of the shop."""

    def __init__(self, *bugs: str, amount: str = "49.90", currency: str = "EUR") -> None:
        self.loop = asyncio.new_event_loop()
        self.sandbox = Sandbox({"webhooks": {"sign_with": "sandbox_clock"}}, seed=3)
        self.engine = create_async_engine("sqlite+aiosqlite://", poolclass=StaticPool)
        use_immediate_transactions(self.engine)
        self.bugs = frozenset(bugs)
        self.restart()
        self.run(self.shop.create_tables())
        self.run(self.shop.note_order("o-1", amount, currency, CUSTOMER))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def restart(self) -> None:
        async def sleep(seconds: float) -> None:
            self.sandbox.clock.advance(seconds)

        self.shop = Shop(
            engine=self.engine,
            http=httpx.AsyncClient(transport=AsyncHttpxTransport(self.sandbox), base_url="http://service"),
            business_key=self.sandbox.business_key,
            business_secret=self.sandbox.business_secret,
            webhook_secret=self.sandbox.webhook_secret,
            now=self.now,
            sleep=sleep,
            bugs=self.bugs,
        )
        transport = httpx.ASGITransport(self.shop.app)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://shop")

    def close(self) -> None:
        self.run(self.engine.dispose())
        self.loop.close()

    def now(self) -> float:
        return self.sandbox.clock.now.timestamp()

    def ask(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        return self.run(self.client.request(method, path, **arguments))

    def hear(self, *types: str) -> list[int]:
        """Deliver the events of these types, or all, in their order; returns the answers."""
        events = [event for event in self.sandbox.events if not types or event.type in types]
        return [self.deliver(event.body) for event in events]

    def deliver(self, body: bytes) -> int:
        header = sign(body, self.sandbox.webhook_secret, int(self.now()))
        answer = self.ask("POST", "/webhooks/payments", content=body, headers={"X-Service-Signature": header})
        return answer.status_code

    def pay(self) -> None:
        self.ask("POST", "/orders/o-1/pay")

    def paid(self) -> None:
        self.pay()
        self.sandbox.clock.advance("1h")
        self.hear()

    def refund(self, amount: str, ticket: str) -> int:
        return self.ask("POST", "/orders/o-1/refunds", json={"amount": amount, "ticket": ticket}).status_code

    def work(self) -> None:
        self.run(self.shop.resume())
        self.run(self.shop.reconcile())

    def show(self) -> dict[str, Any]:
        shown: dict[str, Any] = self.ask("GET", "/orders/o-1").json()
        return shown

    def rows(self, query: sa.Select[Any]) -> list[Any]:
        async def read() -> list[Any]:
            async with self.engine.begin() as db:
                return list(await db.execute(query))

        return self.run(read())

    def booked(self) -> list[tuple[str, int]]:
        return [tuple(row) for row in self.rows(sa.select(ledger.c.kind, ledger.c.amount).order_by(ledger.c.id))]


@pytest.fixture
def make() -> Any:
    """Return a function that makes a world, which is closed at the end."""
    made: list[World] = []

    def make_one(*bugs: str, **order: str) -> World:
        made.append(World(*bugs, **order))
        return made[-1]

    yield make_one
    for world in made:
        world.close()


@pytest.mark.parametrize(("amount", "currency"), [("49.90", "EUR"), ("1500", "JPY"), ("1.255", "KWD")])
def test_an_order_is_paid_once_and_shipped_once(make: Any, amount: str, currency: str) -> None:
    """Two clicks, all webhooks twice and the jobs make one pay-in of the exact amount, and one shipment."""
    world = make(amount=amount, currency=currency)
    world.paid()
    world.paid()
    world.work()

    assert (world.show()["status"], world.show()["shipments"]) == ("paid", 1)
    assert [pay_in.document["amount"] for pay_in in world.sandbox.pay_ins.list()] == [Decimal(amount)]


@pytest.mark.parametrize(("bugs", "pay_ins"), [((), 1), (("new_key_on_retry",), 5), (("key_stored_after_reply",), 2)])
def test_lost_replies(make: Any, bugs: tuple[str, ...], pay_ins: int) -> None:
    """A click and the job of another process make one pay-in, and more with the mistakes."""
    world = make(*bugs)
    world.sandbox.faults.add("connection_reset", operation="deposit-creation", phase="after_commit", times=5)
    world.pay()
    world.restart()
    world.work()

    assert len(world.sandbox.pay_ins.list()) == pay_ins


@pytest.mark.parametrize(("bugs", "pay_ins"), [((), 1), (("resend_after_key_expired",), 2)])
def test_after_a_day_it_looks_before_it_sends(make: Any, bugs: tuple[str, ...], pay_ins: int) -> None:
    """An expired key is not relied on."""
    world = make(*bugs)
    world.sandbox.faults.add("connection_reset", operation="deposit-creation", phase="after_commit", times=5)
    world.pay()
    world.sandbox.clock.advance("25h")
    world.work()

    assert len(world.sandbox.pay_ins.list()) == pay_ins


@pytest.mark.parametrize(("bugs", "shipments"), [((), 1), (("out_of_order_overwrites",), 2)])
def test_late_events(make: Any, bugs: tuple[str, ...], shipments: int) -> None:
    """A `processing` after the success takes nothing back, and nothing is shipped again."""
    world = make(*bugs)
    world.pay()
    world.sandbox.clock.advance("1h")
    world.hear("pay-in.succeeded")
    world.hear("pay-in.processing")
    world.work()

    assert world.show()["shipments"] == shipments


def test_a_refund_that_fails_late_comes_back(make: Any) -> None:
    """The money is in the books again, and can be refunded."""
    world = make()
    world.paid()
    assert [world.refund("20.00", "t-1"), world.refund("20.00", "t-1")] == [201, 201]
    world.sandbox.clock.advance("200h")
    world.work()
    assert world.show()["status"] == "part_refunded"
    refund = next(event.object_id for event in world.sandbox.events if event.type == "refund.created")
    world.sandbox.transition(refund, "failed", force=True)
    world.hear()

    assert world.show()["status"] == "paid"
    assert world.booked() == [("payment", 4990), ("refund", -2000), ("refund", 2000)]
    assert [world.refund("49.90", "t-2"), world.refund("0.01", "t-3")] == [201, 422]


@pytest.mark.parametrize(("bugs", "states"), [((), ["succeeded"]), (("refund_not_resumed",), ["sending"])])
def test_a_refund_that_never_arrived(make: Any, bugs: tuple[str, ...], states: list[str]) -> None:
    """The job sends it, unless it has been forgotten there."""
    world = make(*bugs)
    world.paid()
    world.sandbox.faults.add("connection_reset", operation="refund-creation", phase="before_commit", times=5)
    world.refund("20.00", "t-1")
    world.work()
    world.sandbox.clock.advance("200h")
    world.work()

    assert [row.status for row in world.rows(sa.select(refunds))] == states


@pytest.mark.parametrize(
    ("bugs", "books"),
    [
        ((), [("dispute", -4990), ("dispute_won", 4990)]),
        (("dispute_booked_per_event",), [("dispute", -4990), ("dispute", -4990), ("dispute_won", 4990)]),
        (("dispute_closed_is_lost",), [("dispute", -4990)]),
    ],
)
def test_a_dispute_that_is_won(make: Any, bugs: tuple[str, ...], books: list[tuple[str, int]]) -> None:
    """Its money leaves the books once, and comes back."""
    world = make(*bugs)
    world.paid()
    dispute = world.sandbox.dispute(world.sandbox.pay_ins.list()[0].id)
    for status in ("under_review", "won"):
        world.sandbox.clock.advance("1h")
        world.sandbox.transition(dispute, status)
    world.hear()
    world.work()

    assert world.booked()[1:] == books
    assert len(world.rows(sa.select(disputes))) == 1
    assert world.show()["shipments"] == 1


def test_signatures_are_checked(make: Any) -> None:
    """Old, foreign, cut and unreadable ones are refused; one that holds is taken whatever is signed."""
    world = make()
    secret, now = world.sandbox.webhook_secret, int(world.now())
    good = sign(b"[]", secret, now)
    headers = [None, "garbage", "t=ü,v1=ü", sign(b"[]", secret, now - 301), sign(b"[]", "x", now), good[:-1], good]

    assert [world.run(world.shop.webhook(header, b"[]")) for header in headers] == [400, 400, 400, 400, 401, 401, 200]
