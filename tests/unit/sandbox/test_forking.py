"""Forks and checkpoints: everything is copied, nothing is shared, and both go on in the same way."""

from __future__ import annotations

import gc
import json
import weakref
from collections import deque
from copy import copy
from dataclasses import replace
from decimal import Decimal
from random import Random
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import pytest
from drive import DAY, DEPOSITS, HOUR, SECOND, URL, Business, data, deposit_body, key, settled
from hypothesis import given, settings
from hypothesis import strategies as st
from random_runs import RandomRun
from scripts import Script, draw

from paydouble import records
from paydouble.core.clock import Clock
from paydouble.core.errors import UnknownThing, UsageError
from paydouble.faults.model import parse_fault
from paydouble.records import delivery_of, event_of, request_of
from paydouble.runfile.files import pack, unpack
from paydouble.runfile.recorded import recorded_run
from paydouble.runfile.redaction import redacted
from paydouble.runfile.replaying import replay
from paydouble.runfile.restoring import restored
from paydouble.sandbox import Sandbox
from paydouble.sandbox.forking import IMMUTABLE, MOST_CHECKPOINTS, ForkSpec, checkpoint, copied, is_frozen
from paydouble.scenarios.library import Library
from paydouble.scenarios.reading import parse_scenario

SPEC = ForkSpec()
LENGTH = 24
# Each example is a run of many commands, and a run of the tests draws new ones.
long_runs = settings(max_examples=40)
# What the copy of a sandbox has in common with it, besides objects that never change: the files of scenarios, which
# all sandboxes of a process share.
COMMON = (Library,)
_PLAIN = (type, ModuleType, FunctionType, BuiltinFunctionType, str, bytes, int, float, type(None))


def fork_of(business: Business, spec: ForkSpec = SPEC, checkpoint_id: str | None = None) -> Business:
    """Return a business that is a fork of another, with the same receiver."""
    made = copy(business)
    made.core = business.core.fork(spec, checkpoint_id)
    made.sandbox, made.pipeline = made.core.sandbox, made.core.pipeline
    return made


def fork_of_run(run: RandomRun) -> RandomRun:
    """Return a random run that goes on from where another is."""
    made = copy(run)
    made.business = fork_of(run.business)
    made.sandbox = made.business.sandbox
    made.business.core.receiver = lambda _: _answer(made)
    made.sent = [copy(each) for each in run.sent]
    made.states, made.forced = dict(run.states), set(run.forced)
    return made


def _answer(run: RandomRun) -> int:
    from paydouble.inprocess import Unreachable

    if run.answer is None:
        raise Unreachable
    return run.answer


def lines(business: Business) -> list[dict[str, Any]]:
    """Return what a business has recorded, to the byte, without its credentials and without that it is a fork."""
    made = recorded_run(business.sandbox, business.pipeline).lines
    return [{**line, "headers": _without_credentials(line)} for line in made if line.get("do") != "sandbox-fork"]


def _without_credentials(line: dict[str, Any]) -> list[Any]:
    return [pair for pair in line.get("headers", ()) if pair[0].lower() != "authorization"]


def shown(box: Sandbox) -> list[Any]:
    """Return all records of a sandbox as control calls show them, and what is pending."""
    return [
        [_without_headers(request_of(each)) for each in box.journal.requests.entries],
        list(map(event_of, box.journal.events.entries)),
        list(map(delivery_of, box.outbox.deliveries.values())),
        box.timers.pending(),
        [(each.id, each.matched, each.fired) for each in box.faults],
        box.feed.sequence,
        box.journal.sequence,
    ]


def _without_headers(request: records.Request) -> records.Request:
    return replace(request, headers=())


