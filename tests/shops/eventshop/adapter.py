"""How the machine drives the event-sourced shop."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar

import httpx

from eventshop.ledger import Ledger
from eventshop.service import Service
from eventshop.shop import Rejected, Shop
from paydouble.stateful import Merchant, Refused
from paydouble.testing.transports import HttpxTransport


class EventAdapter(Merchant):
    """The ledger outlives a restart; everything else is made anew."""

    bugs: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, service: Any) -> None:
        super().__init__(service)
        self.service = service
        self.ledger = Ledger(around_append=service.checkpoint, bugs=self.bugs)
        self.restart()

    def restart(self) -> None:
        client = httpx.Client(
            transport=HttpxTransport(self.service),
            base_url=self.service.base_url,
            auth=(self.service.business_key, self.service.business_secret),
            timeout=10.0,
        )
        gateway = Service(client, self.service, self.bugs)
        self.shop = Shop(self.ledger, gateway, self.service, self.service.webhook_secret, self.bugs)

    def place_order(self, order_id: str, amount: Any, currency: str) -> None:
        self.shop.place(order_id, Decimal(amount), currency)

    def pay(self, order_id: str) -> None:
        try:
            self.shop.pay(order_id)
        except Rejected as error:
            raise Refused(str(error)) from error

    def refund(self, order_id: str, refund_id: str, amount: Any) -> None:
        try:
            self.shop.refund(order_id, refund_id, Decimal(amount))
        except Rejected as error:
            raise Refused(str(error)) from error

    def order_status(self, order_id: str) -> str:
        return self.shop.order(order_id).status

    def balance(self, order_id: str) -> Decimal:
        return self.shop.order(order_id).balance

    def shipments(self, order_id: str) -> int:
        return self.shop.order(order_id).shipments

    def effects(self, order_id: str) -> dict[str, int]:
        return {"receipt": self.shop.order(order_id).receipts}

    def receive(self, webhook: Any) -> int:
        return self.shop.webhook(dict(webhook.headers), webhook.body)

    def tick(self) -> None:
        self.shop.settle()
