"""The shop's orders. A dictionary stands for the database."""

import json
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

# What an event may still change: the progress of a payment, and never its end.
PROGRESS = {"unpaid": 0, "created": 1, "pending": 2, "processing": 3}


@dataclass
class Order:
    """One order, and how its payment stands."""

    id: str
    amount: Decimal
    currency: str = "EUR"
    key: str = field(default_factory=lambda: str(uuid.uuid4()))
    """Made once and kept, so that every attempt to pay this order is the same request."""
    status: str = "unpaid"
    shipped: int = 0

    def deposit(self) -> dict[str, Any]:
        """Return the request that has it paid."""
        return {
            "amount": self.amount,
            "currency": self.currency,
            "external_identifier": self.id,
            "payment_method": {"type": "CREDIT_CARD"},
            "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"},
        }


class Orders(dict[str, Order]):
    """All orders by their ids."""

    def place(self, order_id: str, amount: Decimal) -> Order:
        """Note an order that is to be paid."""
        return self.setdefault(order_id, Order(order_id, amount))

    def hear(self, body: bytes) -> None:
        """Learn what a verified webhook tells; `ValueError` when it is no JSON."""
        event = json.loads(body, parse_float=Decimal)
        family, _, status = event["type"].partition(".")
        order = self.get(event["data"]["object"].get("external_identifier", ""))
        if family != "pay-in" or order is None or order.status not in PROGRESS:
            return  # not ours, or settled before: events come twice, and in any order
        if status in PROGRESS:
            order.status = max(status, order.status, key=PROGRESS.__getitem__)
        elif status in {"failed", "cancelled"}:
            order.status = status
        elif status == "succeeded":
            self.settle(order, event["data"]["object"])

    def settle(self, order: Order, pay_in: dict[str, Any]) -> None:
        """Ship an order for which the money is there, if it is the right money."""
        if (pay_in["amount"], pay_in["currency"]) == (order.amount, order.currency):
            order.status = "paid"
            order.shipped += 1
        else:
            order.status = "review"  # by a person
