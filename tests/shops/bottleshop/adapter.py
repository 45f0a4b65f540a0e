"""How the machine drives this shop."""

import json
from contextlib import contextmanager
from typing import Any, ClassVar

from paydouble.stateful import Merchant, Refused

from .app import create_app
from .gateway import Gateway
from .models import TABLES, Points, Shipment, database
from .pool import Pool, browse
from .shop import Shop


class BottleShop(Merchant):
    """Empties the tables for each play, and makes a new application after each restart."""

    follows_time = True
    demands = ("lost events",)
    bugs: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, service: Any) -> None:
        super().__init__(service)
        if database.database is None:
            database.init(":memory:")
            database.create_tables(TABLES)
        for table in TABLES:
            table.delete().execute()
        self.restart()

    @contextmanager
    def transaction(self) -> Any:
        self.service.checkpoint()
        with database.atomic():
            yield
            self.service.checkpoint(in_transaction=True)
        self.service.checkpoint()

    def restart(self) -> None:
        s = self.service
        gateway = Gateway(Pool(s), s.base_url, s.business_key, s.business_secret, self.bugs)
        self.shop = Shop(gateway, self.transaction, self.bugs)
        self.app = create_app(self.shop, s.webhook_secret, self.bugs)

    def http(self, method: str, path: str, body: bytes = b"", headers: Any = ()) -> int:
        return browse(self.app, method, path, body, headers)

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
        self.shop.work()

    def order_status(self, order_id: str) -> str:
        return self.shop.status(order_id)

    def balance(self, order_id: str) -> Any:
        return self.shop.balance(order_id)

    def shipments(self, order_id: str) -> int:
        return Shipment.select().where(Shipment.order_id == order_id).count()

    def effects(self, order_id: str) -> Any:
        return {"points": Points.select().where(Points.order_id == order_id).count()}
