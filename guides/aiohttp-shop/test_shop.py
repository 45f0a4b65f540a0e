"""The shop, its payment service, and what can come between them. The shop runs in the test's own event loop."""

import pytest
from shop import Service, make_app


@pytest.fixture
async def shop(paydouble, aiohttp_client):
    """Give a client of the shop; the sandbox is its payment service and sends its webhooks to it."""
    service = Service(paydouble.base_url, paydouble.auth, pauses=(0, 0, 0))
    client = await aiohttp_client(make_app(service, paydouble.webhook_secret))
    paydouble.change(notification_url=str(client.make_url("/webhooks")))
    await client.put("/orders/order-1", json={"amount": "49.90"})
    return client


async def pay(shop):
    """Press the button."""
    return await shop.post("/orders/order-1/payment")


async def status(shop):
    """Return what the shop says of the order."""
    return await (await shop.get("/orders/order-1")).json()


async def advance(paydouble, time):
    """Let the sandbox's time pass. It is awaited because this very event loop has to answer the webhooks."""
    return await paydouble.asynchronous.clock.advance(time)


async def test_a_paid_order_is_shipped(shop, paydouble):
    """The customer pays, and four webhooks tell how it goes."""
    answer = await pay(shop)
    assert answer.status == 200
    # The first webhook may be here before this very question, or behind it: unpaid or created, but nothing is shipped.
    assert (await status(shop))["shipped"] == 0

    await advance(paydouble, "3s")
    assert await status(shop) == {"status": "processing", "shipped": 0}

    await advance(paydouble, "3s")
    assert await status(shop) == {"status": "paid", "shipped": 1}
    paydouble.deliveries.verify(status="delivered", count=4)


@pytest.mark.paydouble(scenario="card-declined")
async def test_a_declined_card_ships_nothing(shop, paydouble):
    """The issuer says no."""
    await pay(shop)
    await advance(paydouble, "10s")

    assert await status(shop) == {"status": "failed", "shipped": 0}


@pytest.mark.parametrize("phase", ["before_commit", "after_commit"])
@pytest.mark.parametrize("trouble", ["connection_reset", "html_error", "truncate", "empty_response"])
async def test_one_broken_answer_makes_one_deposit(shop, paydouble, trouble, phase):
    """Whatever broke, and whether or not the deposit was made by then, the order is charged once."""
    paydouble.faults.add(trouble, operation="deposit-creation", phase=phase, times=1)

    answer = await pay(shop)

    assert answer.status == 200
    assert len(paydouble.events.list(type="pay-in.created")) == 1


async def test_an_outage_is_survived(shop, paydouble):
    """The service is down; the customer is told so, comes back, and pays once."""
    outage = paydouble.faults.add("error", status=503)
    first = await pay(shop)
    paydouble.faults.remove(outage.id)
    second = await pay(shop)

    assert (first.status, second.status) == (503, 200)
    keys = {request.idempotency_key for request in paydouble.requests.list()}
    assert len(keys) == 1


async def test_a_refusal_is_not_repeated(shop, paydouble):
    """What is wrong with a request does not get better by sending it again."""
    paydouble.faults.add("error", status=422)

    answer = await pay(shop)

    assert answer.status == 422
    paydouble.requests.verify(operation="deposit-creation", count=1)


@pytest.mark.parametrize("how", [{"type": "duplicate", "copies": 2}, {"type": "reorder", "window": 4}, {"type": "tie"}])
async def test_webhooks_may_come_in_any_way(shop, paydouble, how):
    """Twice and thrice, backwards, or at the same instant: the order is shipped once and stays paid."""
    paydouble.faults.add(how)
    await pay(shop)
    await advance(paydouble, "1h")

    assert await status(shop) == {"status": "paid", "shipped": 1}


@pytest.mark.parametrize("mode", ["missing", "malformed", "non_ascii", "wrong_secret", "stale", "v0_only"])
async def test_a_forged_webhook_changes_nothing(shop, paydouble, mode):
    """What the service has not signed is refused, and never with a 5xx."""
    paydouble.faults.add("signature", mode=mode)
    await pay(shop)
    await advance(paydouble, "10s")

    assert await status(shop) == {"status": "unpaid", "shipped": 0}
    answers = {attempt.status for each in paydouble.deliveries.list() for attempt in each.attempts}
    assert answers <= {400, 401}


async def test_the_wrong_amount_is_looked_at(shop, paydouble):
    """Somebody paid a euro too little."""
    paydouble.faults.add("amount_drift", by="-1.00")
    await pay(shop)
    await advance(paydouble, "10s")

    assert await status(shop) == {"status": "review", "shipped": 0}
