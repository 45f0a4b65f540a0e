"""Deliveries by example: retry schedule, order and targets (contract section 6; assumptions, "Webhooks")."""

from __future__ import annotations

import hashlib
import hmac
import itertools

import pytest
from drive import DAY, HOUR, MINUTE, START, URL, Business, outcome, settings

from paydouble.core.clock import Clock, ClockMode
from paydouble.webhooks.deliveries import Attempt, Delivery

OTHER = "http://127.0.0.1:9/other"
# Contract section 6, rule 3, added up: 0, 1m, 6m, 36m, 2h36m, 10h36m, 34h36m, 58h36m.
LADDER = [0, MINUTE, 6 * MINUTE, 36 * MINUTE, 156 * MINUTE, 636 * MINUTE, 2076 * MINUTE, 3516 * MINUTE]


def _quiet(**changes: object) -> Business:
    """Return a business whose deposits publish one event and expire after the last retry."""
    return Business(scenario="abandoned", **changes)  # type: ignore[arg-type]


def _deposit(business: Business, url: str | None = None) -> Delivery:
    business.deposit(expires_in=2_592_000, notification_url=url)
    return list(business.sandbox.outbox.deliveries.values())[-1]


def _take(business: Business, endpoint: str = URL) -> tuple[Delivery, Attempt]:
    due = business.sandbox.next_attempt(endpoint, business.wall)
    assert due is not None
    return due


def test_the_retry_schedule_is_the_contracts() -> None:
    """A receiver that never answers 2xx gets eight attempts within 72 hours, at exactly the contract's times."""
    business = _quiet(receiver=lambda _: 500)
    delivery = _deposit(business)

    business.advance(20 * DAY)

    assert [attempt.due_at - START for attempt in delivery.attempts] == LADDER
    assert [attempt.number for attempt in delivery.attempts] == list(range(1, 9))
    assert (delivery.status, delivery.next_due_at) == ("exhausted", None)


@pytest.mark.parametrize("tries", range(1, 9))
def test_a_success_ends_the_retries(tries: int) -> None:
    """After an attempt with a 2xx nothing more is sent."""
    business = _quiet(receiver=lambda attempt: 204 if attempt.number == tries else None)
    delivery = _deposit(business)

    business.advance(20 * DAY)

    assert (delivery.status, len(delivery.attempts)) == ("delivered", tries)
    assert len(business.received) == tries


@pytest.mark.parametrize("status", [100, 199, 300, 301, 302, 304, 400, 401, 404, 410, 429, 500, 503, 599, None])
def test_anything_but_a_2xx_is_a_failure(status: int | None) -> None:
    """Redirects, errors and timeouts are all retried."""
    business = _quiet(receiver=lambda _: status)
    delivery = _deposit(business)

    business.deliver_all()

    assert (delivery.status, delivery.next_due_at) == ("waiting", START + MINUTE)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 206, 299])
def test_any_2xx_is_a_success(status: int) -> None:
    """Every status from 200 to 299 counts."""
    business = _quiet(receiver=lambda _: status)
    delivery = _deposit(business)

    business.deliver_all()

    assert delivery.status == "delivered"


