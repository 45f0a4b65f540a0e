"""How the machine drives the Falcon shop."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import ClassVar

import falcon.testing
import requests

from falconshop.money import to_text
from falconshop.shop import Shop
from falconshop.store import Store
from falconshop.web import make_app
from paydouble.stateful import Merchant, Refused, ServiceLike, Webhook
from paydouble.stateful.requests_adapter import RequestsAdapter

CUSTOMER = {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"}


class CheckedStore(Store):
    """Tells the machine where a transaction begins and ends."""

    service: ServiceLike

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        self.service.checkpoint()
        with super().transaction() as connection:
            yield connection
            self.service.checkpoint(in_transaction=True)
        self.service.checkpoint()


class FalconAdapter(Merchant):
    """The database and the warehouse outlive a restart."""

    bugs: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.store = CheckedStore(":memory:")
        self.store.service = service
        self.parcels: dict[str, str] = {}
        self.restart()

    def warehouse(self, shipment_id: str, order_id: str) -> None:
        """A warehouse that knows a shipment by its id; the call and the note of it are two things."""
        self.service.checkpoint()
        self.parcels.setdefault(shipment_id, order_id)
        self.service.checkpoint()

    def restart(self) -> None:
        service = self.service
        session = requests.Session()
        session.mount("http://", RequestsAdapter(service))
        self.shop = Shop(
            database=self.store,
            session=session,
            base_url=service.base_url.removesuffix("/api/v1"),
            business_key=service.business_key,
            business_secret=service.business_secret,
            webhook_secret=service.webhook_secret,
            now=service.now,
            sleep=service.sleep,
            warehouse=self.warehouse,
            bugs=self.bugs,
        )
        self.client = falcon.testing.TestClient(make_app(self.shop))

    def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
        self.shop.note_order(order_id, str(amount), currency, CUSTOMER)

    def pay(self, order_id: str) -> None:
        self.client.simulate_post(f"/orders/{order_id}/pay")

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        body = {"amount": str(amount), "ticket": refund_id}
        if self.client.simulate_post(f"/orders/{order_id}/refunds", json=body).status_code == 422:
            raise Refused

    def receive(self, webhook: Webhook) -> int:
        headers = dict(webhook.headers)
        return self.client.simulate_post("/webhooks/payments", body=webhook.body, headers=headers).status_code

    def customer_returns(self, order_id: str) -> None:
        self.client.simulate_get(f"/orders/{order_id}")

    def tick(self) -> None:
        self.shop.run_jobs()
        self.shop.reconcile()
        self.shop.run_jobs()

    def order_status(self, order_id: str) -> str:
        order = self.store.rows("SELECT * FROM orders WHERE id = ?", order_id)[0]
        attempts = self.store.rows("SELECT state FROM payments WHERE order_id = ? ORDER BY attempt", order_id)
        outcomes = {row["state"] for row in self.store.rows("SELECT state FROM disputes WHERE order_id = ?", order_id)}
        if order["state"] == "unpaid":
            return "pending" if attempts else "unpaid"
        if order["state"] == "failed":
            return "cancelled" if attempts and attempts[-1]["state"] == "cancelled" else "failed"
        if order["state"] != "paid":
            return str(order["state"])
        if outcomes & {"needs_response", "under_review"}:
            return "review"
        if outcomes & {"lost", "accepted"}:
            return "charged_back"
        if order["refunded"] >= order["amount"]:
            return "refunded"
        return "partly_refunded" if order["refunded"] else "paid"

    def balance(self, order_id: str) -> Decimal:
        order = self.store.rows("SELECT * FROM orders WHERE id = ?", order_id)[0]
        booked = self.store.rows("SELECT COALESCE(SUM(amount), 0) AS s FROM bookings WHERE order_id = ?", order_id)
        return Decimal(to_text(booked[0]["s"], order["currency"]))

    def shipments(self, order_id: str) -> int:
        return Counter(self.parcels.values())[order_id]

    def close(self) -> None:
        self.store.close()
