"""Three tests: what every shop tries, what a network does now and then, and what a webhook's sender may do."""

from collections.abc import Iterator

import pytest
from shop import Shop


@pytest.fixture
def shop(paydouble) -> Iterator[Shop]:
    """Give a shop whose payment service is the test's own sandbox."""
    shop = Shop(paydouble.base_url, paydouble.auth)
    with shop.service:
        yield shop


def test_an_order_is_paid_and_shipped(shop, paydouble, webhook_receiver):
    """A customer pays, and the money is there within seconds."""
    address = shop.pay("order-1", 20)

    paydouble.clock.advance("10s")  # of the sandbox's time; nobody waits
    for received in webhook_receiver.wait(4):
        shop.hear(received.event)

    assert address.startswith("http")
    assert shop.shipped == ["order-1"]


def test_a_lost_reply_does_not_charge_twice(shop, paydouble):
    """The deposit is made, and the connection breaks before the shop hears of it."""
    paydouble.faults.add("connection_reset", operation="deposit-creation", phase="after_commit", times=1)

    shop.pay("order-1", 20)

    deposits = {event.object_id for event in paydouble.events.list(type="pay-in.created")}
    assert len(deposits) == 1


def test_a_webhook_that_comes_twice_ships_once(shop, paydouble, webhook_receiver):
    """The same event can be delivered more than once, as the service's documentation says."""
    paydouble.faults.add("duplicate", event_type="pay-in.succeeded")

    shop.pay("order-1", 20)
    paydouble.clock.advance("10s")
    for received in webhook_receiver.wait(5):
        shop.hear(received.event)

    assert shop.shipped == ["order-1"]
