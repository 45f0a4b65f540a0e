"""A shop on Flask: orders, their payment, and the payment service's webhooks."""

import time
from collections.abc import Callable
from decimal import Decimal

import httpx
import orjson
from flask import Flask, Response, jsonify, request
from flask.typing import ResponseReturnValue
from orders import Order, Orders
from signature import refusal

ATTEMPTS = 4


class Unavailable(Exception):
    """Nobody knows what became of the request; the customer may try again, which is safe."""


class Refused(Exception):
    """The service has said no, and would say so again."""


class Service:
    """The payment service."""

    def __init__(self, client: httpx.Client, sleep: Callable[[float], None] = time.sleep) -> None:
        """Speak to it through a client that has its address and our credentials."""
        self.client = client
        self.sleep = sleep

    def pay(self, order: Order) -> str:
        """Create the order's deposit and return the address where the customer pays."""
        body = orjson.dumps(order.deposit(), default=exact)
        for attempt in range(ATTEMPTS):
            if attempt:
                self.sleep(2.0 ** (attempt - 1))
            try:
                return self.attempt(body, order.key)
            except (httpx.HTTPError, ValueError):
                continue
        raise Unavailable

    def attempt(self, body: bytes, key: str) -> str:
        """Send the request once."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        response = self.client.post("/pay-in/deposit-creation", content=body, headers=headers)
        if response.is_client_error and response.status_code != httpx.codes.TOO_MANY_REQUESTS:
            raise Refused
        response.raise_for_status()
        address: str = response.json()["data"]["payment_url"]
        return address


def exact(value: object) -> orjson.Fragment:
    """Write money into JSON digit by digit."""
    if isinstance(value, Decimal):
        return orjson.Fragment(str(value))
    raise TypeError


def make_app(service: Service, webhook_secret: str) -> Flask:
    """Return the application."""
    orders = Orders()
    app = Flask(__name__)

    @app.put("/orders/<order_id>")
    def place(order_id: str) -> ResponseReturnValue:
        order = orders.place(order_id, Decimal(request.get_json()["amount"]))
        return jsonify(status=order.status), 201

    @app.get("/orders/<order_id>")
    def show(order_id: str) -> ResponseReturnValue:
        order = orders[order_id]
        return jsonify(status=order.status, shipped=order.shipped)

    @app.post("/orders/<order_id>/payment")
    def pay(order_id: str) -> ResponseReturnValue:
        try:
            return jsonify(pay_at=service.pay(orders[order_id]))
        except Unavailable:
            return jsonify(error="please try again in a minute"), 503
        except Refused:
            return jsonify(error="this order cannot be paid"), 422

    @app.post("/webhooks")
    def webhook() -> ResponseReturnValue:
        body = request.get_data()
        refused = refusal(body, request.headers.get("X-Service-Signature"), webhook_secret)
        if refused is not None:
            return Response(status=refused)
        try:
            orders.hear(body)
        except (ValueError, LookupError, TypeError, AttributeError):
            return Response(status=400)
        return Response(status=200)

    return app
