"""The shop: every fact about a payment, however it came, goes through one inbox."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import sqlite3
import uuid
from datetime import datetime
from decimal import ROUND_DOWN, Decimal
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from fastapishop.client import AlreadyDone, KeepsFailing, PaymentClient, Rejected, Unclear
from fastapishop.database import Database

log = logging.getLogger(__name__)

DIGITS = {
    **dict.fromkeys(
        [
            "BIF",
            "CLP",
            "DJF",
            "GNF",
            "ISK",
            "JPY",
            "KMF",
            "KRW",
            "PYG",
            "RWF",
            "UGX",
            "UYI",
            "VND",
            "VUV",
            "XAF",
            "XOF",
            "XPF",
        ],
        0,
    ),
    **dict.fromkeys(["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"], 3),
    **dict.fromkeys(["CLF", "UYW"], 4),
}
TOLERANCE_SECONDS = 300
KEY_MAX_AGE = 22 * 3600
# An error that is stored under a key stays; after so long it is looked up instead.
PATIENCE = 900
STAGE = {"created": 0, "needs_response": 0, "pending": 1, "under_review": 1, "processing": 2, "cancelled": 3, "won": 3}
STAGE |= {"succeeded": 4, "lost": 4, "accepted": 4, "failed": 5}
UNKNOWN_STAGE = 1


def order_in_time(row: Any) -> tuple[datetime, int]:
    """Return what to compare two versions of an object by; of one moment, the later stage is newer."""
    moment = datetime.fromisoformat(row["updated_at"])
    return moment, STAGE.get(row["status"], UNKNOWN_STAGE)


class Shop:
    """The rules of the shop."""

    def __init__(
        self,
        database: Database,
        client: PaymentClient,
        webhook_secret: str,
        bugs: frozenset[str],
        livemode: bool = False,
    ) -> None:
        self.database = database
        self.client = client
        self.webhook_secret = webhook_secret
        self.bugs = bugs
        self.livemode = livemode
        self.keys: dict[str, str] = {}
        self.waiting: dict[str, str] = {}

    # Orders

    def digits(self, currency: str) -> int:
        return 2 if "two_digits_for_all" in self.bugs else DIGITS.get(currency, 2)

    def place(self, order_id: str, amount: Decimal, currency: str) -> None:
        digits = self.digits(currency)
        minor = int((amount * 10**digits).to_integral_value(ROUND_DOWN))
        text = f"{Decimal(minor).scaleb(-digits):.{digits}f}"
        with self.database.transaction() as db:
            db.execute(
                "INSERT INTO orders (id, minor, amount, currency) VALUES (?, ?, ?, ?)",
                (order_id, minor, text, currency),
            )

    def order(self, order_id: str) -> sqlite3.Row | None:
        return self.database.row("SELECT * FROM orders WHERE id = ?", order_id)

    def minor(self, amount: str, currency: str) -> int:
        return int(Decimal(amount) * 10 ** self.digits(currency))

    def objects(self, order_id: str, kind: str) -> list[sqlite3.Row]:
        return self.database.rows(
            "SELECT * FROM objects WHERE order_id = ? AND kind = ? ORDER BY rowid", order_id, kind
        )

    def paid(self, order: sqlite3.Row) -> list[sqlite3.Row]:
        return [each for each in self.objects(order["id"], "payin") if each["status"] == "succeeded"]

    def lost(self, order: sqlite3.Row) -> list[sqlite3.Row]:
        over = {"lost"} if "accepted_is_not_lost" in self.bugs else {"lost", "accepted"}
        return [each for each in self.objects(order["id"], "dispute") if each["status"] in over]

    def status(self, order: sqlite3.Row) -> str:
        paid = self.paid(order)
        if paid or order["marked_paid"]:
            came = sum(self.minor(each["amount"], each["currency"]) for each in paid)
            is_exact = came == order["minor"] and all(each["currency"] == order["currency"] for each in paid)
            if not is_exact and "amount_not_compared" not in self.bugs and not order["marked_paid"]:
                return "review"
            if self.lost(order):
                return "charged_back"
            back = self.minor(order["refunded"], order["currency"])
            return "paid" if not back else "partly_refunded" if back < came else "refunded"
        payins = self.objects(order["id"], "payin")
        if order["attempt"] == "open" or any(each["status"] not in {"failed", "cancelled"} for each in payins):
            return "pending"
        if order["attempt"] == "refused":
            return "failed"
        return payins[-1]["status"] if payins else "unpaid"

    def balance(self, order: sqlite3.Row) -> Decimal:
        came = sum((Decimal(each["amount"]) for each in self.paid(order)), Decimal(0))
        gone = sum((Decimal(each["amount"]) for each in self.lost(order)), Decimal(0))
        kept = came - Decimal(order["refunded"])
        # A chargeback takes no more than refunds have left.
        return kept - min(gone, max(kept, Decimal(0)))

    # Paying

    async def pay(self, order_id: str) -> None:
        # Read and written in one transaction, so that of two clicks one begins the attempt.
        with self.database.transaction() as db:
            order = self.order(order_id)
            if order is None:
                return
            if order["attempt"] != "open":
                if self.status(order) not in {"unpaid", "failed", "cancelled"}:
                    return
                self.begin_attempt(db, order)
        await self.send_attempt(order_id)

    def begin_attempt(self, db: sqlite3.Connection, order: sqlite3.Row) -> None:
        document = {
            "currency": order["currency"],
            "external_identifier": order["id"],
            "payment_method": {"type": "CREDIT_CARD"},
            "customer": {"first_name": "Zoë", "last_name": "Müller", "email": "zoe@shop.example"},
        }
        body = json.dumps(document)[:-1] + f', "amount": {order["amount"]}}}'
        key = str(uuid.uuid4())
        if "key_from_the_cart" in self.bugs:
            cart = hashlib.md5(f"{order['amount']}{order['currency']}".encode(), usedforsecurity=False)
            key = str(uuid.UUID(cart.hexdigest(), version=4))
        if "key_in_memory" in self.bugs:
            self.keys[order["id"]] = key
        db.execute(
            "UPDATE orders SET attempt = 'open', attempt_key = ?, attempt_body = ?, attempt_at = ? WHERE id = ?",
            (key, body, self.client.now(), order["id"]),
        )

    async def send_attempt(self, order_id: str) -> None:
        """Send the open attempt of an order, once more if need be."""
        order = self.order(order_id)
        if order is None or order["attempt"] != "open":
            return
        key = order["attempt_key"]
        if "key_in_memory" in self.bugs:
            key = self.keys.setdefault(order_id, str(uuid.uuid4()))
        if self.client.now() - order["attempt_at"] > KEY_MAX_AGE:
            # The key may be forgotten over there; has the request arrived at all?
            try:
                await self.ask(order_id)
            except Unclear:
                return
            with self.database.transaction() as db:
                again = self.order(order_id)
                if again is None or again["attempt"] != "open":
                    return
                key = again["attempt_key"]
                if key == order["attempt_key"]:  # or somebody else has renewed it meanwhile
                    key = str(uuid.uuid4())
                    self.keys[order_id] = key
                    db.execute(
                        "UPDATE orders SET attempt_key = ?, attempt_at = ? WHERE id = ?",
                        (key, self.client.now(), order_id),
                    )
        try:
            data = await self.client.create("/api/v1/pay-in/deposit-creation", key, order["attempt_body"])
        except KeepsFailing:
            if self.client.now() - order["attempt_at"] > PATIENCE:
                await self.give_up(
                    order_id, "UPDATE orders SET attempt = 'refused' WHERE id = ? AND attempt = 'open'", order_id
                )
            return
        except Unclear:
            return
        except (Rejected, AlreadyDone) as outcome:
            is_done = isinstance(outcome, AlreadyDone)
            with self.database.transaction() as db:
                db.execute(
                    "UPDATE orders SET attempt = ?, marked_paid = ? WHERE id = ? AND attempt = 'open'",
                    ("done" if is_done else "refused", int(is_done), order_id),
                )
            return
        self.take(data)

    async def give_up(self, order_id: str, update: str, subject: str) -> None:
        """Give up on what the service does not have."""
        try:
            await self.ask(order_id)
        except Unclear:
            return
        with self.database.transaction() as db:
            db.execute(update, (subject,))

    # The inbox

    def take(self, data: dict[str, Any], kind: str | None = None) -> None:
        """Keep a fact, unless it is known, and apply what is waiting."""
        kind = kind or f"{data['object']}.{data['status']}"
        fact = f"{data['id']}:{data['status']}:{data['updated_at']}:{data['amount']}"
        if "same_type_same_payment" in self.bugs:
            fact = f"{kind.replace('-', '')}:{data.get('payin_id') or data['id']}"
        body = json.dumps(data, default=str)
        with self.database.transaction() as db:
            (number,) = db.execute("SELECT count(*) FROM inbox").fetchone()
            kept = db.execute("INSERT OR IGNORE INTO inbox (fact, number, body) VALUES (?, ?, ?)", (fact, number, body))
            is_new = kept.rowcount == 1
        if "queue_in_memory" in self.bugs and is_new:
            self.waiting[fact] = body
        if "queue_in_memory" not in self.bugs:
            self.work()

    def work(self) -> None:
        """Apply what is waiting, oldest first; what cannot be applied yet waits on."""
        for row in self.database.rows("SELECT * FROM inbox WHERE NOT processed ORDER BY number"):
            if "queue_in_memory" in self.bugs and self.waiting.pop(row["fact"], None) is None:
                continue
            try:
                if "done_before_it_is_done" in self.bugs:
                    with self.database.transaction() as db:
                        db.execute("UPDATE inbox SET processed = 1 WHERE fact = ?", (row["fact"],))
                with self.database.transaction() as db:
                    fresh = db.execute("SELECT processed FROM inbox WHERE fact = ?", (row["fact"],)).fetchone()
                    if fresh["processed"] and "done_before_it_is_done" not in self.bugs:
                        continue
                    if self.apply(db, json.loads(row["body"])):
                        db.execute("UPDATE inbox SET processed = 1 WHERE fact = ?", (row["fact"],))
            except Exception:
                log.exception("a fact could not be applied: %s", row["fact"])
                if "poison_is_swallowed" in self.bugs:
                    with self.database.transaction() as db:
                        db.execute("UPDATE inbox SET processed = 1 WHERE fact = ?", (row["fact"],))

    def apply(self, db: sqlite3.Connection, data: dict[str, Any]) -> bool:
        """Apply a fact; return whether it is done with."""
        kind = data["object"]
        if kind == "payin":
            order_id = data["external_identifier"]
        else:
            parent = db.execute("SELECT order_id FROM objects WHERE id = ?", (data["payin_id"],)).fetchone()
            if parent is None:
                return False  # its pay-in is not known yet
            order_id = parent["order_id"]
        order = self.order(order_id)
        if order is None:
            return True
        known = db.execute("SELECT * FROM objects WHERE id = ?", (data["id"],)).fetchone()
        if known is not None and not self.is_newer(known, data):
            return True
        db.execute(
            "INSERT INTO objects (id, kind, order_id, parent, status, amount, currency, updated_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
            " status = excluded.status, amount = excluded.amount, currency = excluded.currency,"
            " updated_at = excluded.updated_at",
            (
                *(data["id"], kind, order_id, data.get("payin_id"), data["status"]),
                *(str(data["amount"]), data["currency"], data["updated_at"]),
            ),
        )
        if kind == "payin" and known is None and order["attempt"] == "open":
            db.execute("UPDATE orders SET attempt = 'done' WHERE id = ?", (order_id,))
        if kind == "refund":
            request_id = data.get("external_identifier")
            db.execute(
                "UPDATE refund_requests SET state = 'done', service_id = ? WHERE id = ?", (data["id"], request_id)
            )
            self.count_refunds(db, order_id, data)
        order = self.order(order_id)
        if order is not None and self.status(order) == "paid" and not order["fulfilled"]:
            self.fulfil(db, order_id)
        return True

    def is_newer(self, known: sqlite3.Row, data: dict[str, Any]) -> bool:
        if "last_arrival_wins" in self.bugs:
            return True
        if known["kind"] == "payin":
            if known["status"] == "succeeded":
                return False
            if data["status"] == "succeeded":
                return not (known["status"] in {"cancelled", "failed"} and "late_payment_ignored" in self.bugs)
        return order_in_time(data) > order_in_time(known)

    def count_refunds(self, db: sqlite3.Connection, order_id: str, data: dict[str, Any]) -> None:
        done = [each["amount"] for each in self.objects(order_id, "refund") if each["status"] == "succeeded"]
        total = str(sum(map(Decimal, done), Decimal(0)))
        if "refunded_is_overwritten" in self.bugs:
            if data["status"] != "succeeded":
                return
            total = str(data["amount"])
        if "failed_refund_wipes_all" in self.bugs and data["status"] == "failed":
            total = "0"
        db.execute("UPDATE orders SET refunded = ? WHERE id = ?", (total, order_id))

    def fulfil(self, db: sqlite3.Connection, order_id: str) -> None:
        """Take the goods from the shelf."""
        db.execute("UPDATE orders SET fulfilled = fulfilled + 1 WHERE id = ?", (order_id,))

    # Refunding

    async def refund(self, order_id: str, refund_id: str, amount: Decimal) -> bool:
        """Return whether the money goes back, or may."""
        with self.database.transaction() as db:
            order = self.order(order_id)
            asked = db.execute("SELECT 1 FROM refund_requests WHERE id = ?", (refund_id,)).fetchone()
            if order is None or (asked is None and not self.begin_refund(db, order, refund_id, amount)):
                return False
        return await self.send_refund(refund_id)

    def begin_refund(self, db: sqlite3.Connection, order: sqlite3.Row, refund_id: str, amount: Decimal) -> bool:
        paid = self.paid(order)
        others = self.database.rows(
            "SELECT amount FROM refund_requests WHERE order_id = ? AND state != 'refused' AND NOT EXISTS"
            " (SELECT 1 FROM objects WHERE objects.id = service_id AND objects.status = 'failed')",
            order["id"],
        )
        left = sum(Decimal(each["amount"]) for each in paid) - sum(Decimal(each["amount"]) for each in others)
        if len(paid) != 1 or amount > left:
            return False
        key = str(uuid.uuid4())
        document = {"payin_id": paid[0]["id"], "external_identifier": refund_id}
        if "one_refund_key_per_order" in self.bugs:
            key = self.keys.setdefault(f"refund of {order['id']}", key)
            del document["external_identifier"]
        body = json.dumps(document)[:-1] + f', "amount": {amount}}}'
        db.execute(
            "INSERT INTO refund_requests VALUES (?, ?, ?, ?, 'open', ?, ?, ?, NULL)",
            (refund_id, order["id"], paid[0]["id"], str(amount), key, body, self.client.now()),
        )
        return True

    async def send_refund(self, refund_id: str) -> bool:
        asked = self.database.row("SELECT * FROM refund_requests WHERE id = ?", refund_id)
        if asked is None or asked["state"] == "refused":
            return False
        if asked["state"] == "done":
            return True
        key = asked["key"]
        if self.client.now() - asked["at"] > KEY_MAX_AGE:
            try:
                await self.ask(asked["order_id"])
            except Unclear:
                return True
            with self.database.transaction() as db:
                again = self.database.row("SELECT state, key FROM refund_requests WHERE id = ?", refund_id)
                if again is None or again["state"] != "open":
                    return True
                key = again["key"]
                if key == asked["key"]:
                    key = str(uuid.uuid4())
                    values = (key, self.client.now(), refund_id)
                    db.execute("UPDATE refund_requests SET key = ?, at = ? WHERE id = ?", values)
        try:
            data = await self.client.create("/api/v1/refund/refund-creation", key, asked["body"])
        except Rejected:
            with self.database.transaction() as db:
                db.execute("UPDATE refund_requests SET state = 'refused' WHERE id = ? AND state = 'open'", (refund_id,))
            return False
        except KeepsFailing:
            if self.client.now() - asked["at"] > PATIENCE:
                give_up = "UPDATE refund_requests SET state = 'refused' WHERE id = ? AND state = 'open'"
                await self.give_up(asked["order_id"], give_up, refund_id)
            return True
        except (Unclear, AlreadyDone):
            return True
        if "one_refund_key_per_order" in self.bugs:
            with self.database.transaction() as db:
                db.execute("UPDATE refund_requests SET state = 'done' WHERE id = ?", (refund_id,))
        self.take(data)
        return True

    # Asking

    async def ask(self, order_id: str) -> None:
        """Ask the service what it knows of an order."""
        if "polls_one_page_of_all" in self.bugs:
            page = await self.client.collect("/api/v1/pay-in", limit="10")
            payins = [each for each in page if each["external_identifier"] == order_id]
        else:
            payins = await self.client.collect("/api/v1/pay-in", external_identifier=order_id, limit="50")
        for data in reversed(payins):
            self.take(data)
        for payin in payins:
            for path in ("/api/v1/refund", "/api/v1/dispute"):
                for data in await self.client.collect(path, payin_id=payin["id"], limit="50"):
                    self.take(data)

    async def customer_returns(self, order_id: str) -> None:
        """Show the customer how the payment went, without waiting for a webhook."""
        try:
            await self.ask(order_id)
        except Unclear:
            return
        order = self.order(order_id)
        if order is not None and "return_page_fulfils" in self.bugs and self.status(order) == "paid":
            with self.database.transaction() as db:
                self.fulfil(db, order_id)

    async def run_jobs(self) -> None:
        """What runs every few minutes."""
        self.work()
        for row in self.database.rows("SELECT id FROM orders WHERE attempt = 'open'"):
            await self.send_attempt(row["id"])
        for row in self.database.rows("SELECT id FROM refund_requests WHERE state = 'open'"):
            await self.send_refund(row["id"])
        for order in self.database.rows("SELECT * FROM orders WHERE attempt != 'none'"):
            if "polls_open_orders_only" in self.bugs and self.status(order) != "pending":
                continue
            try:
                await self.ask(order["id"])
            except Unclear:
                continue
        self.work()

    # Webhooks

    def check_signature(self, header: str, body: bytes) -> int:
        """Return 200, or the status to refuse a delivery with."""
        timestamp, digests = "", []
        for part in header.split(","):
            scheme, _, value = part.strip().partition("=")
            if scheme == "t":
                timestamp = value
            elif scheme == "v1" or (scheme == "v0" and "v0_accepted" in self.bugs):
                digests.append(value)
        if not digests or not timestamp.isascii() or not timestamp.isdecimal():
            return 400
        tolerance = TOLERANCE_SECONDS * (1000 if "tolerance_in_milliseconds" in self.bugs else 1)
        if abs(self.client.now() - int(timestamp)) > tolerance:
            return 400
        if "body_read_as_latin1" in self.bugs:
            body = body.decode("latin-1").encode()
        mac = hmac.new(self.webhook_secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
        return 200 if any(hmac.compare_digest(mac.encode(), each.encode()) for each in digests) else 401


def create_app(shop: Shop) -> FastAPI:
    """Return the application."""
    app = FastAPI(openapi_url=None)

    @app.post("/checkout/{order_id}")
    async def checkout(order_id: str) -> JSONResponse:
        await shop.pay(order_id)
        return await show(order_id)

    @app.get("/orders/{order_id}")
    async def show(order_id: str) -> JSONResponse:
        order = shop.order(order_id)
        if order is None:
            return JSONResponse({"detail": "no such order"}, 404)
        shown = {"status": shop.status(order), "balance": str(shop.balance(order)), "fulfilled": order["fulfilled"]}
        return JSONResponse(shown)

    @app.get("/orders/{order_id}/thanks")
    async def thanks(order_id: str) -> JSONResponse:
        await shop.customer_returns(order_id)
        return await show(order_id)

    @app.post("/orders/{order_id}/refunds/{refund_id}")
    async def refund(order_id: str, refund_id: str, amount: Decimal) -> Response:
        return Response(status_code=202 if await shop.refund(order_id, refund_id, amount) else 409)

    @app.post("/hooks/payments")
    async def hook(request: Request) -> Response:
        body = await request.body()
        status = shop.check_signature(request.headers.get("x-service-signature", ""), body)
        if status != 200:
            return Response(status_code=status)
        try:
            event = json.loads(body, parse_float=Decimal)
            kind, data = event["type"], event["data"]["object"]
            known = kind.startswith(("pay-in.", "refund.", "dispute.")) and event.get("livemode") is shop.livemode
        except (ValueError, KeyError, TypeError, AttributeError):
            return Response(status_code=400)
        if known:
            shop.take(data, kind)
        return Response(status_code=200)

    return app
