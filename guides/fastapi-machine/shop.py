"""A shop on FastAPI, SQLAlchemy and httpx: no transaction is open while it calls the payment service."""

import json
import time
import uuid
from datetime import datetime
from decimal import Decimal
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from models import Dispute, Order, Payment
from pydantic import BaseModel
from service import KeepsFailing, PaymentService, Refused, Unknown
from signature import refusal
from sqlalchemy import select
from sqlalchemy.orm import Session, sessionmaker

# The service keeps a key for a day. An older one is only used again after a look at what there is.
KEY_SECONDS = 20 * 3600
# An error that the service has stored under a key stays there. After so long it is looked up what there is.
PATIENCE_SECONDS = 900
# Of two versions of an object with the same time, the one that is further is newer.
PROGRESS = {
    **dict.fromkeys(("", "unsent", "refused"), -1),
    **dict.fromkeys(("created", "needs_response"), 0),
    **dict.fromkeys(("pending", "under_review"), 1),
    "processing": 2,
    **dict.fromkeys(("cancelled", "succeeded", "won"), 3),
    **dict.fromkeys(("failed", "lost", "accepted"), 4),
}


class Shop:
    """What the views and the job call."""

    def __init__(self, sessions: sessionmaker[Session], service: PaymentService) -> None:
        """Keep the orders in a database, and have them paid by a service."""
        self.sessions = sessions
        self.service = service

    async def pay(self, order_id: str) -> None:
        """Begin a payment, or continue the one of which the outcome is unknown."""
        with self.sessions.begin() as db:
            order = db.get_one(Order, order_id, with_for_update=True)
            open_payments = [payment for payment in order.payments if payment.status == "unsent"]
            if not open_payments and order.status not in {"unpaid", "failed", "cancelled"}:
                return
            if not open_payments:
                open_payments = [new_payment(order)]
                order.payments += open_payments
                db.flush()
            number = open_payments[0].number
        await self.send(number)

    async def send(self, number: int) -> None:
        """Let the service create the deposit of a payment."""
        try:
            payment = await self.sendable(number)
            if payment is None:
                return
            data = await self.service.create_deposit(payment.key, payment.body)
        except Refused:
            self.give_up(number)
        except KeepsFailing:
            if time.time() - payment.key_made_at > PATIENCE_SECONDS:
                await self.look_up(payment)
        except Unknown:
            pass  # the job tries again
        else:
            with self.sessions.begin() as db:
                learn_pay_in(db, data, number)

    def give_up(self, number: int) -> None:
        """Note that the service has no deposit for a payment, and will make none."""
        with self.sessions.begin() as db:
            payment = db.get_one(Payment, number, with_for_update=True)
            if payment.status == "unsent":
                payment.status = "refused"

    async def look_up(self, payment: Payment) -> None:
        """Give up a payment that the service does not have."""
        try:
            await self.ask(payment.order_id)
        except Unknown:
            return
        self.give_up(payment.number)

    async def sendable(self, number: int) -> Payment | None:
        """Return a payment that may be sent, with a new key if the old one has expired."""
        with self.sessions() as db:
            payment = db.get_one(Payment, number)
        if time.time() - payment.key_made_at <= KEY_SECONDS:
            return payment
        await self.ask(payment.order_id)
        with self.sessions.begin() as db:
            fresh = db.get_one(Payment, number, with_for_update=True)
            if fresh.status != "unsent":
                return None
            if fresh.key == payment.key:
                fresh.key, fresh.key_made_at = str(uuid.uuid4()), time.time()
            return fresh

    async def ask(self, order_id: str) -> None:
        """Ask the service what it has for an order."""
        pay_ins = await self.service.find("pay-in", external_identifier=order_id)
        disputes = [each for found in pay_ins for each in await self.service.find("dispute", payin_id=found["id"])]
        with self.sessions.begin() as db:
            for data in reversed(pay_ins):
                learn_pay_in(db, data)
            for data in disputes:
                learn_dispute(db, data)

    async def reconcile(self) -> None:
        """Send what was never answered, and ask about all other payments. A job calls it every hour."""
        with self.sessions() as db:
            unsent = list(db.scalars(select(Payment.number).where(Payment.status == "unsent")))
            orders = list(db.scalars(select(Payment.order_id).distinct()))
        for number in unsent:
            await self.send(number)
        for order_id in orders:
            try:
                await self.ask(order_id)
            except Unknown:
                continue

    def show(self, order_id: str) -> dict[str, Any] | None:
        """Return what the customer sees of an order; None for one that does not exist."""
        with self.sessions() as db:
            order = db.get(Order, order_id)
            return order and {"status": order.status, "shipped": order.shipped}

    def take(self, event: dict[str, Any]) -> None:
        """Learn from a webhook; an event of another kind means nothing here."""
        kind, data = event["type"].partition(".")[0], event["data"]["object"]
        learn = {"pay-in": learn_pay_in, "dispute": learn_dispute}.get(kind)
        if learn and event["livemode"] is False:
            with self.sessions.begin() as db:
                learn(db, data)


