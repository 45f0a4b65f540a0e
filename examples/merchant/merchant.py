"""A small shop: it takes orders, has them paid, and believes nothing but signed webhooks. Standard library alone.

    POST /orders         {"id": "order-1", "amount": "49.90", "currency": "EUR", "email": "ada@example.test"}
    GET  /orders/{id}    the order, with its status and the events that told it
    POST /webhooks       where the payment service delivers
    GET  /health

What a shop has to get right is here, each in a few lines: one idempotency key for each order, kept over retries
(`Shop.pay`); signatures over the exact bytes (`verified`); events that come twice or in the wrong order (`Shop.hear`).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
from dataclasses import asdict, dataclass, field
from decimal import Decimal, InvalidOperation
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import uuid4

SERVICE = os.environ.get("PAYMENT_URL", "http://127.0.0.1:8080/api/v1")
KEY = os.environ.get("PAYMENT_KEY", "sandbox_key")
SECRET = os.environ.get("PAYMENT_SECRET", "sandbox_secret")
WEBHOOK_SECRET = os.environ.get("WEBHOOK_SECRET", "whsec_sandbox")
FIRST_WAIT_SECONDS = float(os.environ.get("FIRST_WAIT_SECONDS", "1"))

ATTEMPTS = 5
TOLERANCE_SECONDS = 300
TIMEOUT_SECONDS = 10
FINAL = {"succeeded", "failed", "cancelled"}


@dataclass
class Order:
    """One order. `amount` is a text, so that 49.90 stays 49.90."""

    id: str
    amount: str
    currency: str
    email: str
    key: str = field(default_factory=lambda: str(uuid4()))
    """The idempotency key, made once: whoever tries again with it cannot pay twice."""
    status: str = "new"
    as_of: str = ""
    """The `created_at` of the newest event that was believed."""
    events: list[str] = field(default_factory=list)


class Refused(Exception):
    """What a caller asked for cannot be; the text says why."""


class Shop:
    """The orders, in memory."""

    def __init__(self) -> None:
        """Begin without orders."""
        self._orders: dict[str, Order] = {}
        self._seen: set[str] = set()
        self._lock = threading.Lock()

    def order(self, name: str) -> Order | None:
        """Return an order, or None."""
        return self._orders.get(name)

    def place(self, order: Order) -> Order:
        """Keep an order and ask for its payment; an order that is there already is paid for once."""
        with self._lock:
            order = self._orders.setdefault(order.id, order)
        self.pay(order)
        return order

    def pay(self, order: Order) -> None:
        """Create the deposit. After a lost reply or a 5xx, again with the same key: it is the same deposit."""
        wait_seconds = FIRST_WAIT_SECONDS
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return post_deposit(order)
            except urllib.error.HTTPError as error:
                if error.code < http.client.INTERNAL_SERVER_ERROR:
                    raise Refused(f"the payment service says {error.code}: {error.read().decode()}") from None
            except (OSError, http.client.HTTPException):
                pass  # nobody knows whether it arrived, so it is asked again
            if attempt < ATTEMPTS:
                time.sleep(wait_seconds)
                wait_seconds *= 2
        raise Refused("the payment service does not answer; the order is kept, place it again to try again")

    def hear(self, event: dict[str, object]) -> None:
        """Believe an event once, and never an older one over a newer one or over an end."""
        data = event["data"]["object"]  # type: ignore[index]
        with self._lock:
            order = self._orders.get(data["external_identifier"])
            if event["id"] in self._seen or order is None or data["object"] != "payin":
                return
            self._seen.add(str(event["id"]))
            order.events.append(str(event["type"]))
            if order.status not in FINAL and str(event["created_at"]) >= order.as_of:
                order.status, order.as_of = data["status"], str(event["created_at"])


def post_deposit(order: Order) -> None:
    """Make the call; raises what urllib raises."""
    rest = {
        "currency": order.currency,
        "external_identifier": order.id,
        "payment_method": {"type": "CREDIT_CARD"},
        "customer": {"first_name": "Ada", "last_name": "Byron", "email": order.email},
    }
    # The digits of the order go out as they are; a float in between could change them.
    body = f'{{"amount": {order.amount}, {json.dumps(rest)[1:]}'.encode()
    headers = {
        "Authorization": "Basic " + base64.b64encode(f"{KEY}:{SECRET}".encode()).decode(),
        "Content-Type": "application/json",
        "Idempotency-Key": order.key,
    }
    request = urllib.request.Request(f"{SERVICE}/pay-in/deposit-creation", body, headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
        response.read()


def verified(body: bytes, header: str) -> bool:
    """Return whether the payment service signed these very bytes, and lately."""
    parts = [part.partition("=") for part in header.split(",")]
    times = [value for name, _, value in parts if name == "t"]
    if len(times) != 1 or not times[0].isdecimal() or abs(time.time() - int(times[0])) > TOLERANCE_SECONDS:
        return False
    wanted = hmac.new(WEBHOOK_SECRET.encode(), times[0].encode() + b"." + body, hashlib.sha256).hexdigest()
    # Bytes, because compare_digest refuses a text that is not ASCII. While a secret is rotated there are two v1.
    return any(hmac.compare_digest(value.encode(), wanted.encode()) for name, _, value in parts if name == "v1")


class Handler(BaseHTTPRequestHandler):
    """The shop over HTTP."""

    shop = Shop()

    def do_GET(self) -> None:
        """Answer a GET."""
        if self.path == "/health":
            return self.answer(200, {"status": "ok"})
        order = self.shop.order(self.path.removeprefix("/orders/"))
        return (
            self.answer(404, {"error": "there is no such order"}) if order is None else self.answer(200, asdict(order))
        )

    def do_POST(self) -> None:
        """Answer a POST."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/webhooks":
            if not verified(body, self.headers.get("X-Service-Signature", "")):
                return self.answer(401, {"error": "the signature does not hold"})
            self.shop.hear(json.loads(body))
            return self.answer(200, {})
        if self.path != "/orders":
            return self.answer(404, {"error": "there are POST /orders and POST /webhooks"})
        try:
            return self.answer(201, asdict(self.shop.place(read_order(body))))
        except Refused as error:
            return self.answer(422, {"error": str(error)})

    def answer(self, status: int, document: object) -> None:
        """Answer with JSON."""
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        """Print a line for each request."""
        print(f"{self.command} {self.path}: {format % args}", flush=True)


def read_order(body: bytes) -> Order:
    """Return the order that a body asks for; `Refused` says what is missing."""
    try:
        members = json.loads(body, parse_float=str, parse_int=str)
        name, amount, currency, email = (str(members[name]) for name in ("id", "amount", "currency", "email"))
        order = Order(name, amount, currency, email)
        if not Decimal(order.amount) > 0:
            raise Refused(f"amount {order.amount} is not more than 0")
    except (ValueError, TypeError, KeyError, InvalidOperation) as error:
        raise Refused(f"an order is JSON with id, amount, currency and email ({error!r})") from None
    return order


if __name__ == "__main__":
    server = ThreadingHTTPServer((os.environ.get("HOST", "127.0.0.1"), int(os.environ.get("PORT", "8000"))), Handler)
    # As the first process of a container nothing else would end it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(f"the shop is open at http://{server.server_name}:{server.server_port}", flush=True)
    server.serve_forever()
