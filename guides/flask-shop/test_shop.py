"""The shop, its payment service, and what can come between them."""

import pytest


def pay(shop):
    """Press the button."""
    return shop.post("/orders/order-1/payment")


def status(shop):
    """Return what the shop says of the order."""
    return shop.get("/orders/order-1").get_json()


def created(sandbox):
    """Return how many deposits there are."""
    return len([event for event in sandbox.events if event.type == "pay-in.created"])


def test_a_paid_order_is_shipped(shop, sandbox):
    """The customer pays, and the money is there six seconds later."""
    assert pay(shop).status_code == 200
    sandbox.clock.advance("6s")

    assert status(shop) == {"status": "paid", "shipped": 1}


def test_a_double_click_charges_once(shop, sandbox):
    """Nobody waits for the first answer."""
    first, second = pay(shop), pay(shop)

    assert first.get_json() == second.get_json()
    assert created(sandbox) == 1


@pytest.mark.parametrize("phase", ["before_commit", "after_commit"])
@pytest.mark.parametrize("trouble", ["connection_reset", "html_error", "truncate", "no_response"])
def test_one_broken_answer_makes_one_deposit(shop, sandbox, naps, trouble, phase):
    """Whatever broke, and whether or not the deposit was made by then, the order is charged once."""
    sandbox.faults.add(trouble, phase=phase, times=1)

    assert pay(shop).status_code == 200
    assert (created(sandbox), naps) == (1, [1])


def test_an_outage_is_survived(shop, sandbox, naps):
    """Nobody answers at the service; the shop backs off, gives up, and is paid later."""
    sandbox.down()
    assert pay(shop).status_code == 503
    assert naps == [1, 2, 4]

    sandbox.up()
    assert pay(shop).status_code == 200
    assert created(sandbox) == 1


def test_a_refusal_is_not_repeated(shop, sandbox):
    """What is wrong with a request does not get better by sending it again."""
    sandbox.faults.add("error", status=422)

    assert pay(shop).status_code == 422
    assert len(sandbox.requests) == 1


@pytest.mark.parametrize("how", [{"type": "duplicate", "copies": 2}, {"type": "reorder", "window": 4}, {"type": "tie"}])
def test_webhooks_may_come_in_any_way(shop, sandbox, how):
    """Twice and thrice, backwards, or at the same instant: the order is shipped once and stays paid."""
    sandbox.faults.add(how)
    pay(shop)
    sandbox.clock.advance("1h")

    assert status(shop) == {"status": "paid", "shipped": 1}


def test_two_days_offline_cost_no_payment(shop, sandbox):
    """The shop cannot be reached from Friday to Sunday; nobody loses an order over it."""
    reachable, sandbox.receiver = sandbox.receiver, lambda webhook: 503
    pay(shop)
    sandbox.clock.advance("48h")
    assert status(shop) == {"status": "unpaid", "shipped": 0}

    sandbox.receiver = reachable
    sandbox.clock.advance("24h")
    assert status(shop) == {"status": "paid", "shipped": 1}


@pytest.mark.parametrize("mode", ["missing", "empty", "malformed", "wrong_secret", "stale", "v0_only"])
def test_a_forged_webhook_changes_nothing(shop, sandbox, mode):
    """What the service has not signed is refused, and never with a 5xx."""
    sandbox.faults.add("signature", mode=mode)
    pay(shop)
    sandbox.clock.advance("10s")

    assert status(shop) == {"status": "unpaid", "shipped": 0}
    assert {attempt.status for each in sandbox.deliveries for attempt in each.attempts} <= {400, 401}
