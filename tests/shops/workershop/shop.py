"""The shop as a WSGI application; handlers write a row and a job, and answer."""

from __future__ import annotations

import hmac
import json
import time
import uuid
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from workershop.db import Database
from workershop.worker import Worker, to_minor, to_text

TOLERANCE_SECONDS = 300
LIVEMODE = False


class Declined(Exception):
    """The shop does not do what it was asked for."""


class Shop:
    """What customers, staff and the service ask for."""

    def __init__(self, db: Database, worker: Worker, secret: str, bugs: frozenset[str] = frozenset()) -> None:
        self.db, self.worker, self.secret, self.bugs = db, worker, secret.encode(), bugs

    def place(self, order_id: str, amount: Decimal, currency: str) -> None:
        """Store an order, and hold one piece for it."""
        with self.db.begin() as execute:
            sql = "INSERT INTO orders (id, minor, currency) VALUES (?, ?, ?)"
            execute(sql, order_id, to_minor(amount, currency), currency)
            execute("INSERT INTO stock_moves VALUES (?, 'held')", order_id)

    def pay(self, order_id: str) -> None:
        """Begin a payment, or push the one that is under way; the first request is sent while the customer waits."""
        self.clear_old_payment(order_id)
        with self.db.begin() as execute:
            job_id = self.payment_job(order_id, execute)
        if job_id:
            self.worker.run(job_id)
        last = self.db.row("SELECT state FROM payments WHERE order_id = ? ORDER BY number DESC", order_id)
        if job_id and last is not None and last["state"] == "refused":
            raise Declined("the payment was refused")

    def clear_old_payment(self, order_id: str) -> None:
        """Ask at once about a payment whose key has become too old to be sent again."""
        last = self.db.row("SELECT * FROM payments WHERE order_id = ? ORDER BY number DESC", order_id)
        if last is None or last["state"] not in {"sending", "unknown"} or not self.worker.is_too_old(last):
            return
        with self.db.begin() as execute:
            execute("DELETE FROM jobs WHERE kind = 'deposit' AND ref = ?", last["number"])
            execute("UPDATE payments SET state = 'unknown' WHERE number = ?", last["number"])
            job_id = self.worker.put("lookup", order_id)
        self.worker.run(job_id)

    def payment_job(self, order_id: str, execute: Callable[..., Any]) -> int:
        """Return the job that sends a deposit; 0 when there is nothing to send."""
        last = self.db.row("SELECT * FROM payments WHERE order_id = ? ORDER BY number DESC", order_id)
        if last is not None and last["state"] == "sending":
            job = self.db.row("SELECT id FROM jobs WHERE kind = 'deposit' AND ref = ?", last["number"])
            return job["id"] if job else 0
        if last is not None and last["state"] == "unknown" and not self.worker.is_too_old(last):
            execute("UPDATE payments SET state = 'sending' WHERE number = ?", last["number"])
            return self.worker.put("deposit", last["number"], "again")
        if self.worker.standing(order_id) not in {"unpaid", "failed", "cancelled"}:
            return 0
        order = self.db.rows("SELECT * FROM orders WHERE id = ?", order_id)[0]
        if order["stock"] == "free":
            self.worker.move(order_id, "held")
        if last is not None and last["state"] == "void" and not self.worker.is_too_old(last):
            execute("UPDATE payments SET state = 'sending' WHERE number = ?", last["number"])
            return self.worker.put("deposit", last["number"], "again")
        body = {
            "currency": order["currency"],
            "external_identifier": order_id,
            "payment_method": {"type": "CREDIT_CARD"},
            "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"},
        }
        text = f'{{"amount": {to_text(order["minor"], order["currency"], self.bugs)}, {json.dumps(body)[1:]}'
        sql = "INSERT INTO payments (order_id, key, body, begun, state) VALUES (?, ?, ?, ?, 'sending')"
        number = execute(sql, order_id, str(uuid.uuid4()), text, time.time()).lastrowid
        return self.worker.put("deposit", number)

    def refund(self, order_id: str, reference: str, amount: Decimal) -> None:
        """Refund a part; the same reference is the same refund."""
        with self.db.begin() as execute:
            job_id = self.refund_job(order_id, reference, amount, execute)
        if job_id:
            self.worker.run(job_id)
        row = self.db.row("SELECT state FROM refunds WHERE reference = ?", reference)
        if row is not None and row["state"] == "refused":
            raise Declined("the refund was refused")

    def refund_job(self, order_id: str, reference: str, amount: Decimal, execute: Callable[..., Any]) -> int:
        """Return the job that sends a refund; 0 when there is nothing to send."""
        row = self.db.row("SELECT * FROM refunds WHERE reference = ?", reference)
        if row is not None:
            if row["state"] not in {"unknown", "void"} or (row["state"] == "unknown" and self.worker.is_too_old(row)):
                return 0
            key, begun = (str(uuid.uuid4()), time.time()) if self.worker.is_too_old(row) else (row["key"], row["begun"])
            sql = "UPDATE refunds SET state = 'sending', key = ?, begun = ? WHERE reference = ?"
            execute(sql, key, begun, reference)
            return self.worker.put("refund", reference, "again")
        order = self.db.rows("SELECT * FROM orders WHERE id = ?", order_id)[0]
        minor = to_minor(amount, order["currency"])
        payin = self.db.row(
            "SELECT * FROM remote WHERE order_id = ? AND kind = 'pay-in' AND status = 'succeeded'", order_id
        )
        if payin is None or not 0 < minor <= self.refundable(order_id):
            raise Declined("there is not so much to refund")
        rest = json.dumps({"payin_id": payin["id"], "external_identifier": reference})
        text = f'{{"amount": {to_text(minor, order["currency"], self.bugs)}, {rest[1:]}'
        if "refund_without_amount" in self.bugs:
            text = rest
        sql = "INSERT INTO refunds VALUES (?, ?, ?, ?, ?, ?, ?, 'sending', '')"
        execute(sql, reference, order_id, payin["id"], minor, str(uuid.uuid4()), text, time.time())
        return self.worker.put("refund", reference)

    def refundable(self, order_id: str) -> int:
        """Return what has come in and is not on its way back."""
        remote = self.db.rows("SELECT * FROM remote WHERE order_id = ?", order_id)
        came = sum(row["minor"] for row in remote if row["kind"] == "pay-in" and row["status"] == "succeeded")
        back = sum(row["minor"] for row in remote if row["kind"] == "refund" and row["status"] != "failed")
        lost = sum(row["minor"] for row in remote if row["kind"] == "dispute" and row["status"] != "won")
        sql = "SELECT sum(minor) AS minor FROM refunds WHERE order_id = ? AND state IN ('sending', 'unknown')"
        asked = self.db.rows(sql, order_id)[0]["minor"] or 0
        return int(came - back - lost - asked)

    def balance(self, order_id: str) -> Decimal:
        """Return the money of an order that the shop has."""
        order = self.db.rows("SELECT * FROM orders WHERE id = ?", order_id)[0]
        remote = self.db.rows("SELECT * FROM remote WHERE order_id = ?", order_id)
        minor = sum(row["minor"] for row in remote if (row["kind"], row["status"]) == ("pay-in", "succeeded"))
        minor -= sum(row["minor"] for row in remote if (row["kind"], row["status"]) == ("refund", "succeeded"))
        minor -= sum(
            row["minor"] for row in remote if row["kind"] == "dispute" and row["status"] in {"lost", "accepted"}
        )
        return Decimal(to_text(minor, order["currency"]))

    def returned(self, order_id: str) -> str:
        """The customer comes back from the payment page: ask how it went, and show it."""
        with self.db.begin():
            if "return_page_trusted" in self.bugs:
                remote = self.db.row(
                    "SELECT id FROM remote WHERE order_id = ? AND kind = 'pay-in' ORDER BY rowid DESC", order_id
                )
                if remote is not None:
                    self.db.execute("UPDATE remote SET status = 'succeeded' WHERE id = ?", remote["id"])
                    self.worker.follow(order_id, "pay-in", "succeeded")
                return self.worker.standing(order_id)
            job_id = self.worker.put("lookup", order_id)
        self.worker.run(job_id)
        return self.worker.standing(order_id)

    def reconcile(self) -> None:
        """Queue a look at each order that was ever to be paid; run by cron."""
        with self.db.begin():
            for row in self.db.rows("SELECT DISTINCT order_id FROM payments"):
                if not self.db.row("SELECT 1 FROM jobs WHERE kind = 'lookup' AND ref = ?", row["order_id"]):
                    self.worker.put("lookup", row["order_id"])

    def webhook(self, raw: bytes, signature: str | None) -> int:
        """Verify, store with a job, acknowledge."""
        refused = self.refusal(raw, signature)
        if refused:
            return refused
        try:
            event = json.loads(raw)
            event_id, shown = str(event["id"]), event["data"]["object"]
            if event["livemode"] is not LIVEMODE:
                return 200
        except (ValueError, LookupError, TypeError):
            return 200  # a 4xx would only bring it again
        if "unknown_payin_404" in self.bugs:
            owner = "SELECT 1 FROM orders WHERE id = ? UNION SELECT 1 FROM remote WHERE id = ?"
            if not self.db.row(owner, shown.get("external_identifier"), shown.get("payin_id")):
                return 404
        known = self.db.row("SELECT 1 FROM remote WHERE id IN (?, ?)", shown.get("id"), shown.get("payin_id"))
        if "webhook_first_dropped" in self.bugs and not known:
            return 200
        with self.db.begin() as execute:
            if execute("INSERT OR IGNORE INTO seen VALUES (?)", event_id).rowcount:
                self.worker.put("event", event_id, raw.decode())
        return 200

    def refusal(self, raw: bytes, signature: str | None) -> int:
        """Return the status that refuses a webhook, 0 for a genuine one."""
        pairs = [part.split("=", 1) for part in (signature or "").split(",") if "=" in part]
        times = [value for name, value in pairs if name == "t"]
        digests = [value for name, value in pairs if name == "v1"]
        if len(times) != 1 or not digests or not (times[0].isascii() and times[0].isdigit() and len(times[0]) < 13):
            return 400
        if abs(int(time.time()) - int(times[0])) > TOLERANCE_SECONDS and "no_timestamp_check" not in self.bugs:
            return 400
        expected = hmac.new(self.secret, times[0].encode() + b"." + raw, "sha256").hexdigest()
        if "non_ascii_crash" in self.bugs:
            return 0 if any(hmac.compare_digest(expected, digest) for digest in digests) else 401
        return (
            0
            if any(hmac.compare_digest(expected.encode(), each.encode("utf-8", "replace")) for each in digests)
            else 401
        )


def application(shop: Shop) -> Callable[..., Iterable[bytes]]:
    """Return the WSGI application."""

    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        raw = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        match environ["REQUEST_METHOD"], environ["PATH_INFO"].strip("/").split("/"):
            case "POST", ["webhooks"]:
                status = shop.webhook(raw, environ.get("HTTP_X_SERVICE_SIGNATURE"))
            case "POST", ["orders", order_id, "payment"]:
                try:
                    shop.pay(order_id)
                    status = 202
                except Declined:
                    status = 409
            case "GET", ["orders", order_id, "return"]:
                shop.returned(order_id)
                status = 200
            case _:
                status = 404
        start_response(f"{status} -", [("Content-Type", "text/plain")])
        return [b""]

    return app
