"""The views: none of them calls the service."""

from __future__ import annotations

import hashlib
import hmac
import json
import uuid
from decimal import Decimal

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from djangoshop.models import Charge, Event, Job, Order, Refund
from djangoshop.payments import OVER, Books

TOLERANCE = 300


def bugs() -> frozenset[str]:
    """Return the mistakes that are switched on."""
    return frozenset(getattr(settings, "SHOP_BUGS", ()))


def now() -> float:
    """Return the time, by the clock of the settings."""
    return float(settings.SHOP_NOW())


@require_POST
@csrf_exempt
def checkout(request: HttpRequest, order_id: str) -> HttpResponse:
    """Queue a charge, unless one is under way."""
    with transaction.atomic():
        order = get_object_or_404(Order.objects.select_for_update(), id=order_id)
        is_under_way = order.charges.exclude(status__in=OVER).exists() and "charge_per_click" not in bugs()
        is_payable = order.status in {"unpaid", "failed", "cancelled", "pending"}
        charge = None
        if is_payable and not is_under_way:
            charge = Charge.objects.create(order=order, key=uuid.uuid4(), key_made_at=now())
            Books(bugs()).refresh(order)
            if not Job.objects.filter(kind="poll", subject=order.id).exists():
                Job.objects.create(kind="poll", subject=order.id, due=now() + 600)
            if "job_outside_the_transaction" not in bugs():
                Job.objects.create(kind="charge", subject=str(charge.id), due=now())
    if charge is not None and "job_outside_the_transaction" in bugs():
        with transaction.atomic():
            Job.objects.create(kind="charge", subject=str(charge.id), due=now())
    return JsonResponse({"status": order.status}, status=202)


@require_POST
@csrf_exempt
def refund(request: HttpRequest, order_id: str) -> HttpResponse:
    """Queue a refund, unless it is more than is left."""
    form = json.loads(request.body)
    with transaction.atomic():
        order = get_object_or_404(Order.objects.select_for_update(), id=order_id)
        known = Refund.objects.filter(id=form["id"]).first()
        if known is not None:
            return HttpResponse(status=409 if known.status == "refused" else 202)
        paid = list(order.charges.filter(status="succeeded"))
        others = order.refunds.exclude(status__in=["refused", "failed"])
        left = sum(Decimal(each.amount) for each in paid) - sum(Decimal(each.amount) for each in others)
        if len(paid) != 1 or Decimal(form["amount"]) > left or order.status == "charged_back":
            return HttpResponse(status=409)
        Refund.objects.create(
            id=form["id"],
            order=order,
            payin_id=paid[0].payin_id,
            amount=form["amount"],
            key=uuid.uuid4(),
            key_made_at=now(),
        )
        Job.objects.create(kind="refund", subject=form["id"], due=now())
    return HttpResponse(status=202)


def show(request: HttpRequest, order_id: str) -> HttpResponse:
    """Show an order."""
    order = get_object_or_404(Order, id=order_id)
    balance = sum((Decimal(line.amount) for line in order.lines.all()), Decimal(0))
    return JsonResponse({"status": order.status, "parcels": order.parcels, "balance": str(balance)})


def refusal(header: str | None, body: bytes) -> int | None:
    """Return the status to refuse a delivery with, or None."""
    if header is None and "signature_optional" in bugs():
        return None
    fields: dict[str, list[str]] = {}
    for item in (header or "").split(","):
        name, _, value = item.partition("=")
        fields.setdefault(name.strip(), []).append(value.strip())
    try:
        (timestamp,) = fields["t"]
        digests = fields["v1"]
        age = abs(now() - int(timestamp))
    except (KeyError, ValueError):
        return 400
    if age > TOLERANCE:
        return 400
    secret: str = settings.SHOP_WEBHOOK_SECRET
    wanted = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest().encode()
    length = 8 if "first_characters_compared" in bugs() else None
    if any(hmac.compare_digest(digest.encode()[:length], wanted[:length]) for digest in digests):
        return None
    return 401


@require_POST
def webhook(request: HttpRequest) -> HttpResponse:
    """Store an event and its job in one transaction, and answer; the worker does the rest."""
    status = refusal(request.headers.get("X-Service-Signature"), request.body)
    if status is not None and "stored_before_verified" not in bugs():
        return HttpResponse(status=status)
    try:
        event = json.loads(request.body)
        event_id, kind, data = event["id"], event["type"], event["data"]["object"]
        is_ours = str(kind).startswith(("pay-in.", "refund.", "dispute.")) and isinstance(data, dict)
        is_ours = is_ours and event.get("livemode") is getattr(settings, "SHOP_LIVEMODE", False)
    except (ValueError, KeyError, TypeError):
        if "bad_json_is_a_500" in bugs() and status is None:
            raise
        return HttpResponse(status=400)
    if is_ours:
        with transaction.atomic():
            _, is_new = Event.objects.get_or_create(id=event_id, defaults={"body": request.body.decode()})
            if is_new:
                Job.objects.create(kind="event", subject=event_id, due=now())
    return HttpResponse(status=status or 200)
