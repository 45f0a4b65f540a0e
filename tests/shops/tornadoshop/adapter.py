"""How the machine drives this shop."""

import asyncio
import json
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import httpx

from paydouble.stateful import Merchant, Refused
from paydouble.testing.transports import AsyncHttpxTransport

from .app import create_app
from .browser import browse
from .client import Payments
from .facts import Log
from .shop import Shop

DATABASE = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)


class TornadoShop(Merchant):
    """Empties the log for each play, and makes a new application after each restart."""

    follows_time = True
    bugs: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, service: Any) -> None:
        super().__init__(service)
        self.log = Log(DATABASE, service.checkpoint)
        DATABASE.execute("DELETE FROM fact")
        self.restart()

    def restart(self) -> None:
        s = self.service
        auth, transport = (s.business_key, s.business_secret), AsyncHttpxTransport(s)
        http = httpx.AsyncClient(base_url=s.base_url, auth=auth, timeout=10, transport=transport)
        self.shop = Shop(self.log, Payments(http, self.bugs), self.bugs)
        self.app = create_app(self.shop, s.webhook_secret, self.bugs)

    def run(self, work: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:  # a loop and thread for each call: a webhook may come while another waits
            return pool.submit(asyncio.run, work).result()

    def http(self, method: str, path: str, body: bytes = b"", headers: Any = ()) -> int:
        return int(self.run(browse(self.app, method, path, body, headers)))

    def place_order(self, order_id: str, amount: Any, currency: str) -> None:
        self.http(
            "POST", "/orders", json.dumps({"order_id": order_id, "amount": str(amount), "currency": currency}).encode()
        )

    def pay(self, order_id: str) -> None:
        if self.http("POST", f"/orders/{order_id}/pay") == 402:
            raise Refused

    def refund(self, order_id: str, refund_id: str, amount: Any) -> None:
        if (
            self.http("POST", f"/orders/{order_id}/refunds/{refund_id}", json.dumps({"amount": str(amount)}).encode())
            == 409
        ):
            raise Refused

    def customer_returns(self, order_id: str) -> None:
        self.http("GET", f"/orders/{order_id}/thanks")

    def receive(self, webhook: Any) -> int:
        return self.http("POST", "/webhooks", webhook.body, webhook.headers)

    def tick(self) -> None:
        self.run(self.shop.jobs())

    def order_status(self, order_id: str) -> str:
        return self.shop.order(order_id).status(time.time())

    def balance(self, order_id: str) -> Any:
        return self.shop.order(order_id).balance()

    def shipments(self, order_id: str) -> int:
        return self.shop.order(order_id).shipped

    def effects(self, order_id: str) -> Any:
        return {"mail": self.shop.order(order_id).mailed}
