"""A small shop: a customer pays an order through the payment service, and it is shipped when the money is there."""

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
        """Ask the service for a deposit."""
        body = {
            "amount": amount,
            "currency": "EUR",
            "external_identifier": order_id,
            "payment_method": {"type": "CREDIT_CARD"},
            "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"},
        }
        response = self.service.post(
            "/pay-in/deposit-creation", json=body, headers={"Idempotency-Key": str(uuid.uuid4())}
        )
        response.raise_for_status()
        address: str = response.json()["data"]["payment_url"]
        return address

    def hear(self, event: dict[str, Any]) -> None:
        """Learn what the service tells by webhook."""
        if event["type"] == "pay-in.succeeded":
            self.shipped.append(event["data"]["object"]["external_identifier"])
