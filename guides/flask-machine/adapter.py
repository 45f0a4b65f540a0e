"""How the machine drives this shop."""

import requests
from database import empty_sessions
from service import PaymentService
from shop import Shop, create_app

from paydouble.stateful import Merchant
from paydouble.stateful.requests_adapter import RequestsAdapter


class ShopAdapter(Merchant):
    """Empties the tables for each example, and makes a new application after each restart."""

    follows_time = True

    def __init__(self, service):
        super().__init__(service)
        self.sessions = empty_sessions(service)
        self.restart()

    def restart(self):
        session = requests.Session()
        session.auth = (self.service.business_key, self.service.business_secret)
        session.mount("http://", RequestsAdapter(self.service))
        shop = Shop(self.sessions, PaymentService(session, self.service.base_url))
        app = create_app(shop, self.service.webhook_secret)
        app.testing = True  # an exception of a view is raised here and reported, instead of a 500
        self.shop, self.client = shop, app.test_client()

    def place_order(self, order_id, amount, currency):
        self.client.post("/orders", json={"id": order_id, "amount": str(amount), "currency": currency})

    def pay(self, order_id):
        self.client.post(f"/orders/{order_id}/pay")

    def order_status(self, order_id):
        return self.shop.show(order_id)["status"]

    def shipments(self, order_id):
        return self.shop.show(order_id)["shipped"]

    def receive(self, webhook):
        return self.client.post("/webhooks", data=webhook.body, headers=list(webhook.headers)).status_code

    def tick(self):
        self.shop.reconcile()
