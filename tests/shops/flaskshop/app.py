"""The shop."""

from __future__ import annotations

import hashlib
import hmac
import json
import uuid
from datetime import datetime
from decimal import Decimal
from typing import Any

from flask import Flask, Response, abort, jsonify, request
from sqlalchemy import select
from sqlalchemy.orm import Session, sessionmaker

from flaskshop.gateway import Gateway, KeepsFailing, OutcomeUnknown, PaymentDeclined
from flaskshop.models import Dispute, LedgerEntry, Order, Payment, Refund, SeenEvent

DEPOSITS = "/api/v1/pay-in/deposit-creation"
REFUNDS = "/api/v1/refund/refund-creation"
TOLERANCE = 300
# Keys live for a day on the other side; one that is older than this is not sent again before a look.
KEY_LIFETIME = 20 * 3600
# A status that nobody has heard of is no end.
# An error that is stored under a key stays; after so long it is looked up instead.
PATIENCE = 900
OVER = {"succeeded", "failed", "cancelled", "refused"}
RANK = {
    **dict.fromkeys(["unsent", "refused", ""], -1),
    **dict.fromkeys(["created", "needs_response"], 0),
    **dict.fromkeys(["pending", "under_review"], 1),
    "processing": 2,
    **dict.fromkeys(["cancelled", "won", "succeeded"], 3),
    **dict.fromkeys(["failed", "lost", "accepted"], 4),
}
LOST = {"lost", "accepted"}


def when(text: str) -> float:
    """Return a time as a number, so that times with and without milliseconds compare."""
    return datetime.fromisoformat(text).timestamp() if text else 0.0


