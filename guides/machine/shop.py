"""A shop that survives: stable keys, webhooks in any order, and a job that asks when nobody tells."""

import hmac
import json
import re
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from service import Line, Refused, Service, Unknown

TOLERANCE_SECONDS = 300
# A key is remembered for a day, so one that is nearly that old must not be relied on.
KEY_SECONDS = 23 * 3600
# How far along its life an object is; of two versions that are of the same time, the farther one holds.
PROGRESS = {
    **dict.fromkeys(("created", "needs_response"), 0),
    **dict.fromkeys(("pending", "under_review"), 1),
    "processing": 2,
    **dict.fromkeys(("succeeded", "failed", "cancelled", "won", "lost", "accepted"), 3),
}


@dataclass
class Order:
    """One order; a row of the database."""

    id: str
    amount: Decimal
    currency: str
    key: str = ""
    body: bytes = b""
    tried_at: float = 0.0
    refused: bool = False
    is_paying: bool = False
    shipped: int = 0
    known: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The newest version of each deposit and dispute, by its id."""

    def statuses(self, kind: str) -> list[str]:
        """Return those of its deposits (`payin`) or disputes."""
        return [shown["status"] for shown in self.known.values() if shown["object"] == kind]


class Shop:
    """The shop."""

    def __init__(self, line: Line, webhook_secret: str) -> None:
        """Reach the payment service through a line."""
        self.line = line
        self.service = Service(line)
        self.webhook_secret = webhook_secret
        self.orders: dict[str, Order] = {}

    def status(self, order: Order) -> str:
        """Return how an order stands."""
        statuses = order.statuses("payin")
        if "succeeded" in statuses:
            paid = [each for each in order.known.values() if each["status"] == "succeeded"]
            is_right = [(each["amount"], each["currency"]) for each in paid] == [(order.amount, order.currency)]
            is_lost = {"lost", "accepted"} & set(order.statuses("dispute"))
            return "review" if not is_right else "charged_back" if is_lost else "paid"
        if any(status in {"created", "pending", "processing"} for status in statuses):
            return "pending"
        if statuses:
            return statuses[-1]
        return "failed" if order.refused else "unpaid"

    # Paying

    def pay(self, order: Order) -> None:
        """The customer presses the button."""
        if order.is_paying or self.status(order) not in {"unpaid", "failed", "cancelled"}:
            return
        order.is_paying = True
        try:
            if not order.key or not self.is_settled(order):
                self.create_deposit(order)
        finally:
            order.is_paying = False

    def create_deposit(self, order: Order) -> None:
        """Create the order's deposit: with the key that it has, unless that has had its answer or is too old."""
        is_over = order.refused or bool(order.known)
        is_new = not order.key or is_over or self.line.now() - order.tried_at > KEY_SECONDS
        if is_new:
            order.key, order.tried_at, order.refused = str(uuid.uuid4()), self.line.now(), False
            order.body = self.deposit(order)
        try:
            self.learn(order, self.service.create(order.key, order.body))
        except Refused:
            order.refused = not self.is_settled(order)
            if order.refused and not is_new:
                self.create_deposit(order)  # that was the answer to an earlier click
        except Unknown:
            pass  # `reconcile` will ask

    def deposit(self, order: Order) -> bytes:
        """Return the request as bytes, the amount digit by digit."""
        body = {
            "currency": order.currency,
            "external_identifier": order.id,
            "payment_method": {"type": "CREDIT_CARD"},
            "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"},
        }
        return f'{{"amount": {order.amount}, {json.dumps(body)[1:]}'.encode()

    def is_settled(self, order: Order) -> bool:
        """Ask the service; returns whether a deposit is under way, or paid, or may be."""
        try:
            pay_ins = self.service.find("pay-in", external_identifier=order.id)
            for pay_in in reversed(pay_ins):
                self.learn(order, pay_in, asked=True)
                for dispute in self.service.find("dispute", payin_id=pay_in["id"]):
                    self.learn(order, dispute, asked=True)
        except Unknown:
            return True  # nobody knows, so nothing new is begun
        # A status that nobody knows yet is no end.
        return any(pay_in["status"] not in {"failed", "cancelled"} for pay_in in pay_ins)

    def reconcile(self) -> None:
        """Ask about every order that was ever tried, and send again what never arrived. Run it every hour."""
        for order in self.orders.values():
            if order.key and not self.is_settled(order) and not order.known and not order.refused:
                self.create_deposit(order)

    # Hearing

    def receive(self, body: bytes, signature: str | None) -> int:
        """Take a webhook; returns the status to answer."""
        refused = self.refusal(body, signature)
        if refused is not None:
            return refused
        try:
            event = json.loads(body, parse_float=Decimal, parse_int=Decimal)
            if event["livemode"] is False:
                self.hear(event["type"].partition(".")[0], event["data"]["object"])
        except (ValueError, LookupError, TypeError, AttributeError):
            return 400
        return 200

    def hear(self, kind: str, shown: dict[str, Any]) -> None:
        """Learn of an object that belongs to one of our orders; others are none of our business."""
        for order in self.orders.values():
            is_pay_in = kind == "pay-in" and shown.get("external_identifier") == order.id
            is_dispute = kind == "dispute" and shown.get("payin_id") in order.known
            if is_pay_in or is_dispute:
                self.learn(order, shown)

    def refusal(self, body: bytes, signature: str | None) -> int | None:
        """Return the status to refuse a webhook with, or None when its signature holds."""
        parts = [part.partition("=") for part in (signature or "").split(",")]
        times = [value for name, _, value in parts if name == "t" and re.fullmatch(r"[0-9]{1,12}", value)]
        digests = [value for name, _, value in parts if name == "v1" and value]
        if len(times) != 1 or not digests or abs(int(self.line.now()) - int(times[0])) > TOLERANCE_SECONDS:
            return 400
        expected = hmac.new(self.webhook_secret.encode(), times[0].encode() + b"." + body, "sha256").hexdigest()
        fits = [hmac.compare_digest(expected.encode(), digest.encode(errors="replace")) for digest in digests]
        return None if any(fits) else 401

    def learn(self, order: Order, shown: dict[str, Any], *, asked: bool = False) -> None:
        """Keep what the service shows of an object, unless more is known already; ship what is paid, once.

        Of two versions that cannot be told apart, the one that was asked for holds.
        """
        if shown["status"] not in PROGRESS:
            return
        old = order.known.get(shown["id"])
        if old is None or version(shown) > version(old) or (asked and version(shown) == version(old)):
            order.known[shown["id"]] = shown
        if self.status(order) == "paid" and not order.shipped:
            order.shipped += 1


def version(shown: dict[str, Any]) -> tuple[str, int]:
    """Return what tells an older version of an object from a newer one."""
    return shown["updated_at"], PROGRESS[shown["status"]]
