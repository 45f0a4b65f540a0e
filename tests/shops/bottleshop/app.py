"""The web application, on Bottle."""

import json
from decimal import Decimal
from typing import Any

import bottle

from .shop import Declined, Shop
from .signature import refusal


def create_app(shop: Shop, webhook_secret: str, bugs: frozenset[str] = frozenset()) -> bottle.Bottle:
    """Return the WSGI application of a shop."""
    app = bottle.Bottle()
    app.config["catchall"] = False  # the server handles errors

    @app.post("/orders")
    def place() -> dict[str, Any]:
        shop.place(**json.loads(bottle.request.body.read()))
        return {}

    @app.post("/orders/<order_id>/pay")
    def pay(order_id: str) -> dict[str, Any]:
        try:
            shop.checkout(order_id)
        except Declined as reason:
            bottle.response.status = 402
            return {"error": str(reason)}
        return {"status": shop.status(order_id)}

    @app.post("/orders/<order_id>/refunds/<ref>")
    def refund(order_id: str, ref: str) -> dict[str, Any]:
        try:
            shop.refund(order_id, ref, Decimal(json.loads(bottle.request.body.read())["amount"]))
        except Declined as reason:
            bottle.response.status = 409
            return {"error": str(reason)}
        return {"status": shop.status(order_id)}

    @app.get("/orders/<order_id>/thanks")
    def thanks(order_id: str) -> dict[str, Any]:
        shop.returned(order_id)
        return {"status": shop.status(order_id)}

    @app.post("/webhooks")
    def webhooks() -> dict[str, Any]:
        body = bottle.request.body.read()
        refused = refusal(bottle.request.environ.get("HTTP_X_SERVICE_SIGNATURE"), body, webhook_secret, bugs)
        if refused is not None:
            bottle.response.status = refused
            return {"error": "not signed by the payment service"}
        try:
            event = json.loads(body, parse_float=Decimal, parse_int=Decimal)
        except (ValueError, RecursionError):
            return {"ignored": "not JSON"}
        shop.hear(event)
        return {}

    return app
