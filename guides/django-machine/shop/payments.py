"""How an order is paid: no transaction is open while the payment service is called."""

import json
import time
import uuid
from datetime import datetime
from functools import partial
from typing import Any

import requests
from django.conf import settings
from django.db import transaction

from shop.models import Dispute, Job, Order, Payment
from shop.service import KeepsFailing, PaymentService, Refused, Unknown

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


def make_session() -> requests.Session:
    """Return a session with our credentials."""
    session = requests.Session()
    session.auth = (settings.PAYMENTS["key"], settings.PAYMENTS["secret"])
    return session


def service() -> PaymentService:
    """Return the payment service of the settings."""
    return PaymentService(make_session(), settings.PAYMENTS["base_url"])


def pay(order_id: str) -> None:
    """Begin a payment, or continue the one of which the outcome is unknown."""
    with transaction.atomic():
        order = Order.objects.select_for_update().get(id=order_id)
        payment = order.payments.filter(status="unsent").first()
        if payment is None and order.status not in {"unpaid", "failed", "cancelled"}:
            return
        if payment is None:
            payment = order.payments.create(key=str(uuid.uuid4()), body=body_of(order), key_made_at=time.time())
            Job.objects.create(payment=payment)
        transaction.on_commit(partial(send, payment.id))


def body_of(order: Order) -> str:
    """Return the body of a deposit."""
    fields = {
        "currency": order.currency,
        "external_identifier": order.id,
        "payment_method": {"type": "CREDIT_CARD"},
        "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"},
    }
    return f'{{"amount": {order.amount}, {json.dumps(fields)[1:]}'  # json has no decimals


def send(payment_id: int) -> None:
    """Let the service create the deposit of a payment. Two workers may do it at once, since they send the same key."""
    try:
        payment = sendable(payment_id)
        data = service().create_deposit(payment.key, payment.body) if payment else None
    except Refused:
        finish(payment_id, None)
    except KeepsFailing:
        if time.time() - payment.key_made_at > PATIENCE_SECONDS:
            look_up(payment)
    except Unknown:
        pass  # the job stays
    else:
        finish(payment_id, data)


def finish(payment_id: int, data: dict[str, Any] | None) -> None:
    """Note what became of a payment; without data the service has no deposit for it, and will make none."""
    with transaction.atomic():
        if data is not None:
            learn_pay_in(data, payment_id)
        Payment.objects.filter(id=payment_id, status="unsent").update(status="refused")
        Job.objects.filter(payment_id=payment_id).delete()


def look_up(payment: Payment) -> None:
    """Give up a payment that the service does not have."""
    try:
        ask(payment.order_id)
    except Unknown:
        return
    finish(payment.id, None)


def sendable(payment_id: int) -> Payment | None:
    """Return a payment that may be sent, with a new key if the old one has expired."""
    payment = Payment.objects.get(id=payment_id)
    if payment.status == "unsent" and time.time() - payment.key_made_at > KEY_SECONDS:
        ask(payment.order_id)
        unsent = Payment.objects.filter(id=payment_id, status="unsent")
        unsent.filter(key=payment.key).update(key=str(uuid.uuid4()), key_made_at=time.time())
        payment.refresh_from_db()
    return payment if payment.status == "unsent" else None


def ask(order_id: str) -> None:
    """Ask the service what it has for an order."""
    payments = service()
    pay_ins = payments.find("pay-in", external_identifier=order_id)
    disputes = [each for found in pay_ins for each in payments.find("dispute", payin_id=found["id"])]
    with transaction.atomic():
        for data in reversed(pay_ins):
            learn_pay_in(data)
        for data in disputes:
            learn_dispute(data)


def run_jobs() -> None:
    """Send what was never answered, and ask about all other payments. A worker calls it every hour."""
    for payment_id in list(Job.objects.values_list("payment_id", flat=True)):
        send(payment_id)
    for order_id in list(Payment.objects.values_list("order_id", flat=True).distinct()):
        try:
            ask(order_id)
        except Unknown:
            continue


def take(event: dict[str, Any]) -> None:
    """Learn from a webhook; an event of another kind means nothing here."""
    kind, data = event["type"].partition(".")[0], event["data"]["object"]
    learn = {"pay-in": learn_pay_in, "dispute": learn_dispute}.get(kind)
    if learn and event["livemode"] is False:
        with transaction.atomic():
            learn(data)


def learn_pay_in(data: dict[str, Any], payment_id: int | None = None) -> None:
    """Keep what the service shows of a pay-in, unless more is known; ship an order that is paid, once."""
    order = Order.objects.select_for_update().filter(id=data["external_identifier"]).first()
    if order is None:
        return
    unsent = order.payments.filter(status="unsent", **({"id": payment_id} if payment_id else {}))
    payment = order.payments.filter(payin_id=data["id"]).first() or unsent.first() or Payment(order=order)
    payment.payin_id = data["id"]
    if payment.status != "succeeded" and is_news(payment, data):
        payment.status, payment.updated_at = data["status"], data["updated_at"]
        payment.amount, payment.currency = str(data["amount"]), data["currency"]
    payment.save()
    if order.status == "paid" and not order.shipped:
        order.shipped = 1
        order.save()


def learn_dispute(data: dict[str, Any]) -> None:
    """Keep what the service shows of a dispute, unless more is known."""
    payment = Payment.objects.filter(payin_id=data["payin_id"]).first()
    if payment is None:
        return  # `run_jobs` asks for the disputes of every payment
    dispute = Dispute.objects.filter(id=data["id"]).first() or Dispute(id=data["id"], order_id=payment.order_id)
    if is_news(dispute, data):
        dispute.status, dispute.updated_at = data["status"], data["updated_at"]
        dispute.save()


def is_news(known: Payment | Dispute, data: dict[str, Any]) -> bool:
    """Return whether the service shows a newer version than the known one."""
    old = (moment(known.updated_at), PROGRESS.get(known.status, 0))
    return (moment(data["updated_at"]), PROGRESS.get(data["status"], 0)) > old


def moment(text: str) -> float:
    """Return a time as a number."""
    return datetime.fromisoformat(text).timestamp() if text else 0.0
