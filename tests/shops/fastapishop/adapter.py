"""How the machine drives the FastAPI shop."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, ClassVar, TypeVar

import httpx

from fastapishop.client import PaymentClient
from fastapishop.database import Database
from fastapishop.main import Shop, create_app
from paydouble.stateful import Merchant, Refused, ServiceLike, Webhook
from paydouble.testing.transports import AsyncHttpxTransport

T = TypeVar("T")


class CheckedDatabase(Database):
    """Tells the machine where a transaction begins and ends."""

    service: ServiceLike

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        self.service.checkpoint()
        with super().transaction() as connection:
            yield connection
        self.service.checkpoint()


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


class FastapiAdapter(Merchant):
    """A new database for each example; one event loop and thread for each call from outside.

    The machine calls in again while a call is under way, and an event loop cannot be entered twice.
    """

    bugs: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.database = CheckedDatabase()
        self.database.service = service
        self.restart()

    def restart(self) -> None:
        service = self.service
        auth = (service.business_key, service.business_secret)

        async def sleep(seconds: float) -> None:
            service.sleep(seconds)

        def make_client() -> httpx.AsyncClient:
            url = service.base_url.removesuffix("/api/v1")
            return httpx.AsyncClient(transport=AsyncHttpxTransport(service), base_url=url, auth=auth, timeout=12)

        client = PaymentClient(make_client, service.now, sleep, self.bugs)
        self.shop = Shop(self.database, client, service.webhook_secret, self.bugs)
        self.app = create_app(self.shop)

    def ask(self, method: str, path: str, **arguments: object) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://shop") as client:
                return await client.request(method, path, **arguments)  # type: ignore[arg-type] # passed on as they are

        return run(send())

    def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
        self.shop.place(order_id, amount, currency)

    def pay(self, order_id: str) -> None:
        self.ask("POST", f"/checkout/{order_id}")

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        path = f"/orders/{order_id}/refunds/{refund_id}"
        if self.ask("POST", path, params={"amount": str(amount)}).status_code == 409:
            raise Refused

    def order_status(self, order_id: str) -> str:
        return str(self.ask("GET", f"/orders/{order_id}").json()["status"])

    def balance(self, order_id: str) -> Decimal:
        return Decimal(self.ask("GET", f"/orders/{order_id}").json()["balance"])

    def shipments(self, order_id: str) -> int:
        return int(self.ask("GET", f"/orders/{order_id}").json()["fulfilled"])

    def customer_returns(self, order_id: str) -> None:
        self.ask("GET", f"/orders/{order_id}/thanks")

    def receive(self, webhook: Webhook) -> int:
        headers = [(name.encode(), value.encode()) for name, value in webhook.headers]  # httpx refuses non-ASCII text
        return self.ask("POST", "/hooks/payments", content=webhook.body, headers=headers).status_code

    def tick(self) -> None:
        run(self.shop.run_jobs())
