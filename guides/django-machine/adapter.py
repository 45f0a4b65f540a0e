"""How the machine drives this shop."""

from database import CheckedAtomic, empty_database  # first, since it sets Django up
from django.conf import settings
from django.test import Client
from shop import payments
from shop.models import Order

from paydouble.stateful import Merchant
from paydouble.stateful.requests_adapter import RequestsAdapter


class ShopAdapter(Merchant):
    """Empties the tables for each example."""

    follows_time = True

    def __init__(self, service):
        super().__init__(service)
        empty_database()
        CheckedAtomic.service = service
        settings.PAYMENTS = {
            "base_url": service.base_url,
            "key": service.business_key,
            "secret": service.business_secret,
            "webhook_secret": service.webhook_secret,
        }
        self.session = payments.make_session()
        self.session.mount("http://", RequestsAdapter(service))
        payments.make_session = lambda: self.session
        self.client = Client()

    def place_order(self, order_id, amount, currency):
        Order.objects.create(id=order_id, amount=str(amount), currency=currency)

    def pay(self, order_id):
        self.client.post(f"/orders/{order_id}/checkout")

    def order_status(self, order_id):
        return Order.objects.get(id=order_id).status

    def shipments(self, order_id):
        return Order.objects.get(id=order_id).shipped

    def receive(self, webhook):
        headers = dict(webhook.headers)
        return self.client.post("/webhooks", webhook.body, "application/json", headers=headers).status_code

    def tick(self):
        payments.run_jobs()
