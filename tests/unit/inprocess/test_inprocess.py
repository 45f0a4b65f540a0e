"""The double in this thread: requests answered at once, deliveries when a caller says so, a clock that is moved."""

from __future__ import annotations

import json

import pytest
from drive import DEPOSITS, deposit_body, key

from paydouble.api.values import Reply, Request
from paydouble.config import load_settings
from paydouble.core.errors import UsageError
from paydouble.faults.model import parse_fault
from paydouble.guards.credentials import basic_header
from paydouble.inprocess import START_MS, InProcess, Unreachable, Webhook
from paydouble.sandbox.identity import Identity


def _request(core: InProcess, number: int = 1, **changes: object) -> Request:
    return core.request("POST", DEPOSITS, json.dumps(deposit_body(**changes)).encode(), key=key(number))


def _deposit(core: InProcess, number: int = 1, **changes: object) -> Reply:
    return core.handle(_request(core, number, **changes))


def _arm(core: InProcess, kind: str, **members: object) -> None:
    core.sandbox.faults.add(parse_fault({"effect": {"type": kind, **members}}), core.sandbox.now)


def test_a_request_is_ready_to_be_sent() -> None:
    """It has credentials, the type of its body and a key, unless the caller gives others."""
    core = InProcess()
    posts = [core.request("POST", "pay-in/x", b"{}"), core.request("POST", "/api/v1/pay-in/x", b"{}", key=key(9))]
    bare = core.request("GET", "/pay-in", headers={"authorization": "none", "Idempotency-Key": "none"})

    assert [each.target for each in (*posts, bare)] == ["/api/v1/pay-in/x", "/api/v1/pay-in/x", "/api/v1/pay-in"]
    assert [dict(each.headers) for each in posts] == [
        {"Authorization": core.authorization, "Content-Type": "application/json", "Idempotency-Key": key(number)}
        for number in (1, 9)
    ]
    assert dict(bare.headers) == {"authorization": "none", "Idempotency-Key": "none"}


def test_two_businesses_share_a_service() -> None:
    """Each finds its own pay-ins, and a stranger's request belongs to neither."""
    one = InProcess()
    other = InProcess(identity=Identity("other", 1, "other_key", "secret", "whsec"), beside=one)
    _deposit(one)
    stranger = other.request("GET", "/pay-in", headers={"Authorization": basic_header("nobody", "secret")})

    statuses = [one.handle(other.request("GET", "/pay-in")).status, other.handle(stranger).status]

    assert statuses == [200, 401]
    assert [len(each.sandbox.journal.requests.entries) for each in (one, other)] == [1, 1]
    assert one.unclaimed is other.unclaimed
    assert len(one.unclaimed.log.entries) == 1


def test_time_in_flight_is_told_and_not_waited_for() -> None:
    """The reply says how long it would have been kept back, before the commit and after it."""
    core = InProcess(load_settings({"processing_time": "2s"}))
    _arm(core, "latency", fixed="1s")

    assert _deposit(core).delay_ms == 3000


def test_a_request_that_is_in_flight_elsewhere_is_not_waited_for() -> None:
    """Nobody could end it; a request that was answered here is over, and its key replays."""
    core = InProcess(load_settings({"processing_time": "2s"}))
    first = _deposit(core)
    core.pipeline.handle(_request(core, 2))

    assert _deposit(core).body == first.body
    with pytest.raises(UsageError, match="in flight"):
        _deposit(core, 2)


def test_a_webhook_that_overtakes_its_reply_has_arrived() -> None:
    """When the reply is there, with its lead."""
    seen: list[Webhook] = []

    def take(webhook: Webhook) -> int:
        seen.append(webhook)
        return 200

    core = InProcess(receiver=take)
    _arm(core, "before_response", lead="2s")
    reply = _deposit(core)

    assert (len(seen), reply.delay_ms) == (1, 2000)


def test_deliveries_stop_at_a_limit() -> None:
    """And go on where they stopped."""
    core = InProcess(receiver=lambda _: 200)
    for number in (1, 2, 3):
        _deposit(core, number)

    assert (core.deliver(limit=2), core.deliver(limit=0), core.deliver(), core.attempts) == (2, 0, 1, 3)


def test_a_receiver_may_call_back() -> None:
    """What it delivers from within is not delivered a second time."""
    seen: list[str] = []

    def take(webhook: Webhook) -> int:
        seen.append(webhook.delivery.id)
        core.deliver()
        return 200

    core = InProcess(receiver=take)
    _arm(core, "duplicate", copies=2, concurrent=True)
    _deposit(core)

    assert (core.deliver(), core.attempts, len(seen), len(set(seen))) == (3, 3, 3, 3)


def test_a_clock_moves_by_to_and_until_idle() -> None:
    """What falls due happens on the way, in its order."""
    core = InProcess(receiver=lambda _: 200)
    _deposit(core)
    first = core.advance(by=2_000)
    second = core.advance(to=START_MS + 4_000)
    limited = core.advance(by=60_000, limit=1)
    at = core.sandbox.now
    core.advance(to=at)

    assert (first, second, limited, at) == (1, 1, 1, START_MS + 6_000)
    assert (core.advance(), core.sandbox.idle) == (0, True)


@pytest.mark.parametrize(("to", "why"), [(START_MS - 1, "in the past"), (10**16, "after the year 9998")])
def test_a_clock_goes_nowhere_else(to: int, why: str) -> None:
    """Neither back nor out of the calendar."""
    with pytest.raises(UsageError, match=why):
        InProcess().advance(to=to)


def test_an_attempt_has_the_end_that_its_receiver_gives_it() -> None:
    """Unreachable, reset by a fault, or answered; signed by the machine's time where that is given."""
    answers: list[int | None] = [None, 200]

    def take(_: Webhook) -> int:
        answer = answers.pop(0)
        if answer is None:
            raise Unreachable
        return answer

    core = InProcess(receiver=take, wall=lambda: 1_000_000)
    core.sandbox.faults.add(
        parse_fault({"on": "webhooks", "match": {"attempt": 2}, "effect": {"type": "connection_reset"}}), START_MS
    )
    _deposit(core, customer={**deposit_body()["customer"], "email": "abandoned@scenario.test"})
    core.advance(by=400_000)

    [delivery] = core.sandbox.outbox.deliveries.values()
    outcomes = [attempt.outcome for attempt in delivery.attempts]
    assert [(each.error.kind if each.error else None, each.status, each.sent_at) for each in outcomes if each] == [
        ("refused", None, 1_000_000),
        ("reset", None, 1_000_000),
        (None, 200, 1_000_000),
    ]
    assert delivery.attempts[0].signed_at == 1_000


def test_a_receiver_with_a_bug_does_not_block_its_endpoint() -> None:
    """The bug is raised to the caller, and the next delivery goes out."""
    bugs = [ZeroDivisionError()]

    def take(_: Webhook) -> int:
        if bugs:
            raise bugs.pop()
        return 200

    core = InProcess(receiver=take)
    _deposit(core)
    with pytest.raises(ZeroDivisionError):
        core.deliver()
    core.advance(by=60_000)

    [first, *_] = core.sandbox.outbox.deliveries.values()
    assert [attempt.outcome is not None for attempt in first.attempts] == [True, True]
    assert first.status == "delivered"
