"""A shop: baskets, their payment, and the payment service's webhooks."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

import httpx
import orjson

from paydouble import SignatureError, verify

ATTEMPTS = 3
FINAL = {"paid", "failed", "cancelled", "review"}


class Unavailable(Exception):
    """Nobody knows what became of the request; the customer may try again, which is safe."""


@dataclass
class Order:
    """One order, and how its payment stands."""

    id: str
    amount: Decimal
    key: str = field(default_factory=lambda: str(uuid.uuid4()))
    """Made once and kept, so that every attempt to pay this order is the same request."""
    status: str = "unpaid"
    shipped: int = 0


class Shop:
    """Takes orders, has them paid, and ships."""

    def __init__(self, service: httpx.Client, webhook_secret: str) -> None:
        """Speak to the payment service through a client that has its address and our credentials."""
        self.service = service
        self.webhook_secret = webhook_secret
        self.orders: dict[str, Order] = {}

    def order(self, order_id: str, prices: Sequence[Decimal]) -> None:
        """Note an order of a basket in euros."""
        self.orders[order_id] = Order(order_id, sum(prices, Decimal(0)))

    def pay(self, order_id: str) -> str:
        """Return the address of the page where the customer pays."""
        order = self.orders[order_id]
        for _ in range(ATTEMPTS):
            try:
                return self.create_deposit(order)
            except (httpx.HTTPError, ValueError):
                continue
        raise Unavailable

    def create_deposit(self, order: Order) -> str:
        """Ask the service for a deposit."""
        body = {
            "amount": orjson.Fragment(str(order.amount)),  # digit by digit
            "currency": "EUR",
            "external_identifier": order.id,
            "payment_method": {"type": "CREDIT_CARD"},
            "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"},
        }
        headers = {"Content-Type": "application/json", "Idempotency-Key": order.key}
        response = self.service.post("/pay-in/deposit-creation", content=orjson.dumps(body), headers=headers)
        response.raise_for_status()
        address: str = response.json()["data"]["payment_url"]
        return address

    def receive(self, body: bytes, signature: str | None) -> int:
        """Take a webhook; returns the status to answer."""
        try:
            verify(body, signature, self.webhook_secret)
        except SignatureError as error:
            return error.recommended_status
        event = json.loads(body, parse_float=Decimal)
        pay_in = event["data"]["object"]
        order = self.orders.get(pay_in.get("external_identifier"))
        if order is None or order.status in FINAL:
            return 200
        if event["type"] == "pay-in.succeeded":
            is_right = (pay_in["amount"], pay_in["currency"]) == (order.amount, "EUR")
            order.status = "paid" if is_right else "review"
            order.shipped += order.status == "paid"
        elif event["type"] in {"pay-in.failed", "pay-in.cancelled"}:
            order.status = event["type"].removeprefix("pay-in.")
        return 200
