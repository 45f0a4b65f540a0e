"""Points in time, as milliseconds and as ISO 8601."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paydouble.core.instants import LATEST_MS, Stamps, parse_instant, write_instant

instants = st.integers(0, LATEST_MS - 1)


@given(instants)
def test_what_is_written_is_read_back(instant: int) -> None:
    """Every instant is the same when read, to the millisecond."""
    assert parse_instant(write_instant(instant)) == instant


@given(st.lists(instants, min_size=1, max_size=5), st.booleans())
def test_stamps_agree_with_the_calendar(times: list[int], seconds: bool) -> None:
    """A stamp is what `datetime` writes, with or without milliseconds."""
    stamps = Stamps(seconds=seconds).write

    for instant in times + times:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=instant)
        expected = moment.replace(tzinfo=None).isoformat(timespec="seconds" if seconds else "milliseconds") + "Z"
        assert stamps(instant) == expected


def test_seconds_make_ties() -> None:
    """With `seconds` all instants of one second have the same stamp, without a fraction."""
    stamps = Stamps(seconds=True).write

    assert [stamps(1000), stamps(1999), stamps(2000)] == [
        "1970-01-01T00:00:01Z",
        "1970-01-01T00:00:01Z",
        "1970-01-01T00:00:02Z",
    ]


def test_stamps_stay_right_when_many_seconds_pass() -> None:
    """The cache of texts is bounded, and never returns another second's text."""
    stamps = Stamps()

    texts = [stamps.write(second * 1000 + 7) for second in range(1000)]

    assert texts == [write_instant(second * 1000 + 7) for second in range(1000)]
    assert len(stamps._texts) <= 512  # noqa: SLF001 - nothing public shows what is held in memory


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-01-01T00:00:00.250Z", 1_767_225_600_250),
        ("2026-01-01T01:00:00+01:00", 1_767_225_600_000),
        ("9998-12-31T23:59:59.999Z", LATEST_MS - 1),
    ],
)
def test_an_instant_is_read(text: str, instant: int) -> None:
    """An ISO 8601 text with any zone becomes milliseconds since the epoch."""
    assert parse_instant(text) == instant


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (0, "an instant is a text such as '2026-01-01T00:00:00Z', not 0"),
        ("soon", "'soon' is not an instant; write it like 2026-01-01T00:00:00Z, with its zone"),
        (
            "2026-01-01T00:00:00",
            "'2026-01-01T00:00:00' is not an instant; write it like 2026-01-01T00:00:00Z, with its zone",
        ),
        ("1969-12-31T23:59:59Z", "'1969-12-31T23:59:59Z' is outside the years 1970 to 9998"),
        ("9999-01-01T00:00:00Z", "'9999-01-01T00:00:00Z' is outside the years 1970 to 9998"),
        ("0001-01-01T00:00:00+23:59", "'0001-01-01T00:00:00+23:59' is outside the years 1970 to 9998"),
    ],
)
def test_what_is_no_instant_is_refused(wrong: object, message: str) -> None:
    """The error says what is wrong and how to write it."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared whole
        parse_instant(wrong)

    assert str(caught.value) == message
