"""A sandbox's clock: it runs, stands or is moved, and never goes back."""

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paydouble.core.clock import Clock, ClockMode

START = 1_767_225_600_000


class Elapsed:
    """Elapsed milliseconds, set by a test."""

    def __init__(self) -> None:
        self.at = 1_000

    def __call__(self) -> int:
        """Return the elapsed milliseconds."""
        return self.at


@pytest.mark.parametrize("mode", ["manual", "auto"])
def test_a_manual_or_auto_clock_does_not_run(mode: ClockMode) -> None:
    """Whatever real time passes, a manual or auto clock shows its start."""
    elapsed = Elapsed()
    clock = Clock(elapsed, mode=mode, start=START)

    elapsed.at += 10_000

    assert (clock.now(), clock.real_seconds_until(START + 5)) == (START, None)


@pytest.mark.parametrize(("rate", "shown"), [(1.0, 10_000), (60.0, 600_000), (0.5, 5_000)])
def test_a_real_clock_follows_at_its_rate(rate: float, shown: int) -> None:
    """Ten real seconds are ten seconds times the rate."""
    elapsed = Elapsed()
    clock = Clock(elapsed, start=START, rate=rate)

    elapsed.at += 10_000

    assert clock.now() == START + shown


def test_a_jump_keeps_following_from_there() -> None:
    """After a jump a real clock continues at its rate from there."""
    elapsed = Elapsed()
    clock = Clock(elapsed, start=START, rate=2.0)
    elapsed.at += 100

    clock.jump(START + 10_000)
    elapsed.at += 100

    assert clock.now() == START + 10_200


def test_a_jump_into_the_past_changes_nothing() -> None:
    """No jump takes the clock back."""
    clock = Clock(Elapsed(), mode="manual", start=START)

    clock.jump(START - 1)

    assert clock.now() == START


@pytest.mark.parametrize(("due", "seconds"), [(START + 6_000, 3.0), (START, 0.0), (START - 5_000, 0.0)])
def test_a_real_clock_says_how_long_to_wait(due: int, seconds: float) -> None:
    """At rate two, six seconds of the sandbox are three real ones; for a past instant it is zero."""
    clock = Clock(Elapsed(), start=START, rate=2.0)

    assert clock.real_seconds_until(due) == seconds


moves = st.lists(st.tuples(st.sampled_from(["time", "jump"]), st.integers(-10_000, 10_000)), max_size=20)


@given(
    mode=st.sampled_from(["real", "manual", "auto"]),
    rate=st.sampled_from([0.001, 0.3, 1.0, 7.0, 10_000.0]),
    moves=moves,
)
def test_no_clock_ever_goes_back(mode: str, rate: float, moves: list[tuple[str, int]]) -> None:
    """With any real time and any jumps, each answer is at least the previous one."""
    elapsed = Elapsed()
    clock = Clock(elapsed, mode=cast("ClockMode", mode), start=START, rate=rate)
    shown = [clock.now()]

    for kind, by in moves:
        if kind == "time":
            elapsed.at += by
        else:
            clock.jump(clock.now() + by)
        shown.append(clock.now())

    assert shown == sorted(shown)
