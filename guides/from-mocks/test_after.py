"""The same three tests against the double: it holds what the service does."""

import httpx
import pytest
from shop import Shop


@pytest.fixture
def shop(paydouble):
    with httpx.Client(base_url=paydouble.base_url, auth=paydouble.auth) as client:
        yield Shop(client)


def test_paying(shop, paydouble):
    address = shop.pay("order-1", 20)

    assert httpx.URL(address).host
    paydouble.requests.verify(external_identifier="order-1", status=200, count=1)


def test_a_timeout_is_tried_again(shop, paydouble):
    paydouble.faults.add("connection_reset", phase="after_commit", times=1)

    shop.pay("order-1", 20)

    # Not how often something was sent, but what became of it.
    assert len(paydouble.events.list(type="pay-in.created")) == 1


def test_a_paid_order_is_shipped(shop, paydouble, webhook_receiver):
    shop.pay("order-1", 20)
    paydouble.clock.advance("10s")
    for received in webhook_receiver.wait(4):
        shop.hear(received.event)

    assert shop.shipped == {"order-1"}
