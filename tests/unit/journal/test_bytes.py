"""The journals of a sandbox have a limit in bytes: the oldest records are evicted, and counted."""

from __future__ import annotations

import gc
import json
import weakref
from typing import Any

import pytest
from drive import DEPOSITS, Business, deposit_body, key, settings

from paydouble.api.values import Reply
from paydouble.faults.model import parse_fault
from paydouble.guards.idempotency import LONGEST_KEPT
from paydouble.sandbox import Sandbox, trimming
from paydouble.webhooks.deliveries import Outcome

SMALL = 65_536


def kept_bytes(box: Sandbox) -> int:
    """Return the bytes that the journals hold, counted exactly."""
    journal = box.journal
    return (
        sum(map(trimming.size_of_request, journal.requests.entries))
        + sum(map(trimming.size_of_event, journal.events.entries))
        + sum(map(trimming.size_of_delivery, box.outbox.deliveries.values()))
    )


def large(number: int, size: int = 8_000, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON is any
    """Return a deposit with a long unknown member."""
    return deposit_body(external_identifier=f"order-{number}", note="x" * size, **changes)


def test_the_oldest_requests_go_when_they_are_too_large() -> None:
    """However many a journal may hold, together they stay below the limit; the newest stay, the others are counted."""
    business = Business(journal_bytes=SMALL, notification_url=None)
    for number in range(100):
        business.post(DEPOSITS, large(number))

    requests = business.sandbox.journal.requests
    orders = [entry.external_identifier for entry in requests.entries]
    assert kept_bytes(business.sandbox) <= SMALL
    assert orders == [f"order-{number}" for number in range(100 - len(orders), 100)]
    assert 2 <= len(orders) < 10
    assert requests.evicted == 100 - len(orders)


def test_requests_without_an_operation_count_too() -> None:
    """Requests that are refused early are kept, and bounded, too."""
    business = Business(journal_bytes=SMALL)
    for number in range(40):
        business.post(f"/nothing/{number}", large(number))

    assert kept_bytes(business.sandbox) <= SMALL
    assert business.sandbox.journal.requests.evicted > 20


def test_what_is_gone_is_gone_from_the_feed_too() -> None:
    """No note keeps a request that the journal has evicted."""
    business = Business(journal_bytes=SMALL, notification_url=None)
    for number in range(100):
        business.post(DEPOSITS, large(number))

    box = business.sandbox
    notes, gone = box.feed.since(0)
    noted = {note.record.id for note in notes if note.kind == "request"}
    assert noted <= {entry.id for entry in box.journal.requests.entries}
    assert gone > 0
    assert [note.sequence for note in notes] == list(range(gone + 1, box.feed.sequence + 1))


def test_a_request_that_is_gone_holds_no_memory() -> None:
    """Neither its idempotency key nor anything else keeps the long body of an evicted request."""
    business = Business(journal_bytes=SMALL, notification_url=None)
    business.post(DEPOSITS, large(0, 30_000))
    (entry,) = business.sandbox.journal.requests.entries
    body = entry.body
    del entry
    for number in range(1, 10):
        business.post(DEPOSITS, large(number, 30_000))

    assert not [each for each in gc.get_referrers(body) if isinstance(each, dict)]
    assert body not in [entry.body for entry in business.sandbox.journal.requests.entries]


def test_settled_deliveries_and_their_events_go_with_the_answers_of_receivers() -> None:
    """A receiver with long answers fills the journal of deliveries, not that of requests."""
    business = Business(journal_bytes=SMALL, scenario="abandoned")
    for number in range(50):
        business.deposit(external_identifier=f"order-{number}")
        _answer(business, 200, 4_000)

    box = business.sandbox
    assert box.outbox.evicted > 30
    assert box.outbox.evicted == 50 - len(box.outbox.deliveries)
    assert box.journal.events.evicted > 0
    assert box.journal.requests.evicted < box.outbox.evicted
    assert kept_bytes(box) <= SMALL


def _answer(business: Business, status: int, length: int) -> None:
    """Let the receiver answer everything that is due with so many bytes."""
    box = business.sandbox
    while endpoints := box.ready_endpoints():
        for endpoint in endpoints:
            taken = box.next_attempt(endpoint, business.wall)
            assert taken is not None
            delivery, attempt = taken
            box.settle(delivery, attempt, Outcome(0, 0.0, status=status, response_body=b"y" * length))


def test_a_delivery_that_waits_is_kept_without_the_answers_to_its_attempts() -> None:
    """It must still be delivered; the answers to its attempts are removed, and each attempt says so."""
    business = Business(journal_bytes=SMALL, scenario="abandoned")
    business.deposit()
    box = business.sandbox
    box.faults.add(parse_fault({"on": "webhooks", "effect": {"type": "payload", "mode": "huge"}}), box.now)
    for _ in range(5):
        _answer(business, 500, 16_384)
        due = box.timers.next_due()
        assert due is not None
        box.clock.jump(due)
        box.tick()

    (delivery,) = box.outbox.deliveries.values()
    stripped = [attempt for attempt in delivery.attempts if attempt.evicted]
    assert (delivery.status, box.outbox.evicted) == ("waiting", 0)
    assert len(delivery.attempts) == 5
    assert stripped == list(delivery.attempts[: len(stripped)]) != []
    assert {attempt.outcome.response_body for attempt in stripped if attempt.outcome} == {b""}
    assert {len(attempt.body) for attempt in stripped[1:]} <= {0}
    assert box.journal.requests.evicted == 0


def test_what_cannot_be_made_smaller_is_left_alone() -> None:
    """Waiting deliveries may exceed the limit; the newest requests are not evicted for them."""
    business = Business(journal_bytes=SMALL, scenario="abandoned", receiver=lambda _: None)
    for number in range(300):
        business.deposit(external_identifier=f"order-{number}")

    box = business.sandbox
    assert len(box.outbox.deliveries) == 300
    assert box.journal.requests.entries[-1].external_identifier == "order-299"
    assert len(box.journal.requests.entries) > 10
    # Otherwise every further record would be followed by an exact count of all.
    assert box.journal.grown <= SMALL


@pytest.mark.parametrize("limit", range(SMALL, SMALL + 6_000, 1_000))
def test_no_more_is_removed_than_needed(limit: int) -> None:
    """About an eighth of the limit becomes free, and every delivery that is kept has its event."""
    business = Business(scenario="abandoned")
    for number in range(60):
        business.deposit(external_identifier=f"order-{number}")
        _answer(business, 200, 2_000)
    box = business.sandbox
    before = kept_bytes(box)

    box.apply(settings(journal_bytes=limit, scenario="abandoned"))

    largest = max(trimming.size_of_delivery(each) for each in box.outbox.deliveries.values())
    enough = limit - limit // 8
    assert before > 2 * limit
    assert enough - largest <= kept_bytes(box) <= enough
    assert box.journal.grown == kept_bytes(box)
    assert {each.event.id for each in box.outbox.deliveries.values()} <= {
        event.id for event in box.journal.events.entries
    }


def test_a_smaller_budget_holds_at_once() -> None:
    """A changed setting applies immediately."""
    business = Business(notification_url=None)
    for number in range(50):
        business.post(DEPOSITS, large(number))
    before = business.sandbox.journal.requests.evicted

    business.sandbox.apply(settings(journal_bytes=SMALL))

    assert before == 0
    assert kept_bytes(business.sandbox) <= SMALL


def replayed(business: Business, body: bytes) -> tuple[Reply, Reply]:
    """Send a body twice with one key."""
    return business.post(DEPOSITS, body, key=key(7)), business.post(DEPOSITS, body, key=key(7))


@pytest.mark.parametrize("fingerprint", ["parsed", "raw"])
@pytest.mark.parametrize("size", [100, LONGEST_KEPT + 1])
def test_a_long_body_is_still_compared(size: int, fingerprint: str) -> None:
    """A key knows the same body, the same value in other bytes, and another value, however long they are."""
    business = Business(fingerprint=fingerprint)
    body = json.dumps(large(1, size)).encode()

    first, again = replayed(business, body)
    spaced = business.post(DEPOSITS, body.replace(b'": ', b'" : ', 1), key=key(7))
    other = business.post(DEPOSITS, body.replace(b"x" * 50, b"z" * 50, 1), key=key(7))

    assert (first.status, again.body) == (200, first.body)
    assert spaced.status == (200 if fingerprint == "parsed" else 409)
    assert other.status == 409
    verdicts = [(entry.verdict, entry.bytes_differ) for entry in business.sandbox.journal.requests.entries]
    last = ("replay" if fingerprint == "parsed" else "conflict", True)
    assert verdicts == [("new", False), ("replay", False), last, ("conflict", True)]


def test_a_large_journal_is_given_back_with_its_sandbox() -> None:
    """Nothing keeps what was evicted."""
    business = Business(journal_bytes=SMALL)
    for number in range(30):
        business.post(DEPOSITS, large(number))
    gone = weakref.ref(business.sandbox)

    business.core.registry.remove(business.sandbox)
    del business

    assert gone() is None
