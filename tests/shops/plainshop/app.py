"""The shop, and its WSGI application."""

import json
import logging
import sqlite3
import urllib.request
from collections.abc import Callable, Iterable
from typing import Any

from . import gateway, jobs, money, orders, payments, refunds, webhooks
from .conf import Conf
from .db import Database

REASONS = {
    200: "OK", 201: "Created", 202: "Accepted", 303: "See Other", 400: "Bad Request", 401: "Unauthorized",
    402: "Payment Required", 404: "Not Found", 405: "Method Not Allowed", 422: "Unprocessable Content",
}  # fmt: skip
log = logging.getLogger(__name__)
Answer = tuple[int, Any, list[tuple[str, str]]]  # status, JSON, more headers


def _send_mail(order_id: str, kind: str) -> None:
    """Send a mail."""
    log.info("mail to the customer of %s: %s", order_id, kind)


class Shop:
    """Everything that a process of the shop holds."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        conf: Conf,
        handlers: Iterable[urllib.request.BaseHandler] = (),
        mailer: orders.Mailer | None = None,
        watch: Callable[..., None] | None = None,
    ) -> None:
        self.conf = conf
        self.db = Database(connection, watch)
        self.gateway = gateway.Gateway(conf, handlers)
        self.mailer = mailer or _send_mail
        self.orders = orders.Orders(self.db, self.mailer)

    def refresh(self, order_id: str) -> None:
        self.orders.refresh(order_id)

    def settle(self, call_id: int, data: dict[str, Any]) -> bool:
        """Take the resource that a call has made. Returns False when it is not one."""
        try:
            with self.db.transaction():
                call = self.db.one("SELECT * FROM calls WHERE id = ?", call_id)
                self.db.run(
                    "UPDATE calls SET state = 'done', resource_id = ? WHERE id = ?",
                    orders.text_of(data, "id"), call_id,
                )  # fmt: skip
                if call["kind"] == "deposit":
                    self.orders.payin(data, call["order_id"])
                else:
                    self.orders.refund(data, call["subject"])
                self.refresh(call["order_id"])
        except orders.Unreadable:
            return False
        return True

    def value(self, name: str) -> float:
        row = self.db.one("SELECT value FROM state WHERE name = ?", name)
        return row["value"] if row else 0.0

    def set_values(self, **values: float) -> None:
        with self.db.transaction():
            for name, value in values.items():
                self.db.run("INSERT OR REPLACE INTO state (name, value) VALUES (?, ?)", name, value)

    def run_jobs(self) -> None:
        jobs.run_all(self)

    def page(self, order_id: str) -> dict[str, Any]:
        """Return what the pages of an order show."""
        order = self.db.one("SELECT * FROM orders WHERE id = ?", order_id)
        shown = {"id": order_id, "status": order["status"], "currency": order["currency"]}
        shown["amount"] = money.to_text(order["amount"], order["currency"])
        shown["balance"] = money.to_text(self.orders.balance(order_id), order["currency"])
        effects = self.db.one(
            "SELECT (SELECT count(*) FROM shipments WHERE order_id = orders.id) AS shipments,"
            " (SELECT count(*) FROM stock_moves WHERE order_id = orders.id) AS stock_moves,"
            " (SELECT count(*) FROM points WHERE order_id = orders.id) AS points FROM orders WHERE id = ?",
            order_id,
        )
        shown.update(dict(effects))
        return shown

    # WSGI

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., object]) -> list[bytes]:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(length)
        path = [part for part in environ.get("PATH_INFO", "").split("/") if part]
        status, shown, headers = self.route(environ["REQUEST_METHOD"], path, body, environ)
        raw = json.dumps(shown).encode()
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(raw))), *headers]
        start_response(f"{status} {REASONS[status]}", headers)
        return [raw]

    def route(self, method: str, path: list[str], body: bytes, environ: dict[str, Any]) -> Answer:
        """Return status, JSON and more headers."""
        if path == ["webhooks"]:
            if method != "POST":
                return 405, {"error": "POST only"}, []
            return webhooks.receive(self, environ.get("HTTP_X_SERVICE_SIGNATURE"), body), {}, []
        if path == ["orders"] and method == "POST":
            return self.place(body)
        if not path or path[0] != "orders" or len(path) not in (2, 3):
            return 404, {"error": "no such page"}, []
        if not self.db.one("SELECT 1 FROM orders WHERE id = ?", path[1]):
            return 404, {"error": "no such order"}, []
        name = path[2] if len(path) == 3 else ""
        if method == "POST" and name == "pay":
            return self.pay(path[1])
        if method == "POST" and name == "refunds":
            return self.refund(path[1], body)
        if method == "GET" and name == "return":
            payments.come_back(self, path[1])
            return 200, self.page(path[1]), []
        if method == "GET" and not name:
            return 200, self.page(path[1]), []
        return 404, {"error": "no such page"}, []

    def place(self, body: bytes) -> Answer:
        try:
            form = json.loads(body)
            made = payments.place(self, str(form["id"]), form["amount"], str(form["currency"]))
        except (ValueError, TypeError, KeyError):
            made = False
        return (201, {}, []) if made else (422, {"error": "not an order"}, [])

    def pay(self, order_id: str) -> Answer:
        try:
            url = payments.pay(self, order_id)
        except payments.Declined:
            return 402, {"error": "the payment was declined"}, []
        return (303, {}, [("Location", url)]) if url else (200, self.page(order_id), [])

    def refund(self, order_id: str, body: bytes) -> Answer:
        try:
            form = json.loads(body)
            refunds.refund(self, order_id, str(form["id"]), form["amount"])
        except refunds.Declined as error:
            return 422, {"error": str(error)}, []
        except (ValueError, TypeError, KeyError):
            return 422, {"error": "not a refund"}, []
        return 202, {}, []


def serve(connection: sqlite3.Connection, conf: Conf, port: int = 8000) -> None:
    """Run the shop with the server of the standard library; its jobs run each minute by cron."""
    from wsgiref.simple_server import make_server

    make_server("", port, Shop(connection, conf)).serve_forever()
