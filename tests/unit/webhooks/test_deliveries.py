"""Deliveries by example: the ladder, the order, and where events go (contract section 6; assumptions, "Webhooks")."""

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
    """Return a business whose deposits give off one event and live longer than any retry."""
    return Business(scenario="abandoned", **changes)  # type: ignore[arg-type]


def _deposit(business: Business, url: str | None = None) -> Delivery:
    business.deposit(expires_in=2_592_000, notification_url=url)
    return list(business.sandbox.outbox.deliveries.values())[-1]


def _take(business: Business, endpoint: str = URL) -> tuple[Delivery, Attempt]:
    due = business.sandbox.next_attempt(endpoint, business.wall)
    assert due is not None
    return due


def test_the_ladder_is_the_contracts() -> None:
    """A receiver that never answers 2xx is tried eight times within 72 hours, to the millisecond, and no more."""
    business = _quiet(receiver=lambda _: 500)
    delivery = _deposit(business)

    business.advance(20 * DAY)

    assert [attempt.due_at - START for attempt in delivery.attempts] == LADDER
    assert [attempt.number for attempt in delivery.attempts] == list(range(1, 9))
    assert (delivery.status, delivery.next_due_at) == ("exhausted", None)


@pytest.mark.parametrize("tries", range(1, 9))
def test_a_success_ends_the_ladder(tries: int) -> None:
    """After the attempt that gets a 2xx nothing is sent any more."""
    business = _quiet(receiver=lambda attempt: 204 if attempt.number == tries else None)
    delivery = _deposit(business)

    business.advance(20 * DAY)

    assert (delivery.status, len(delivery.attempts)) == ("delivered", tries)
    assert len(business.received) == tries


@pytest.mark.parametrize("status", [100, 199, 300, 301, 302, 304, 400, 401, 404, 410, 429, 500, 503, 599, None])
def test_anything_but_a_2xx_is_a_failure(status: int | None) -> None:
    """Redirects, refusals and silence are all tried again."""
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
    """The body is frozen; the signature is made anew over it with the time of sending, and verifies."""
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


def test_events_leave_in_the_order_in_which_they_were_made() -> None:
    """One endpoint gets its events one by one, oldest first."""
    business = _quiet()
    made = [_deposit(business).id for _ in range(5)]

    business.deliver_all()

    sent = [each.body for each in business.received]
    assert sent == [business.sandbox.outbox.deliveries[each].event.body for each in made]


def test_an_endpoint_has_one_attempt_in_flight() -> None:
    """While an attempt is unanswered its endpoint gets no other, and other endpoints get theirs."""
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
    """Return a business that has up to two attempts in flight, and its deliveries: so many events of each object."""
    business = _quiet(webhooks={"in_flight": 2})
    objects = [business.deposit() for _ in range(max(order) + 1)]
    business.sandbox.reset(frozenset({"deliveries"}))
    for number in order:
        business.sandbox.emit_event("pay-in.created", business.pay_in(objects[number]))
    return business, list(business.sandbox.outbox.deliveries.values())


def _left(business: Business) -> list[Delivery]:
    """Take all that may leave."""
    taken = []
    while (due := business.sandbox.next_attempt(URL, business.wall)) is not None:
        taken.append(due[0])
    return taken


def _answer(business: Business, delivery: Delivery, status: int = 200) -> None:
    business.sandbox.settle(delivery, delivery.attempts[-1], outcome(status, business.wall))


def test_with_two_in_flight_a_slow_answer_holds_up_its_own_object_alone() -> None:
    """The next event of the object waits for the one before, those of others pass it, and all keep their order."""
    business, (a1, a2, b1, a3, c1) = _events(0, 0, 1, 0, 2)

    assert _left(business) == [a1, b1]
    assert business.sandbox.ready_endpoints() == []
    _answer(business, b1)
    assert _left(business) == [c1]
    _answer(business, c1)
    assert _left(business) == []
    _answer(business, a1, 500)  # a failed one holds up nothing
    assert _left(business) == [a2]
    _answer(business, a2)
    assert _left(business) == [a3]
    _answer(business, a3)
    assert business.sandbox.outbox.quiet


def test_what_waits_behind_its_object_can_be_held_and_released() -> None:
    """A delivery whose turn has come, but not its object's, leaves its queue like any other."""
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


def test_what_waits_behind_its_object_can_be_sent_elsewhere() -> None:
    """Another URL takes it over in its order; what is on its way ends at the old one."""
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