def rich() -> Business:
    """Return a business that has something of every kind, pending work included."""
    business = Business(rate_limit={"limit": 100, "window": "10s"}, receiver=lambda _: 500)
    box = business.sandbox
    business.answer_with(lambda _: 500)
    for effect, event in (({"type": "reorder", "window": 4}, "pay-in.pending"), ({"type": "duplicate"}, "pay-in.*")):
        box.add_fault(parse_fault({"on": "webhooks", "match": {"event_type": event}, "effect": effect}))
    box.add_fault(parse_fault({"match": {"path": "/api/*"}, "skip": 1000, "effect": {"type": "error", "status": 503}}))
    scenario = {
        "name": "own",
        "summary": "Waits for a refund.",
        "match": {"amount": Decimal("1.5")},
        "settings": {"timestamps": "seconds"},
        "faults": [{"on": "api", "effect": {"type": "error", "status": 503}, "times": 1}],
        "lifecycle": {
            "pay_in": [
                {"after": "2s", "when": {"refund": "none"}, "then": [{"after": "1s", "to": "pending"}], "else": []}
            ]
        },
    }
    box.upload_scenario(parse_scenario(scenario))
    for amount in (49.9, 1.5, 1.5):
        business.post(DEPOSITS, deposit_body(amount=amount, metadata={"a": "b"}))
    paid = business.paid()
    business.post("/refund/refund-creation", {"payin_id": paid, "amount": 1})
    box.open_dispute(business.pay_in(paid), amount=100)
    box.ledger.holder(type(business.pay_in(paid)), "order-1")
    business.advance(3 * SECOND)
    box.set_notification_url(None)
    business.post(DEPOSITS, deposit_body())
    box.set_notification_url(URL)
    box.clock = Clock(lambda: 0, start=box.now, mode="auto")
    business.post(DEPOSITS, deposit_body(), key=key(7))
    checkpoint(box)
    return business


def reachable(root: object) -> dict[int, object]:
    """Return all objects below an object that are not of a plain type, by their ids."""
    found: dict[int, object] = {}
    waiting = deque([root])
    while waiting:
        each = waiting.popleft()
        if id(each) not in found and not isinstance(each, _PLAIN):
            found[id(each)] = each
            if not isinstance(each, COMMON):
                waiting.extend(gc.get_referents(each))
    return found


def test_a_copy_shares_no_object_that_can_change() -> None:
    """What the copy and the original have in common is named here, or cannot change."""
    box = rich().sandbox
    box.feed.listen(lambda: None)
    box.recording.listener = lambda _: None

    made = copied(box)

    there = reachable(box)
    common = [each for at, each in reachable(made).items() if at in there]
    below_frozen = {at for each in common if is_frozen(type(each)) or type(each) in IMMUTABLE for at in reachable(each)}
    shared = [each for each in common if id(each) not in below_frozen and not _cannot_change(each)]
    assert shared == []
    assert len(common) > 20
    assert (made.feed._listeners, made.recording.listener, made.checkpoints) == ([], None, {})  # noqa: SLF001 - what the copy must not have


def _cannot_change(each: object) -> bool:
    if isinstance(each, tuple):
        return all(isinstance(member, _PLAIN) or _cannot_change(member) for member in each)
    return type(each) in {*IMMUTABLE, *COMMON} or is_frozen(type(each))


def test_a_copy_has_all_that_there_is() -> None:
    """Its records and what is pending are the same, and so are its settings and credentials."""
    box = rich().sandbox

    made = copied(box)

    assert shown(made) == shown(box)
    assert (made.settings, made.identity, made.notification_url) == (box.settings, box.identity, box.notification_url)
    assert made.scenarios.names() == box.scenarios.names()


def test_a_part_of_a_new_kind_has_to_be_considered() -> None:
    """An attribute that nothing says how to copy stops the fork, with the name of its type."""
    box = Business().sandbox
    box.awaited["lock"] = iter(())

    with pytest.raises(TypeError, match=r"nothing says how a builtins\.tuple_iterator of"):
        copied(box)


@long_runs
@given(st.integers(0, 2**32), st.integers(0, LENGTH))
def test_the_same_commands_have_the_same_answers_in_both(seed: int, at: int) -> None:
    """Whatever happened before a fork, the same commands give the same bytes in the fork and in its original."""
    script = draw(Random(seed), LENGTH)
    run = RandomRun(seed % 7)
    _apply(run, script[:at])
    fork = fork_of_run(run)
    base = shown(fork.sandbox)

    _apply(run, script[at:])
    untouched = shown(fork.sandbox)
    _apply(fork, script[at:])

    assert untouched == base
    assert shown(fork.sandbox) == shown(run.sandbox)
    assert lines(fork.business) == lines(run.business)


@long_runs
@given(st.integers(0, 2**32), st.integers(0, LENGTH))
def test_the_same_faults_fire_in_both(seed: int, at: int) -> None:
    """Counts, windows, copies and random values of faults on webhooks go on where they were."""
    script = draw(Random(seed), LENGTH)
    run = RandomRun(seed % 7)
    for effect in (
        {"type": "duplicate", "copies": 2, "spacing": "5s"},
        {"type": "reorder", "window": 3, "patience": "1h"},
        {"type": "delay", "uniform": ["1s", "10s"]},
    ):
        run.sandbox.add_fault(parse_fault({"on": "webhooks", "effect": effect, "probability": 0.4, "compose": True}))
    _apply(run, script[:at], checked=False)
    fork = fork_of_run(run)

    _apply(run, script[at:], checked=False)
    _apply(fork, script[at:], checked=False)

    assert shown(fork.sandbox) == shown(run.sandbox)
    assert lines(fork.business) == lines(run.business)


