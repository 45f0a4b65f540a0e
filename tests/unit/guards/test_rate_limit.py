"""The quota: a fixed window, against one that counts by hand (assumptions, "Rate limits")."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paydouble.config import RateLimit
from paydouble.guards.rate_limit import Quota

UNITS = ["epoch_seconds", "delta_seconds", "epoch_milliseconds"]
rules = st.builds(
    lambda limit, window, unit: RateLimit.model_validate({"limit": limit, "window": f"{window}ms", "reset_unit": unit}),
    limit=st.integers(0, 4),
    window=st.integers(1, 5_000),
    unit=st.sampled_from(UNITS),
)
starts = st.integers(0, 2_000_000_000_000)
pauses = st.lists(st.integers(0, 3_000), max_size=40)


def _reset_instant(rule: RateLimit, value: int, now: int) -> int:
    """Return the instant in milliseconds that a client takes from `X-RateLimit-Reset`."""
    return {"epoch_seconds": value * 1000, "delta_seconds": now + value * 1000, "epoch_milliseconds": value}[
        rule.reset_unit
    ]


@given(rule=rules, start=starts, waits=pauses)
def test_a_window_takes_its_limit_and_no_more(rule: RateLimit, start: int, waits: list[int]) -> None:
    """A request passes when fewer than `limit` have passed in its window; what is left counts down to nothing."""
    quota = Quota()
    passed: list[int] = []
    now, began = start, -rule.window
    for wait in waits:
        now += wait
        if now >= began + rule.window:
            began = now
        before = sum(instant >= began for instant in passed)

        passes, headers, _ = quota.take(rule, now)

        if passes:
            passed.append(now)
        assert passes == (before < rule.limit)
        assert dict(headers)["X-RateLimit-Remaining"] == str(max(0, rule.limit - before - 1))
        assert dict(headers)["X-RateLimit-Limit"] == str(rule.limit)


@given(rule=rules.filter(lambda rule: rule.limit > 0), now=starts)
def test_who_waits_for_the_reset_finds_the_window_open(rule: RateLimit, now: int) -> None:
    """At the instant that the header names, in whichever unit, a request passes again."""
    quota = Quota()
    while True:
        passes, headers, _ = quota.take(rule, now)
        if not passes:
            break

    reset = _reset_instant(rule, int(dict(headers)["X-RateLimit-Reset"]), now)

    assert now < reset <= now + rule.window + 1_000
    assert quota.take(rule, reset)[0]


@pytest.mark.parametrize(
    ("unit", "expected"),
    [("epoch_seconds", "1767225660"), ("delta_seconds", "60"), ("epoch_milliseconds", "1767225660000")],
)
def test_the_reset_is_written_in_its_unit(unit: str, expected: str) -> None:
    """One millisecond into a window, the reset is the window's end, rounded up to whole seconds."""
    rule = RateLimit.model_validate({"limit": 1, "window": "60s", "reset_unit": unit})
    quota = Quota()
    quota.take(rule, 1_767_225_600_000)

    _, headers, left = quota.take(rule, 1_767_225_600_001)

    assert left == 59_999

    assert [("X-RateLimit-Limit", "1"), ("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", expected)] == list(
        headers
    )


@given(rule=rules.filter(lambda rule: rule.limit > 0), start=starts, later=st.integers(0, 5_000))
def test_the_time_of_day_does_not_matter(rule: RateLimit, start: int, later: int) -> None:
    """A window begins with its first request, so what comes less than a window later is in the same one."""
    quota = Quota()
    for _ in range(rule.limit):
        quota.take(rule, start)

    assert quota.take(rule, start + later)[0] == (later >= rule.window)


def test_another_rule_counts_on_in_the_same_window() -> None:
    """A quota that is raised in the middle of a window does not forget what was used."""
    quota = Quota()
    small, large = (RateLimit.model_validate({"limit": limit, "window": "60s"}) for limit in (1, 2))
    quota.take(small, 0)

    answers = [quota.take(large, 1)[0], quota.take(large, 2)[0]]

    assert answers == [True, False]
