"""A shop on Starlette, httpx and SQLAlchemy (async).

Webhooks are processed in the request, in one transaction with the note that the event was seen. The HTTP client, the
database, the clock and the secrets come in through the constructor.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import uuid
from collections.abc import Awaitable, Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

import httpx
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from starletteshop.money import to_minor, to_text

DEPOSIT = "/api/v1/pay-in/deposit-creation"
PAYIN = "/api/v1/pay-in"
REFUND_CREATE = "/api/v1/refund/refund-creation"
REFUND = "/api/v1/refund"
DISPUTE = "/api/v1/dispute"

ATTEMPTS = 5
LONGEST_WAIT = 60.0  # within one request; a longer wait is left to the job
TOLERANCE = 300
HOUR = 3600
KEY_SAFE = 23 * HOUR  # a key younger than this is resent as it is
KEY_DEAD = 25 * HOUR  # a key older than this is surely forgotten by the service

PAYIN_RANK = {
    "sending": -1,
    "created": 0,
    "pending": 1,
    "processing": 2,
    "refused": 3,
    "failed": 3,
    "cancelled": 3,
    "succeeded": 4,
}
REFUND_RANK = {"sending": -1, "created": 0, "processing": 1, "refused": 2, "failed": 2, "succeeded": 2}
DISPUTE_RANK = {"needs_response": 0, "under_review": 1, "won": 2, "lost": 2, "accepted": 2}
LIVE = ("sending", "created", "pending", "processing", "succeeded")

metadata = sa.MetaData()
orders = sa.Table(
    "orders",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("amount", sa.BigInteger, nullable=False),
    sa.Column("currency", sa.String, nullable=False),
    sa.Column("customer", sa.Text, nullable=False),
    sa.Column("status", sa.String, nullable=False),  # awaiting paid failed review part_refunded refunded
    sa.Column("refunded", sa.BigInteger, nullable=False, default=0),
    sa.Column("created_at", sa.Float, nullable=False),
)
payments = sa.Table(
    "payments",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("order_id", sa.ForeignKey("orders.id"), nullable=False),  # the external_identifier
    sa.Column("key", sa.String, nullable=False),
    sa.Column("key_at", sa.Float, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("payin_id", sa.String),
    sa.Column("payment_url", sa.String),
    sa.Column("status", sa.String, nullable=False),
    sa.Column("state_at", sa.BigInteger),
)
refunds = sa.Table(
    "refunds",
    metadata,
    sa.Column("id", sa.String, primary_key=True),  # the external_identifier
    sa.Column("order_id", sa.ForeignKey("orders.id"), nullable=False),
    sa.Column("payin_id", sa.String, nullable=False),
    sa.Column("key", sa.String),
    sa.Column("key_at", sa.Float),
    sa.Column("body", sa.Text),
    sa.Column("refund_id", sa.String),
    sa.Column("amount", sa.BigInteger, nullable=False),
    sa.Column("status", sa.String, nullable=False),
    sa.Column("booked", sa.Boolean, nullable=False, default=False),
    sa.Column("ticket", sa.String, unique=True),  # whoever asked: the same ticket is the same refund
    sa.Column("state_at", sa.BigInteger),
)
disputes = sa.Table(
    "disputes",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("order_id", sa.ForeignKey("orders.id"), nullable=False),
    sa.Column("payin_id", sa.String, nullable=False),
    sa.Column("amount", sa.BigInteger, nullable=False),
    sa.Column("status", sa.String, nullable=False),
    sa.Column("state_at", sa.BigInteger, nullable=False),
)
ledger = sa.Table(
    "ledger",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("order_id", sa.String, nullable=False),
    sa.Column("kind", sa.String, nullable=False),  # payment refund dispute dispute_won
    sa.Column("ref", sa.String, nullable=False),
    sa.Column("amount", sa.BigInteger, nullable=False),
)
shipments = sa.Table(
    "shipments",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("order_id", sa.String, nullable=False),
)
events = sa.Table(
    "events",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("type", sa.String, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("state", sa.String, nullable=False),  # done unmatched ignored
    sa.Column("received_at", sa.Float, nullable=False),
)


class ShopError(Exception):
    """A request of a customer or of the staff that the shop refuses."""


class NotRead(Exception):
    """A read of the service gave no usable answer; try again later."""


def parse_json(text: str | bytes) -> Any:
    """Parse JSON with exact numbers."""
    return json.loads(text, parse_float=Decimal)


def instant(text: str) -> int:
    """ISO 8601 as microseconds."""
    moment = datetime.fromisoformat(text)
    return round(moment.timestamp() * 1_000_000)


def reset_wait(value: str | None, now: float) -> float:
    """X-RateLimit-Reset is numeric, its unit is not shown: seconds to wait, epoch seconds or milliseconds."""
    try:
        number = float(value or "")
    except ValueError:
        return 0.0
    if number >= 1e11:
        number = number / 1000 - now
    elif number >= 1e9:
        number -= now
    return max(0.0, number)


def use_immediate_transactions(engine: AsyncEngine) -> None:
    """SQLite as SQLAlchemy's manual says: a transaction takes the write lock when it begins."""

    @sa.event.listens_for(engine.sync_engine, "connect")
    def _connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None

    @sa.event.listens_for(engine.sync_engine, "begin")
    def _begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


