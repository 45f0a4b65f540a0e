"""The WSGI side, on Falcon."""

from __future__ import annotations

import falcon

from falconshop.shop import Impossible, Shop


class Orders:
    """`/orders`."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        order = req.media
        resp.media = self.shop.place_order(order["id"], order["amount"], order["currency"], order["customer"])
        resp.status = 201


class Order:
    """`/orders/{order_id}` and what is below it."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop

    def on_get(self, req: falcon.Request, resp: falcon.Response, order_id: str) -> None:
        resp.media = self.shop.show(order_id)

    def on_post_pay(self, req: falcon.Request, resp: falcon.Response, order_id: str) -> None:
        resp.media = self.shop.pay(order_id)

    def on_post_refunds(self, req: falcon.Request, resp: falcon.Response, order_id: str) -> None:
        resp.media = {"ref": self.shop.refund(order_id, req.media.get("amount"), req.media.get("ticket"))}
        resp.status = 201


class Webhooks:
    """The receiver."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        raw = req.bounded_stream.read()
        resp.status = self.shop.webhook(req.get_header("X-Service-Signature"), raw)


def _impossible(req: falcon.Request, resp: falcon.Response, error: Impossible, params: dict[str, str]) -> None:
    resp.status = 422
    resp.media = {"error": str(error)}


def make_app(shop: Shop) -> falcon.App[falcon.Request, falcon.Response]:
    """Return the application."""
    app = falcon.App()
    app.add_error_handler(Impossible, _impossible)
    order = Order(shop)
    app.add_route("/orders", Orders(shop))
    app.add_route("/orders/{order_id}", order)
    app.add_route("/orders/{order_id}/pay", order, suffix="pay")
    app.add_route("/orders/{order_id}/refunds", order, suffix="refunds")
    app.add_route("/webhooks/payments", Webhooks(shop))
    return app
