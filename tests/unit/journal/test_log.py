"""The bounded logs: the newest kept, the rest counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from paydouble.journal import Log

limits = st.integers(1, 5)
# A number is an entry to add, a text of so many stars a new limit.
commands = st.lists(st.integers() | limits.map("*".__mul__), max_size=40)


@given(limit=limits, script=commands)
def test_a_log_keeps_the_newest_and_counts_the_rest(limit: int, script: list[int | str]) -> None:
    """After any additions and new limits the newest entries are there, in order, and all others are counted."""
    log: Log[int] = Log(limit)
    kept: list[int] = []
    added = 0
    for command in script:
        if isinstance(command, str):
            limit = len(command)
            log.resize(limit)
        else:
            log.add(command)
            added += 1
            kept.append(command)
        kept = kept[-limit:]

        assert list(log.entries) == kept
        assert log.evicted == added - len(kept)


@given(limit=limits, count=st.integers(0, 12), start=st.integers(0, 14), end=st.none() | st.integers(0, 14))
def test_a_log_gives_what_is_left_between_two_positions(limit: int, count: int, start: int, end: int | None) -> None:
    """Positions count all entries that there have been; what was evicted is left out."""
    log: Log[str] = Log(limit)
    for position in range(count):
        log.add(f"entry {position}")

    expected = [(n, f"entry {n}") for n in range(count)[start:end] if n >= log.evicted]

    assert list(log.numbered(start, end)) == expected
    assert list(log.since(start, end)) == [entry for _, entry in expected]


def test_a_cleared_log_counts_from_nothing() -> None:
    """`clear` returns how many there were, and keeps the limit."""
    log: Log[int] = Log(2)
    for entry in range(5):
        log.add(entry)

    removed = log.clear()
    for entry in range(3):
        log.add(entry)

    assert (removed, [1, 2], 1) == (2, list(log.entries), log.evicted)
