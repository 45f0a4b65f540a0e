"""The shop: orders, payments, refunds and webhooks, as an aiohttp web application."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import time
import uuid
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from decimal import Decimal
from typing import Any

from aiohttp import web

from aiohttpshop.gateway import Declined, Gateway, Postponed, Unanswered, parse
from aiohttpshop.store import Store

log = logging.getLogger(__name__)

TOLERANCE_SECONDS = 300
KEY_SECONDS = 23 * 3600
"""A key is valid for a day; one that is nearly as old is not used again."""
IN_FLIGHT_SECONDS = 60.0
"""A request of which no trace is found after this time was never carried out."""
RECONCILE_SECONDS = 900.0
LIVEMODE = False
"""Which events are ours: those of production, or those of the sandbox."""
RANK = {
    "created": 0, "needs_response": 0, "pending": 1, "under_review": 1, "processing": 2,
    "succeeded": 4, "failed": 3, "cancelled": 3, "won": 3, "lost": 3, "accepted": 3,
}  # fmt: skip
"""Of two states with the same time the later one of the lifecycle is the newer."""


class NotAccepted(Exception):
    """The shop declines what was asked for."""


class Shop:
    """The service layer; the handlers at the end of the file are thin."""

    def __init__(self, store: Store, gateway: Gateway, webhook_secret: str, bugs: frozenset[str] = frozenset()) -> None:
        """Take the collaborators."""
        self.store = store
        self.gateway = gateway
        self.webhook_secret = webhook_secret.encode()
        self.bugs = bugs
        self.paying: set[str] = set()
        self.tasks: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something in the background, and keep the task until it is done."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    # Orders

    def place(self, order_id: str, amount: Decimal, currency: str) -> None:
        """Store a new order."""
        with self.store.transaction():
            self.store.run(
                "INSERT INTO orders (id, amount, currency) VALUES (?, ?, ?)", order_id, str(amount), currency
            )

    def money(self, order_id: str) -> tuple[Decimal, Decimal, Decimal]:
        """Return what was received, given back, and charged back."""
        pay_ins = self.store.of_order("pay_ins", order_id)
        refunds = self.store.of_order("refunds", order_id)
        disputes = self.store.of_order("disputes", order_id)
        return (
            sum((Decimal(row["amount"]) for row in pay_ins if row["status"] == "succeeded"), Decimal(0)),
            sum((Decimal(row["amount"]) for row in refunds if row["status"] == "succeeded"), Decimal(0)),
            sum((Decimal(row["amount"]) for row in disputes if row["status"] in {"lost", "accepted"}), Decimal(0)),
        )

    def status(self, order_id: str) -> str:
        """Return how an order stands, from what is known of its payments."""
        order = self.store.order(order_id)
        received, refunded, charged_back = self.money(order_id)
        pay_ins = self.store.of_order("pay_ins", order_id)
        if received:
            in_currency = all(row["currency"] == order["currency"] for row in pay_ins if row["status"] == "succeeded")
            if received != Decimal(order["amount"]) or not in_currency:
                return "review"
            if charged_back:
                return "charged_back"
            if refunded:
                return "refunded" if refunded >= received else "partly_refunded"
            return "paid"
        attempt = self.store.last_attempt(order_id)
        if any(row["status"] not in {"failed", "cancelled"} for row in pay_ins):
            return "pending"
        if attempt is not None and attempt["state"] == "sent":
            return "pending"
        return str(pay_ins[-1]["status"]) if pay_ins else "unpaid"

    # Paying

    async def pay(self, order_id: str) -> str:
        """The customer presses the button. A second press while one is under way changes nothing."""
        if order_id in self.paying:
            return self.status(order_id)
        self.paying.add(order_id)
        try:
            await self.deposit(order_id)
        finally:
            self.paying.discard(order_id)
        return self.status(order_id)

    async def deposit(self, order_id: str) -> None:
        """Create the deposit of an order, or go on with the one whose outcome is unknown."""
        attempt = self.store.last_attempt(order_id)
        is_open = attempt is not None and attempt["state"] in {"sent", "absent", "unsent"}
        if self.status(order_id) not in {"unpaid", "failed", "cancelled"} and not (
            attempt is not None and attempt["state"] == "sent"
        ):
            return
        if attempt is not None and is_open and time.time() - attempt["started"] > KEY_SECONDS:
            try:
                await self.look_up(order_id)
            except Unanswered:
                return  # nobody knows, so nothing new is begun
            if self.status(order_id) not in {"unpaid", "failed", "cancelled"}:
                return
            is_open = False
        if "key_per_click" in self.bugs:
            is_open = False
        was_sent = attempt is not None and is_open and attempt["state"] == "sent"
        with self.store.transaction():
            if attempt is None or not is_open:
                self.store.run(
                    "INSERT INTO attempts (order_id, key, body, started, state) VALUES (?, ?, ?, ?, 'sent')",
                    order_id, str(uuid.uuid4()), self.deposit_body(order_id), time.time(),
                )  # fmt: skip
            else:
                self.store.run("UPDATE attempts SET state = 'sent' WHERE number = ?", attempt["number"])
            attempt = self.store.last_attempt(order_id)
        if attempt is None:
            raise AssertionError
        body = self.deposit_body(order_id) if "volatile_body" in self.bugs else attempt["body"]
        try:
            pay_in = await self.gateway.post("/pay-in/deposit-creation", attempt["key"], body)
        except Declined as error:
            if was_sent or error.is_after_loss:  # an earlier request may have got through
                with suppress(Unanswered):
                    await self.look_up(order_id, is_over=True)
            else:
                self.mark(attempt["number"], "declined")
            raise NotAccepted("the payment service declines this payment") from None
        except Postponed:
            self.mark(attempt["number"], "sent" if was_sent else "unsent")
            raise NotAccepted("please try again later") from None
        except Unanswered:
            if "timeout_is_failure" in self.bugs:
                self.mark(attempt["number"], "declined")
            return
        with self.store.transaction():
            self.store.run("UPDATE attempts SET state = 'created' WHERE number = ?", attempt["number"])
            self.learn_pay_in(pay_in, asked=False, reply=True)

    def deposit_body(self, order_id: str) -> bytes:
        """Return the request as bytes; the amount is written digit by digit."""
        order = self.store.order(order_id)
        amount = order["amount"]
        if "float_cents" in self.bugs:
            amount = str(Decimal(int(float(amount) * 100)) / 100)
        rest: dict[str, Any] = {
            "currency": order["currency"],
            "external_identifier": order_id,
            "payment_method": {"type": "CREDIT_CARD"},
            "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"},
        }
        if "volatile_body" in self.bugs:
            rest["metadata"] = {"checked_out_at": str(time.time())}
        return f'{{"amount": {amount}, {json.dumps(rest)[1:]}'.encode()

    def mark(self, number: int, state: str) -> None:
        """Set the state of an attempt."""
        with self.store.transaction():
            self.store.run("UPDATE attempts SET state = ? WHERE number = ?", state, number)

    # Refunds

    async def refund(self, order_id: str, reference: str, amount: Decimal) -> None:
        """Refund an amount; the same reference is the same refund."""
        row = self.store.one("SELECT * FROM refunds WHERE reference = ?", reference)
        if row is not None and row["status"] == "sent" and time.time() - row["started"] > KEY_SECONDS:
            try:
                await self.look_up(order_id)
            except Unanswered:
                return
            row = self.store.one("SELECT * FROM refunds WHERE reference = ?", reference)
        if row is not None and row["status"] not in {"sent", "absent", "unsent"}:
            if row["status"] == "declined":
                raise NotAccepted("this refund was declined")
            return
        was_sent = row is not None and row["status"] == "sent"
        with self.store.transaction():
            if row is None:
                self.insert_refund(order_id, reference, amount)
            else:
                is_old = time.time() - row["started"] > KEY_SECONDS
                self.store.run(
                    "UPDATE refunds SET status = 'sent', key = ?, started = ? WHERE reference = ?",
                    str(uuid.uuid4()) if is_old else row["key"], time.time() if is_old else row["started"], reference,
                )  # fmt: skip
        row = self.store.one("SELECT * FROM refunds WHERE reference = ?", reference)
        if row is None:
            raise AssertionError
        try:
            answer = await self.gateway.post("/refund/refund-creation", row["key"], row["body"])
        except (Declined, Postponed) as error:
            if was_sent or (isinstance(error, Declined) and error.is_after_loss):
                with suppress(Unanswered):
                    await self.look_up(order_id, is_over=isinstance(error, Declined))
            else:
                state = "declined" if isinstance(error, Declined) else "unsent"
                with self.store.transaction():
                    self.store.run(
                        "UPDATE refunds SET status = ? WHERE reference = ? AND status = 'sent'", state, reference
                    )
            raise NotAccepted("the refund was not accepted") from None
        except Unanswered:
            return
        with self.store.transaction():
            if "refund_done_on_accept" in self.bugs:
                answer = {**answer, "status": "succeeded"}
            self.learn_refund(answer, asked=False)

    def insert_refund(self, order_id: str, reference: str, amount: Decimal) -> None:
        """Store a refund before it is requested."""
        received, _, charged_back = self.money(order_id)
        under_way = sum(
            Decimal(row["amount"])
            for row in self.store.of_order("refunds", order_id)
            if row["status"] not in {"failed", "declined"}
        )
        pay_ins = [row for row in self.store.of_order("pay_ins", order_id) if row["status"] == "succeeded"]
        if amount <= 0 or not pay_ins or amount > received - under_way - charged_back:
            raise NotAccepted("there is not so much to refund")
        rest = {"payin_id": pay_ins[0]["id"], "external_identifier": reference}
        key = str(uuid.uuid4())
        if "refund_key_per_order" in self.bugs:
            key = str(uuid.UUID(bytes=hashlib.sha256(order_id.encode()).digest()[:16], version=4))
        self.store.run(
            "INSERT INTO refunds VALUES (?, ?, ?, ?, ?, ?, ?, 'sent', '')",
            reference, order_id, pay_ins[0]["id"], str(amount), key,
            f'{{"amount": {amount}, {json.dumps(rest)[1:]}'.encode(), time.time(),
        )  # fmt: skip

    # What the service tells: by a reply, a webhook or a list

    def is_news(self, row: Any, status: str, changed: str, *, asked: bool) -> bool:
        """Return whether a state is newer than the stored one."""
        if row is None or status not in RANK:  # a status that we do not know is better than nothing, and no more
            return row is None
        old, new = (row["changed"], RANK.get(row["status"], -1)), (changed, RANK.get(status, -1))
        return new > old or (asked and new == old)

    def learn_pay_in(self, pay_in: dict[str, Any], *, asked: bool, reply: bool = False) -> None:
        """Store the state of a pay-in, and fulfil the order when it is paid."""
        order_id, status = str(pay_in.get("external_identifier")), str(pay_in["status"])
        if self.store.one("SELECT 1 FROM orders WHERE id = ?", order_id) is None:
            return
        row = self.store.one("SELECT * FROM pay_ins WHERE id = ?", pay_in["id"])
        if "late_money_ignored" in self.bugs and row is not None and row["status"] in {"failed", "cancelled"}:
            return
        is_stale_save = reply and "stale_save" in self.bugs
        if not is_stale_save and not self.is_news(row, status, pay_in["updated_at"], asked=asked):
            return
        self.store.run(
            "INSERT OR REPLACE INTO pay_ins VALUES (?, ?, ?, ?, ?, ?)",
            pay_in["id"], order_id, status, str(pay_in["amount"]), pay_in["currency"], pay_in["updated_at"],
        )  # fmt: skip
        if row is None:  # this is what became of the attempt, even when its reply was lost
            self.store.run("UPDATE attempts SET state = 'created' WHERE order_id = ? AND state = 'sent'", order_id)
        if self.status(order_id) == "paid" and not self.store.order(order_id)["fulfilled"]:
            self.store.run("UPDATE orders SET fulfilled = fulfilled + 1 WHERE id = ?", order_id)
            self.store.run("INSERT INTO mails VALUES (?, 'confirmation')", order_id)

    def learn_refund(self, refund: dict[str, Any], *, asked: bool) -> None:
        """Store the state of a refund; one that was made elsewhere gets a row of its own."""
        owner = self.store.one("SELECT order_id FROM pay_ins WHERE id = ?", refund.get("payin_id"))
        if owner is None:
            return
        reference = str(refund.get("external_identifier") or refund["id"])
        row = self.store.one("SELECT * FROM refunds WHERE reference = ?", reference)
        if row is None:
            self.store.run(
                "INSERT INTO refunds VALUES (?, ?, ?, ?, '', '', 0, ?, ?)",
                reference, owner["order_id"], refund["payin_id"], str(refund["amount"]), refund["status"],
                refund["updated_at"],
            )  # fmt: skip
        elif self.is_news(row, refund["status"], refund["updated_at"], asked=asked):
            self.store.run(
                "UPDATE refunds SET status = ?, changed = ? WHERE reference = ?",
                refund["status"], refund["updated_at"], reference,
            )  # fmt: skip

    def learn_dispute(self, dispute: dict[str, Any], *, asked: bool) -> None:
        """Store the state of a dispute."""
        owner = self.store.one("SELECT order_id FROM pay_ins WHERE id = ?", dispute.get("payin_id"))
        row = self.store.one("SELECT * FROM disputes WHERE id = ?", dispute["id"])
        is_news = self.is_news(row, dispute["status"], dispute["updated_at"], asked=asked)
        if owner is not None and is_news:
            self.store.run(
                "INSERT OR REPLACE INTO disputes VALUES (?, ?, ?, ?, ?)",
                dispute["id"], owner["order_id"], dispute["status"], str(dispute["amount"]), dispute["updated_at"],
            )  # fmt: skip

    async def look_up(self, order_id: str, *, is_over: bool = False) -> None:
        """Ask the service what it has of an order; Unanswered when it does not say."""
        pay_ins = await self.gateway.items("/pay-in", external_identifier=order_id)
        refunds: list[dict[str, Any]] = []
        disputes: list[dict[str, Any]] = []
        for pay_in in pay_ins:
            if pay_in["status"] == "succeeded":
                refunds += await self.gateway.items("/refund", payin_id=pay_in["id"])
                disputes += await self.gateway.items("/dispute", payin_id=pay_in["id"])
        before = time.time() - (0.0 if is_over else IN_FLIGHT_SECONDS)
        with self.store.transaction():
            for pay_in in reversed(pay_ins):
                self.learn_pay_in(pay_in, asked=True)
            for refund in refunds:
                self.learn_refund(refund, asked=True)
            for dispute in disputes:
                if "dispute_closed_ignored" not in self.bugs:
                    self.learn_dispute(dispute, asked=True)
            self.store.run(
                "UPDATE attempts SET state = ? WHERE order_id = ? AND state = 'sent' AND started <= ?",
                "declined" if is_over else "absent", order_id, before,
            )  # fmt: skip
            self.store.run(
                "UPDATE refunds SET status = ? WHERE order_id = ? AND status = 'sent' AND started <= ?",
                "declined" if is_over else "absent", order_id, before,
            )  # fmt: skip

    async def reconcile(self) -> None:
        """Compare every order that was ever tried with the service."""
        await self.drain()
        for row in self.store.all("SELECT DISTINCT order_id FROM attempts"):
            if row["order_id"] not in self.paying:
                try:
                    await self.look_up(row["order_id"])
                except Unanswered:
                    return  # the next run goes on

    # Webhooks

    def refusal(self, raw: bytes, header: str | None) -> int | None:
        """Return the status that refuses a webhook, or None when it is genuine."""
        if "unsigned_accepted" in self.bugs and header is None:
            return None
        parts = [part.partition("=") for part in (header or "").split(",")]
        times = [value for name, _, value in parts if name == "t"]
        digests = [value for name, _, value in parts if name == "v1" and value]
        if len(times) != 1 or not times[0].isascii() or not times[0].isdigit() or len(times[0]) > 12 or not digests:
            return 400
        if abs(int(time.time()) - int(times[0])) > TOLERANCE_SECONDS:
            return 400
        if "signature_over_parsed" in self.bugs:
            with suppress(ValueError):
                raw = json.dumps(json.loads(raw), separators=(",", ":")).encode()
        expected = hmac.new(self.webhook_secret, times[0].encode() + b"." + raw, hashlib.sha256).hexdigest()
        is_match = [hmac.compare_digest(expected.encode(), digest.encode(errors="replace")) for digest in digests]
        return None if any(is_match) else 401

    def accept(self, raw: bytes) -> None:
        """Store a genuine webhook, and work on it after the answer."""
        event = parse(raw)
        if not isinstance(event.get("id"), str) or event.get("livemode") is not LIVEMODE:
            return
        if "ack_before_store" in self.bugs:
            self.spawn(self.apply_later(event))
            return
        with self.store.transaction():
            done = int("marked_before_done" in self.bugs)
            is_new = self.store.run("INSERT OR IGNORE INTO inbox VALUES (?, ?, ?)", event["id"], raw, done)
        if is_new and "marked_before_done" in self.bugs:
            self.spawn(self.apply_later(event))
        else:
            self.spawn(self.drain())

    async def apply_later(self, event: dict[str, Any]) -> None:
        """Apply an event that is stored nowhere as undone."""
        with self.store.transaction():
            self.apply(event)

    async def drain(self) -> None:
        """Apply the stored webhooks that are not done."""
        for row in self.store.all("SELECT * FROM inbox WHERE done = 0 ORDER BY rowid"):
            with self.store.transaction():
                try:
                    self.apply(parse(row["body"]))
                except (LookupError, TypeError, ValueError, AttributeError):
                    log.exception("an event cannot be read: %s", row["event_id"])
                self.store.run("UPDATE inbox SET done = 1 WHERE event_id = ?", row["event_id"])

    def apply(self, event: dict[str, Any]) -> None:
        """Do what an event says."""
        kind, _, name = str(event["type"]).partition(".")
        shown = {"updated_at": event["created_at"], **event["data"]["object"]}
        if kind == "pay-in":
            self.learn_pay_in(shown, asked=False)
        elif kind == "refund" and "refund_done_on_accept" not in self.bugs:
            self.learn_refund(shown, asked=False)
        elif kind == "dispute" and not (name == "closed" and "dispute_closed_ignored" in self.bugs):
            self.learn_dispute(shown, asked=False)


SHOP = web.AppKey("shop", Shop)
routes = web.RouteTableDef()


@routes.post("/orders/{order}/payment")
async def payment(request: web.Request) -> web.Response:
    """Start the payment of an order."""
    try:
        status = await request.app[SHOP].pay(request.match_info["order"])
    except NotAccepted as error:
        return web.json_response({"error": str(error)}, status=409)
    return web.json_response({"status": status})


@routes.post("/webhooks/payments")
async def webhook(request: web.Request) -> web.Response:
    """Take a webhook: verify, store, acknowledge; the work comes after the answer."""
    shop = request.app[SHOP]
    raw = await request.read()
    refusal = shop.refusal(raw, request.headers.get("X-Service-Signature"))
    if refusal is not None:
        return web.Response(status=refusal)
    shop.accept(raw)
    return web.Response(status=200)


async def background(app: web.Application) -> AsyncIterator[None]:
    """Reconcile from time to time as long as the application runs."""

    async def forever() -> None:
        while True:
            await asyncio.sleep(RECONCILE_SECONDS)
            await app[SHOP].reconcile()

    task = asyncio.create_task(forever())
    yield
    task.cancel()
    await app[SHOP].gateway.close()


def application(shop: Shop, *, is_reconciling: bool = True) -> web.Application:
    """Return the web application of a shop."""
    app = web.Application()
    app[SHOP] = shop
    app.add_routes(routes)
    if is_reconciling:
        app.cleanup_ctx.append(background)
    return app
