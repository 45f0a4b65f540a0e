"""Deliveries handled by hand, also while an attempt is in flight."""

from __future__ import annotations

from typing import Any

import pytest
from drive import DAY, HOUR, MINUTE, SECOND, URL, Business, outcome

from paydouble.core.errors import UsageError
from paydouble.faults.model import parse_fault
from paydouble.webhooks.deliveries import Attempt, Delivery

OTHER = "http://127.0.0.1:9/other"


def _business(**options: Any) -> Business:  # noqa: ANN401 - those of a Business
    business = Business(**{"scenario": "abandoned", **options})
    business.deposit(expires_in=2_592_000)
    return business


def _delivery(business: Business, place: int = 0) -> Delivery:
    return list(business.sandbox.outbox.deliveries.values())[place]


def _flying(business: Business, url: str = URL) -> tuple[Delivery, Attempt]:
    taken = business.sandbox.next_attempt(url, business.wall)
    assert taken is not None
    return taken


def _fault(business: Business, effect: dict[str, Any], **members: Any) -> None:  # noqa: ANN401 - those of a fault
    business.sandbox.faults.add(parse_fault({"on": "webhooks", "effect": effect, **members}), business.sandbox.now)


@pytest.mark.parametrize("url", [URL, OTHER])
def test_a_delivery_in_flight_cannot_be_redelivered(url: str) -> None:
    """Also when the endpoint has changed meanwhile; once the attempt is answered it can."""
    business = _business()
    delivery, attempt = _flying(business)
    business.sandbox.set_notification_url(url)

    with pytest.raises(UsageError, match="being sent at this moment"):
        business.sandbox.redeliver(delivery)
    business.sandbox.settle(delivery, attempt, outcome(200, business.wall))
    business.sandbox.redeliver(delivery)

    assert business.deliver_all() == 1


def test_a_delivery_held_in_flight_waits_for_release_after_a_failure() -> None:
    """No retry is made while it is held; on release the next attempt is made at once, and the schedule goes on."""
    business = _business(receiver=lambda _: 500)
    delivery, attempt = _flying(business)
    business.sandbox.hold(delivery)
    business.sandbox.settle(delivery, attempt, outcome(500, business.wall))
    business.advance(DAY)
    held = (delivery.status, len(delivery.attempts))
    business.sandbox.release(delivery)
    start = business.sandbox.now
    business.advance(5 * MINUTE)

    assert held == ("held", 1)
    assert [each.due_at - start for each in delivery.attempts[1:]] == [0, 5 * MINUTE]


def test_a_delivery_held_in_flight_is_delivered_by_a_success() -> None:
    """A successful attempt settles it, although it was held meanwhile."""
    business = _business()
    delivery, attempt = _flying(business)
    business.sandbox.hold(delivery)
    business.sandbox.settle(delivery, attempt, outcome(200, business.wall))

    assert (delivery.status, business.sandbox.outbox.quiet) == ("delivered", True)


@pytest.mark.parametrize(("status", "expected"), [(200, "delivered"), (500, "waiting")])
def test_a_delivery_held_and_released_in_flight_is_as_if_never_held(status: int, expected: str) -> None:
    """No second attempt is made beside the one in flight; a failed one is retried after a minute."""
    business = _business()
    delivery, attempt = _flying(business)
    business.sandbox.hold(delivery)
    business.sandbox.release(delivery)
    queued = business.sandbox.ready_endpoints()
    business.sandbox.settle(delivery, attempt, outcome(status, business.wall))
    state = delivery.status
    business.advance(MINUTE)

    assert (queued, state) == ([], expected)
    assert [each.due_at - attempt.due_at for each in delivery.attempts] == [0, MINUTE][: 1 + (status == 500)]