def new_payment(order: Order) -> Payment:
    """Return a payment whose key and body stay the same in every attempt."""
    fields = {
        "currency": order.currency,
        "external_identifier": order.id,
        "payment_method": {"type": "CREDIT_CARD"},
        "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"},
    }
    body = f'{{"amount": {order.amount}, {json.dumps(fields)[1:]}'  # json has no decimals
    return Payment(key=str(uuid.uuid4()), body=body, key_made_at=time.time(), status="unsent")


def learn_pay_in(db: Session, data: dict[str, Any], number: int | None = None) -> None:
    """Keep what the service shows of a pay-in, unless more is known; ship an order that is paid, once."""
    order = db.get(Order, data["external_identifier"], with_for_update=True)
    if order is None:
        return
    payment = next((each for each in order.payments if each.payin_id == data["id"]), None)
    if payment is None:
        unsent = [each for each in order.payments if each.status == "unsent" and number in {None, each.number}]
        if not unsent:
            unsent = [Payment(status="unsent", updated_at="")]
            order.payments += unsent
        payment = unsent[0]
        payment.payin_id = data["id"]
    if payment.status != "succeeded" and is_news(payment, data):
        payment.status, payment.updated_at = data["status"], data["updated_at"]
        payment.amount, payment.currency = str(data["amount"]), data["currency"]
    if order.status == "paid" and not order.shipped:
        order.shipped = 1


def learn_dispute(db: Session, data: dict[str, Any]) -> None:
    """Keep what the service shows of a dispute, unless more is known."""
    payment = db.scalar(select(Payment).where(Payment.payin_id == data["payin_id"]))
    if payment is None:
        return  # `reconcile` asks for the disputes of every payment
    dispute = db.get(Dispute, data["id"])
    if dispute is None:
        dispute = Dispute(id=data["id"], status="", updated_at="")
        payment.order.disputes.append(dispute)
    if is_news(dispute, data):
        dispute.status, dispute.updated_at = data["status"], data["updated_at"]


def is_news(known: Payment | Dispute, data: dict[str, Any]) -> bool:
    """Return whether the service shows a newer version than the known one."""
    old = (moment(known.updated_at), PROGRESS.get(known.status, 0))
    return (moment(data["updated_at"]), PROGRESS.get(data["status"], 0)) > old


def moment(text: str) -> float:
    """Return a time as a number."""
    return datetime.fromisoformat(text).timestamp() if text else 0.0


class OrderForm(BaseModel):
    """An order, as the page sends it."""

    id: str
    amount: Decimal
    currency: str


def create_app(shop: Shop, webhook_secret: str) -> FastAPI:
    """Return the application."""
    app = FastAPI()

    @app.post("/orders", status_code=201)
    async def place(form: OrderForm) -> None:
        with shop.sessions.begin() as db:
            db.add(Order(id=form.id, amount=str(form.amount), currency=form.currency))

    @app.get("/orders/{order_id}")
    async def show(order_id: str) -> dict[str, Any]:
        shown = shop.show(order_id)
        if shown is None:
            raise HTTPException(404)
        return shown

    @app.post("/orders/{order_id}/pay")
    async def pay(order_id: str) -> dict[str, Any]:
        await shop.pay(order_id)
        return await show(order_id)

    @app.post("/webhooks")
    async def webhooks(request: Request) -> Response:
        body = await request.body()
        refused = refusal(body, request.headers.get("X-Service-Signature"), webhook_secret)
        if refused is not None:
            return Response(status_code=refused)
        try:
            shop.take(json.loads(body, parse_float=Decimal, parse_int=Decimal))
        except (ValueError, LookupError, TypeError, AttributeError):
            return Response(status_code=400)
        return Response(status_code=200)

    return app
