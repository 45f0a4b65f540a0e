"""Durations, as texts and as milliseconds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paydouble.core.durations import LONGEST_MS, UNITS_MS, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("250ms", 250),
        ("2s", 2_000),
        ("5m", 300_000),
        ("1h30m", 5_400_000),
        ("3d", 259_200_000),
        ("1.5s", 1_500),
        ("0.25h", 900_000),
        ("0s", 0),
        (" 2s ", 2_000),
        ("1m1ms", 60_001),
        ("36600d", LONGEST_MS),
        ("PT1H30M", 5_400_000),
        ("P3D", 259_200_000),
        ("P3DT12H", 302_400_000),
        ("P1DT2H3M4.5S", 93_784_500),
        ("P2W", 1_209_600_000),
        ("PT0S", 0),
        ("PT0.25S", 250),
        ("PT72H", 259_200_000),
        (" PT5M ", 300_000),
    ],
)
def test_a_duration_is_read(text: str, milliseconds: int) -> None:
    """A text with units becomes whole milliseconds."""
    assert parse_duration(text) == milliseconds


@given(st.integers(0, LONGEST_MS))
def test_what_is_written_is_read_back(milliseconds: int) -> None:
    """Every duration that is written is the same when read."""
    assert parse_duration(format_duration(milliseconds)) == milliseconds


@given(st.lists(st.tuples(st.integers(0, 1000), st.sampled_from(list(UNITS_MS))), min_size=1, max_size=8))
def test_parts_add_up(parts: list[tuple[int, str]]) -> None:
    """Parts may have any order and be repeated; the duration is their sum."""
    text = "".join(f"{count}{unit}" for count, unit in parts)

    expected = sum(count * UNITS_MS[unit] for count, unit in parts)

    assert parse_duration(text) == expected


def test_the_largest_units_come_first() -> None:
    """A duration is written with the fewest parts, days before hours."""
    assert format_duration(2 * 86_400_000 + 36 * 60_000 + 5) == "2d36m5ms"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (5, "a duration is a text with a unit, such as '2s' or '1h30m', not 5"),
        (True, "a duration is a text with a unit, such as '2s' or '1h30m', not True"),
        (None, "a duration is a text with a unit, such as '2s' or '1h30m', not None"),
        ("10", "'10' is not a duration (did you mean '10s'?); write it like 250ms, 2s, 5m, 1h30m or 3d"),
        ("-1s", "'-1s' is not a duration; write it like 250ms, 2s, 5m, 1h30m or 3d"),
        ("P", "'P' is not a duration; write it like 250ms, 2s, 5m, 1h30m or 3d"),
        ("PT", "'PT' is not a duration; write it like 250ms, 2s, 5m, 1h30m or 3d"),
        ("P3DT", "'P3DT' is not a duration; write it like 250ms, 2s, 5m, 1h30m or 3d"),
        ("PT1M1H", "'PT1M1H' is not a duration; write it like 250ms, 2s, 5m, 1h30m or 3d"),
        ("P1h", "'P1h' is not a duration; write it like 250ms, 2s, 5m, 1h30m or 3d"),
        ("3D", "'3D' is not a duration; write it like 250ms, 2s, 5m, 1h30m or 3d"),
        ("", "'' is not a duration; write it like 250ms, 2s, 5m, 1h30m or 3d"),
        ("1h 30m", "'1h 30m' is not a duration; write it like 250ms, 2s, 5m, 1h30m or 3d"),
        ("1w", "'1w' is not a duration; write it like 250ms, 2s, 5m, 1h30m or 3d"),
        ("٢s", "'٢s' is not a duration; write it like 250ms, 2s, 5m, 1h30m or 3d"),
        ("1s" * 33, "a duration is at most 64 characters long"),
        ("36601d", "'36601d' is longer than a century, which is the longest duration"),
    ],
)
def test_what_is_no_duration_is_refused(wrong: object, message: str) -> None:
    """The error says what is wrong and how to write it."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared whole
        parse_duration(wrong)

    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["P1M", "P1Y", "P1Y2DT3H", "P1M2D"])
def test_what_differs_in_length_is_no_duration(text: str) -> None:
    """Years and months of ISO 8601 differ in length, and the error says so."""
    with pytest.raises(ValueError, match=f"^'{text}' is not a duration, since years and months differ in length; "):
        parse_duration(text)
