"""How the machine drives the Django shop."""

from __future__ import annotations

from decimal import Decimal
from types import TracebackType
from typing import Any, ClassVar

import requests

import djangoshop
from paydouble.stateful import Merchant, Refused, ServiceLike, Webhook
from paydouble.stateful.requests_adapter import RequestsAdapter

djangoshop.setup()

from django.apps import apps  # noqa: E402 # after the setup
from django.conf import settings  # noqa: E402
from django.db import connection, transaction  # noqa: E402
from django.test import Client  # noqa: E402

from djangoshop.jobs import Worker  # noqa: E402
from djangoshop.models import Order  # noqa: E402


class CheckedAtomic(transaction.Atomic):
    """Tells the machine where an outermost transaction begins and ends."""

    service: ClassVar[ServiceLike]

    def __enter__(self) -> None:
        if not connection.in_atomic_block:
            self.service.checkpoint()
        super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        super().__exit__(kind, value, traceback)
        if kind is None and not connection.in_atomic_block:
            self.service.checkpoint()


transaction.Atomic = CheckedAtomic


class DjangoAdapter(Merchant):
    """Empties the tables for each example."""

    bugs: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        with connection.cursor() as cursor:
            for model in reversed(list(apps.get_app_config("djangoshop").get_models())):
                cursor.execute(f"DELETE FROM {model._meta.db_table}")  # noqa: S608 # a table of our own
        CheckedAtomic.service = service
        settings.SHOP_BUGS, settings.SHOP_NOW = self.bugs, service.now
        settings.SHOP_WEBHOOK_SECRET = service.webhook_secret
        self.client = Client(enforce_csrf_checks=True)
        session = requests.Session()
        session.auth, session.trust_env = (service.business_key, service.business_secret), False
        session.mount("http://", RequestsAdapter(service))
        self.worker = Worker(session, service.base_url.removesuffix("/api/v1"), service.now, self.bugs)

    def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
        email = "django@shop.example"
        Order.objects.create(
            id=order_id, amount=str(amount), currency=currency, email=email, created=self.service.now()
        )

    def pay(self, order_id: str) -> None:
        self.client.post(f"/checkout/{order_id}")

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        form = {"id": refund_id, "amount": str(amount)}
        if self.client.post(f"/orders/{order_id}/refunds", form, content_type="application/json").status_code == 409:
            raise Refused

    def show(self, order_id: str) -> Any:
        return self.client.get(f"/orders/{order_id}").json()

    def order_status(self, order_id: str) -> str:
        return str(self.show(order_id)["status"])

    def balance(self, order_id: str) -> Decimal:
        return Decimal(self.show(order_id)["balance"])

    def shipments(self, order_id: str) -> int:
        return int(self.show(order_id)["parcels"])

    def receive(self, webhook: Webhook) -> int:
        headers, kind = dict(webhook.headers), "application/json"
        return int(self.client.post("/hooks/payments", webhook.body, kind, headers=headers).status_code)

    def tick(self) -> None:
        self.worker.run_due()
