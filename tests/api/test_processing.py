"""What happens between a request and its answer, and to a business in the meantime."""

from __future__ import annotations

import json

import pytest
from drive import DEPOSITS, MINUTE, START, Business, data, deposit_body, key, settled

from paydouble.api.execution import Delayed
from paydouble.payments.ledger import Ledger


def test_a_request_in_flight_sees_the_world_as_it_is_when_it_ends() -> None:
    """What is executed late is stamped with the time of its execution."""
    business = Business(processing_time="2s")
    step = business.begin(DEPOSITS, deposit_body())
    business.advance(MINUTE)

    created = data(settled(business.go_on(step)))

    assert created["created_at"] == "2026-01-01T00:01:00.000Z"


def test_timers_that_were_due_before_a_request_have_gone_off_before_it() -> None:
    """A request finds everything done that was due, each at its own instant, however late anybody looked."""
    business = Business()
    pay_in_id = business.deposit()
    business.sandbox.clock.jump(START + MINUTE)

    shown = data(business.get(f"/pay-in/{pay_in_id}"))

    assert (shown["status"], shown["updated_at"]) == ("succeeded", "2026-01-01T00:00:06.000Z")


def test_a_failure_of_ours_leaves_the_key_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the double itself breaks before it has committed, a retry is processed, and no later event is blamed."""
    business = Business()

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "create_pay_in", broken)
        with pytest.raises(ZeroDivisionError):
            business.post(DEPOSITS, deposit_body(), key=key(1))

    assert business.post(DEPOSITS, deposit_body(), key=key(1)).status == 200
    assert business.sandbox.publisher.cause is None


def test_a_reset_in_between_forgets_the_key_and_not_the_request() -> None:
    """A request that was in flight during a reset is executed in the new books and answered."""
    business = Business(processing_time="2s")
    step = business.begin(DEPOSITS, deposit_body(), key=key(1))
    business.sandbox.reset(frozenset({"state", "deliveries", "requests", "clock"}))

    reply = settled(business.go_on(step))
    again = business.begin(DEPOSITS, deposit_body(), key=key(1))

    assert reply.status == 200
    assert isinstance(again, Delayed)
    assert len(json.loads(business.get("/pay-in").body)["data"]["items"]) == 1


def test_the_first_of_a_repeated_query_member_counts() -> None:
    """`limit=2&limit=x` is a page of two."""
    business = Business()
    for _ in range(3):
        business.deposit()

    assert len(data(business.get("/pay-in?limit=2&limit=x"))["items"]) == 2
