"""The retry schedule of contract section 6, and schedules of other settings."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paydouble.config import Settings, load_settings
from paydouble.core.durations import format_duration, parse_duration
from paydouble.core.errors import UsageError

delays = st.integers(0, 20).map(lambda steps: steps * 100)


def offsets_of(**webhooks: Any) -> tuple[int, ...]:  # noqa: ANN401 - the members of WebhookSettings
    """Return the offsets of some settings."""
    return load_settings({"webhooks": webhooks}).webhooks.offsets


def test_the_schedule_is_the_contracts() -> None:
    """Eight attempts, the last 58 hours and 36 minutes after the first."""
    texts = ("0s", "1m", "6m", "36m", "2h36m", "10h36m", "34h36m", "58h36m")

    assert Settings().webhooks.offsets == tuple(map(parse_duration, texts))


@given(schedule=st.lists(delays, min_size=1, max_size=6), window=st.integers(0, 30).map(lambda n: n * 100))
def test_no_attempt_is_due_after_the_window(schedule: list[int], window: int) -> None:
    """Attempts are in order, each after its delay, until the end of the window."""
    repeat = schedule[-1] > 0

    offsets = offsets_of(
        schedule=[format_duration(delay) for delay in schedule], window=format_duration(window), repeat_last=repeat
    )

    expected, due = [schedule[0]], schedule[0]
    for number in range(1, len(schedule) if not repeat else 100):
        due += schedule[min(number, len(schedule) - 1)]
        if due <= schedule[0] + window:
            expected.append(due)
    assert list(offsets) == expected


@pytest.mark.parametrize(
    ("webhooks", "offsets"),
    [
        ({"schedule": ["0s"], "repeat_last": False}, (0,)),
        ({"schedule": ["0s", "1m"], "repeat_last": False}, (0, 60_000)),
        ({"schedule": ["0s", "1m"], "window": "2m"}, (0, 60_000, 120_000)),
        ({"schedule": ["0s", "1m"], "window": "0s"}, (0,)),
        ({"schedule": ["5s", "1m"], "window": "1m"}, (5_000, 65_000)),
        ({"schedule": ["100h", "1h"], "window": "1h"}, (360_000_000, 363_600_000)),
    ],
)
def test_another_schedule(webhooks: dict[str, Any], offsets: tuple[int, ...]) -> None:
    """The first delay is counted from the event, and the window from the first attempt."""
    assert offsets_of(**webhooks) == offsets


@pytest.mark.parametrize(
    ("webhooks", "message"),
    [
        (
            {"schedule": ["1m", "0s"]},
            (
                "settings.webhooks: the last delay is repeated, so it cannot be 0s; "
                "set repeat_last: false or a longer delay"
            ),
        ),
        ({"schedule": ["0s", "1ms"]}, "settings.webhooks: this schedule makes more than 10 000 attempts"),
    ],
)
def test_a_schedule_without_end_is_refused(webhooks: dict[str, Any], message: str) -> None:
    """A repeated delay of 0, or more than ten thousand attempts, is refused."""
    with pytest.raises(UsageError) as caught:
        offsets_of(**webhooks)

    assert str(caught.value) == message
