"""The pages."""

import json
from decimal import Decimal

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from shop.models import Order
from shop.payments import pay, take
from shop.signature import refusal


def show(request: HttpRequest, order_id: str) -> JsonResponse:
    order = get_object_or_404(Order, id=order_id)
    return JsonResponse({"status": order.status, "shipped": order.shipped})


@require_POST
def checkout(request: HttpRequest, order_id: str) -> JsonResponse:
    pay(order_id)
    return show(request, order_id)


@csrf_exempt
@require_POST
def webhooks(request: HttpRequest) -> HttpResponse:
    secret = settings.PAYMENTS["webhook_secret"]
    refused = refusal(request.body, request.headers.get("X-Service-Signature"), secret)
    if refused is not None:
        return HttpResponse(status=refused)
    try:
        take(json.loads(request.body, parse_float=Decimal, parse_int=Decimal))
    except (ValueError, LookupError, TypeError, AttributeError):
        return HttpResponse(status=400)
    return HttpResponse(status=200)
