"""The shop, its payment service, and what can come between them. The shop runs under uvicorn, in a thread."""

import socket
import threading

import httpx
import pytest
import uvicorn
from shop import Service, make_app


@pytest.fixture
def shop(paydouble):
    """Give a client of the shop; the sandbox is its payment service and sends its webhooks to it."""
    service = Service(paydouble.base_url, paydouble.auth, pauses=(0, 0, 0))
    app = make_app(service, paydouble.webhook_secret)
    # Whoever connects before uvicorn is up waits in this socket's queue, so nobody has to ask whether it is.
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        paydouble.change(notification_url=f"{url}/webhooks")
        with httpx.Client(base_url=url) as client:
            client.put("/orders/order-1", json={"amount": "49.90"})
            yield client
        server.should_exit = True
        thread.join()


def pay(shop):
    """Press the button."""
    return shop.post("/orders/order-1/payment")


def status(shop):
    """Return what the shop says of the order."""
    return shop.get("/orders/order-1").json()


def test_a_paid_order_is_shipped(shop, paydouble):
    """The customer pays, and the money is there six seconds later."""
    assert pay(shop).status_code == 200
    paydouble.clock.advance("6s")

    assert status(shop) == {"status": "paid", "shipped": 1}
    paydouble.deliveries.verify(status="delivered", count=4)


def test_an_abandoned_payment_ends(shop, paydouble):
    """The customer closes the window; a day later the pay-in expires."""
    paydouble.scenarios.activate("abandoned")
    pay(shop)
    paydouble.clock.advance("24h")

    assert status(shop) == {"status": "cancelled", "shipped": 0}


@pytest.mark.parametrize("phase", ["before_commit", "after_commit"])
@pytest.mark.parametrize("trouble", ["connection_reset", "garbage"])
def test_one_broken_answer_makes_one_deposit(shop, paydouble, trouble, phase):
    """Whatever broke, and whether or not the deposit was made by then, the order is charged once."""
    paydouble.faults.add(trouble, operation="deposit-creation", phase=phase, times=1)

    assert pay(shop).status_code == 200
    assert len(paydouble.events.list(type="pay-in.created")) == 1


def test_a_refusal_is_not_repeated(shop, paydouble):
    """What is wrong with a request does not get better by sending it again."""
    paydouble.faults.add("error", status=422)

    assert pay(shop).status_code == 422
    paydouble.requests.verify(operation="deposit-creation", count=1)


def test_the_webhook_may_overtake_the_reply(shop, paydouble):
    """The service tells of the deposit before it has answered the request that made it."""
    paydouble.faults.add("before_response")

    assert pay(shop).status_code == 200
    assert status(shop) == {"status": "created", "shipped": 0}


def test_a_dead_line_costs_no_payment(shop, paydouble):
    """The line to the shop is dead for two hours; the service tries again until it is not."""
    paydouble.faults.add("connection_reset", on="webhooks", ttl="2h")
    pay(shop)
    paydouble.clock.advance("1h")
    assert status(shop) == {"status": "unpaid", "shipped": 0}

    paydouble.clock.advance("10h")
    assert status(shop) == {"status": "paid", "shipped": 1}


@pytest.mark.parametrize("how", [{"type": "duplicate", "copies": 2}, {"type": "reorder", "window": 4}])
def test_webhooks_may_come_in_any_way(shop, paydouble, how):
    """Thrice, or backwards: the order is shipped once and stays paid."""
    paydouble.faults.add(how)
    pay(shop)
    paydouble.clock.advance("1h")

    assert status(shop) == {"status": "paid", "shipped": 1}


@pytest.mark.parametrize("mode", ["invalid_json", "empty", "unknown_type"])
def test_a_strange_webhook_is_no_server_error(shop, paydouble, mode):
    """It is signed, and hardly digestible; an answer with 5xx would have it sent for three days."""
    paydouble.faults.add("payload", mode=mode)
    pay(shop)
    paydouble.clock.advance("10s")

    answers = {attempt.status for each in paydouble.deliveries.list() for attempt in each.attempts}
    assert answers <= {200, 400}


def test_a_forged_webhook_changes_nothing(shop, paydouble):
    """Somebody changes the amount on its way."""
    paydouble.faults.add("tamper")
    pay(shop)
    paydouble.clock.advance("10s")

    assert status(shop) == {"status": "unpaid", "shipped": 0}
