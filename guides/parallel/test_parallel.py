"""Twenty tests that would ruin each other on one account: one order number, one key, one clock, one quota.

Each `paydouble` fixture is a business of its own, told apart by the credentials. So they may run at the same time, in
any order, on one server or on many.
"""

import httpx
import pytest

KEY = "6f1c24a1-5f0e-4a5e-9d3b-0b8f2c7d9e10"


@pytest.fixture(scope="module")
def client():
    """Give one client for all; making one takes longer than a test."""
    with httpx.Client() as client:
        yield client


def deposit(client, sandbox, amount):
    """Create a deposit for the one order that there is in all these tests."""
    body = {
        "amount": amount,
        "currency": "EUR",
        "external_identifier": "order-1",
        "payment_method": {"type": "CREDIT_CARD"},
        "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"},
    }
    url = f"{sandbox.base_url}/pay-in/deposit-creation"
    return client.post(url, json=body, headers={"Idempotency-Key": KEY}, auth=sandbox.auth).status_code


@pytest.mark.parametrize("amount", range(1, 6))
def test_one_key_for_many_amounts(client, paydouble, amount):
    """On a shared account all but the first would be conflicts."""
    assert deposit(client, paydouble, amount) == 200


@pytest.mark.parametrize("amount", range(1, 6))
def test_a_quota_of_one(client, paydouble, amount):
    """On a shared account nobody else would get anything."""
    paydouble.rate_limit.set(1)

    assert [deposit(client, paydouble, amount), deposit(client, paydouble, amount)] == [200, 429]


@pytest.mark.parametrize("amount", range(1, 6))
def test_an_outage(client, paydouble, amount):
    """On a shared account it would be everybody's."""
    paydouble.faults.add("error", status=503)

    assert deposit(client, paydouble, amount) == 503


@pytest.mark.parametrize("amount", range(1, 6))
def test_a_day_passes(client, paydouble, webhook_receiver, amount):
    """On a shared clock everybody's keys would expire; and each receiver hears of its own deposit alone."""
    assert deposit(client, paydouble, amount) == 200
    paydouble.clock.advance("24h")
    assert deposit(client, paydouble, amount + 1) == 200

    paydouble.clock.advance("10s")
    assert {each.event["data"]["object"]["amount"] for each in webhook_receiver.wait(8)} == {amount, amount + 1}
