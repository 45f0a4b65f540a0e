"""What must hold of every basket, whatever breaks, and in whichever order the webhooks come."""

import time
from collections import Counter
from decimal import Decimal

import httpx
from hypothesis import given, settings
from hypothesis import strategies as st
from shop import Shop, Unavailable

from paydouble import Sandbox
from paydouble.strategies import hostile_headers
from paydouble.testing.transports import HttpxTransport

# The first example loads what the service is made of, and a busy machine is slow: neither is the shop's mistake.
settings.register_profile("shop", deadline=None)
settings.load_profile("shop")

prices = st.decimals("0.01", "99.99", places=2)
troubles = st.sampled_from(["connection_reset", "empty_response", "truncate", "html_error", "garbage"])
phases = st.sampled_from(["before_commit", "after_commit"])
PAID = [Decimal("49.90")]


def open_shop(prices):
    """Return a service that nobody has used yet and a shop with one order, both in this thread."""
    sandbox = Sandbox()
    client = httpx.Client(transport=HttpxTransport(sandbox), base_url=sandbox.base_url, auth=sandbox.auth)
    shop = Shop(client, sandbox.webhook_secret)
    shop.order("order-1", prices)
    return sandbox, shop


def hand_over(shop, webhook):
    """Let the shop take a webhook; returns the status of its answer."""
    return shop.receive(webhook.body, dict(webhook.headers).get("X-Service-Signature"))


@given(prices=st.lists(prices, min_size=1, max_size=5))
def test_the_customer_pays_what_the_basket_costs(prices):
    """To the cent, however many there are."""
    sandbox, shop = open_shop(prices)
    shop.pay("order-1")

    [event] = sandbox.events
    assert event.json()["data"]["object"]["amount"] == sum(prices)


@given(broken=st.lists(st.tuples(troubles, phases), max_size=5))
def test_an_order_is_charged_once(broken):
    """Whatever breaks, as often as it likes; in the end the customer clicks once more."""
    sandbox, shop = open_shop(PAID)
    for effect, phase in broken:
        sandbox.faults.add(effect, phase=phase, times=1)
    try:
        shop.pay("order-1")
    except Unavailable:
        sandbox.faults.clear()
        shop.pay("order-1")

    assert Counter(event.type for event in sandbox.events) == {"pay-in.created": 1}


@given(order=st.permutations([0, 1, 2, 3]), again=st.lists(st.integers(0, 3), max_size=4))
def test_webhooks_come_in_any_order(order, again):
    """And some of them again: the order is paid, and shipped once."""
    sandbox, shop = open_shop(PAID)
    webhooks = []
    sandbox.receiver = webhooks.append
    shop.pay("order-1")
    sandbox.clock.advance("10s")

    answers = {hand_over(shop, webhooks[place]) for place in [*order, *again]}

    assert answers == {200}
    assert (shop.orders["order-1"].status, shop.orders["order-1"].shipped) == ("paid", 1)


@given(data=st.data())
def test_no_signature_but_the_service_s_is_taken(data):
    """Whatever header somebody makes up, it is refused as the service's documentation recommends."""
    sandbox, shop = open_shop(PAID)
    webhooks = []
    sandbox.receiver = webhooks.append
    shop.pay("order-1")
    sandbox.clock.advance("10s")
    body = webhooks[-1].body
    header = data.draw(hostile_headers(body, sandbox.webhook_secret, int(time.time())))

    assert shop.receive(body, header.value) == header.status
    assert shop.orders["order-1"].shipped == 0


@given(place=st.integers(0, 10_000), byte=st.integers(0, 255))
def test_no_byte_can_be_changed(place, byte):
    """One byte of a webhook is another one: it is refused, and changes nothing."""
    sandbox, shop = open_shop(PAID)
    webhooks = []
    sandbox.receiver = webhooks.append
    shop.pay("order-1")
    sandbox.clock.advance("10s")
    good = webhooks[-1].body
    place %= len(good)
    bad = good[:place] + bytes([byte]) + good[place + 1 :]

    answer = shop.receive(bad, dict(webhooks[-1].headers)["X-Service-Signature"])

    assert answer == (200 if bad == good else 401)
    assert shop.orders["order-1"].shipped == (bad == good)
