"""The same shop without its two bugs: one key for each order, and an order is shipped once."""

import uuid
from typing import Any

import httpx


class Unavailable(Exception):
    """The payment service cannot be reached; the customer is asked to try again later."""


class Shop:
    """Takes payments and ships."""

    def __init__(self, base_url: str, auth: tuple[str, str]) -> None:
        """Speak to the payment service at an address, with the business's key and secret."""
        self.service = httpx.Client(base_url=base_url, auth=auth, timeout=5)
        self.keys: dict[str, str] = {}  # your database, written before the first attempt
        self.shipped: list[str] = []

    def pay(self, order_id: str, amount: int) -> str:
        """Return the address of the page where the customer pays; the amount is in euros."""
        for _ in range(3):
            try:
                return self.create_deposit(order_id, amount)
            except httpx.TransportError:
                continue  # networks have their moments: try again
        raise Unavailable

    def create_deposit(self, order_id: str, amount: int) -> str:
        """Ask the service for a deposit; for the same order it is the same request, however often it is sent."""
        body = {
            "amount": amount,
            "currency": "EUR",
            "external_identifier": order_id,
            "payment_method": {"type": "CREDIT_CARD"},
            "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"},
        }
        key = self.keys.setdefault(order_id, str(uuid.uuid4()))
        response = self.service.post("/pay-in/deposit-creation", json=body, headers={"Idempotency-Key": key})
        response.raise_for_status()
        address: str = response.json()["data"]["payment_url"]
        return address

    def hear(self, event: dict[str, Any]) -> None:
        """Learn what the service tells by webhook, be it once or again."""
        order_id = event["data"]["object"]["external_identifier"]
        if event["type"] == "pay-in.succeeded" and order_id not in self.shipped:
            self.shipped.append(order_id)
