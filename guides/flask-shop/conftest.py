"""The shop and its payment service in the test's own thread, and not a socket between them."""

import httpx
import pytest
from shop import Service, make_app

from paydouble import Sandbox
from paydouble.testing.transports import HttpxTransport


@pytest.fixture
def sandbox():
    """Give the payment service."""
    return Sandbox()


@pytest.fixture
def naps():
    """Give the seconds for which the shop would have slept between attempts."""
    return []


@pytest.fixture
def shop(sandbox, naps):
    """Give a client of the shop; the sandbox hands its webhooks to it."""
    client = httpx.Client(transport=HttpxTransport(sandbox), base_url=sandbox.base_url, auth=sandbox.auth)
    shop = make_app(Service(client, sleep=naps.append), sandbox.webhook_secret).test_client()

    def deliver(webhook):
        answer = shop.post("/webhooks", data=webhook.body, headers=list(webhook.headers))
        return answer.status_code

    sandbox.receiver = deliver
    shop.put("/orders/order-1", json={"amount": "49.90"})
    return shop
