"""What the shop does: it decides by an order's facts, asks the service, and notes what it learns."""

import asyncio
import json
import time
import uuid
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from .client import NoAnswer, Payments, Rejected, TooMany
from .facts import Fact, Log
from .order import DISPUTE, KEY_LIFE, PAYIN, REFUND, Intent, Order, moment

TRIES = 4
PATIENCE = 30.0  # seconds that a customer waits for the end of a rate limit
LOOK_BACK = 90 * 86400.0
RANKS = {"payin": PAYIN, "refund": REFUND, "dispute": DISPUTE}


class No(Exception):
    """The shop declines."""


class Shop:
    """Orders and their payments."""

    def __init__(self, log: Log, payments: Payments, bugs: frozenset[str] = frozenset()) -> None:
        self.log = log
        self.payments = payments
        self.bugs = bugs
        self.sending: set[str] = set()
        self.keys: dict[str, str] = {}
        self.views: dict[str, Order] = {}

    # ------------------------------------------------------------------------------------------------------- facts

    def order(self, order_id: str) -> Order:
        """Derive an order from its facts, and from those of its pay-ins."""
        if order_id in self.views:
            return self.views[order_id]
        order = Order(self.bugs)
        for fact in self._facts(order_id):
            order.apply(fact)
        return order

    def _facts(self, order_id: str) -> list[Fact]:
        own = self.log.read(f"order:{order_id}")
        payins = dict.fromkeys(fact.data["id"] for fact in own if fact.kind == "payin")
        return own + [fact for name in payins for fact in self.log.read(f"payin:{name}")]

    def _append(self, order_id: str, fact: str, once: str | None = None, **data: Any) -> None:
        stream = f"order:{order_id}"
        if self.log.append(stream, fact, time.time(), data, once) and order_id in self.views:
            self.views[order_id].apply(Fact(0, stream, fact, time.time(), data))

    def _note(self, order_id: str, fact: str, **data: Any) -> None:
        with self.log.transaction():
            self._append(order_id, fact, **data)

    def _learn(self, data: Any, once: str | None = None) -> None:
        """Note what the service says of one of its resources, and do what follows from it; in a transaction."""
        if not isinstance(data, dict):
            return
        kind = data.get("object")
        if kind not in RANKS or data.get("status") not in RANKS[kind] or not isinstance(data.get("amount"), Decimal):
            return
        parent = data.get("external_identifier" if kind == "payin" else "payin_id")
        if (
            not isinstance(parent, str)
            or not isinstance(data.get("id"), str)
            or not isinstance(data.get("updated_at"), str)
        ):
            return
        try:
            moment(data["updated_at"])
        except ValueError:
            return
        stream = f"order:{parent}" if kind == "payin" else f"payin:{parent}"
        if kind == "payin" and not self.log.read(stream):
            return
        known = {
            "id": data["id"],
            "status": data["status"],
            "amount": str(data["amount"]),
            "currency": data.get("currency"),
            "updated_at": data["updated_at"],
        }
        if kind != "payin":
            known |= {"payin_id": parent, "ref": data.get("external_identifier")}
        if once is None:
            once = ":".join(("read", data["id"], data["status"], data["updated_at"], known["amount"]))
            if "reads_always_win" in self.bugs:
                known["read"], once = True, None
        if not self.log.append(stream, kind, time.time(), known, once):
            return
        owners = [parent] if kind == "payin" else self._owners(parent)
        for order_id in owners:
            if order_id in self.views:
                self.views[order_id].apply(Fact(0, stream, kind, time.time(), known))
            self._fulfil(order_id)
            if (
                "mail_per_event" in self.bugs
                and str(once).startswith("event:")
                and (kind, known["status"]) == ("payin", "succeeded")
            ):
                self._append(order_id, "mailed")

    def _owners(self, payin_id: str) -> list[str]:
        return [
            s[6:]
            for s in self.log.streams("payin")
            if any(f.kind == "payin" and f.data["id"] == payin_id for f in self.log.read(s))
        ]

    def _fulfil(self, order_id: str) -> None:
        if self.order(order_id).status(time.time()) in {"paid", "partly_refunded"}:
            self._append(order_id, "shipped", once=f"shipped:{order_id}")
            if "mail_per_event" not in self.bugs:
                self._append(order_id, "mailed", once=f"mailed:{order_id}")

    # ---------------------------------------------------------------------------------------------------- customers

    def place(self, order_id: str, amount: str, currency: str) -> None:
        """Note an order."""
        self._note(order_id, "ordered", once=f"order:{order_id}", amount=amount, currency=currency)

    async def pay(self, order_id: str) -> None:
        """Begin a payment, or go on with one."""
        order = self.order(order_id)
        if not order.currency:
            raise No("there is no such order")
        payin = order.open_payin()
        if payin:
            await self._reread(payin)
        last = order.last_deposit()
        if last is not None and last.doubtful:
            await self._clear_up(order_id, last)
        if "noted_after_call" in self.bugs:
            await self._pay_at_once(order_id)
            return
        with self.log.transaction():
            intent = self._next_deposit(order_id)
        if intent is not None:
            await self._send(order_id, intent.key)
            if self.order(order_id).intents[intent.key].state == "declined":
                raise No("the payment service does not want it")

    def _next_deposit(self, order_id: str) -> Intent | None:
        """Return the deposit to send, a new one if need be; in a transaction."""
        order = self.order(order_id)
        if order.status(time.time()) not in {"unpaid", "pending", "failed", "cancelled"}:
            return None
        last = order.last_deposit()
        expired = "local_expiry" in self.bugs and order.status(time.time()) == "cancelled"
        if last is not None and not expired:
            if order.open_payin():
                return None
            if last.state == "open" or last.doubtful:
                return last
            if last.state == "made" and (last.resource_id not in order.payins):
                return None
        key = str(uuid.uuid4())
        self._append(
            order_id,
            "wanted",
            key=key,
            kind="deposit",
            body=self._deposit(order_id, order, key),
            amount=str(order.amount),
        )
        return self.order(order_id).intents[key]

    def _deposit(self, order_id: str, order: Order, key: str) -> str:
        amount = f"{order.amount:.2f}" if "two_decimals" in self.bugs else str(order.amount)
        rest = {
            "currency": order.currency,
            "external_identifier": order_id,
            "payment_method": {"type": "CREDIT_CARD"},
            "customer": {"first_name": "Grace", "last_name": "Moreau", "email": "grace@example.org"},
            "metadata": {"attempt": key},
        }
        return f'{{"amount": {amount}, {json.dumps(rest)[1:]}'

    async def _pay_at_once(self, order_id: str) -> None:
        order = self.order(order_id)
        if order.status(time.time()) not in {"unpaid", "failed", "cancelled"}:
            return
        key = str(uuid.uuid4())
        body = self._deposit(order_id, order, key)
        try:
            data = await self.payments.create("deposit", key, body)
        except (NoAnswer, TooMany, Rejected):
            raise No("please try again") from None
        with self.log.transaction():
            self._append(order_id, "wanted", key=key, kind="deposit", body=body, amount=str(order.amount))
            self._append(order_id, "made", key=key, id=data["id"])
            self._learn(data)

    async def refund(self, order_id: str, ref: str, amount: Decimal) -> None:
        """Refund an amount, once for each reference."""
        before = [i for i in self.order(order_id).intents.values() if i.kind == "refund" and i.ref == ref]
        if before and before[-1].doubtful:
            await self._clear_up(order_id, before[-1])
        with self.log.transaction():
            order = self.order(order_id)
            known = [i for i in order.intents.values() if i.kind == "refund" and i.ref == ref]
            if known and known[-1].amount != amount:
                raise No("the refund was for another amount")
            if known and known[-1].state == "made" and "refund_every_click" not in self.bugs:
                return
            if known and (known[-1].state == "open" or known[-1].doubtful):
                key = known[-1].key
            else:
                payin = order.refundable(amount)
                if payin is None:
                    raise No("there is not so much to give back")
                key = str(uuid.uuid4())
                body = f'{{"amount": {amount}, {json.dumps({"payin_id": payin, "external_identifier": ref})[1:]}'
                self._append(
                    order_id, "wanted", key=key, kind="refund", body=body, amount=str(amount), ref=ref, payin_id=payin
                )
        await self._send(order_id, key)
        intent = self.order(order_id).intents[key]
        if intent.state == "declined" and not intent.doubtful:
            raise No("the payment service does not want it")

    async def returned(self, order_id: str) -> str:
        """Show the page after the payment."""
        payin = self.order(order_id).open_payin()
        if payin:
            await self._reread(payin)
        return self.order(order_id).status(time.time())

    # ------------------------------------------------------------------------------------------------------ sending

    async def _send(self, order_id: str, key: str, tries: int = TRIES) -> None:
        """Send what is wanted until an answer tells what became of it, or until we lose patience."""
        if key in self.sending:
            return
        self.sending.add(key)
        try:
            for number in range(tries):
                if number:
                    await asyncio.sleep(2.0 ** (number - 1))
                if await self._send_once(order_id, key):
                    return
        finally:
            self.sending.discard(key)

    async def _send_once(self, order_id: str, key: str) -> bool:
        """Send a request once; True when there is nothing more to send now."""
        order = self.order(order_id)
        intent = order.intents[key]
        if intent.state in {"made", "abandoned"}:
            return True
        wait = intent.not_before - time.time()
        if wait > PATIENCE:
            return True
        if wait > 0:
            await asyncio.sleep(wait)
        if intent.first_asked is not None and time.time() - intent.first_asked >= KEY_LIFE:
            await self._clear_up(order_id, intent)
            return True
        if "asked_noted_late" not in self.bugs:
            self._note(order_id, "asked", key=key)
        sent_key = self.keys.setdefault(key, str(uuid.uuid4())) if "memory_keys" in self.bugs else key
        try:
            data = await self._create(order_id, intent, sent_key)
        except TooMany as limit:
            if "limit_declines" in self.bugs:
                self._note(order_id, "abandoned", key=key)
                return True
            self._note(order_id, "limited", key=key, until=time.time() + limit.seconds)
            return False
        except Rejected as rejection:
            self._note(order_id, "declined", key=key, status=rejection.status)
            return True
        except NoAnswer as lost:
            renew = {500} if "new_key_on_500" in self.bugs else {409} if "new_key_on_conflict" in self.bugs else set()
            if lost.status in renew:
                self._renew(order_id, intent)
                return True
            if "refund_lost_is_refused" in self.bugs and intent.kind == "refund":
                self._note(order_id, "abandoned", key=key)
                raise No("the refund did not work") from None
            return False
        with self.log.transaction():
            self._append(order_id, "made", key=key, id=data.get("id"))
            self._learn(data)
        if "cache_over_await" in self.bugs:
            order.apply(Fact(0, "", "made", time.time(), {"key": key, "id": data["id"]}))
            if intent.kind == "deposit":
                order.apply(
                    Fact(
                        0,
                        "",
                        "payin",
                        time.time(),
                        {n: str(data[n]) for n in ("id", "status", "amount", "currency", "updated_at")},
                    )
                )
            self.views[order_id] = order
        return True

    async def _create(self, order_id: str, intent: Intent, key: str) -> dict[str, Any]:
        if "asked_noted_late" not in self.bugs:
            return await self.payments.create(intent.kind, key, intent.body)
        try:
            data = await self.payments.create(intent.kind, key, intent.body)
        except Exception:
            self._note(order_id, "asked", key=intent.key)
            raise
        self._note(order_id, "asked", key=intent.key)
        return data

    def _renew(self, order_id: str, intent: Intent) -> None:
        key = str(uuid.uuid4())
        with self.log.transaction():
            self._append(order_id, "abandoned", key=intent.key)
            kept = {
                "kind": intent.kind,
                "body": intent.body,
                "amount": str(intent.amount),
                "ref": intent.ref,
                "payin_id": intent.payin_id,
            }
            self._append(order_id, "wanted", key=key, **kept)

    async def _clear_up(self, order_id: str, intent: Intent) -> None:
        """Ask the service what became of a request without an answer, when the key does not tell any more."""
        try:
            if intent.kind == "deposit":
                found = await self.payments.listed("pay-in", external_identifier=order_id)
                mine = [d for d in found if (d.get("metadata") or {}).get("attempt") == intent.key]
            else:
                found = await self.payments.listed("refund", payin_id=intent.payin_id)
                mine = [d for d in found if d.get("external_identifier") == intent.ref]
        except (NoAnswer, TooMany, Rejected):
            return
        with self.log.transaction():
            for data in found:
                self._learn(data)
            if mine:
                self._append(order_id, "made", key=intent.key, id=mine[0]["id"])
            elif intent.declined_with not in {401, 403} or time.time() - (intent.first_asked or 0.0) >= KEY_LIFE:
                self._append(order_id, "abandoned", key=intent.key)

    # ------------------------------------------------------------------------------------------------- what we hear

    def hear(self, event: Any) -> None:
        """Note an event, unless it is of the live environment: these are the books of the sandbox."""
        if (
            not isinstance(event, dict)
            or not isinstance(event.get("id"), str)
            or not isinstance(event.get("data"), dict)
            or event.get("livemode") is not False
        ):
            return
        once = event["id"]
        if "dedupe_by_request_id" in self.bugs and event.get("request_id"):
            once = event["request_id"]
        with self.log.transaction():
            self._learn(event["data"].get("object"), f"event:{once}")

    async def _reread(self, payin_id: str) -> None:
        try:
            data = await self.payments.payin(payin_id)
        except (NoAnswer, TooMany, Rejected):
            return
        with self.log.transaction():
            self._learn(data)

    async def jobs(self) -> None:
        """Send what waits, and compare our facts with the service's."""
        for stream in self.log.streams("wanted"):
            order_id = stream[6:]
            for intent in list(self.order(order_id).intents.values()):
                if intent.state == "open" and intent.due() <= time.time():
                    await self._send(order_id, intent.key, tries=1)
        for stream in self.log.streams("wanted"):
            placed = self.order(stream[6:]).placed_at
            today = datetime.fromtimestamp(placed, UTC).date() == datetime.fromtimestamp(time.time(), UTC).date()
            if time.time() - placed < LOOK_BACK and (today or "today_only" not in self.bugs):
                await self._reconcile(stream[6:])

    async def _reconcile(self, order_id: str) -> None:
        try:
            found = await self.payments.listed("pay-in", external_identifier=order_id)
            for payin in [data for data in found if data.get("status") == "succeeded"]:
                found += await self.payments.listed("refund", payin_id=payin["id"])
                found += await self.payments.listed("dispute", payin_id=payin["id"])
        except (NoAnswer, TooMany, Rejected):
            return
        with self.log.transaction():
            for data in found:
                self._learn(data)
            for intent in self.order(order_id).intents.values():
                if intent.doubtful and time.time() - (intent.first_asked or 0.0) >= KEY_LIFE:
                    self._append(order_id, "abandoned", key=intent.key)