def test_what_waits_behind_its_object_is_not_queued_twice() -> None:
    """To send a delivery once more, while it waits for its object's turn, changes nothing."""
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
def test_how_many_are_in_flight_goes_by_the_clock(mode: ClockMode, chosen: int | None, most: int) -> None:
    """Eight where time goes by itself, one where a test moves it, and what the setting says before that."""
    business = _quiet(webhooks={"in_flight": chosen})
    business.sandbox.set_clock(Clock(lambda: 0, start=business.sandbox.now, mode=mode))
    for _ in range(10):
        _deposit(business)

    assert len(_left(business)) == most


def test_a_failed_delivery_does_not_block_those_behind_it() -> None:
    """The events behind one that failed are sent at once; the failed one comes when it is due again."""
    business = _quiet(receiver=lambda attempt: 500 if attempt.number == 1 else 200)
    first, second = _deposit(business), _deposit(business)

    business.deliver_all()

    assert [len(first.attempts), len(second.attempts)] == [1, 1]


def test_a_slow_answer_does_not_shift_the_ladder() -> None:
    """The next delay counts from the attempt's due time, however late its answer comes."""
    business = _quiet(receiver=lambda _: 500)
    delivery = _deposit(business)
    taken = _take(business)
    business.sandbox.clock.jump(START + 59_000)
    business.sandbox.tick()

    business.sandbox.settle(*taken, outcome(None, START))

    assert delivery.next_due_at == START + MINUTE


def test_without_a_target_an_event_is_only_recorded() -> None:
    """No URL anywhere: the delivery ends as no_endpoint and nothing is sent."""
    business = _quiet(notification_url=None)
    delivery = _deposit(business)

    business.deliver_all()

    assert (delivery.status, business.received) == ("no_endpoint", [])


def test_what_waits_follows_the_businesss_url() -> None:
    """A new notification_url gets what still waits for the old one; a deposit's own URL stays its own."""
    business = _quiet(receiver=lambda attempt: 500 if attempt.number == 1 else 200)
    _deposit(business)
    business.deliver_all()
    _deposit(business)
    own = _deposit(business, "http://127.0.0.1:9/own")

    business.sandbox.set_notification_url(OTHER)
    business.advance(MINUTE)

    assert [each.url for each in business.received if each.body != own.event.body] == [URL, OTHER, OTHER, OTHER]
    assert {attempt.url for attempt in own.attempts} == {"http://127.0.0.1:9/own"}


def test_a_url_that_is_taken_away_ends_what_waits() -> None:
    """Without a URL waiting deliveries end as no_endpoint, and no timer is left of them."""
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
    """An attempt that was under way when its URL was taken away counts; there is no other after it."""
    business = _quiet()
    delivery = _deposit(business)
    taken = _take(business)
    business.sandbox.set_notification_url(None)

    business.sandbox.settle(*taken, outcome(status, START))

    assert (delivery.status, business.sandbox.outbox.quiet) == (expected, True)


def test_the_bound_lets_settled_deliveries_go_and_never_one_that_waits() -> None:
    """With a journal of two, ten that wait are all kept; once delivered, two are left and eight are counted."""
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
    """The answer of an attempt that a reset let go changes nothing."""
    business = _quiet()
    _deposit(business)
    taken = _take(business)
    business.sandbox.reset(frozenset({"state", "deliveries", "requests", "clock"}))

    business.sandbox.settle(*taken, outcome(500, START))

    assert (business.sandbox.idle, business.sandbox.outbox.deliveries) == (True, {})


def test_another_schedule_is_a_setting() -> None:
    """Delays, the repeat of the last one and the window are the business's."""
    business = _quiet(receiver=lambda _: 500, webhooks={"schedule": ["0s", "10s"], "window": "35s"})
    delivery = _deposit(business)

    business.advance(DAY)

    assert [attempt.due_at - START for attempt in delivery.attempts] == [0, 10_000, 20_000, 30_000]


def test_a_shorter_schedule_ends_what_waits() -> None:
    """A delivery that has had as many attempts as a new schedule gives ends with its next failure."""
    business = _quiet(receiver=lambda _: 500)
    delivery = _deposit(business)
    business.advance(10 * MINUTE)
    business.sandbox.apply(settings(scenario="abandoned", webhooks={"schedule": ["0s", "1s"], "repeat_last": False}))

    business.advance(10 * DAY)

    assert (delivery.status, len(delivery.attempts)) == ("exhausted", 4)


def test_instants_are_driven_in_order() -> None:
    """What two deliveries are due for comes in the order of the due times, across both."""
    business = _quiet(receiver=lambda _: 500)
    _deposit(business)
    business.advance(30_000)
    _deposit(business)

    business.until_idle()

    dues = [each.due_at for each in business.received]
    assert all(earlier <= later for earlier, later in itertools.pairwise(dues))
    assert len(dues) == 2 * 2 * 8  # two deposits, each created and at last cancelled
