"""How the machine drives this shop."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import httpx
from database import empty_sessions
from service import PaymentService
from shop import Shop, create_app

from paydouble.stateful import Merchant
from paydouble.testing.transports import AsyncHttpxTransport


def run(work):
    """Run a coroutine in a loop and thread of its own: a webhook may arrive while another loop waits for this call."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


class ShopAdapter(Merchant):
    """Empties the tables for each example, and makes a new application after each restart."""

    follows_time = True

    def __init__(self, service):
        super().__init__(service)
        self.sessions = empty_sessions(service)
        self.restart()

    def restart(self):
        service = self.service
        auth, transport = (service.business_key, service.business_secret), AsyncHttpxTransport(service)
        client = httpx.AsyncClient(base_url=service.base_url, auth=auth, timeout=12, transport=transport)
        self.shop = Shop(self.sessions, PaymentService(client))
        app = httpx.ASGITransport(create_app(self.shop, service.webhook_secret))
        self.client = httpx.AsyncClient(base_url="http://shop", transport=app)

    def place_order(self, order_id, amount, currency):
        run(self.client.post("/orders", json={"id": order_id, "amount": str(amount), "currency": currency}))

    def pay(self, order_id):
        run(self.client.post(f"/orders/{order_id}/pay"))

    def order_status(self, order_id):
        return self.shop.show(order_id)["status"]

    def shipments(self, order_id):
        return self.shop.show(order_id)["shipped"]

    def receive(self, webhook):
        headers = [(name.encode(), value.encode()) for name, value in webhook.headers]  # some are not ASCII
        return run(self.client.post("/webhooks", content=webhook.body, headers=headers)).status_code

    def tick(self):
        run(self.shop.reconcile())
