"""Deliveries in random runs: several endpoints, answers that come late or never, and time that passes in between."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from drive import DAY, HOUR, START, URL, Business, deposit_body, outcome
from hypothesis import given, settings
from hypothesis import strategies as st

from paydouble.config import WebhookSettings
from paydouble.webhooks.deliveries import Attempt, Delivery

URLS = [URL, "http://127.0.0.1:9/a", "http://127.0.0.1:9/b"]
statuses = st.sampled_from([200, 204, 302, 404, 500, 503, None])
steps = (
    st.tuples(st.just("create"), st.sampled_from([None, *URLS[1:]]))
    | st.tuples(st.just("emit"), st.integers(0, 3))
    | st.tuples(st.just("take"), st.sampled_from(URLS))
    | st.tuples(st.just("answer"), st.tuples(st.integers(0, 2), statuses))
    | st.tuples(st.just("advance"), st.sampled_from([1, 59_999, 60_000, HOUR, 8 * HOUR, DAY]))
)
schedules = st.builds(
    lambda delays, repeat, window: {
        "schedule": [f"{delay}ms" for delay in (0, *delays)],
        "repeat_last": repeat,
        "window": f"{window}ms",
    },
    delays=st.lists(st.integers(1, 10_000), min_size=1, max_size=5),
    repeat=st.booleans(),
    window=st.integers(0, 60_000),
).filter(lambda each: int(each["window"][:-2]) / int(each["schedule"][-1][:-2]) < 200)


@dataclass
class Play:
    """A business and the attempts that are in flight in it."""

    business: Business
    flying: list[tuple[Delivery, Attempt]] = field(default_factory=list)
    taken: dict[str, list[tuple[Delivery, int]]] = field(default_factory=lambda: defaultdict(list))
    made: list[Delivery] = field(default_factory=list)

    def create(self, url: str | None) -> None:
        """Make an event for an endpoint."""
        self.business.post("/pay-in/deposit-creation", deposit_body(expires_in=2_592_000, notification_url=url))
        self.made.append(list(self.business.sandbox.outbox.deliveries.values())[-1])

    def emit(self, which: int) -> None:
        """Make one more event of an object that has one."""
        if which < len(self.made):
            sandbox = self.business.sandbox
            sandbox.emit_event("pay-in.created", self.business.pay_in(self.made[which].event.object_id))
            self.made.append(list(sandbox.outbox.deliveries.values())[-1])

    def take(self, url: str) -> None:
        """Take an attempt, which is then in flight."""
        due = self.business.sandbox.next_attempt(url, self.business.wall)
        if due is not None:
            delivery, attempt = due
            beside = [other for other, sent in self.flying if sent.url == url]
            assert len(beside) < (self.business.sandbox.settings.webhooks.in_flight or 1), "too many attempts in flight"
            assert delivery.event.object_id not in {other.event.object_id for other in beside}, "two of one object"
            assert not delivery.settled, "something was sent after the end"
            assert attempt.due_at <= self.business.sandbox.now, "an attempt was made before it was due"
            self.flying.append(due)
            self.taken[url].append((delivery, attempt.number))

    def answer(self, which: tuple[int, int | None]) -> None:
        """Answer an attempt that is in flight."""
        index, status = which
        if index < len(self.flying):
            self.business.sandbox.settle(*self.flying.pop(index), outcome(status, self.business.wall))

    def advance(self, by: int) -> None:
        """Let time pass while attempts are in flight."""
        self.business.sandbox.clock.jump(self.business.sandbox.now + by)
        self.business.sandbox.tick()


def _check(delivery: Delivery, rule: WebhookSettings) -> None:
    attempts = delivery.attempts
    assert [each.number for each in attempts] == list(range(1, len(attempts) + 1))
    assert [each.due_at - delivery.first_due_at for each in attempts] == list(rule.offsets[: len(attempts)])
    assert all(each.due_at - delivery.first_due_at <= rule.window for each in attempts)
    assert {each.body for each in attempts} <= {delivery.event.body}
    succeeded = [each.outcome.succeeded for each in attempts if each.outcome is not None]
    assert True not in succeeded[:-1]
    if delivery.status == "delivered":
        assert succeeded[-1]
    if delivery.status == "exhausted":
        assert len(succeeded) == len(rule.offsets)
        assert True not in succeeded


@settings(max_examples=60)
@given(
    script=st.lists(steps, max_size=60),
    last=st.lists(statuses, min_size=1, max_size=12),
    most=st.sampled_from([None, 1, 2, 8]),
)
def test_no_order_of_answers_breaks_a_promise(
    script: list[tuple[str, object]], last: list[int | None], most: int | None
) -> None:
    """With any answers at any time, schedule, order, bytes and final status follow the contract."""
    answers = iter(last * 10_000)
    play = Play(Business(scenario="abandoned", receiver=lambda _: next(answers), webhooks={"in_flight": most}))
    business = play.business
    rule = business.sandbox.settings.webhooks

    for name, argument in script:
        getattr(play, name)(argument)
        for delivery in play.made:
            _check(delivery, rule)
    while play.flying:
        play.answer((0, 500))
    business.advance(4 * DAY)

    for delivery in play.made:
        _check(delivery, rule)
        assert delivery.status in {"delivered", "exhausted"}
    assert business.sandbox.outbox.quiet
    for taken in play.taken.values():
        firsts = [delivery for delivery, number in taken if number == 1]
        for object_id in {delivery.event.object_id for delivery in firsts} if (most or 1) > 1 else (None,):
            mine = [each for each in firsts if object_id in {None, each.event.object_id}]
            assert mine == [delivery for delivery in play.made if delivery in mine]


@settings(max_examples=60)
@given(rule=schedules, answers=st.lists(statuses, min_size=1, max_size=30))
def test_any_schedule_is_kept(rule: dict[str, object], answers: list[int | None]) -> None:
    """With any schedule each attempt is at its offset, none is after the window, and the attempts end."""
    replies = iter(answers + [500] * 100_000)
    business = Business(scenario="abandoned", receiver=lambda _: next(replies), webhooks=rule)
    business.deposit(expires_in=2_592_000)
    (delivery,) = business.sandbox.outbox.deliveries.values()

    business.advance(DAY)

    _check(delivery, business.sandbox.settings.webhooks)
    successes = [status for status in answers if status in {200, 204}]
    assert delivery.status in ({"delivered", "exhausted"} if successes else {"exhausted"})
    assert delivery.first_due_at == START


@settings(max_examples=40)
@given(script=st.lists(st.sampled_from(["create", "pass", "fail", "minute"]), max_size=60), limit=st.integers(1, 4))
def test_the_bound_never_evicts_an_open_delivery(script: list[str], limit: int) -> None:
    """Open deliveries are all kept, settled ones up to the limit, and the evicted ones are counted."""
    business = Business(scenario="abandoned", journal_limit=limit)
    made: list[Delivery] = []
    for step in script:
        if step == "create":
            business.deposit(expires_in=2_592_000)
            made.append(list(business.sandbox.outbox.deliveries.values())[-1])
        elif step == "minute":
            business.sandbox.clock.jump(business.sandbox.now + 60_000)
            business.sandbox.tick()
        elif (due := business.sandbox.next_attempt(URL, business.wall)) is not None:
            business.sandbox.settle(*due, outcome(200 if step == "pass" else 500, business.wall))

        kept = list(business.sandbox.outbox.deliveries.values())
        assert [each for each in made if not each.settled] == [each for each in kept if not each.settled]
        assert sum(each.settled for each in kept) <= limit
        assert len(made) == len(kept) + business.sandbox.outbox.evicted