@pytest.mark.parametrize(("status", "expected"), [(200, "delivered"), (500, "no_endpoint")])
def test_a_delivery_in_flight_when_its_endpoint_is_removed(status: int, expected: str) -> None:
    """Held or not, without an endpoint a failed attempt is the last."""
    business = _business()
    delivery, attempt = _flying(business)
    business.sandbox.hold(delivery)
    business.sandbox.set_notification_url(None)
    business.sandbox.settle(delivery, attempt, outcome(status, business.wall))

    assert delivery.status == expected


def test_a_hold_cancels_the_timer_of_the_retry() -> None:
    """A delivery that waits for its next attempt can be held, and its schedule goes on from the release."""
    business = _business(receiver=lambda _: 500)
    business.deliver_all()
    delivery = _delivery(business)
    first_due = delivery.first_due_at
    business.sandbox.hold(delivery)
    timers = business.sandbox.timers.of(delivery.id)
    business.advance(HOUR)
    business.sandbox.release(delivery)
    business.deliver_all()

    assert (timers, len(delivery.attempts), delivery.first_due_at) == ((), 2, first_due)
    assert delivery.next_due_at == business.sandbox.now + 5 * MINUTE


def test_a_held_delivery_can_be_held_again() -> None:
    """It stays held."""
    business = _business()
    delivery = _delivery(business)
    business.sandbox.hold(delivery)
    business.sandbox.hold(delivery)

    assert (delivery.status, business.deliver_all()) == ("held", 0)


def test_a_held_delivery_leaves_its_queue() -> None:
    """The next one in the queue is sent."""
    business = _business()
    business.deposit(expires_in=2_592_000)
    business.sandbox.hold(_delivery(business))
    business.deliver_all()

    assert [each.status for each in business.sandbox.outbox.deliveries.values()] == ["held", "delivered"]


def test_redelivering_a_held_delivery_sends_it() -> None:
    """It is sent now."""
    business = _business()
    delivery = _delivery(business)
    business.sandbox.hold(delivery)
    business.sandbox.redeliver(delivery)

    assert (business.deliver_all(), delivery.status) == (1, "delivered")


def test_redelivering_a_queued_delivery_sends_it_once() -> None:
    """It is due already."""
    business = _business()
    business.sandbox.redeliver(_delivery(business))

    assert business.deliver_all() == 1


def test_redelivering_follows_the_endpoint_and_needs_one() -> None:
    """A delivered event goes to the sandbox's current URL; without one it is `no_endpoint`."""
    business = _business()
    business.deliver_all()
    delivery = _delivery(business)
    targets = []
    for url in (OTHER, None):
        business.sandbox.set_notification_url(url)
        business.sandbox.redeliver(delivery)
        business.deliver_all()
        targets.append((delivery.target, delivery.status))

    assert targets == [(OTHER, "delivered"), (None, "no_endpoint")]


def test_redelivering_to_a_deposits_own_endpoint_stays_there() -> None:
    """The sandbox's URL does not matter."""
    business = Business(scenario="abandoned")
    business.deposit(notification_url=OTHER)
    business.deliver_all()
    delivery = _delivery(business)
    business.sandbox.set_notification_url(None)
    business.sandbox.redeliver(delivery)
    business.deliver_all()

    assert (delivery.target, len(delivery.attempts)) == (OTHER, 2)


@pytest.mark.parametrize(
    ("since", "expected"),
    [(None, [0, 1]), (0, [0, 1]), (59 * SECOND, [1]), (HOUR, [])],
)
def test_failed_deliveries_are_those_whose_latest_attempt_failed(since: int | None, expected: list[int]) -> None:
    """Waiting and exhausted ones, since an instant; not the delivered, the held, or those in flight."""
    answers = iter([500, 500, 200, 500])
    business = Business(scenario="abandoned", receiver=lambda _: next(answers))
    start = business.sandbox.now
    _fault(business, {"type": "schedule", "attempts": 1}, times=1)
    for late in (0, MINUTE, MINUTE, MINUTE):
        business.advance(start + late - business.sandbox.now)
        business.deposit(expires_in=2_592_000)
        business.deliver_all()
    made = list(business.sandbox.outbox.deliveries.values())
    business.sandbox.hold(made[3])

    failed = business.sandbox.failed_deliveries(None if since is None else start + since)
    assert [made.index(each) for each in failed] == expected


