"""How the machine drives the shop with a worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, ClassVar

from paydouble.stateful import Merchant, Refused
from workershop.db import Database
from workershop.shop import Declined, Shop
from workershop.wire import TIMEOUT_SECONDS, Service
from workershop.worker import Worker


class Mailbox:
    """A mail provider that drops a second message with the same id."""

    def __init__(self) -> None:
        self.sent: dict[str, str] = {}

    def send(self, message_id: str, text: str) -> None:
        self.sent[message_id] = text


class ServiceWire:
    """Carries the shop's requests to the machine's service."""

    def __init__(self, service: Any) -> None:
        self.service = service

    def send(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        answer = self.service.call(method, "/api/v1" + path, headers, body, TIMEOUT_SECONDS)
        return answer.status, answer.headers, answer.body


class WorkerAdapter(Merchant):
    """The database and the mail provider outlive a restart."""

    bugs: ClassVar[frozenset[str]] = frozenset()
    follows_time = True

    def __init__(self, service: Any) -> None:
        super().__init__(service)
        self.service = service
        self.db = Database(around=service.checkpoint, before_commit=lambda: service.checkpoint(in_transaction=True))
        self.mailbox = Mailbox()
        self.restart()

    def restart(self) -> None:
        auth = (self.service.business_key, self.service.business_secret)
        self.worker = Worker(self.db, Service(ServiceWire(self.service), auth), self.mailbox, self.bugs)
        self.shop = Shop(self.db, self.worker, self.service.webhook_secret, self.bugs)

    def place_order(self, order_id: str, amount: Any, currency: str) -> None:
        self.shop.place(order_id, Decimal(amount), currency)

    def pay(self, order_id: str) -> None:
        try:
            self.shop.pay(order_id)
        except Declined as error:
            raise Refused(str(error)) from error

    def refund(self, order_id: str, refund_id: str, amount: Any) -> None:
        try:
            self.shop.refund(order_id, refund_id, Decimal(amount))
        except Declined as error:
            raise Refused(str(error)) from error

    def order_status(self, order_id: str) -> str:
        return self.worker.standing(order_id)

    def balance(self, order_id: str) -> Decimal:
        return self.shop.balance(order_id)

    def shipments(self, order_id: str) -> int:
        return int(self.db.rows("SELECT shipped FROM orders WHERE id = ?", order_id)[0]["shipped"])

    def effects(self, order_id: str) -> dict[str, int]:
        moves = Counter(
            row["what"] for row in self.db.rows("SELECT what FROM stock_moves WHERE order_id = ?", order_id)
        )
        mails = sum(text.endswith(f" {order_id}") for text in self.mailbox.sent.values())
        return {"mail": mails, "sold": moves["sold"], "returned to stock": moves["returned"]}

    def receive(self, webhook: Any) -> int:
        headers = {name.lower(): value for name, value in webhook.headers}
        return self.shop.webhook(webhook.body, headers.get("x-service-signature"))

    def customer_returns(self, order_id: str) -> None:
        self.shop.returned(order_id)

    def tick(self) -> None:
        self.worker.work()
        self.shop.reconcile()
        self.worker.work()
