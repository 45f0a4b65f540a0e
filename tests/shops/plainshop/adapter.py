"""Drives the shop for the machine: its pages through WSGI, and its jobs."""

import io
import json
import urllib.error
import urllib.request
import urllib.response
from collections.abc import Iterable
from decimal import Decimal
from email.message import Message
from typing import Any

from paydouble.stateful import Merchant, Refused, ServiceLike, Webhook

from . import db
from .app import Shop
from .conf import Conf, bugs

CONNECTION = db.connect()


class ServiceHandler(urllib.request.BaseHandler):
    """Takes the place of the network below urllib, with urllib's errors."""

    def __init__(self, service: ServiceLike) -> None:
        self.service = service

    def http_open(self, request: urllib.request.Request) -> urllib.response.addinfourl:
        headers = {name: str(value) for name, value in request.header_items()}
        body = request.data if isinstance(request.data, bytes) else b""
        try:
            reply = self.service.call(request.get_method(), request.selector, headers, body, request.timeout)
        except ConnectionResetError as error:  # urllib wraps what goes wrong while it sends, and nothing later
            raise urllib.error.URLError(error) from error
        message = Message()
        for name, value in reply.headers.items():
            message[name] = value
        response = urllib.response.addinfourl(io.BytesIO(reply.body), message, request.full_url, reply.status)
        response.msg = ""  # type: ignore[attr-defined]  # urllib reads it of each response
        return response


class PlainShop(Merchant):
    """The shop in this process."""

    follows_time = True
    bugs: frozenset[str] = frozenset()

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.mails: list[tuple[str, str]] = []
        db.empty(CONNECTION)
        self.restart()

    def restart(self) -> None:
        bugs.clear()
        bugs.update(self.bugs)
        conf = Conf(
            self.service.base_url, self.service.business_key, self.service.business_secret,
            self.service.webhook_secret,
        )  # fmt: skip
        self.shop = Shop(
            CONNECTION, conf, [ServiceHandler(self.service)],
            lambda order_id, kind: self.mails.append((order_id, kind)), self.service.checkpoint,
        )  # fmt: skip

    def _visit(
        self, method: str, path: str, form: object = None, body: bytes = b"", headers: Iterable[tuple[str, str]] = ()
    ) -> tuple[int, Any]:
        """Make one request to the shop. Returns the status and the JSON of its answer."""
        if form is not None:
            body = json.dumps(form).encode()
        environ = {
            "REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": "", "SERVER_NAME": "shop.example",
            "SERVER_PORT": "443", "SERVER_PROTOCOL": "HTTP/1.1", "CONTENT_LENGTH": str(len(body)),
            "wsgi.input": io.BytesIO(body), "wsgi.url_scheme": "https",
        }  # fmt: skip
        for name, value in headers:
            variable = "HTTP_" + name.upper().replace("-", "_")
            environ[variable] = f"{environ[variable]},{value}" if variable in environ else value
        answered = []
        answer = b"".join(self.shop(environ, lambda status, _: answered.append(int(status[:3]))))
        return answered[0], json.loads(answer)

    def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
        self._visit("POST", "/orders", {"id": order_id, "amount": str(amount), "currency": currency})

    def pay(self, order_id: str) -> None:
        status, _ = self._visit("POST", f"/orders/{order_id}/pay")
        if status == 402:
            raise Refused

    def customer_returns(self, order_id: str) -> None:
        self._visit("GET", f"/orders/{order_id}/return")

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        status, shown = self._visit("POST", f"/orders/{order_id}/refunds", {"id": refund_id, "amount": str(amount)})
        if status == 422:
            raise Refused(shown["error"])

    def order_status(self, order_id: str) -> str:
        return str(self._visit("GET", f"/orders/{order_id}")[1]["status"])

    def balance(self, order_id: str) -> Decimal:
        return Decimal(self._visit("GET", f"/orders/{order_id}")[1]["balance"])

    def shipments(self, order_id: str) -> int:
        return int(self._visit("GET", f"/orders/{order_id}")[1]["shipments"])

    def effects(self, order_id: str) -> dict[str, int]:
        shown = self._visit("GET", f"/orders/{order_id}")[1]
        return {
            "mail": self.mails.count((order_id, "receipt")),
            "stock": shown["stock_moves"],
            "points": shown["points"],
        }

    def receive(self, webhook: Webhook) -> int:
        return self._visit("POST", "/webhooks", body=webhook.body, headers=list(webhook.headers))[0]

    def tick(self) -> None:
        self.shop.run_jobs()
