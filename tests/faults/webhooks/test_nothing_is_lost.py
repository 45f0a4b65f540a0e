"""With any faults on webhooks and any receiver, every delivery is settled in the end, and nothing is lost."""

from __future__ import annotations

from typing import Any

from drive import DAY, HOUR, URL, Business
from hypothesis import example, given, settings
from hypothesis import strategies as st
from webhook_faults import EFFECTS

from paydouble.faults.model import parse_fault

ENDS = {"delivered", "exhausted", "dropped", "held", "no_endpoint"}
Script = list[tuple[str, Any]]

faults = st.builds(
    lambda effect, probability, skip, times, compose, match: {
        "on": "webhooks",
        "effect": effect,
        "probability": probability,
        "skip": skip,
        **({} if times is None else {"times": times}),
        "compose": compose,
        "match": match,
    },
    effect=st.sampled_from(EFFECTS),
    probability=st.sampled_from([1, 1, 0.5]),
    skip=st.integers(0, 2),
    times=st.none() | st.integers(1, 3),
    compose=st.booleans(),
    match=st.sampled_from([{}, {}, {"event_type": "pay-in.p*"}, {"external_identifier": "order-1"}]),
)
steps = (
    st.tuples(st.just("deposit"), st.sampled_from(["order-1", "order-2"]))
    | st.tuples(st.just("fault"), faults)
    | st.tuples(st.just("advance"), st.sampled_from([0, 2_000, 60_000, HOUR, DAY]))
    | st.tuples(st.sampled_from(["hold", "release", "redeliver"]), st.integers(0, 30))
    | st.tuples(st.just("aim"), st.sampled_from([URL, "http://127.0.0.1:9/b", None]))
    | st.tuples(st.just("clear"), st.none())
)
scripts = st.lists(steps, min_size=2, max_size=20).map(lambda each: [("deposit", "order-1"), *each])
statuses = st.lists(st.sampled_from([200, 200, 500, 404, None]), min_size=1, max_size=8)


def _play(script: Script, answers: list[int | None]) -> Business:
    at = 0

    def receiver(_: object) -> int | None:
        nonlocal at
        at += 1
        return answers[at % len(answers)]

    business = Business(receiver=receiver, seed=5)
    for name, argument in script:
        _step(business, name, argument)
    return business


def _step(business: Business, name: str, argument: Any) -> None:  # noqa: ANN401 - what the step needs
    sandbox = business.sandbox
    deliveries = list(sandbox.outbox.deliveries.values())
    match name:
        case "deposit":
            business.deposit(external_identifier=argument)
        case "fault":
            sandbox.faults.add(parse_fault(argument), sandbox.now)
        case "advance":
            business.advance(argument)
        case "aim":
            sandbox.set_notification_url(argument)
        case "clear":
            sandbox.faults.clear()
        case _ if deliveries:
            delivery = deliveries[argument % len(deliveries)]
            if (
                name == "redeliver"
                or (name == "hold" and not delivery.settled)
                or (name == "release" and delivery.status == "held")
            ):
                getattr(sandbox, name)(delivery)
        case _:
            pass


def _sent(business: Business) -> list[tuple[bytes, int, str]]:
    return [(each.body, each.due_at, each.headers[-1][1]) for each in business.received]


@settings(max_examples=60)
@given(script=scripts, answers=statuses)
def test_every_event_comes_to_an_end_and_what_can_be_healed_is_delivered(
    script: Script, answers: list[int | None]
) -> None:
    """After everything has happened each delivery has a final state; after a release no delivery is left held."""
    business = _play(script, answers)
    sandbox = business.sandbox

    business.until_idle()

    deliveries = list(sandbox.outbox.deliveries.values())
    assert {each.status for each in deliveries} <= ENDS
    assert {each.id for each in sandbox.journal.events.entries} <= {each.event.id for each in deliveries}
    assert len({each.id for each in deliveries}) == len(deliveries)
    assert sandbox.idle

    sandbox.faults.clear()
    business.answer_with(lambda _: 200)
    healed = [each for each in deliveries if each.status == "held"]
    for delivery in healed:
        sandbox.release(delivery)
    business.until_idle()

    assert all(each.status == "delivered" for each in healed)
    assert all(each.settled for each in sandbox.outbox.deliveries.values())


@settings(max_examples=30)
@given(script=scripts, answers=statuses)
def test_healed_in_the_middle_everything_that_still_waits_is_delivered(
    script: Script, answers: list[int | None]
) -> None:
    """Without waiting for the end: what is neither dropped, exhausted nor without an endpoint arrives."""
    business = _play(script, answers)
    sandbox = business.sandbox

    sandbox.faults.clear()
    business.answer_with(lambda _: 200)
    sandbox.set_notification_url(URL)
    ended = {each.id for each in sandbox.outbox.deliveries.values() if each.settled}
    for delivery in list(sandbox.outbox.deliveries.values()):
        if delivery.status == "held":
            sandbox.release(delivery)
    business.until_idle()

    assert all(each.status == "delivered" for each in sandbox.outbox.deliveries.values() if each.id not in ended)


@settings(max_examples=30)
@given(script=scripts, answers=statuses)
def test_the_same_seed_sends_the_same_bytes_in_the_same_order(script: Script, answers: list[int | None]) -> None:
    """A second run of the same script sends exactly what the first one sent."""
    first, second = _play(script, answers), _play(script, answers)
    first.until_idle()
    second.until_idle()

    assert _sent(first) == _sent(second)


# What was delivered is evicted for later deliveries that are never sent.
@example(
    script=[("deposit", "order-1"), ("deposit", "order-1"), ("fault", {"on": "webhooks", "effect": {"type": "hold"}})],
    answers=[200],
)
@settings(max_examples=30)
@given(script=scripts, answers=statuses)
def test_a_bounded_journal_keeps_what_waits(script: Script, answers: list[int | None]) -> None:
    """With room for two deliveries the settled ones are evicted, the others stay, and the counts add up."""
    business = _play(script, answers)
    sandbox = business.sandbox
    posted = len(sandbox.outbox.deliveries)

    sandbox.apply(sandbox.settings.model_copy(update={"journal_limit": 2}))
    waiting = [each for each in sandbox.outbox.deliveries.values() if not each.settled]
    business.deposit()
    made = len(sandbox.outbox.deliveries) + sandbox.outbox.evicted
    assert made > posted
    assert all(each.settled or sandbox.outbox.deliveries.get(each.id) is each for each in waiting)

    business.until_idle()

    left = sandbox.outbox.deliveries.values()
    assert len(left) <= max(2, sum(not each.settled for each in left))
