"""How a sandbox fires what is due by its clock."""

import pytest
from benches import DAY, SECOND, START, URL, Wall, advance, bench, deposit, script, timeline

from paydouble.core.clock import Clock, ClockMode
from paydouble.core.errors import UsageError
from paydouble.journal import RequestEntry
from paydouble.sandbox.commands import MakeAttempt, PlayStep
from paydouble.webhooks.deliveries import Outcome


@pytest.mark.parametrize("late", [6_000, 6_001, 60_000])
def test_a_late_tick_fires_each_timer_at_its_own_instant(late: int) -> None:
    """However late the event loop is, events have the times at which they were due."""
    wall = Wall()
    box = bench(mode="real", wall=wall, url=None)
    deposit(box)

    wall.at += late
    now = box.tick()

    states = [(0, "created"), (2_000, "pending"), (3_000, "processing"), (6_000, "succeeded")]
    assert timeline(box) == [(at, f"pay-in.{state}") for at, state in states]
    assert (now, box.now) == (START + late, START + late)


def test_timers_of_different_resources_fire_in_the_order_of_time() -> None:
    """The steps of two scripts interleave by their instants; of two at one instant the one set first is first."""
    scenarios = {
        **script("slow", pay_in=[{"after": "3s", "to": "pending"}, {"after": "2s", "to": "failed"}]),
        **script("quick", pay_in=[{"after": "1s", "to": "pending"}, {"after": "4s", "to": "failed"}]),
    }
    box = bench(url=None, scenario="slow", scenarios=scenarios)
    slow = deposit(box)
    quick = deposit(box, scenario="quick")

    advance(box, 10 * SECOND)

    order = [(event.created_at - START, event.object_id) for event in box.journal.events.entries][2:]
    assert order == [(1_000, quick.id), (3_000, slow.id), (5_000, quick.id), (5_000, slow.id)]


@pytest.mark.parametrize(
    ("move", "stops", "end"),
    [
        ({"by": 2_999}, [0, 2_000], 2_999),
        ({"to": START + 3_000}, [0, 2_000, 3_000], 3_000),
        ({"by": 0}, [0], 0),
        ({"by": 9_000, "limit": 2}, [0, 2_000, 3_000], 3_000),
        ({"by": 9_000, "limit": 0}, [0], 0),
        ({}, [0, 2_000, 3_000, 6_000], 6_000),
    ],
    ids=str,
)
def test_a_clock_that_is_moved_stops_at_each_instant(move: dict[str, int], stops: list[int], end: int) -> None:
    """Now and at every instant with something due, so that the shell can send it before the clock goes on."""
    box = bench(url=None)
    deposit(box)

    stopped = [(instant - START, box.clock.now() - START, box.now - START) for instant in box.instants(**move)]

    assert stopped == [(at, at, at) for at in stops]
    assert (box.now, box.clock.now()) == (START + end, START + end)


def test_an_advance_that_is_ended_early_leaves_the_clock_at_its_stop() -> None:
    """This happens when the sandbox is reset or deleted meanwhile."""
    box = bench(url=None)
    deposit(box)

    for instant in box.instants(by=DAY):
        if instant == START + 2_000:
            break

    assert (box.now, box.clock.now()) == (START + 2_000, START + 2_000)


@pytest.mark.parametrize(
    ("to", "why"),
    [
        (START - 1, "2025-12-31T23:59:59.999Z is in the past; the clock stands at 2026-01-01T00:00:00.000Z"),
        (10**16, "that is after the year 9998; the clock stands at 2026-01-01T00:00:00.000Z"),
    ],
)
def test_a_clock_moves_neither_back_nor_out_of_the_calendar(to: int, why: str) -> None:
    """The error names the instant and where the clock is, and nothing has happened."""
    box = bench(url=None)

    with pytest.raises(UsageError) as refused:
        next(box.instants(to=to))

    assert (refused.value.message, refused.value.member, box.now) == (why, "to", START)


def test_fire_counts_what_it_fired() -> None:
    """An instant at which nothing is due fires nothing."""
    box = bench(url=None)
    deposit(box)

    assert [box.fire(START + 1_999), box.fire(START + 2_000), box.fire(START + 2_000)] == [0, 1, 0]
    assert box.fired == 1


