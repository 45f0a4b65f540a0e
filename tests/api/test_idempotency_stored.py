"""What is stored under a key and for how long, and what leaves the key free (assumptions, "Idempotency")."""

from __future__ import annotations

from typing import Any

import pytest
from drive import DAY, DEPOSITS, SECOND, Business, data, deposit_body, settings

KEY = "5f0c9d3e-8a41-4b7e-9c1d-2e6f7a8b9c0d"


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (DEPOSITS, deposit_body(currency="ZZZ"), 422),
        ("/refund/refund-creation", {"payin_id": "payin_none"}, 404),
        ("/pay-in/none/cancellation", {}, 404),
    ],
)
def test_refusals_of_execution_are_stored(path: str, body: dict[str, Any], status: int) -> None:
    """A 404 and a 422 are replayed byte for byte, the first request's id included."""
    business = Business()

    replies = [business.post(path, body, key=KEY) for _ in range(2)]

    assert [(status, replies[0].body)] * 2 == [(each.status, each.body) for each in replies]
    assert business.post(path, {**body, "x": 1}, key=KEY).status == 409


def test_a_stored_refusal_outlives_its_reason() -> None:
    """A 422 is replayed although the same request would succeed by now."""
    business = Business()
    pay_in_id = business.deposit()
    body = {"payin_id": pay_in_id}
    first = business.post("/refund/refund-creation", body, key=KEY)
    business.until_idle()

    again, anew = (
        business.post("/refund/refund-creation", body, key=KEY),
        business.post("/refund/refund-creation", body),
    )

    assert [first.status, again.status, anew.status] == [422, 422, 200]
    assert first.body == again.body


@pytest.mark.parametrize(
    ("body", "options"),
    [
        pytest.param(deposit_body(amount=...), {}, id="400 of a member"),
        pytest.param(b"{", {}, id="400 of the text"),
        pytest.param(deposit_body(amount=1.234), {}, id="400 of the digits"),
        pytest.param(deposit_body(amount=1), {"authorization": None}, id="401"),
        pytest.param(deposit_body(amount=1), {"remote": "10.0.0.1"}, id="403"),
        pytest.param(deposit_body(amount=1), {"content_type": "text/plain"}, id="400 of the type"),
    ],
)
def test_what_was_refused_before_execution_leaves_the_key_free(body: object, options: dict[str, Any]) -> None:
    """After a 400, 401 or 403 the key can be used for any request."""
    business = Business(allowed_addresses=["127.0.0.1"])
    refused = business.post(DEPOSITS, body, key=KEY, **options)

    reply = business.post(DEPOSITS, deposit_body(), key=KEY)

    assert refused.status in {400, 401, 403}
    assert reply.status == 200


def test_a_429_leaves_the_key_free() -> None:
    """Who was turned away for the quota may send something else under the key."""
    business = Business(rate_limit={"limit": 0})
    refused = business.post(DEPOSITS, deposit_body(), key=KEY)
    business.sandbox.apply(settings())

    assert [refused.status, business.post(DEPOSITS, deposit_body(amount=1), key=KEY).status] == [429, 200]


def test_a_409_changes_nothing() -> None:
    """After a conflict the first request still replays."""
    business = Business()
    first = business.post(DEPOSITS, deposit_body(), key=KEY)
    business.post(DEPOSITS, deposit_body(amount=1), key=KEY)

    assert first.body == business.post(DEPOSITS, deposit_body(), key=KEY).body


def test_a_replay_counts_against_the_quota() -> None:
    """The quota is checked before the key."""
    business = Business(rate_limit={"limit": 1})
    business.post(DEPOSITS, deposit_body(), key=KEY)

    assert business.post(DEPOSITS, deposit_body(), key=KEY).status == 429


# Expiry


@pytest.mark.parametrize(("age", "created"), [(DAY - SECOND, 1), (DAY - 1, 1), (DAY, 2), (DAY + 1, 2), (300 * DAY, 2)])
def test_a_key_is_new_again_after_a_day(age: int, created: int) -> None:
    """Up to 86 400 s a key replays; from then on it creates anew."""
    business = Business()
    first = business.post(DEPOSITS, deposit_body(), key=KEY)
    business.advance(age)

    second = business.post(DEPOSITS, deposit_body(), key=KEY)

    assert created == len({data(first)["id"], data(second)["id"]})


def test_a_replay_does_not_prolong_a_key() -> None:
    """The day begins with the first request."""
    business = Business()
    first = business.post(DEPOSITS, deposit_body(), key=KEY)
    business.advance(DAY - 1)
    business.post(DEPOSITS, deposit_body(), key=KEY)
    business.advance(1)

    assert first.body != business.post(DEPOSITS, deposit_body(), key=KEY).body


def test_an_expired_key_takes_another_body() -> None:
    """After its day a key conflicts with nothing."""
    business = Business(idempotency_validity="1h")
    business.post(DEPOSITS, deposit_body(), key=KEY)
    business.advance(3_600_000)

    assert business.post(DEPOSITS, deposit_body(amount=1), key=KEY).status == 200


def test_expired_keys_are_let_go() -> None:
    """Keys that can never be replayed again do not pile up."""
    business = Business()
    for _ in range(50):
        business.post(DEPOSITS, deposit_body())
    business.advance(DAY)

    business.post(DEPOSITS, deposit_body())

    assert len(business.sandbox.keys) == 1
