"""The web application, on Tornado."""

import hashlib
import hmac
import json
import time
from decimal import Decimal
from typing import Any

import tornado.web

from .shop import No, Shop


class Base(tornado.web.RequestHandler):
    """What all handlers share."""

    def initialize(self, shop: Shop, secret: str, bugs: frozenset[str]) -> None:
        """Take what the application is made of."""
        self.shop, self.secret, self.bugs = shop, secret, bugs

    def log_exception(self, kind: Any, error: Any, trace: Any) -> None:
        """Keep an error for the tests, which raise it instead of looking at a 500."""
        self.settings.setdefault("errors", []).append(error)
        super().log_exception(kind, error, trace)


class Orders(Base):
    """New orders."""

    def post(self) -> None:
        """Note an order."""
        self.shop.place(**json.loads(self.request.body))


class Pay(Base):
    """The pay button."""

    async def post(self, order_id: str) -> None:
        """Begin a payment."""
        try:
            await self.shop.pay(order_id)
        except No as reason:
            self.set_status(402)
            self.write({"error": str(reason)})


class Refunds(Base):
    """The clerk's refund form."""

    async def post(self, order_id: str, ref: str) -> None:
        """Refund an amount."""
        try:
            await self.shop.refund(order_id, ref, Decimal(json.loads(self.request.body)["amount"]))
        except No as reason:
            self.set_status(409)
            self.write({"error": str(reason)})


class Thanks(Base):
    """The page after the payment."""

    async def get(self, order_id: str) -> None:
        """Show the state of the order."""
        self.write({"status": await self.shop.returned(order_id)})


class Hook(Base):
    """Where the service posts events."""

    def post(self) -> None:
        """Verify an event and note it."""
        status = self.refusal(self.request.headers.get("X-Service-Signature", ""))
        if status:
            self.set_status(status)
            return
        try:
            event = json.loads(self.request.body, parse_float=Decimal, parse_int=Decimal)
        except (ValueError, RecursionError):
            return
        self.shop.hear(event)

    def refusal(self, header: str) -> int:
        """Return the status for a webhook that is not genuine, 0 for one that is."""
        parts = [part.strip().partition("=") for part in header.split(",")]
        times = [value for name, _, value in parts if name == "t"]
        digests = [value for name, _, value in parts if name == "v1"]
        if len(times) != 1 or not digests or not times[0].isascii() or not times[0].isdigit() or len(times[0]) > 12:
            return 400
        age = time.time() - int(times[0])
        if age > 300 or (age < -300 and "future_accepted" not in self.bugs):
            return 400
        expected = hmac.new(
            self.secret.encode(), times[0].encode() + b"." + self.request.body, hashlib.sha256
        ).hexdigest()
        if "prefix_digest" in self.bugs:
            return 0 if any(expected.startswith(digest) for digest in digests) else 401
        matching = [
            digest for digest in digests if hmac.compare_digest(expected.encode(), digest.encode("utf-8", "replace"))
        ]
        return 0 if matching else 401


def create_app(shop: Shop, secret: str, bugs: frozenset[str] = frozenset()) -> tornado.web.Application:
    """Return the application of a shop."""
    known = {"shop": shop, "secret": secret, "bugs": bugs}
    return tornado.web.Application(
        [
            (r"/orders", Orders, known),
            (r"/orders/([^/]+)/pay", Pay, known),
            (r"/orders/([^/]+)/refunds/([^/]+)", Refunds, known),
            (r"/orders/([^/]+)/thanks", Thanks, known),
            (r"/webhooks", Hook, known),
        ]
    )