class Shop:
    """What the views call."""

    def __init__(
        self,
        sessions: sessionmaker[Session],
        gateway: Gateway,
        webhook_secret: str,
        bugs: frozenset[str],
        livemode: bool = False,
    ) -> None:
        self.sessions = sessions
        self.gateway = gateway
        self.webhook_secret = webhook_secret
        self.bugs = bugs
        self.livemode = livemode

    # Paying

    def pay(self, order_id: str) -> None:
        """Begin a payment, or go on with the one whose outcome is unknown."""
        with self.sessions.begin() as db:
            order = db.get_one(Order, order_id)
            if self.status(order) not in ("unpaid", "failed", "cancelled", "pending"):
                return
            payment = next((each for each in order.payments if each.status == "unsent"), None)
            if "key_made_per_click" in self.bugs:
                payment = None
            if any(each.status not in OVER | {"unsent"} for each in order.payments):
                return
            if payment is None:
                payment = self.new_payment(order)
            db.flush()
            number = payment.number
        self.send_payment(number)

    def new_payment(self, order: Order) -> Payment:
        amount = order.amount
        if "cents_through_float" in self.bugs and "." in amount:
            places = len(amount.partition(".")[2])
            amount = f"{int(float(amount) * 10**places) / 10**places:.{places}f}"
        customer = {"first_name": "Grace", "last_name": "Hopper", "email": "grace@shop.example"}
        rest = {
            "currency": order.currency,
            "external_identifier": order.id,
            "payment_method": {"type": "CREDIT_CARD"},
            "customer": customer,
        }
        # By hand, because json has no decimals.
        body = f'{{"amount": {amount}, {json.dumps(rest)[1:]}'
        payment = Payment(status="unsent", key=str(uuid.uuid4()), body=body, started_at=self.gateway.now())
        order.payments.append(payment)
        order.is_failed = False
        return payment

    def send_payment(self, number: int) -> None:
        """Have the service create the pay-in of a payment; no transaction is open meanwhile."""
        with self.sessions() as db:
            payment = db.get_one(Payment, number)
            order_id, key, body, started_at = payment.order_id, payment.key, payment.body, payment.started_at
        if self.gateway.now() - started_at > KEY_LIFETIME and "old_key_sent_again" not in self.bugs:
            try:
                found = self.gateway.list_all("/api/v1/pay-in", external_identifier=order_id)
            except OutcomeUnknown:
                return
            with self.sessions.begin() as db:
                for data in reversed(found):
                    self.apply_payin(db, data)
                payment = db.get_one(Payment, number)
                if payment.status != "unsent":
                    return
                if payment.key == key:  # or somebody else has renewed it meanwhile
                    payment.key, payment.started_at = str(uuid.uuid4()), self.gateway.now()
                key = payment.key
        try:
            data = self.gateway.post(DEPOSITS, key, body)
        except PaymentDeclined:
            with self.sessions.begin() as db:
                payment = db.get_one(Payment, number)
                if payment.status == "unsent":
                    payment.status = "refused"
            return
        except KeepsFailing:
            if self.gateway.now() - started_at > PATIENCE:
                self.look_up_payment(number, order_id)
            return
        except OutcomeUnknown:
            return  # The job asks again.
        with self.sessions.begin() as db:
            self.apply_payin(db, data, number=number, source="reply")

    def look_up_payment(self, number: int, order_id: str) -> None:
        """Give up on a payment that the service does not have."""
        try:
            found = self.gateway.list_all("/api/v1/pay-in", external_identifier=order_id)
        except OutcomeUnknown:
            return
        with self.sessions.begin() as db:
            for data in reversed(found):
                self.apply_payin(db, data)
            payment = db.get_one(Payment, number)
            if payment.status == "unsent":
                payment.status = "refused"

    # What the service tells

    def apply_payin(
        self, db: Session, data: dict[str, Any], number: int | None = None, source: str = "webhook"
    ) -> None:
        order = db.get(Order, data["external_identifier"])
        if order is None:
            return
        payment = db.scalar(select(Payment).where(Payment.payin_id == data["id"]))
        if payment is None:
            unsent = [each for each in order.payments if each.status == "unsent" and number in (None, each.number)]
            payment = unsent[0] if unsent else Payment(order=order)
            db.add(payment)
            payment.payin_id = data["id"]
        if source == "webhook" and data["status"] == "failed" and "failed_attempt_fails_order" in self.bugs:
            order.is_failed = True
        if self.is_news(payment, data, source):
            was_paid = payment.status == "succeeded"
            before = Decimal(payment.amount) if was_paid else Decimal(0)
            payment.status, payment.updated_at = data["status"], data["updated_at"]
            payment.amount, payment.currency = str(data["amount"]), data["currency"]
            after = Decimal(payment.amount) if payment.status == "succeeded" else Decimal(0)
            self.book(db, order, str(data["id"]), after - before)
            self.book_disputes(db, order)  # one may have been lost before the success was told
        elif not (source == "webhook" and data["status"] == "succeeded" and "every_paid_event_ships" in self.bugs):
            return
        if self.status(order) == "paid" and (not order.shipped_times or "every_paid_event_ships" in self.bugs):
            order.shipped_times += 1

    def is_news(self, row: Payment | Refund | Dispute, data: dict[str, Any], source: str) -> bool:
        """Return whether what is told is newer than what is known."""
        if row.status == data["status"] and when(row.updated_at) >= when(data["updated_at"]):
            return False
        if source == "reply" and "reply_overwrites_webhook" in self.bugs:
            return True
        if source == "poll" and "poll_regresses" in self.bugs:
            return True
        if source == "webhook" and "last_arrival_wins" in self.bugs:
            return True
        if isinstance(row, Payment) and row.status == "succeeded" and data["status"] != "succeeded":
            return False
        known, told = (
            (when(row.updated_at), RANK.get(row.status, 0)),
            (when(data["updated_at"]), RANK.get(data["status"], 0)),
        )
        return told > known

    def apply_refund(self, db: Session, data: dict[str, Any], source: str = "webhook") -> None:
        refund = db.scalar(select(Refund).where(Refund.service_id == data["id"]))
        if refund is None and data.get("external_identifier"):
            refund = db.get(Refund, data["external_identifier"])
            if refund is not None and refund.service_id not in (None, data["id"]):
                refund = None
        if refund is None:
            payment = db.scalar(select(Payment).where(Payment.payin_id == data["payin_id"]))
            if payment is None:
                return
            refund = Refund(id=data["id"], order=payment.order, payin_id=data["payin_id"], amount=str(data["amount"]))
            db.add(refund)
        refund.service_id = data["id"]
        if refund.status in ("created", "processing", "succeeded") and "late_refund_failure_ignored" in self.bugs:
            return
        if self.is_news(refund, data, source):
            before = Decimal(refund.amount) if refund.status == "succeeded" else Decimal(0)
            refund.status, refund.updated_at, refund.amount = data["status"], data["updated_at"], str(data["amount"])
            if "late_refund_failure_ignored" in self.bugs and refund.status in ("created", "processing"):
                refund.status = "succeeded"
            after = Decimal(refund.amount) if refund.status == "succeeded" else Decimal(0)
            self.book(db, refund.order, refund.id, before - after)
            self.book_disputes(db, refund.order)

    def apply_dispute(self, db: Session, data: dict[str, Any], source: str = "webhook") -> None:
        payment = db.scalar(select(Payment).where(Payment.payin_id == data["payin_id"]))
        if payment is None:
            return
        dispute = db.get(Dispute, data["id"])
        if dispute is None:
            dispute = Dispute(id=data["id"], order=payment.order, amount=str(data["amount"]), status="")
            dispute.updated_at = ""
            db.add(dispute)
            if "dispute_debits_twice" in self.bugs:
                self.book(db, payment.order, f"{dispute.id} opened", -Decimal(dispute.amount))
        if dispute.status == "won" and "won_is_final" in self.bugs:
            return
        if self.is_news(dispute, data, source):
            if "dispute_debits_twice" in self.bugs and data["status"] == "won":
                self.book(db, payment.order, f"{dispute.id} won", Decimal(dispute.amount))
            dispute.status, dispute.updated_at, dispute.amount = data["status"], data["updated_at"], str(data["amount"])
            self.book_disputes(db, payment.order)

    def book_disputes(self, db: Session, order: Order) -> None:
        """Bring the entries of lost disputes up to date: none takes more than refunds have left."""
        rest = sum((Decimal(each.amount) for each in order.payments if each.status == "succeeded"), Decimal(0))
        rest -= sum(Decimal(each.amount) for each in order.refunds if each.status == "succeeded")
        db.flush()
        for dispute in order.disputes:
            taken = min(Decimal(dispute.amount), max(rest, Decimal(0))) if dispute.status in LOST else Decimal(0)
            rest -= taken
            query = select(LedgerEntry.amount).where(LedgerEntry.subject == dispute.id)
            self.book(db, order, dispute.id, -taken - sum(map(Decimal, db.scalars(query))))

    def book(self, db: Session, order: Order, subject: str, amount: Decimal) -> None:
        if amount:
            db.add(LedgerEntry(order_id=order.id, subject=subject, amount=str(amount)))

    # Refunding

    def refund(self, order_id: str, refund_id: str, amount: str) -> bool:
        """Give money back; the same id is the same refund. Return whether the service has taken it."""
        with self.sessions.begin() as db:
            order = db.get_one(Order, order_id)
            refund = db.get(Refund, refund_id)
            if refund is None:
                paid = [each for each in order.payments if each.status == "succeeded"]
                out = sum(Decimal(each.amount) for each in order.refunds if each.status not in ("failed", "refused"))
                if len(paid) != 1 or out + Decimal(amount) > Decimal(paid[0].amount):
                    return False
                rest = {"payin_id": paid[0].payin_id, "external_identifier": refund_id, "reason": "returned"}
                body = f'{{"amount": {amount}, {json.dumps(rest)[1:]}'
                refund = Refund(
                    id=refund_id, order=order, payin_id=str(paid[0].payin_id), amount=amount, body=body, status="unsent"
                )
                refund.key, refund.started_at = str(uuid.uuid4()), self.gateway.now()
                db.add(refund)
            elif refund.status != "unsent":
                return refund.status != "refused"
            if "refund_key_per_click" in self.bugs:
                refund.key = str(uuid.uuid4())
        return self.send_refund(refund_id)

    def send_refund(self, refund_id: str) -> bool:
        with self.sessions() as db:
            refund = db.get_one(Refund, refund_id)
            payin_id, key, body, started_at = refund.payin_id, refund.key, refund.body, refund.started_at
        if self.gateway.now() - started_at > KEY_LIFETIME:
            try:
                found = self.gateway.list_all("/api/v1/refund", payin_id=payin_id)
            except OutcomeUnknown:
                return True
            with self.sessions.begin() as db:
                for data in found:
                    self.apply_refund(db, data)
                refund = db.get_one(Refund, refund_id)
                if refund.status != "unsent":
                    return True
                if refund.key == key:
                    refund.key, refund.started_at = str(uuid.uuid4()), self.gateway.now()
                key = refund.key
        try:
            data = self.gateway.post(REFUNDS, key, body)
        except PaymentDeclined:
            with self.sessions.begin() as db:
                refund = db.get_one(Refund, refund_id)
                if refund.status == "unsent":
                    refund.status = "refused"
            return False
        except KeepsFailing:
            if self.gateway.now() - started_at > PATIENCE:
                self.look_up_refund(refund_id, payin_id)
            return True
        except OutcomeUnknown:
            return True
        with self.sessions.begin() as db:
            self.apply_refund(db, data, source="reply")
        return True

    def look_up_refund(self, refund_id: str, payin_id: str) -> None:
        try:
            found = self.gateway.list_all("/api/v1/refund", payin_id=payin_id)
        except OutcomeUnknown:
            return
        with self.sessions.begin() as db:
            for data in found:
                self.apply_refund(db, data)
            refund = db.get_one(Refund, refund_id)
            if refund.status == "unsent":
                refund.status = "refused"

    # The job

    def reconcile(self) -> None:
        """Finish what has no known outcome, and ask about everything that was ever paid for."""
        with self.sessions() as db:
            orders = list(db.scalars(select(Payment.order_id).distinct()))
            payments = list(db.scalars(select(Payment.number).where(Payment.status == "unsent")))
            refunds = list(db.scalars(select(Refund.id).where(Refund.status == "unsent")))
        for number in payments:
            self.send_payment(number)
        for refund_id in refunds:
            self.send_refund(refund_id)
        for order_id in orders:
            try:
                self.poll(order_id)
            except OutcomeUnknown:
                continue

    def poll(self, order_id: str) -> None:
        found = self.gateway.list_all("/api/v1/pay-in", external_identifier=order_id)
        if "polls_the_newest_only" in self.bugs:
            found = found[:1]
        with self.sessions.begin() as db:
            for data in reversed(found):
                self.apply_payin(db, data, source="poll")
        for payin in found:
            refunds = self.gateway.list_all("/api/v1/refund", payin_id=payin["id"])
            disputes = self.gateway.list_all("/api/v1/dispute", payin_id=payin["id"])
            with self.sessions.begin() as db:
                for data in refunds:
                    self.apply_refund(db, data, source="poll")
                for data in disputes:
                    self.apply_dispute(db, data, source="poll")

    # How it stands

    def status(self, order: Order) -> str:
        paid = [each for each in order.payments if each.status == "succeeded"]
        if order.is_failed:
            return "failed"
        if paid:
            came = sum(Decimal(each.amount) for each in paid)
            is_odd = came != Decimal(order.amount) or any(each.currency != order.currency for each in paid)
            if is_odd and "cents_through_float" not in self.bugs:
                return "review"
            if any(each.status in LOST for each in order.disputes):
                return "charged_back"
            back = sum(Decimal(each.amount) for each in order.refunds if each.status == "succeeded")
            if back and "any_refund_is_full" in self.bugs:
                return "refunded"
            return "refunded" if back >= came else "partly_refunded" if back else "paid"
        statuses = [each.status for each in order.payments]
        if any(status not in OVER for status in statuses):
            return "pending"
        if not statuses:
            return "unpaid"
        return "cancelled" if statuses[-1] == "cancelled" else "failed"

    # Webhooks

    def verify(self, header: str | None, body: bytes) -> int:
        """Return 0 for a valid signature, or the status to refuse it with."""
        pairs = []
        for part in (header or "").split(","):
            if "header_parser_crashes" in self.bugs:
                name, value = part.split("=")
            else:
                name, _, value = part.partition("=")
            pairs.append((name.strip(), value.strip()))
        stamps = [value for name, value in pairs if name == "t"]
        digests = [value for name, value in pairs if name == "v1"]
        if len(stamps) != 1 or not digests or not (stamps[0].isascii() and stamps[0].isdigit()):
            return 400
        if abs(self.gateway.now() - int(stamps[0])) > TOLERANCE and "no_timestamp_check" not in self.bugs:
            return 400
        if "body_serialised_anew" in self.bugs:
            body = json.dumps(json.loads(body)).encode()
        expected = hmac.new(self.webhook_secret.encode(), stamps[0].encode() + b"." + body, hashlib.sha256).hexdigest()
        for digest in digests:
            wanted = expected[: len(digest)] if "prefix_is_enough" in self.bugs else expected
            if hmac.compare_digest(digest.encode(), wanted.encode()):
                return 0
        return 401

    def webhook(self, header: str | None, body: bytes) -> int:
        """Take an event; the answer is only given once it is stored."""
        refusal = self.verify(header, body)
        if refusal:
            return refusal
        try:
            event = json.loads(body, parse_float=Decimal)
            event_id, kind, data = event["id"], event["type"], event["data"]["object"]
        except (ValueError, KeyError, TypeError):
            return 400
        if event.get("livemode") is not self.livemode:
            return 200  # of the other environment
        family = str(kind).partition(".")[0]
        if family not in {"pay-in", "refund", "dispute"}:
            return 400 if "refuses_unknown_types" in self.bugs else 200
        with self.sessions.begin() as db:
            if db.scalar(select(SeenEvent).where(SeenEvent.event_id == event_id)) is None:
                db.add(SeenEvent(event_id=event_id))
                if family == "pay-in":
                    self.apply_payin(db, data)
                elif family == "refund":
                    self.apply_refund(db, data)
                else:
                    self.apply_dispute(db, data)
        return 200


