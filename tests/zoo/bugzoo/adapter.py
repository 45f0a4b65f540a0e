"""The adapter: how the machine drives this merchant."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar

from bugzoo.client import Client
from bugzoo.receiver import Receiver
from bugzoo.shop import Shop
from bugzoo.store import Store
from paydouble.stateful import Merchant, ServiceLike, Webhook


class ZooMerchant(Merchant):
    """The correct merchant; a variant puts another part in place of one of these."""

    rotates_secrets = True
    store_part: ClassVar[type[Store]] = Store
    client_part: ClassVar[type[Client]] = Client
    shop_part: ClassVar[type[Shop]] = Shop
    receiver_part: ClassVar[type[Receiver]] = Receiver

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.store = self.store_part(service.checkpoint)
        self.start()

    def start(self) -> None:
        """Start the process; the database is there already."""
        self.client = self.client_part(self.service)
        self.shop = self.shop_part(self.service, self.store, self.client)
        self.receiver = self.receiver_part(self.service, self.store, self.shop)

    def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
        self.shop.place_order(order_id, amount, currency)

    def pay(self, order_id: str) -> None:
        self.shop.pay(order_id)

    def order_status(self, order_id: str) -> str:
        return self.shop.status(order_id)

    def receive(self, webhook: Webhook) -> int:
        return self.receiver.receive(webhook)

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        self.shop.refund(order_id, refund_id, amount)

    def cancel(self, order_id: str) -> None:
        self.shop.cancel(order_id)

    def customer_returns(self, order_id: str) -> None:
        self.shop.look_up(order_id)

    def restart(self) -> None:
        if self.store.db.in_transaction:
            self.store.db.execute("rollback")
        self.start()

    def tick(self) -> None:
        self.receiver.work_off()
        self.shop.reconcile()

    def drain(self) -> None:
        """Nothing goes on after an answer; without this method it could not be killed after one."""

    def balance(self, order_id: str) -> Decimal:
        return self.shop.balance(order_id)

    def shipments(self, order_id: str) -> int:
        order = self.store.order(order_id)
        return 0 if order is None else int(order["shipped"])

    def close(self) -> None:
        self.store.db.close()