def _apply(run: RandomRun, script: Script, *, checked: bool = True) -> None:
    for name, arguments in script:
        getattr(run, name)(**arguments)
        if checked:  # with faults on webhooks not all invariants hold
            run.check()
        else:
            run.business.deliver_all()


@given(st.integers(0, 2**32))
def test_a_checkpoint_stands_still(seed: int) -> None:
    """What happens after a checkpoint is in no fork of it, whenever and how often that is made."""
    script = draw(Random(seed), LENGTH)
    run = RandomRun(seed % 7)
    _apply(run, script[:10])
    checkpoint_id = checkpoint(run.sandbox)
    base = shown(run.sandbox)

    _apply(run, script[10:])
    forks = [fork_of(run.business, SPEC, checkpoint_id) for _ in range(2)]

    assert [shown(each.sandbox) for each in forks] == [base, base]
    forks[0].core.advance(by=DAY)
    assert shown(forks[1].sandbox) == base


@long_runs
@given(st.integers(0, 2**32), st.integers(1, LENGTH))
def test_the_run_of_a_fork_is_repeated(seed: int, at: int) -> None:
    """A run file of a fork begins with its original and goes on with the fork; without personal data too."""
    script = draw(Random(seed), LENGTH)
    run = RandomRun(seed % 7)
    _apply(run, script[:at])
    fork = fork_of_run(run)
    _apply(fork, script[at:])

    taken = recorded_run(fork.sandbox, fork.business.pipeline)

    assert replay(unpack(pack(taken))) is None
    assert replay(unpack(pack(redacted(taken)))) is None


def test_a_fork_is_another_business() -> None:
    """It has its own name, key and secret; its secret of webhooks and its target are those of the original."""
    business = Business()
    box = business.sandbox

    first, second = fork_of(business), fork_of(business)
    given = fork_of(business, ForkSpec("mine", "my-key", "my-secret", "whsec_mine"))

    names = [each.sandbox.identity.id for each in (first, second, given)]
    assert names == ["default-fork-1", "default-fork-2", "mine"]
    assert first.sandbox.identity.business_key != second.sandbox.identity.business_key
    assert first.sandbox.secrets.current == box.secrets.current
    assert given.sandbox.identity == ("mine", box.identity.seed, "my-key", "my-secret", "whsec_mine")
    assert given.sandbox.secrets.current == "whsec_mine"
    assert {each.sandbox.notification_url for each in (first, second, given)} == {URL}
    assert box.identity.id == "default"


def test_a_name_that_is_taken_is_left_out() -> None:
    """A derived name is one that no other sandbox has."""
    from paydouble.sandbox.forking import fork

    box = Business().sandbox

    made = fork(box, SPEC, seed=0, taken={"default-fork-1"})

    assert made.identity.id == "default-fork-2"


def test_a_reset_of_a_fork_is_its_own() -> None:
    """A fork that is reset as a whole begins another run, as itself, and its original keeps everything."""
    business = Business()
    business.deposit()
    fork = fork_of(business, ForkSpec(webhook_secret="whsec_fork"))

    fork.sandbox.reset(frozenset(("state", "faults", "requests", "deliveries", "clock", "scenarios")))
    fork.deposit()

    taken = recorded_run(fork.sandbox, fork.pipeline)
    assert taken.header["sandbox"]["id"] == "default-fork-1"
    assert replay(unpack(pack(taken))) is None
    assert fork.sandbox.secrets.current == "whsec_fork"
    assert len(business.sandbox.journal.requests.entries) == 1


def test_a_fork_is_freed_at_once() -> None:
    """Neither a fork nor its original has a reference cycle, and neither keeps the other."""
    fork = fork_of(rich()).sandbox
    alive = weakref.ref(fork)

    gc.disable()
    try:
        del fork
        assert alive() is None
    finally:
        gc.enable()


