"""The same shop, after its tests had met the double."""

import uuid
from typing import Any

import httpx


class Shop:
    """Takes payments and ships."""

    def __init__(self, service: httpx.Client) -> None:
        """Speak to the payment service through a client that has its address and our credentials."""
        self.service = service
        self.shipped: set[str] = set()

    def pay(self, order_id: str, amount: int) -> str:
        """Return the address of the page where the customer pays; the amount is in euros."""
        key = str(uuid.uuid4())  # one for both attempts
        try:
            return self.create_deposit(order_id, amount, key)
        except httpx.TransportError:
            return self.create_deposit(order_id, amount, key)

    def create_deposit(self, order_id: str, amount: int, key: str) -> str:
        """Ask the service for a deposit."""
        body = {
            "amount": amount,
            "currency": "EUR",
            "external_identifier": order_id,
            "payment_method": {"type": "CREDIT_CARD"},
            "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"},
        }
        response = self.service.post("/pay-in/deposit-creation", json=body, headers={"Idempotency-Key": key})
        response.raise_for_status()
        address: str = response.json()["data"]["payment_url"]
        return address

    def hear(self, event: dict[str, Any]) -> None:
        """Learn what the service tells by webhook."""
        if event["type"] == "pay-in.succeeded":
            self.shipped.add(event["data"]["object"]["external_identifier"])