def test_every_attempt_has_the_same_bytes_and_a_new_signature() -> None:
    """The body never changes; each signature is made with the time of sending, and verifies."""
    business = Business(receiver=lambda _: 500)
    business.deposit()

    business.until_idle()

    bodies = {delivery.event.id: delivery.event.body for delivery in business.sandbox.outbox.deliveries.values()}
    assert len(business.received) == 8 * len(bodies) == 32
    for delivery in business.sandbox.outbox.deliveries.values():
        assert {attempt.body for attempt in delivery.attempts} == {bodies[delivery.event.id]}
        assert [attempt.signed_at for attempt in delivery.attempts] == [a.due_at // 1000 for a in delivery.attempts]
    for attempt in business.received:
        text = b"%d.%s" % (attempt.signed_at, attempt.body)
        digest = hmac.new(b"whsec_default", text, hashlib.sha256).hexdigest()
        assert dict(attempt.headers)["X-Service-Signature"] == f"t={attempt.signed_at},v1={digest}"


def test_events_are_sent_in_the_order_of_their_creation() -> None:
    """An endpoint gets its events one by one, the oldest first."""
    business = _quiet()
    made = [_deposit(business).id for _ in range(5)]

    business.deliver_all()

    sent = [each.body for each in business.received]
    assert sent == [business.sandbox.outbox.deliveries[each].event.body for each in made]


def test_an_endpoint_has_one_attempt_in_flight() -> None:
    """While an attempt is in flight its endpoint gets no other; other endpoints get theirs."""
    business = _quiet()
    _deposit(business)
    _deposit(business)
    _deposit(business, OTHER)

    first = _take(business)

    assert business.sandbox.next_attempt(URL, business.wall) is None
    assert business.sandbox.ready_endpoints() == [OTHER]
    business.sandbox.settle(*first, outcome(200, START))
    assert set(business.sandbox.ready_endpoints()) == {URL, OTHER}


def _events(*order: int) -> tuple[Business, list[Delivery]]:
    """Return a business with up to two attempts in flight, and its deliveries: so many events of each object."""
    business = _quiet(webhooks={"in_flight": 2})
    objects = [business.deposit() for _ in range(max(order) + 1)]
    business.sandbox.reset(frozenset({"deliveries"}))
    for number in order:
        business.sandbox.emit_event("pay-in.created", business.pay_in(objects[number]))
    return business, list(business.sandbox.outbox.deliveries.values())


def _left(business: Business) -> list[Delivery]:
    """Take all attempts that may be sent."""
    taken = []
    while (due := business.sandbox.next_attempt(URL, business.wall)) is not None:
        taken.append(due[0])
    return taken


def _answer(business: Business, delivery: Delivery, status: int = 200) -> None:
    business.sandbox.settle(delivery, delivery.attempts[-1], outcome(status, business.wall))


def test_with_two_in_flight_a_slow_answer_only_blocks_its_own_object() -> None:
    """The next event of the object waits; those of other objects pass it, and order is kept for each object."""
    business, (a1, a2, b1, a3, c1) = _events(0, 0, 1, 0, 2)

    assert _left(business) == [a1, b1]
    assert business.sandbox.ready_endpoints() == []
    _answer(business, b1)
    assert _left(business) == [c1]
    _answer(business, c1)
    assert _left(business) == []
    _answer(business, a1, 500)  # a failed one blocks nothing
    assert _left(business) == [a2]
    _answer(business, a2)
    assert _left(business) == [a3]
    _answer(business, a3)
    assert business.sandbox.outbox.quiet


def test_a_blocked_delivery_can_be_held_and_released() -> None:
    """A delivery that waits for another of its object leaves its queue like any other."""
    business, (a1, a2, a3, b1) = _events(0, 0, 0, 1)
    assert _left(business) == [a1, b1]
    _answer(business, b1)
    assert _left(business) == []

    business.sandbox.hold(a2)
    business.sandbox.hold(a3)
    business.sandbox.release(a3)
    business.sandbox.release(a2)
    _answer(business, a1)

    assert _left(business) == [a3]
    _answer(business, a3)
    assert _left(business) == [a2]


def test_a_blocked_delivery_follows_a_new_url() -> None:
    """It moves to the new URL's queue in its order; the attempt in flight ends at the old one."""
    business, (a1, a2, a3, b1) = _events(0, 0, 0, 1)
    assert _left(business) == [a1, b1]
    _answer(business, b1)
    assert _left(business) == []

    business.sandbox.set_notification_url(OTHER)
    first = business.sandbox.next_attempt(OTHER, business.wall)
    blocked = business.sandbox.next_attempt(OTHER, business.wall)
    _answer(business, a1)
    _answer(business, a2)
    second = business.sandbox.next_attempt(OTHER, business.wall)

    assert (first is not None and first[0], blocked, second is not None and second[0]) == (a2, None, a3)


def test_a_blocked_delivery_is_not_queued_twice() -> None:
    """Redelivering a delivery that is in its queue already changes nothing."""
    business, (a1, a2, b1) = _events(0, 0, 1)
    assert _left(business) == [a1, b1]
    _answer(business, b1)
    assert _left(business) == []

    business.sandbox.redeliver(a2)
    _answer(business, a1)
    assert _left(business) == [a2]
    _answer(business, a2)

    assert (_left(business), len(a2.attempts)) == ([], 1)


@pytest.mark.parametrize(("mode", "chosen", "most"), [
    ("real", None, 8), ("manual", None, 1), ("auto", None, 1), ("real", 1, 1), ("manual", 3, 3),
])  # fmt: skip
def test_the_number_in_flight_depends_on_the_clock(mode: ClockMode, chosen: int | None, most: int) -> None:
    """It is eight with a real clock, one with a manual or auto clock, or what the setting says."""
    business = _quiet(webhooks={"in_flight": chosen})
    business.sandbox.set_clock(Clock(lambda: 0, start=business.sandbox.now, mode=mode))
    for _ in range(10):
        _deposit(business)

    assert len(_left(business)) == most


def test_a_failed_delivery_does_not_block_later_ones() -> None:
    """Later events are sent at once; the failed one is sent again when it is due."""
    business = _quiet(receiver=lambda attempt: 500 if attempt.number == 1 else 200)
    first, second = _deposit(business), _deposit(business)

    business.deliver_all()

    assert [len(first.attempts), len(second.attempts)] == [1, 1]


def test_a_slow_answer_does_not_move_the_retry_schedule() -> None:
    """The next delay counts from the attempt's due time, however late its answer comes."""
    business = _quiet(receiver=lambda _: 500)
    delivery = _deposit(business)
    taken = _take(business)
    business.sandbox.clock.jump(START + 59_000)
    business.sandbox.tick()

    business.sandbox.settle(*taken, outcome(None, START))

    assert delivery.next_due_at == START + MINUTE


def test_without_a_target_an_event_is_only_recorded() -> None:
    """Without any URL the delivery is `no_endpoint`, and nothing is sent."""
    business = _quiet(notification_url=None)
    delivery = _deposit(business)

    business.deliver_all()

    assert (delivery.status, business.received) == ("no_endpoint", [])


def test_open_deliveries_follow_the_businesss_url() -> None:
    """A new `notification_url` gets the open deliveries of the old one; a deposit's own URL keeps its own."""
    business = _quiet(receiver=lambda attempt: 500 if attempt.number == 1 else 200)
    _deposit(business)
    business.deliver_all()
    _deposit(business)
    own = _deposit(business, "http://127.0.0.1:9/own")

    business.sandbox.set_notification_url(OTHER)
    business.advance(MINUTE)

    assert [each.url for each in business.received if each.body != own.event.body] == [URL, OTHER, OTHER, OTHER]
    assert {attempt.url for attempt in own.attempts} == {"http://127.0.0.1:9/own"}


def test_removing_the_url_ends_open_deliveries() -> None:
    """Without a URL open deliveries end as `no_endpoint`, and their timers are gone."""
    business = Business(scenario="abandoned", receiver=lambda _: 500)
    queued_and_waiting = [_deposit(business), _deposit(business)]
    business.deliver_all()
    queued_and_waiting.append(_deposit(business))
    timers = len(business.sandbox.timers)

    business.sandbox.set_notification_url(None)

    assert [each.status for each in queued_and_waiting] == ["no_endpoint"] * 3
    assert len(business.sandbox.timers) == timers - 2
    assert business.sandbox.outbox.quiet


@pytest.mark.parametrize(("status", "expected"), [(200, "delivered"), (500, "no_endpoint")])
def test_an_attempt_in_flight_may_still_succeed_without_a_url(status: int, expected: str) -> None:
    """An attempt that was in flight when its URL was removed counts, and is the last one."""
    business = _quiet()
    delivery = _deposit(business)
    taken = _take(business)
    business.sandbox.set_notification_url(None)

    business.sandbox.settle(*taken, outcome(status, START))

    assert (delivery.status, business.sandbox.outbox.quiet) == (expected, True)


def test_the_bound_evicts_settled_deliveries_and_never_an_open_one() -> None:
    """With a limit of two, ten open deliveries are all kept; once delivered, two are left and eight are counted."""
    business = _quiet(journal_limit=2, receiver=lambda attempt: 500 if attempt.number == 1 else 200)
    made = [_deposit(business) for _ in range(10)]
    business.deliver_all()

    waiting = len(business.sandbox.outbox.deliveries)
    business.advance(MINUTE)

    outbox = business.sandbox.outbox
    assert (waiting, list(outbox.deliveries), outbox.evicted) == (10, [each.id for each in made[-2:]], 8)
    assert [each.status for each in made] == ["delivered"] * 10


def test_both_secrets_sign_during_a_grace() -> None:
    """After a rotation the new secret's v1 comes first and the old one's second, until the grace is over."""
    business = _quiet(receiver=lambda _: 500)
    _deposit(business)
    business.sandbox.rotate_secret(HOUR)

    business.advance(3 * HOUR)

    counts = [dict(each.headers)["X-Service-Signature"].count("v1=") for each in business.received]
    assert counts == [2, 2, 2, 2, 1]


def test_the_sandboxs_clock_can_sign() -> None:
    """With `sign_with: sandbox_clock` t is the sandbox's second, otherwise the machine's."""
    stamps = []
    for clock in ("sandbox_clock", "wall_clock"):
        business = _quiet(webhooks={"sign_with": clock})
        _deposit(business)
        due = business.sandbox.next_attempt(URL, 5_999)
        assert due is not None
        stamps.append(due[1].signed_at)

    assert stamps == [START // 1000, 5]


def test_a_reset_forgets_what_is_in_flight() -> None:
    """The answer to an attempt whose delivery a reset removed changes nothing."""
    business = _quiet()
    _deposit(business)
    taken = _take(business)
    business.sandbox.reset(frozenset({"state", "deliveries", "requests", "clock"}))

    business.sandbox.settle(*taken, outcome(500, START))

    assert (business.sandbox.idle, business.sandbox.outbox.deliveries) == (True, {})


def test_another_schedule_is_a_setting() -> None:
    """Delays, the repetition of the last one and the window are settings of the business."""
    business = _quiet(receiver=lambda _: 500, webhooks={"schedule": ["0s", "10s"], "window": "35s"})
    delivery = _deposit(business)

    business.advance(DAY)

    assert [attempt.due_at - START for attempt in delivery.attempts] == [0, 10_000, 20_000, 30_000]


def test_a_shorter_schedule_ends_open_deliveries() -> None:
    """A delivery with as many attempts as a new schedule allows ends with its next failure."""
    business = _quiet(receiver=lambda _: 500)
    delivery = _deposit(business)
    business.advance(10 * MINUTE)
    business.sandbox.apply(settings(scenario="abandoned", webhooks={"schedule": ["0s", "1s"], "repeat_last": False}))

    business.advance(10 * DAY)

    assert (delivery.status, len(delivery.attempts)) == ("exhausted", 4)


def test_instants_are_driven_in_order() -> None:
    """The attempts of two deliveries come in the order of their due times."""
    business = _quiet(receiver=lambda _: 500)
    _deposit(business)
    business.advance(30_000)
    _deposit(business)

    business.until_idle()

    dues = [each.due_at for each in business.received]
    assert all(earlier <= later for earlier, later in itertools.pairwise(dues))
    assert len(dues) == 2 * 2 * 8  # two deposits, each created and at last cancelled