def test_the_same_commands_give_the_same_bytes() -> None:
    """Settings, seed and commands decide every byte; another seed gives other ids."""

    def run(seed: int) -> list[bytes]:
        box = bench(seed=seed)
        deposit(box)
        advance(box, DAY)
        return [event.body for event in box.journal.events.entries]

    assert run(1) == run(1)
    assert not set(run(1)) & set(run(2))


def test_a_new_clock_continues_from_its_own_time() -> None:
    """A new clock that is ahead moves the sandbox there, timers included."""
    wall = Wall()
    box = bench(url=None, wall=wall)
    deposit(box)

    box.set_clock(Clock(wall, mode="real", start=START + 2_500))
    wall.at += 500
    box.tick()

    assert timeline(box)[1:] == [(2_000, "pay-in.pending"), (3_000, "pay-in.processing")]


def test_a_new_clock_in_the_past_is_refused() -> None:
    """A clock in the sandbox's past is refused, and the old one stays."""
    box = bench()
    advance(box, SECOND)
    clock = box.clock

    with pytest.raises(UsageError, match="a clock never goes back") as caught:
        box.set_clock(Clock(Wall(), mode="manual", start=START + 999))

    assert (caught.value.member, box.clock) == ("start", clock)


def test_a_failed_delivery_is_queued_again_when_it_is_due() -> None:
    """The next attempt waits on the sandbox's clock, for one minute after the first."""
    box = bench(scenario="abandoned")
    deposit(box)
    taken = box.next_attempt(URL, START)
    assert taken is not None
    box.settle(*taken, Outcome(START, 1.0, status=500))

    advance(box, 59_999)
    early = box.next_attempt(URL, START)
    advance(box, 1)

    again = box.next_attempt(URL, START)
    assert early is None
    assert again is not None
    assert (again[0], again[1].number, again[1].due_at) == (taken[0], 2, START + 60_000)


def test_the_first_attempt_waits_for_the_first_delay() -> None:
    """A schedule that begins later than at once leaves even the first attempt to the clock."""
    box = bench(scenario="abandoned", webhooks={"schedule": ["5s", "1m"]})
    deposit(box)

    before = (box.outbox.quiet, box.next_attempt(URL, START))
    advance(box, 5 * SECOND)

    taken = box.next_attempt(URL, START)
    assert before == (True, None)
    assert taken is not None
    assert (taken[1].number, taken[1].due_at) == (1, START + 5_000)


def test_a_timer_of_a_removed_delivery_does_nothing() -> None:
    """A timer of a removed delivery or resource is skipped."""
    box = bench()
    box.timers.schedule(START + 1, MakeAttempt("dlv_gone"), "dlv_gone")
    steps = script(pay_in=[{"after": "1s", "to": "pending"}])["scripted"].lifecycle.pay_in
    box.timers.schedule(START + 1, PlayStep("payin_gone", steps, 0), "payin_gone")

    advance(box, 1)

    assert (box.idle, box.fired, len(box.journal.events.entries)) == (True, 2, 0)


def test_the_script_runner_ignores_other_commands() -> None:
    """A command that is not about a resource changes none."""
    box = bench(url=None)
    pay_in = deposit(box)

    box.scripts.fire(MakeAttempt(pay_in.id), START)

    assert (pay_in.status, len(box.journal.events.entries)) == ("created", 1)


@pytest.mark.parametrize(("mode", "expected"), [("auto", ["key", "/target"]), ("manual", []), ("real", [])])
def test_an_auto_clock_knows_whose_retry_to_wait_for(mode: ClockMode, expected: list[str]) -> None:
    """A faulted answer is noted by its key or its target; a good answer to the same request removes the note."""
    box = bench(mode=mode)

    for key, target, faults in (("key", "/a", ("f",)), (None, "/target", ("f",)), ("other", "/b", ("f",))):
        box.note_answer(RequestEntry("req", START, "POST", target, None, b"", b"", key=key, faults=faults))
    box.note_answer(RequestEntry("req", START, "POST", "/b", None, b"", b"", key="other"))

    assert list(box.awaited) == expected