def create_app(shop: Shop) -> Flask:
    """Return the application."""
    app = Flask(__name__)

    @app.post("/orders")
    def place() -> Response:
        form = request.get_json()
        with shop.sessions.begin() as db:
            db.add(Order(id=form["id"], amount=form["amount"], currency=form["currency"]))
        return jsonify(id=form["id"])

    @app.get("/orders/<order_id>")
    def show(order_id: str) -> Response:
        with shop.sessions() as db:
            order = db.get(Order, order_id) or abort(404)
            booked = sum((Decimal(entry.amount) for entry in order.ledger), Decimal(0))
            return jsonify(status=shop.status(order), shipped=order.shipped_times, balance=str(booked))

    @app.post("/orders/<order_id>/pay")
    def pay(order_id: str) -> Response:
        shop.pay(order_id)
        return show(order_id)

    @app.post("/orders/<order_id>/refunds")
    def refund(order_id: str) -> tuple[Response, int]:
        form = request.get_json()
        is_taken = shop.refund(order_id, form["id"], form["amount"])
        return jsonify(taken=is_taken), 202 if is_taken else 409

    @app.post("/webhooks")
    def webhooks() -> tuple[str, int]:
        return "", shop.webhook(request.headers.get("X-Service-Signature"), request.get_data())

    return app
