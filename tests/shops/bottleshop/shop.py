"""The service layer of the shop: orders, the outbox and its worker, webhooks, reconciliation."""

import json
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from urllib.parse import quote

from .gateway import LONGEST_WAIT, Gateway, Limited, Lost, Refused
from .models import Dispute, Order, PayIn, Points, Refund, Request, SeenEvent, Shipment

DEPOSIT = "/pay-in/deposit-creation"
REFUND = "/refund/refund-creation"
SENDS = 4  # in one go; then the worker tries again later
LEASE = 120.0
KEY_LIFE = 23 * 3600.0
LOOK_BACK = 60 * 86400.0
PAYIN_RANK = {"created": 0, "pending": 1, "processing": 2, "failed": 3, "cancelled": 3, "succeeded": 4}
REFUND_RANK = {"created": 0, "processing": 1, "succeeded": 2, "failed": 3}
DISPUTE_RANK = {"needs_response": 0, "under_review": 1, "won": 2, "lost": 2, "accepted": 2}
OPEN = {"created", "pending", "processing"}
NAMESPACE = uuid.UUID("5b0d4a1e-7f0c-4c55-9c3b-6f7a3d3b0a11")


class Declined(Exception):
    """The shop does not do what the customer asked for."""


def stable_key(*parts: object) -> str:
    """Return a key that is the same for the same parts."""
    digest = uuid.uuid5(NAMESPACE, "/".join(map(str, parts))).bytes
    return str(uuid.UUID(bytes=digest, version=4))


