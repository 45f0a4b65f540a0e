"""How the machine drives the Starlette shop."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any, ClassVar, TypeVar

import httpx
from sqlalchemy.dialects import sqlite
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import StaticPool
from sqlalchemy.schema import CreateTable

from paydouble.stateful import Merchant, Refused, ServiceLike, Webhook
from paydouble.testing.transports import AsyncHttpxTransport
from starletteshop.money import to_text
from starletteshop.shop import Shop, metadata, use_immediate_transactions

T = TypeVar("T")
CUSTOMER = {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"}


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a loop and thread of its own: another call may come in while this one waits."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


# A database in memory with two connections: the shop's, and one to look into the books and empty the tables.
URL = "file:starletteshop?mode=memory&cache=shared&uri=true"
ENGINE = create_async_engine(f"sqlite+aiosqlite:///{URL}", poolclass=StaticPool)
use_immediate_transactions(ENGINE)
LOOK = sqlite3.connect(URL, uri=True, isolation_level=None, check_same_thread=False)
LOOK.row_factory = sqlite3.Row
for table in metadata.sorted_tables:
    LOOK.execute(str(CreateTable(table).compile(dialect=sqlite.dialect())))


class CheckedEngine:
    """Tells the machine where a transaction begins and ends."""

    def __init__(self, service: ServiceLike) -> None:
        self.service = service

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[AsyncConnection]:
        self.service.checkpoint()
        async with ENGINE.begin() as db:
            yield db
            self.service.checkpoint(in_transaction=True)
        self.service.checkpoint()


class StarletteAdapter(Merchant):
    """The database outlives a restart."""

    bugs: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        for table in reversed(metadata.sorted_tables):
            LOOK.execute(str(table.delete()))
        self.restart()

    def restart(self) -> None:
        service = self.service

        async def sleep(seconds: float) -> None:
            service.sleep(seconds)

        http = httpx.AsyncClient(
            transport=AsyncHttpxTransport(service), base_url=service.base_url.removesuffix("/api/v1"), timeout=10
        )
        engine: Any = CheckedEngine(service)
        self.shop = Shop(
            engine=engine,
            http=http,
            business_key=service.business_key,
            business_secret=service.business_secret,
            webhook_secret=service.webhook_secret,
            now=service.now,
            sleep=sleep,
            bugs=self.bugs,
        )
        transport = httpx.ASGITransport(self.shop.app)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://shop")

    def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
        run(self.shop.note_order(order_id, str(amount), currency, CUSTOMER))

    def pay(self, order_id: str) -> None:
        run(self.client.post(f"/orders/{order_id}/pay"))

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        answer = run(self.client.post(f"/orders/{order_id}/refunds", json={"amount": str(amount), "ticket": refund_id}))
        if answer.status_code == 422:
            raise Refused(answer.text)

    def receive(self, webhook: Webhook) -> int:
        headers = [(name.encode(), value.encode()) for name, value in webhook.headers]
        return run(self.client.post("/webhooks/payments", content=webhook.body, headers=headers)).status_code

    def customer_returns(self, order_id: str) -> None:
        run(self.client.get(f"/orders/{order_id}"))

    def tick(self) -> None:
        run(self.shop.resume())
        run(self.shop.reconcile())

    def order_status(self, order_id: str) -> str:
        status = self.look("SELECT status FROM orders WHERE id = ?", order_id)[0]
        attempts = self.look("SELECT status FROM payments WHERE order_id = ? ORDER BY rowid", order_id)
        outcomes = set(self.look("SELECT status FROM disputes WHERE order_id = ?", order_id))
        if status == "awaiting":
            return "pending" if attempts else "unpaid"
        if status == "failed":
            return "cancelled" if attempts and attempts[-1] == "cancelled" else "failed"
        if status == "review" or outcomes & {"needs_response", "under_review"}:
            return "review"
        if outcomes & {"lost", "accepted"}:
            return "charged_back"
        return "partly_refunded" if status == "part_refunded" else str(status)

    def balance(self, order_id: str) -> Decimal:
        currency = self.look("SELECT currency FROM orders WHERE id = ?", order_id)[0]
        return Decimal(to_text(sum(self.look("SELECT amount FROM ledger WHERE order_id = ?", order_id)), currency))

    def shipments(self, order_id: str) -> int:
        return len(self.look("SELECT id FROM shipments WHERE order_id = ?", order_id))

    @staticmethod
    def look(query: str, order_id: str) -> list[Any]:
        return [row[0] for row in LOOK.execute(query, (order_id,))]
