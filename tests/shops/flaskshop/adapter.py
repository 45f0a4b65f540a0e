"""How the machine drives the Flask shop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, ClassVar

from flask.testing import FlaskClient
from sqlalchemy import StaticPool, create_engine
from sqlalchemy.orm import Session, sessionmaker

from flaskshop.app import Shop, create_app
from flaskshop.gateway import Gateway
from flaskshop.models import Base
from paydouble.stateful import Merchant, Refused, ServiceLike, Webhook
from paydouble.stateful.requests_adapter import RequestsAdapter


class Sessions(sessionmaker[Session]):
    """Tells the machine where a transaction begins and ends; inside, the lock of a database would hold others off."""

    service: ServiceLike

    @contextmanager
    def begin(self) -> Iterator[Session]:
        self.service.checkpoint()
        with super().begin() as db:
            yield db
        self.service.checkpoint()


class FlaskAdapter(Merchant):
    """A new database for each example; a new application after each restart."""

    bugs: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
        Base.metadata.create_all(engine)
        self.sessions = Sessions(engine)
        self.sessions.service = service
        self.restart()

    def restart(self) -> None:
        service = self.service
        auth = (service.business_key, service.business_secret)
        gateway = Gateway(service.base_url.removesuffix("/api/v1"), auth, service.now, service.sleep, self.bugs)
        gateway.session.mount(gateway.base_url, RequestsAdapter(service))
        self.shop = Shop(self.sessions, gateway, service.webhook_secret, self.bugs)
        app = create_app(self.shop)
        app.testing = True
        self.client: FlaskClient = app.test_client()

    def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
        self.client.post("/orders", json={"id": order_id, "amount": str(amount), "currency": currency})

    def pay(self, order_id: str) -> None:
        self.client.post(f"/orders/{order_id}/pay")

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        form = {"id": refund_id, "amount": str(amount)}
        if self.client.post(f"/orders/{order_id}/refunds", json=form).status_code == 409:
            raise Refused

    def show(self, order_id: str) -> Any:
        return self.client.get(f"/orders/{order_id}").get_json()

    def order_status(self, order_id: str) -> str:
        return str(self.show(order_id)["status"])

    def balance(self, order_id: str) -> Decimal:
        return Decimal(self.show(order_id)["balance"])

    def shipments(self, order_id: str) -> int:
        return int(self.show(order_id)["shipped"])

    def receive(self, webhook: Webhook) -> int:
        return self.client.post("/webhooks", data=webhook.body, headers=list(webhook.headers)).status_code

    def tick(self) -> None:
        self.shop.reconcile()