class Shop:
    """Everything that the shop does."""

    def __init__(
        self,
        gateway: Gateway,
        transaction: Callable[[], AbstractContextManager[object]],
        bugs: frozenset[str] = frozenset(),
    ) -> None:
        self.gateway = gateway
        self.transaction = transaction
        self.bugs = bugs

    # ---------------------------------------------------------------------------------------------------- customers

    def place(self, order_id: str, amount: str, currency: str) -> None:
        """Note an order."""
        with self.transaction():
            Order.create(id=order_id, amount=amount, currency=currency, placed_at=time.time())

    def checkout(self, order_id: str) -> None:
        """Begin a payment, or go on with the one that is under way."""
        open_id = self._open_payin(order_id)
        if open_id is not None:
            self._refresh(open_id)
        stalled = Request.get_or_none(kind="deposit", order_id=order_id, state="stalled")
        if stalled is not None and stalled.refused_with not in {401, 403}:
            self._settle_by_reading(stalled)
        if "check_then_insert" in self.bugs:
            with self.transaction():
                wanted = self._next_deposit(order_id, insert=False)
            if wanted is None:
                with self.transaction():
                    wanted = self._new_deposit(Order.get_by_id(order_id))
        else:
            with self.transaction():
                wanted = self._next_deposit(order_id)
        if wanted:
            self._dispatch(wanted)
            sent = Request.get_by_id(wanted)
            if sent.state in {"refused", "stalled"}:
                raise Declined(f"the payment service refused it with {sent.refused_with}")

    def _open_payin(self, order_id: str) -> str | None:
        for payin in PayIn.select().where(PayIn.order_id == order_id):
            if payin.status in OPEN:
                return str(payin.id)
        return None

    def _next_deposit(self, order_id: str, *, insert: bool = True) -> int | None:
        """Return the request to send, 0 when there is nothing to send; in a transaction."""
        order = Order.get_or_none(Order.id == order_id)
        if order is None:
            raise Declined("no such order")
        if self.status(order_id) not in {"unpaid", "pending", "failed", "cancelled"} or self._open_payin(order_id):
            return 0
        last = self._last_deposit(order_id)
        if last is not None and last.state in {"queued", "stalled"}:
            last.state = "queued"
            last.save()
            return int(last.id)
        return self._new_deposit(order) if insert else None

    def _last_deposit(self, order_id: str) -> Any:
        rows = Request.select().where((Request.kind == "deposit") & (Request.order_id == order_id))
        return rows.order_by(Request.id.desc()).first()

    def _new_deposit(self, order: Any) -> int:
        key = stable_key("deposit", order.id) if "key_from_order" in self.bugs else str(uuid.uuid4())
        row = Request.create(
            kind="deposit",
            order_id=order.id,
            amount=order.amount,
            key=key,
            body=self._deposit_body(order),
            due=time.time(),
        )
        return int(row.id)

    def _deposit_body(self, order: Any) -> str:
        fields: dict[str, Any] = {
            "external_identifier": order.id,
            "currency": order.currency,
            "payment_method": {"type": "CREDIT_CARD"},
            "customer": {"first_name": "Ada", "last_name": "Novak", "email": "ada@example.com"},
        }
        if "body_rebuilt" in self.bugs:
            fields["metadata"] = {"sent_at": str(time.time())}
        return with_amount(order.amount, fields)

    def returned(self, order_id: str) -> None:
        """Show the page to which the customer comes back from the payment."""
        if "return_page_pays" in self.bugs:
            with self.transaction():
                PayIn.update(status="succeeded").where((PayIn.order_id == order_id) & PayIn.status.in_(OPEN)).execute()
                self._fulfil(order_id)
            return
        open_id = self._open_payin(order_id)
        if open_id is not None:
            self._refresh(open_id)

    def refund(self, order_id: str, ref: str, amount: Decimal) -> None:
        """Refund an amount; the same reference is the same refund."""
        stalled = Request.get_or_none(kind="refund", order_id=order_id, ref=ref, state="stalled")
        if stalled is not None and stalled.refused_with not in {401, 403}:
            self._settle_by_reading(stalled)
        with self.transaction():
            row = Request.get_or_none(kind="refund", order_id=order_id, ref=ref)
            if row is not None and Decimal(row.amount) != amount:
                raise Declined("this refund was for another amount")
            if row is not None and row.state == "done":
                return
            if row is None or row.state == "refused":
                payin = self._refundable(order_id, amount)
                if payin is None:
                    raise Declined("there is not as much to refund")
                row = row or Request(kind="refund", order_id=order_id, ref=ref, due=time.time())
                row.payin_id, row.amount, row.due, row.tries = payin.id, str(amount), time.time(), 0
                by_amount = "refund_key_by_amount" in self.bugs
                row.key = stable_key("refund", payin.id, amount) if by_amount else str(uuid.uuid4())
                sent = amount
                if "refund_two_digits" in self.bugs:
                    sent = amount.quantize(Decimal("0.01"), ROUND_HALF_UP)
                named = {"payin_id": payin.id} if by_amount else {"payin_id": payin.id, "external_identifier": ref}
                row.body = with_amount(str(sent), named)
                row.first_sent, row.unsure = None, False
            row.state = "queued"
            row.save()
        self._dispatch(row.id)
        sent_row = Request.get_by_id(row.id)
        if sent_row.state == "refused":
            raise Declined(f"the payment service refused the refund with {sent_row.refused_with}")

    def _refundable(self, order_id: str, amount: Decimal) -> Any:
        for payin in PayIn.select().where((PayIn.order_id == order_id) & (PayIn.status == "succeeded")):
            rest = Decimal(payin.amount)
            for refund in Refund.select().where((Refund.payin_id == payin.id) & (Refund.status != "failed")):
                rest -= Decimal(refund.amount)
            for dispute in Dispute.select().where((Dispute.payin_id == payin.id) & (Dispute.status != "won")):
                rest -= Decimal(dispute.amount)
            waiting = (
                (Request.payin_id == payin.id) & (Request.kind == "refund") & Request.state.in_(["queued", "stalled"])
            )
            for request in Request.select().where(waiting):
                rest -= Decimal(request.amount)
            if rest >= amount:
                return payin
        return None

    # ------------------------------------------------------------------------------------------------- outbox, worker

    def work(self) -> None:
        """Send what is due, then ask the service about all orders of the last weeks."""
        due = Request.select().where((Request.state == "queued") & (Request.due <= time.time()))
        for row in list(due.order_by(Request.id)):
            self._dispatch(row.id)
        self.reconcile()

    def _note(self, row: Any, **values: Any) -> bool:
        """Note something of a request that we are sending; False when a webhook or a read has settled it meanwhile."""
        states = ["queued", "done"] if "done_before_sent" in self.bugs else ["queued"]
        mine = (Request.id == row.id) & Request.state.in_(states) & Request.resource_id.is_null()
        with self.transaction():
            changed = Request.update(**values).where(mine).execute()
        for name, value in values.items():
            setattr(row, name, value)
        return bool(changed)

    def _claim(self, request_id: int) -> Any:
        """Take a request for ourselves, so that no other worker and no click sends it; None when another has it."""
        now = time.time()
        with self.transaction():
            row = Request.get_by_id(request_id)
            if row.state != "queued" or row.lease_until > now or row.hold_until > now + LONGEST_WAIT:
                return None
            row.lease_until = 1e12 if "lease_never_ends" in self.bugs else now + LEASE
            row.tries += 1
            if "done_before_sent" in self.bugs:
                row.state = "done"
            row.save()
        if row.hold_until > now:
            time.sleep(row.hold_until - now)
        return row

    def _dispatch(self, request_id: int) -> None:
        """Send a request of the outbox, several times if need be."""
        row = self._claim(request_id)
        if row is None:
            return
        if row.first_sent is not None and time.time() - row.first_sent >= KEY_LIFE:
            # The service has forgotten the key: ask whether it worked on the request before it gets another.
            try:
                if self._adopt_by_reading(row):
                    return
            except (Lost, Limited, Refused):
                self._release(row, 600.0)
                return
            self._note(row, key=str(uuid.uuid4()), first_sent=None, unsure=False)
        pause = 1.0
        for sends in range(SENDS):
            now, unsure, before = time.time(), row.unsure, row.first_sent
            first = before
            if first is None or "key_age_from_last" in self.bugs:
                first = now
            # Unsure until an answer tells: the process may die while it waits.
            if not self._note(row, lease_until=max(row.lease_until, now + LEASE), first_sent=first, unsure=True):
                return
            key, body = row.key, row.body
            if "body_rebuilt" in self.bugs and row.kind == "deposit":
                body = self._deposit_body(Order.get_by_id(row.order_id))
            try:
                data = self.gateway.post(DEPOSIT if row.kind == "deposit" else REFUND, key, body)
            except Lost:
                if sends + 1 < SENDS:
                    time.sleep(pause)
                    pause *= 2
            except Limited as limit:
                self._note(row, unsure=unsure, first_sent=before, hold_until=time.time() + limit.wait)
                if limit.wait > LONGEST_WAIT:
                    self._release(row, limit.wait)
                    return
                time.sleep(limit.wait)
            except Refused as refusal:
                state = "stalled" if unsure else "refused"
                self._note(row, state=state, refused_with=refusal.status, lease_until=0.0)
                return
            else:
                with self.transaction():
                    self._finish(row, data)
                return
        self._release(row, min(60.0 * 2 ** min(row.tries, 10), 3600.0))

    def _release(self, row: Any, wait: float) -> None:
        self._note(row, lease_until=0.0, due=time.time() + wait, state="queued")

    def _finish(self, row: Any, data: dict[str, Any]) -> None:
        Request.update(state="done", resource_id=data["id"], lease_until=0.0).where(Request.id == row.id).execute()
        if data["id"] is not None:
            self._take(data)

    def _adopt_by_reading(self, row: Any) -> bool:
        """Look for what an unanswered request has made."""
        if row.kind == "deposit":
            found = self.gateway.all("/pay-in", external_identifier=row.order_id)
        else:
            listed = self.gateway.all("/refund", payin_id=row.payin_id)
            found = [refund for refund in listed if refund.get("external_identifier") == row.ref]
        for data in found:
            if not Request.select().where((Request.resource_id == data["id"]) & (Request.id != row.id)).exists():
                with self.transaction():
                    self._finish(row, data)
                return True
        return False

    def _settle_by_reading(self, row: Any) -> None:
        """Find out what became of a request that was first lost and then refused."""
        try:
            if not self._adopt_by_reading(row):
                with self.transaction():
                    Request.update(state="refused").where(
                        (Request.id == row.id) & (Request.state == "stalled")
                    ).execute()
        except (Lost, Limited, Refused):
            return

    # ------------------------------------------------------------------------------------------------ what we hear

    def hear(self, event: Any) -> None:
        """Work on an event of the service; those of the live environment are not for these books."""
        if not isinstance(event, dict) or not isinstance(event.get("id"), str) or event.get("livemode") is not False:
            return
        data = event.get("data")
        resource = data.get("object") if isinstance(data, dict) else None
        if "event_noted_first" in self.bugs:
            with self.transaction():
                if SeenEvent.get_or_none(SeenEvent.id == event["id"]):
                    return
                SeenEvent.create(id=event["id"])
            with self.transaction():
                self._take(resource, from_event=True)
            return
        with self.transaction():
            if SeenEvent.get_or_none(SeenEvent.id == event["id"]):
                return
            SeenEvent.create(id=event["id"])
            self._take(resource, from_event=True)
        if "ships_after_commit" in self.bugs and isinstance(resource, dict) and resource.get("status") == "succeeded":
            with self.transaction():
                self._fulfil(str(resource.get("external_identifier")))

    def _take(self, data: Any, *, from_event: bool = False) -> None:
        """Note what the service says of a pay-in, a refund or a dispute, unless we know better; in a transaction."""
        if not isinstance(data, dict) or not isinstance(data.get("amount"), Decimal):
            return
        needed = {"id", "updated_at", "status", "external_identifier" if data.get("object") == "payin" else "payin_id"}
        if not all(isinstance(data.get(name), str) for name in needed):
            return
        kind = data.get("object")
        if kind == "payin" and "status" in data:
            # A status that is not known yet is one of a payment under way.
            self._take_payin(data if data["status"] in PAYIN_RANK else {**data, "status": "pending"})
        elif kind == "refund" and data.get("status") in REFUND_RANK:
            self._take_refund(data)
        elif kind == "dispute" and data.get("status") in DISPUTE_RANK:
            self._take_dispute(data)

    def _take_payin(self, data: dict[str, Any]) -> None:
        order_id = data.get("external_identifier")
        if Order.get_or_none(Order.id == order_id) is None:
            return
        known = PayIn.get_or_none(PayIn.id == data["id"])
        values = {
            "order_id": order_id,
            "amount": str(data["amount"]),
            "currency": data["currency"],
            "status": data["status"],
            "updated_at": data["updated_at"],
        }
        if known is None:
            PayIn.create(id=data["id"], **values)
        else:
            new = (PAYIN_RANK[data["status"]], data["updated_at"])
            old = (PAYIN_RANK[known.status], known.updated_at)
            if "expired_is_final" in self.bugs and known.status in {"cancelled", "failed"}:
                return
            if new > old:
                PayIn.update(**values).where(PayIn.id == data["id"]).execute()
        waiting = Request.select().where((Request.kind == "deposit") & (Request.order_id == order_id))
        owned = Request.get_or_none(Request.resource_id == data["id"])
        last = waiting.order_by(Request.id.desc()).first()
        if owned is None and last is not None and last.state in {"queued", "stalled"}:
            Request.update(state="done", resource_id=data["id"]).where(Request.id == last.id).execute()
        if "ships_after_commit" not in self.bugs:
            self._fulfil(str(order_id))

    def _take_refund(self, data: dict[str, Any]) -> None:
        ours = Request.get_or_none(
            Request.kind == "refund",
            Request.payin_id == data["payin_id"],
            Request.ref == data.get("external_identifier"),
        )
        if ours is not None and ours.state in {"queued", "stalled"}:
            Request.update(state="done", resource_id=data["id"]).where(Request.id == ours.id).execute()
        known = Refund.get_or_none(Refund.id == data["id"])
        values = {key: str(data[key]) for key in ("payin_id", "amount", "status", "updated_at")}
        if known is None:
            Refund.create(id=data["id"], **values)
            return
        if "refund_is_final" in self.bugs and known.status == "succeeded":
            return
        if (data["updated_at"], REFUND_RANK[data["status"]]) > (known.updated_at, REFUND_RANK[known.status]):
            Refund.update(**values).where(Refund.id == data["id"]).execute()

    def _take_dispute(self, data: dict[str, Any]) -> None:
        name = data["payin_id"] if "one_dispute_each" in self.bugs else data["id"]
        payin = PayIn.get_or_none(PayIn.id == data["payin_id"])
        before = "" if payin is None else self.status(payin.order_id)
        known = Dispute.get_or_none(Dispute.id == name)
        values = {key: str(data[key]) for key in ("payin_id", "amount", "status", "updated_at")}
        if known is None:
            Dispute.create(id=name, **values)
        elif (data["updated_at"], DISPUTE_RANK[data["status"]]) > (known.updated_at, DISPUTE_RANK[known.status]):
            Dispute.update(**values).where(Dispute.id == name).execute()
        if payin is not None:
            self._fulfil(payin.order_id)
            if "points_when_paid_again" in self.bugs and before == "review" and self.status(payin.order_id) == "paid":
                Points.create(order_id=payin.order_id)

    def _refresh(self, payin_id: str) -> None:
        try:
            data = self.gateway.get(f"/pay-in/{quote(payin_id)}")
        except (Lost, Limited, Refused):
            return
        with self.transaction():
            self._take(data)

    def reconcile(self) -> None:
        """Ask the service about all orders of the last weeks."""
        known = Request.select(Request.order_id).where(Request.kind == "deposit").distinct()
        orders = Order.select().where(Order.id.in_(known) & (Order.placed_at > time.time() - LOOK_BACK))
        for order in list(orders):
            if "pending_only" in self.bugs and self.status(order.id) != "pending":
                continue
            try:
                found = self.gateway.all("/pay-in", external_identifier=order.id)
                for payin in list(found):
                    if payin.get("status") == "succeeded":
                        found += self.gateway.all("/refund", payin_id=payin["id"])
                        found += self.gateway.all("/dispute", payin_id=payin["id"])
            except Lost:
                continue
            except (Limited, Refused):
                return
            for data in found:
                with self.transaction():
                    self._take(data)
            with self.transaction():
                # First lost and then refused, and a day later the service still knows nothing of it.
                old = (Request.order_id == order.id) & (Request.first_sent < time.time() - KEY_LIFE)
                Request.update(state="refused").where(old & (Request.state == "stalled")).execute()

    # ------------------------------------------------------------------------------------------------ what we show

    def _fulfil(self, order_id: str) -> None:
        """Ship what is paid, once; in a transaction."""
        if self.status(order_id) not in {"paid", "partly_refunded"}:
            return
        if not Shipment.select().where(Shipment.order_id == order_id).exists():
            Shipment.create(order_id=order_id)
            Points.create(order_id=order_id)

    def _sums(self, order_id: str) -> tuple[Decimal, Decimal, Decimal, bool, bool]:
        order = Order.get_by_id(order_id)
        payins = list(PayIn.select().where((PayIn.order_id == order_id) & (PayIn.status == "succeeded")))
        ids = [payin.id for payin in payins]
        paid = sum((Decimal(p.amount) for p in payins if p.currency == order.currency), Decimal(0))
        refunds = Refund.select().where(Refund.payin_id.in_(ids) & (Refund.status == "succeeded"))
        amounts = [Decimal(refund.amount) for refund in refunds.order_by(Refund.updated_at)]
        if "refund_not_summed" in self.bugs:
            amounts = amounts[-1:]
        disputes = list(Dispute.select().where(Dispute.payin_id.in_(ids)))
        against = {"lost"} if "accepted_is_not_lost" in self.bugs else {"lost", "accepted"}
        lost = [d for d in disputes if d.status in against]
        running = any(d.status in {"needs_response", "under_review"} for d in disputes)
        taken_back = sum((Decimal(d.amount) for d in lost), Decimal(0))
        return paid, sum(amounts, Decimal(0)), taken_back, running, bool(lost)

    def balance(self, order_id: str) -> Decimal:
        """Return the money that we have of an order."""
        paid, refunded, lost, _, _ = self._sums(order_id)
        return paid - refunded - lost

    def status(self, order_id: str) -> str:
        """Return what the customer sees."""
        order = Order.get_or_none(Order.id == order_id)
        if order is None:
            return "unpaid"
        paid, refunded, _, running, lost = self._sums(order_id)
        if paid:
            asked = (PayIn.order_id == order_id) & (PayIn.currency == order.currency) & (PayIn.status == "succeeded")
            exact = any(Decimal(payin.amount) == Decimal(order.amount) for payin in PayIn.select().where(asked))
            if lost:
                return "charged_back"
            if running:
                return "review"
            if refunded >= paid:
                return "refunded"
            if not exact and "amount_unchecked" not in self.bugs:
                return "review"  # somebody has to look at an amount that was not asked for
            return "partly_refunded" if refunded else "paid"
        statuses = [p.status for p in PayIn.select().where(PayIn.order_id == order_id).order_by(PayIn.updated_at)]
        if "succeeded" in statuses:
            return "review"  # money in another currency
        last = self._last_deposit(order_id)
        if set(statuses) & OPEN or (last is not None and last.state in {"queued", "stalled"}):
            return "pending"
        if statuses:
            return str(statuses[-1])
        if last is None:
            return "unpaid"
        return "failed" if last.state == "refused" else "pending"


def with_amount(amount: str, fields: dict[str, Any]) -> str:
    """Return a body whose amount is written with exactly these digits."""
    return f'{{"amount":{amount},{json.dumps(fields, separators=(",", ":"))[1:]}'