class Shop:
    """The shop; all that it needs comes from outside."""

    def __init__(
        self,
        *,
        engine: AsyncEngine,
        http: httpx.AsyncClient,
        business_key: str,
        business_secret: str,
        webhook_secret: str,
        now: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        livemode: bool = False,
        bugs: frozenset[str] = frozenset(),
    ) -> None:
        self.engine = engine
        self.http = http
        self.now = now
        self.sleep = sleep
        self.livemode = livemode
        self.bugs = bugs
        self._webhook_secret = webhook_secret.encode()
        token = base64.b64encode(f"{business_key}:{business_secret}".encode()).decode()
        self._auth = {"Authorization": f"Basic {token}"}
        self.app = Starlette(
            routes=[
                Route("/orders", self._post_order, methods=["POST"]),
                Route("/orders/{order_id}", self._get_order, methods=["GET"]),
                Route("/orders/{order_id}/pay", self._post_pay, methods=["POST"]),
                Route("/orders/{order_id}/refunds", self._post_refund, methods=["POST"]),
                Route("/webhooks/payments", self._post_webhook, methods=["POST"]),
            ]
        )

    async def create_tables(self) -> None:
        async with self.engine.begin() as db:
            await db.run_sync(metadata.create_all)

    # --- the customer -------------------------------------------------------------------------

    async def place_order(self, order_id: str, amount: str, currency: str, customer: dict[str, str]) -> dict[str, Any]:
        """The cart's id is the order's: a second click finds the first one's order."""
        await self.note_order(order_id, amount, currency, customer)
        return await self.pay(order_id)

    async def note_order(self, order_id: str, amount: str, currency: str, customer: dict[str, str]) -> None:
        """Note an order that is paid later."""
        async with self.engine.begin() as db:
            if await self._order(db, order_id) is None:
                await db.execute(
                    orders.insert().values(
                        id=order_id,
                        amount=to_minor(amount, currency),
                        currency=currency,
                        customer=json.dumps(customer),
                        status="awaiting",
                        refunded=0,
                        created_at=self.now(),
                    )
                )

    async def pay(self, order_id: str) -> dict[str, Any]:
        """Starts a payment, or shows the one that is under way. A new one only after a definite end."""
        async with self.engine.begin() as db:
            order = await self._order(db, order_id)
            if order is None:
                raise ShopError("no such order")
            rows = (await db.execute(sa.select(payments).where(payments.c.order_id == order_id))).all()
            live = [row for row in rows if row.status in LIVE]
            if not live and order.status in ("awaiting", "failed"):
                ref = order_id if not rows else f"{order_id}-{len(rows) + 1}"
                stored_key = "" if "key_stored_after_reply" in self.bugs else str(uuid.uuid4())
                await db.execute(
                    payments.insert().values(
                        id=ref,
                        order_id=order_id,
                        key=stored_key,
                        key_at=self.now(),
                        body=self._deposit_body(order),
                        status="sending",
                    )
                )
                await db.execute(orders.update().where(orders.c.id == order_id).values(status="awaiting"))
                to_send: str | None = ref
            else:
                to_send = None
        if to_send is not None:
            await self._send_deposit(to_send)
        return await self.show(order_id)

    async def show(self, order_id: str) -> dict[str, Any]:
        async with self.engine.begin() as db:
            order = await self._order(db, order_id)
            if order is None:
                raise ShopError("no such order")
            rows = (await db.execute(sa.select(payments).where(payments.c.order_id == order_id))).all()
            shipped = await db.scalar(
                sa.select(sa.func.count()).select_from(shipments).where(shipments.c.order_id == order_id)
            )
        return {
            "id": order.id,
            "status": order.status,
            "amount": to_text(order.amount, order.currency),
            "currency": order.currency,
            "refunded": to_text(order.refunded, order.currency),
            "shipments": shipped,
            "payments": [
                {"id": row.id, "payin_id": row.payin_id, "status": row.status, "url": row.payment_url} for row in rows
            ],
        }

    def _wire_amount(self, minor: int, currency: str) -> str:
        if "minor_units_always_hundred" in self.bugs:
            return f"{Decimal(minor) / 100:f}"
        return to_text(minor, currency)

    def _deposit_body(self, order: Any) -> str:
        rest = json.dumps(
            {
                "currency": order.currency,
                "external_identifier": order.id,
                "payment_method": {"type": "CREDIT_CARD"},
                "customer": json.loads(order.customer),
            }
        )
        return '{"amount": ' + self._wire_amount(order.amount, order.currency) + ", " + rest[1:]

    async def _send_deposit(self, payment_id: str) -> None:
        async with self.engine.begin() as db:
            row = (await db.execute(sa.select(payments).where(payments.c.id == payment_id))).one()
        key = row.key or str(uuid.uuid4())
        try:
            outcome, data = await self._post(DEPOSIT, key, row.body, fresh="new_key_on_retry" in self.bugs)
        except httpx.TimeoutException:  # only with the mistake rollback_on_timeout
            async with self.engine.begin() as db:
                await db.execute(payments.delete().where(payments.c.id == payment_id))
                await db.execute(orders.update().where(orders.c.id == row.order_id).values(status="failed"))
            return
        async with self.engine.begin() as db:
            if outcome == "ok":
                await db.execute(
                    payments.update()
                    .where(payments.c.id == payment_id)
                    .values(payment_url=data.get("payment_url"), key=key)
                )
                if "reply_overwrites_webhook" in self.bugs:
                    await db.execute(
                        payments.update()
                        .where(payments.c.id == payment_id)
                        .values(payin_id=data["id"], status=data["status"], state_at=instant(data["updated_at"]))
                    )
                else:
                    await self._apply_payin(db, data, instant(data["updated_at"]))
            elif outcome == "refused":
                await db.execute(
                    payments.update()
                    .where(payments.c.id == payment_id, payments.c.status == "sending")
                    .values(status="refused")
                )
                await self._settle_unpaid(db, row.order_id)

    # --- talking to the service ---------------------------------------------------------------

    async def _post(self, path: str, key: str, body: str, *, fresh: bool = False) -> tuple[str, dict[str, Any]]:
        """("ok", data), ("refused", {}) when the service surely did nothing, ("unknown", {}) else."""
        delay = 0.0
        for attempt in range(ATTEMPTS):
            if delay:
                await self.sleep(delay)
            if fresh and attempt:
                key = str(uuid.uuid4())
            delay = float(2**attempt)
            try:
                reply = await self.http.post(
                    path,
                    content=body.encode(),
                    headers={**self._auth, "Content-Type": "application/json", "Idempotency-Key": key},
                )
            except httpx.TimeoutException:
                if "rollback_on_timeout" in self.bugs and path == DEPOSIT:
                    raise
                continue
            except httpx.TransportError:
                continue
            status = reply.status_code
            if 200 <= status < 300:
                data = self._data(reply)
                if isinstance(data, dict) and isinstance(data.get("id"), str):
                    return "ok", data
                continue
            if status == 429:
                if "rate_limit_is_refusal" in self.bugs:
                    return "refused", {}
                reset = reply.headers.get("X-RateLimit-Reset")
                if "rate_limit_reset_is_delta" in self.bugs:
                    delay = float(reset or delay)
                    continue
                delay = max(delay, reset_wait(reset, self.now()))
                if delay > LONGEST_WAIT:
                    return "unknown", {}
                continue
            if status in (400, 404, 422):
                return "refused", {}
            if status in (401, 403, 409):
                return "unknown", {}  # it says nothing about an earlier attempt with this key
        if "exhausted_is_refusal" in self.bugs:
            return "refused", {}
        return "unknown", {}

    @staticmethod
    def _data(reply: httpx.Response) -> Any:
        try:
            parsed = parse_json(reply.content)
        except ValueError:
            return None
        if isinstance(parsed, dict) and parsed.get("success") is True:
            return parsed.get("data")
        return None

    async def _get(self, path: str, **params: str) -> dict[str, Any]:
        """The whole parsed reply of a read."""
        delay = 0.0
        for attempt in range(3):
            if delay:
                await self.sleep(delay)
            delay = float(2**attempt)
            try:
                reply = await self.http.get(path, params=params, headers=self._auth)
            except httpx.TransportError:
                continue
            if reply.status_code == 200:
                try:
                    parsed = parse_json(reply.content)
                except ValueError:
                    continue
                if isinstance(parsed, dict) and parsed.get("success") is True:
                    return parsed
                continue
            if reply.status_code == 429:
                delay = max(delay, reset_wait(reply.headers.get("X-RateLimit-Reset"), self.now()))
                if delay > LONGEST_WAIT:
                    break
                continue
            if reply.status_code < 500:
                break
        raise NotRead(path)

    async def _list(self, path: str, **params: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while True:
            reply = await self._get(path, limit="100", **params)
            items, cursor = self._page(reply)
            found += items
            if not cursor:
                return found
            params["cursor"] = cursor

    @staticmethod
    def _page(reply: dict[str, Any]) -> tuple[list[dict[str, Any]], str | None]:
        data = reply["data"]
        if isinstance(data, list):
            return data, reply.get("next_cursor")
        return data["items"], data.get("next_cursor")

    # --- the state of things ------------------------------------------------------------------

    async def _order(self, db: AsyncConnection, order_id: str) -> Any:
        return (await db.execute(sa.select(orders).where(orders.c.id == order_id))).one_or_none()

    def _newer(self, ranks: dict[str, int], row: Any, status: str, at: int) -> bool:
        """Does a state as of `at` come after the stored one? Ties go to the later step of the lifecycle."""
        if status not in ranks:
            return False
        if "out_of_order_overwrites" in self.bugs:
            return bool(status != row.status)
        if row.state_at is None:
            return True
        if "equal_timestamps_dropped" in self.bugs:
            return bool(at > row.state_at)
        if at == row.state_at:
            return bool(ranks[status] > ranks[row.status])
        return bool(at > row.state_at and status != row.status)

    async def _apply_payin(self, db: AsyncConnection, payin: dict[str, Any], at: int, row: Any = None) -> bool:
        """A state of a pay-in, from a reply, a read or an event. False if it is none of ours."""
        if row is None:
            row = (await db.execute(sa.select(payments).where(payments.c.payin_id == payin["id"]))).one_or_none()
        if row is None:
            rows = (
                await db.execute(
                    sa.select(payments).where(
                        payments.c.order_id == payin.get("external_identifier"), payments.c.payin_id.is_(None)
                    )
                )
            ).all()
            if not rows:
                return False
            row = next((each for each in rows if each.status == "sending"), rows[-1])
            await db.execute(payments.update().where(payments.c.id == row.id).values(payin_id=payin["id"]))
        if payin.get("payment_url"):
            await db.execute(payments.update().where(payments.c.id == row.id).values(payment_url=payin["payment_url"]))
        status = payin["status"]
        if row.status == "succeeded" and "out_of_order_overwrites" not in self.bugs:
            return True
        if not self._newer(PAYIN_RANK, row, status, at):
            return True
        await db.execute(payments.update().where(payments.c.id == row.id).values(status=status, state_at=at))
        if status == "succeeded":
            await self._paid(db, row.order_id, payin)
        elif status in ("failed", "cancelled"):
            await self._settle_unpaid(db, row.order_id)
        return True

    async def _paid(self, db: AsyncConnection, order_id: str, payin: dict[str, Any]) -> None:
        order = await self._order(db, order_id)
        wire = payin["amount"]
        await db.execute(
            ledger.insert().values(
                order_id=order_id, kind="payment", ref=payin["id"], amount=to_minor(wire, payin["currency"])
            )
        )
        if await db.scalar(
            sa.select(sa.func.count())
            .select_from(payments)
            .where(
                payments.c.order_id == order_id, payments.c.status == "succeeded", payments.c.payin_id != payin["id"]
            )
        ):
            return  # another attempt has paid already; the accounts show the surplus
        if payin["currency"] != order.currency or Decimal(str(wire)) != Decimal(
            self._wire_amount(order.amount, order.currency)
        ):
            await db.execute(orders.update().where(orders.c.id == order_id).values(status="review"))
            return
        status = "paid" if not order.refunded else "part_refunded"  # a refund's event may have come first
        if order.refunded >= order.amount:
            status = "refunded"
        await db.execute(orders.update().where(orders.c.id == order_id).values(status=status))
        at_risk = await db.scalar(
            sa.select(sa.func.count())
            .select_from(disputes)
            .where(disputes.c.order_id == order_id, disputes.c.status != "won")
        )
        if not at_risk and status != "refunded":
            await self._ship(db, order_id)

    async def _ship(self, db: AsyncConnection, order_id: str) -> None:
        """The warehouse packs what stands in this table."""
        await db.execute(shipments.insert().values(order_id=order_id))

    async def _settle_unpaid(self, db: AsyncConnection, order_id: str) -> None:
        """An attempt ended without money: the order failed unless another attempt lives."""
        live = await db.scalar(
            sa.select(sa.func.count())
            .select_from(payments)
            .where(payments.c.order_id == order_id, payments.c.status.in_(LIVE))
        )
        if not live:
            await db.execute(
                orders.update().where(orders.c.id == order_id, orders.c.status == "awaiting").values(status="failed")
            )

    async def _apply_refund(self, db: AsyncConnection, refund: dict[str, Any], at: int) -> bool:
        rows = (await db.execute(sa.select(refunds).where(refunds.c.refund_id == refund["id"]))).all()
        if not rows and "refund_event_makes_second_row" not in self.bugs:
            rows = (
                await db.execute(
                    sa.select(refunds).where(
                        refunds.c.id == refund.get("external_identifier"), refunds.c.refund_id.is_(None)
                    )
                )
            ).all()
            await db.execute(
                refunds.update().where(refunds.c.id.in_([row.id for row in rows])).values(refund_id=refund["id"])
            )
        if not rows:  # made in the dashboard
            payment = (
                await db.execute(sa.select(payments).where(payments.c.payin_id == refund["payin_id"]))
            ).one_or_none()
            if payment is None:
                return False
            await db.execute(
                refunds.insert().values(
                    id=refund["id"],
                    order_id=payment.order_id,
                    payin_id=refund["payin_id"],
                    refund_id=refund["id"],
                    amount=to_minor(refund["amount"], refund["currency"]),
                    status="sending",
                    booked=False,
                )
            )
            rows = (await db.execute(sa.select(refunds).where(refunds.c.id == refund["id"]))).all()
        status = refund["status"]
        for row in rows:
            if not self._newer(REFUND_RANK, row, status, at):
                continue
            await db.execute(refunds.update().where(refunds.c.id == row.id).values(status=status, state_at=at))
            if status == "succeeded" and not ("refund_booked_at_request" in self.bugs and row.booked):
                await self._book_refund(db, row)
            elif row.status == "succeeded" and status == "failed":  # the bank sent it back
                await self._book_refund(db, row, -1)
        return True

    async def _book_refund(self, db: AsyncConnection, row: Any, sign: int = 1) -> None:
        order = await self._order(db, row.order_id)
        refunded = order.refunded + sign * row.amount
        whole = refunded >= order.amount or "partial_refund_closes_order" in self.bugs
        status = "paid" if not refunded else "refunded" if whole else "part_refunded"
        await db.execute(
            ledger.insert().values(order_id=order.id, kind="refund", ref=row.id, amount=-sign * row.amount)
        )
        await db.execute(refunds.update().where(refunds.c.id == row.id).values(booked=sign > 0))
        await db.execute(orders.update().where(orders.c.id == order.id).values(refunded=refunded, status=status))

    async def _apply_dispute(self, db: AsyncConnection, dispute: dict[str, Any], at: int) -> bool:
        payment = (
            await db.execute(sa.select(payments).where(payments.c.payin_id == dispute["payin_id"]))
        ).one_or_none()
        if payment is None:
            return False
        status = dispute["status"]
        if status not in DISPUTE_RANK:
            return True
        if "dispute_closed_is_lost" in self.bugs and status == "won":
            status = "lost"
        amount = to_minor(dispute["amount"], dispute["currency"])
        row = (await db.execute(sa.select(disputes).where(disputes.c.id == dispute["id"]))).one_or_none()
        if row is None:
            await db.execute(
                disputes.insert().values(
                    id=dispute["id"],
                    order_id=payment.order_id,
                    payin_id=dispute["payin_id"],
                    amount=amount,
                    status=status,
                    state_at=at,
                )
            )
            book = True
        else:
            if not self._newer(DISPUTE_RANK, row, status, at):
                return True
            await db.execute(disputes.update().where(disputes.c.id == row.id).values(status=status, state_at=at))
            book = row.status == "won" or (  # reopened
                "dispute_booked_per_event" in self.bugs and status in ("needs_response", "under_review")
            )
        if book:
            await db.execute(
                ledger.insert().values(order_id=payment.order_id, kind="dispute", ref=dispute["id"], amount=-amount)
            )
        if status == "won":
            await db.execute(
                ledger.insert().values(order_id=payment.order_id, kind="dispute_won", ref=dispute["id"], amount=amount)
            )
            await self._release(db, payment.order_id)
        return True

    async def _release(self, db: AsyncConnection, order_id: str) -> None:
        """A dispute was won: what was held back may go out now."""
        order = await self._order(db, order_id)
        if order.status not in ("paid", "part_refunded"):
            return
        at_risk = await db.scalar(
            sa.select(sa.func.count())
            .select_from(disputes)
            .where(disputes.c.order_id == order_id, disputes.c.status != "won")
        )
        shipped = await db.scalar(
            sa.select(sa.func.count()).select_from(shipments).where(shipments.c.order_id == order_id)
        )
        if "dispute_won_ships_again" in self.bugs:
            shipped = 0
        if not at_risk and not shipped:
            await self._ship(db, order_id)

    # --- refunds ------------------------------------------------------------------------------

    async def refund(self, order_id: str, amount: str | None = None, ticket: str | None = None) -> str:
        """The staff's refund, of a part or (no amount) of the rest. Returns the refund's id in the shop."""
        async with self.engine.begin() as db:
            known = (await db.execute(sa.select(refunds.c.id).where(refunds.c.ticket == ticket))).scalar()
            if ticket is not None and known is not None:
                return str(known)
            order = await self._order(db, order_id)
            if order is None or order.status not in ("paid", "part_refunded"):
                raise ShopError("nothing to refund")
            payment = (
                await db.execute(
                    sa.select(payments).where(payments.c.order_id == order_id, payments.c.status == "succeeded")
                )
            ).first()
            if payment is None:
                raise ShopError("nothing to refund")
            if await db.scalar(
                sa.select(sa.func.count())
                .select_from(disputes)
                .where(disputes.c.order_id == order_id, disputes.c.status != "won")
            ):
                raise ShopError("the money is disputed")
            rows = (await db.execute(sa.select(refunds).where(refunds.c.order_id == order_id))).all()
            rest = order.amount - sum(row.amount for row in rows if row.status not in ("failed", "refused"))
            minor = rest if amount is None else to_minor(amount, order.currency)
            if minor <= 0 or minor > rest:
                raise ShopError("more than there is")
            ref = sent_ref = f"{order_id}-r{len(rows) + 1}"
            key = str(uuid.uuid4())
            if "refund_key_from_amount" in self.bugs:
                sent_ref = f"{order_id}-r{minor}"
                ref = sent_ref if sent_ref not in {row.id for row in rows} else ref
                digest = hashlib.sha256(f"refund:{sent_ref}".encode()).digest()
                key = str(uuid.UUID(bytes=digest[:16], version=4))
            body = (
                '{"amount": '
                + self._wire_amount(minor, order.currency)
                + ", "
                + json.dumps({"payin_id": payment.payin_id, "external_identifier": sent_ref})[1:]
            )
            await db.execute(
                refunds.insert().values(
                    id=ref,
                    order_id=order_id,
                    payin_id=payment.payin_id,
                    key=key,
                    key_at=self.now(),
                    body=body,
                    amount=minor,
                    status="sending",
                    booked=False,
                    ticket=ticket,
                )
            )
        await self._send_refund(ref)
        return ref

    async def _send_refund(self, ref: str) -> None:
        async with self.engine.begin() as db:
            row = (await db.execute(sa.select(refunds).where(refunds.c.id == ref))).one()
        outcome, data = await self._post(REFUND_CREATE, row.key, row.body, fresh="refund_new_key_on_retry" in self.bugs)
        async with self.engine.begin() as db:
            if outcome == "ok":
                if "refund_booked_at_request" in self.bugs and not row.booked:
                    await self._book_refund(db, row)
                await db.execute(refunds.update().where(refunds.c.id == ref).values(refund_id=data["id"]))
                await self._apply_refund(db, data, instant(data["updated_at"]))
            elif outcome == "refused":
                await db.execute(
                    refunds.update().where(refunds.c.id == ref, refunds.c.status == "sending").values(status="refused")
                )

    # --- webhooks -----------------------------------------------------------------------------

    def verify(self, header: str | None, raw: bytes) -> int:
        """200, or the status to refuse with."""
        if not header:
            return 200 if "missing_signature_accepted" in self.bugs else 400
        stamp, digests = None, []
        for part in header.split(","):
            name, _, value = part.strip().partition("=")
            if name == "t":
                stamp = value
            elif name == "v1":
                digests.append(value)
        if stamp is None or not stamp.isdecimal() or not digests:
            return 400
        if abs(self.now() - int(stamp)) > TOLERANCE:
            return 400
        wanted = hmac.new(self._webhook_secret, stamp.encode() + b"." + raw, hashlib.sha256).hexdigest()
        if not any(hmac.compare_digest(wanted.encode(), given.encode()) for given in digests):
            return 401
        return 200

    async def webhook(self, header: str | None, raw: bytes) -> int:
        verdict = self.verify(header, raw)
        if verdict != 200:
            return verdict
        try:
            event = parse_json(raw)
            event_id, kind, at = event["id"], event["type"], instant(event["created_at"])
            thing = event["data"]["object"]
        except (ValueError, KeyError, TypeError):
            return 200  # signed, but nothing we can use: a refusal would only bring it again
        if "old_events_refused" in self.bugs and self.now() - at / 1_000_000 > TOLERANCE:
            return 400
        async with self.engine.begin() as db:
            if (await db.execute(sa.select(events.c.id).where(events.c.id == event_id))).one_or_none():
                return 200
            if event.get("livemode") is not self.livemode:
                state = "ignored"
            else:
                state = "done" if await self._apply_event(db, kind, thing, at) else "unmatched"
            await db.execute(
                events.insert().values(id=event_id, type=kind, body=raw.decode(), state=state, received_at=self.now())
            )
        return 200

    async def _apply_event(self, db: AsyncConnection, kind: str, thing: dict[str, Any], at: int) -> bool:
        family = kind.partition(".")[0]
        if family == "pay-in":
            return await self._apply_payin(db, thing, at)
        if family == "refund":
            return await self._apply_refund(db, thing, at)
        if family == "dispute":
            return await self._apply_dispute(db, thing, at)
        return True

    async def retry_unmatched(self) -> None:
        """Events that came before we knew the pay-in they speak of."""
        async with self.engine.begin() as db:
            rows = (await db.execute(sa.select(events).where(events.c.state == "unmatched"))).all()
            for row in sorted(rows, key=lambda row: row.received_at):
                event = parse_json(row.body)
                if await self._apply_event(db, row.type, event["data"]["object"], instant(event["created_at"])):
                    await db.execute(events.update().where(events.c.id == row.id).values(state="done"))

    # --- jobs ---------------------------------------------------------------------------------

    async def resume(self) -> None:
        """After a start, and every few minutes: finish what was sent with an unknown outcome."""
        async with self.engine.begin() as db:
            open_payments = (await db.execute(sa.select(payments).where(payments.c.status == "sending"))).all()
            open_refunds = (
                await db.execute(sa.select(refunds).where(refunds.c.status == "sending", refunds.c.key.is_not(None)))
            ).all()
        for row in open_payments:
            age = self.now() - row.key_at
            if age < KEY_SAFE or "resend_after_key_expired" in self.bugs:
                await self._send_deposit(row.id)
                continue
            try:
                found = [
                    item
                    for item in await self._list(PAYIN, external_identifier=row.order_id)
                    if item.get("external_identifier") == row.order_id
                ]
            except NotRead:
                continue
            async with self.engine.begin() as db:
                known = (
                    (await db.execute(sa.select(payments.c.payin_id).where(payments.c.payin_id.is_not(None))))
                    .scalars()
                    .all()
                )
                found = [item for item in found if item["id"] not in known]
                if found:
                    await self._apply_payin(db, found[0], instant(found[0]["updated_at"]))
                elif age > KEY_DEAD:  # it never got there, and the customer is gone
                    await db.execute(
                        payments.update()
                        .where(payments.c.id == row.id, payments.c.status == "sending")
                        .values(status="refused")
                    )
                    await self._settle_unpaid(db, row.order_id)
        if "refund_not_resumed" in self.bugs:
            open_refunds = []
        for row in open_refunds:
            age = self.now() - row.key_at
            if age < KEY_SAFE or "resend_after_key_expired" in self.bugs:
                await self._send_refund(row.id)
                continue
            try:
                found = [
                    item
                    for item in await self._list(REFUND, payin_id=row.payin_id)
                    if item.get("external_identifier") == row.id
                ]
            except NotRead:
                continue
            if found:
                async with self.engine.begin() as db:
                    await self._apply_refund(db, found[0], instant(found[0]["updated_at"]))
            elif age > KEY_DEAD:  # it never got there, and the money is owed
                async with self.engine.begin() as db:
                    await db.execute(
                        refunds.update().where(refunds.c.id == row.id).values(key=str(uuid.uuid4()), key_at=self.now())
                    )
                await self._send_refund(row.id)
        await self.retry_unmatched()

    async def reconcile(self) -> None:
        """Hourly: read what is not final, and what may have happened to money that we hold."""
        unfinished = ["created", "pending", "processing", "failed", "cancelled"]  # money may come late
        if "reconcile_skips_processing" in self.bugs:
            unfinished.remove("processing")
        async with self.engine.begin() as db:
            open_payments = (
                await db.execute(
                    sa.select(payments).where(payments.c.status.in_(unfinished), payments.c.payin_id.is_not(None))
                )
            ).all()
        for row in open_payments:
            try:
                reply = await self._get(f"{PAYIN}/{row.payin_id}")
            except NotRead:
                continue
            payin = reply["data"]
            async with self.engine.begin() as db:
                stale = row if "reconcile_uses_stale_row" in self.bugs else None
                await self._apply_payin(db, payin, instant(payin["updated_at"]), stale)
        async with self.engine.begin() as db:
            held = (await db.execute(sa.select(payments).where(payments.c.status == "succeeded"))).all()
        for row in held:
            try:
                found_refunds = await self._list(REFUND, payin_id=row.payin_id)
                found_disputes = await self._list(DISPUTE, payin_id=row.payin_id)
            except NotRead:
                continue
            async with self.engine.begin() as db:
                for item in found_refunds:
                    await self._apply_refund(db, item, instant(item["updated_at"]))
                for item in found_disputes:
                    await self._apply_dispute(db, item, instant(item["updated_at"]))
        await self.retry_unmatched()

    # --- the web side -------------------------------------------------------------------------

    async def _post_order(self, request: Request) -> Response:
        order = await request.json()
        try:
            return JSONResponse(
                await self.place_order(order["id"], order["amount"], order["currency"], order["customer"]), 201
            )
        except ShopError as error:
            return JSONResponse({"error": str(error)}, 422)

    async def _post_pay(self, request: Request) -> Response:
        try:
            return JSONResponse(await self.pay(request.path_params["order_id"]))
        except ShopError as error:
            return JSONResponse({"error": str(error)}, 422)

    async def _post_refund(self, request: Request) -> Response:
        body = await request.json()
        try:
            return JSONResponse(
                {"id": await self.refund(request.path_params["order_id"], body.get("amount"), body.get("ticket"))}, 201
            )
        except ShopError as error:
            return JSONResponse({"error": str(error)}, 422)

    async def _get_order(self, request: Request) -> Response:
        try:
            return JSONResponse(await self.show(request.path_params["order_id"]))
        except ShopError as error:
            return JSONResponse({"error": str(error)}, 404)

    async def _post_webhook(self, request: Request) -> Response:
        return Response(
            status_code=await self.webhook(request.headers.get("X-Service-Signature"), await request.body())
        )