def test_a_delivery_in_flight_has_not_failed() -> None:
    """Its answer is not known yet."""
    business = _business(receiver=lambda _: 500)
    business.deliver_all()
    business.sandbox.redeliver(_delivery(business))
    queued = len(business.sandbox.failed_deliveries(None))
    _flying(business)

    assert (queued, business.sandbox.failed_deliveries(None)) == (1, [])


def test_the_first_delay_of_a_schedule_adds_to_that_of_a_fault() -> None:
    """Events leave a minute after they happen, and a delay comes on top of it."""
    business = Business(scenario="abandoned", webhooks={"schedule": ["1m", "5m"]})
    _fault(business, {"type": "delay", "fixed": "10s"}, times=1)
    start = business.sandbox.now
    for _ in range(2):
        business.deposit(expires_in=2_592_000)
    business.advance(2 * MINUTE)

    assert [each.attempts[0].due_at - start for each in business.sandbox.outbox.deliveries.values()] == [
        70 * SECOND,
        MINUTE,
    ]


@pytest.mark.parametrize("scope", [{"deliveries"}, {"state"}, {"state", "deliveries"}])
def test_copies_that_are_not_due_yet_after_a_reset(scope: set[str]) -> None:
    """A reset of the deliveries removes copies that are still to come, any other reset keeps them."""
    business = _business()
    _fault(business, {"type": "duplicate", "spacing": "1m", "copies": 2})
    business.deposit(expires_in=2_592_000)
    business.deliver_all()
    business.sandbox.reset(frozenset(scope))
    business.advance(HOUR)

    assert len(business.received) == (2 if "deliveries" in scope else 4)


def test_an_answer_to_a_removed_delivery_is_ignored() -> None:
    """The attempt was in flight when its delivery was removed."""
    business = _business()
    delivery, attempt = _flying(business)
    business.sandbox.reset(frozenset({"deliveries"}))
    business.sandbox.settle(delivery, attempt, outcome(500, business.wall))

    assert (business.sandbox.outbox.deliveries, business.sandbox.timers.of(delivery.id)) == ({}, ())


def test_the_feed_notes_copies_and_deliveries_that_leave_a_window() -> None:
    """Each copy, and each delivery that a window sends, has a note of its own."""
    business = Business(scenario="abandoned")
    _fault(business, {"type": "reorder", "each": "sandbox"}, compose=True)
    _fault(business, {"type": "duplicate"}, times=1)
    business.deposit()
    business.deposit()

    notes, _ = business.sandbox.feed.since(0)
    told = [note.record.status for note in notes if note.kind == "delivery"]
    assert len(told) >= 4
    assert {note.record.id for note in notes if note.kind == "delivery"} == set(business.sandbox.outbox.deliveries)


@pytest.mark.parametrize("spacing", ["0s", "5s"])
def test_copies_after_success_are_not_sent_once_the_endpoint_is_removed(spacing: str) -> None:
    """The event is delivered just after the sandbox has lost its endpoint: its copies are `no_endpoint`."""
    business = Business(scenario="abandoned")
    _fault(business, {"type": "duplicate", "copies": 2, "after_success": True, "spacing": spacing})
    business.deposit(expires_in=2_592_000)
    delivery, attempt = _flying(business)
    business.sandbox.set_notification_url(None)

    business.sandbox.settle(delivery, attempt, outcome(200, business.wall))
    business.advance(MINUTE)

    first, *copies = business.sandbox.outbox.deliveries.values()
    assert (first.status, [each.status for each in copies[:2]]) == ("delivered", ["no_endpoint"] * 2)
    assert [each.attempts for each in copies] == [()] * len(copies)