def test_an_attempt_in_flight_is_made_again_in_the_fork() -> None:
    """It counts as not sent: the fork sends it first, under the same number, and its run can be repeated."""
    business = Business()
    first, second = business.deposit(), business.deposit()
    box = business.sandbox
    taken = box.next_attempt(URL, 0)
    assert taken is not None

    fork = fork_of(business)

    assert [len(each.attempts) for each in box.outbox.deliveries.values()] == [1, 0]
    assert [len(each.attempts) for each in fork.sandbox.outbox.deliveries.values()] == [0, 0]
    fork.deliver_all()
    deliveries = list(fork.sandbox.outbox.deliveries.values())
    assert [(each.event.object_id, each.status, len(each.attempts)) for each in deliveries] == [
        (first, "delivered", 1),
        (second, "delivered", 1),
    ]
    assert box.outbox.in_flight(taken[0])
    run = recorded_run(fork.sandbox, fork.pipeline)
    assert replay(unpack(pack(run))) is None
    assert restored(run).identity == fork.sandbox.identity


def test_attempts_in_flight_keep_their_order() -> None:
    """With several in flight, those of an object come before those that they blocked, and the oldest object first."""
    business = Business(webhooks={"in_flight": 8})
    pay_ins = [business.deposit(), business.deposit()]
    box = business.sandbox
    for pay_in in pay_ins:
        box.force_transition(business.pay_in(pay_in), "pending")
    while box.next_attempt(URL, 0):
        pass
    business.received.clear()

    fork = fork_of(business)
    fork.deliver_all()

    sent = [json.loads(attempt.body) for attempt in fork.received]
    kinds = ["pay-in.created", "pay-in.pending"]
    assert [(each["data"]["object"]["id"], each["type"]) for each in sent] == [
        (pay_in, kind) for pay_in in pay_ins for kind in kinds
    ]


@pytest.mark.parametrize(
    ("command", "status", "sent"),
    [
        (lambda box, delivery: box.hold(delivery), "held", 0),
        (lambda box, _: box.set_notification_url(None), "no_endpoint", 0),
        (lambda box, _: box.set_notification_url(URL + "/2"), "delivered", 1),
    ],
    ids=["held", "without a target", "with another target"],
)
def test_what_happened_to_a_delivery_in_flight_holds_in_the_fork(command: Any, status: str, sent: int) -> None:  # noqa: ANN401
    """A delivery that was held, or lost its target, while it was in flight is not sent again in the fork."""
    business = Business()
    business.deposit()
    box = business.sandbox
    taken = box.next_attempt(URL, 0)
    assert taken is not None
    command(box, taken[0])

    fork = fork_of(business)
    made = fork.deliver_all()

    (delivery,) = fork.sandbox.outbox.deliveries.values()
    assert (delivery.status, made) == (status, sent)
    assert fork.sandbox.outbox.quiet


def test_a_request_in_flight_is_not_carried_out_in_the_fork() -> None:
    """Its key is free there, so the same request is carried out; in the original it goes on."""
    business = Business(processing_time="1s")
    step = business.begin(DEPOSITS, deposit_body(), key=key(1))

    fork = fork_of(business)
    again = fork.go_on(fork.begin(DEPOSITS, deposit_body(), key=key(1)))

    original = settled(business.go_on(step))
    assert data(settled(again))["id"] == data(original)["id"]
    assert business.sandbox.recording.waiting == fork.sandbox.recording.waiting == 0
    assert len(list(fork.sandbox.journal.events.entries)) == 1


def test_a_real_clock_goes_on_from_the_checkpoint() -> None:
    """The time between a checkpoint and a fork of it passes in no fork."""
    elapsed = [0]
    business = Business()
    box = business.sandbox
    box.set_clock(Clock(lambda: elapsed[0], start=box.now, rate=2))
    elapsed[0] += HOUR
    checkpoint_id = checkpoint(box)
    kept = box.now
    elapsed[0] += HOUR

    fork = fork_of(business, SPEC, checkpoint_id).sandbox
    then = fork.clock.now()
    elapsed[0] += SECOND

    assert (then, fork.clock.now(), box.clock.now()) == (kept, kept + 2 * SECOND, kept + 2 * (HOUR + SECOND))


def test_checkpoints_are_bounded_and_known() -> None:
    """Too many are refused, and so is an unknown one."""
    business = Business()
    made = [checkpoint(business.sandbox) for _ in range(MOST_CHECKPOINTS)]

    assert (made[0], len(set(made))) == ("checkpoint-1", MOST_CHECKPOINTS)
    with pytest.raises(UsageError, match="has 16 checkpoints, the most that it keeps"):
        checkpoint(business.sandbox)
    with pytest.raises(UnknownThing, match="no checkpoint 'other' of sandbox default"):
        business.core.fork(SPEC, "other")
    assert checkpoint(fork_of(business, SPEC, made[3]).sandbox) == "checkpoint-1"
