"""The feed: everything that happens, numbered, the newest notes kept."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from paydouble.feed import Feed, Note
from paydouble.payments.events import Event
from paydouble.webhooks.deliveries import Unsent


def test_a_listener_is_told_of_each_note_until_it_is_forgotten() -> None:
    """Every note calls every listener once, until it is removed."""
    feed = Feed(10)
    heard: list[int] = []

    def listener() -> None:
        heard.append(feed.sequence)

    feed.note("clock", 1)
    feed.listen(listener)
    feed.note("clock", 2)
    feed.note("clock", 3)
    feed.forget(listener)
    feed.note("clock", 4)

    assert heard == [2, 3]


def test_a_note_holds_its_number_its_record_and_its_detail() -> None:
    """Notes are read as they were added, with numbers from 1."""
    feed = Feed(10)
    feed.note("attempt", "delivery", "attempt")

    assert feed.since(0) == ([Note(1, "attempt", "delivery", "attempt")], 0)


@given(limit=st.integers(1, 8), made=st.integers(0, 20), seen=st.integers(-3, 25))
def test_what_came_after_a_number_is_there_or_counted(limit: int, made: int, seen: int) -> None:
    """Notes after a number are returned in order; together with the count of the lost ones none is missing."""
    feed = Feed(limit)
    for number in range(1, made + 1):
        feed.note("clock", number)

    notes, gone = feed.since(seen)

    missed = list(range(max(0, seen) + 1, made + 1))
    kept = missed[-limit:]
    assert [(note.sequence, note.record) for note in notes] == [(number, number) for number in kept]
    assert gone == len(missed) - len(kept)


def test_notes_up_to_a_number() -> None:
    """Those after one number and up to another, as far as they are kept."""
    feed = Feed(3)
    for number in range(1, 6):
        feed.note("clock", number)

    assert [note.sequence for note in feed.since(0, 4)[0]] == [3, 4]
    assert [note.sequence for note in feed.since(3, 4)[0]] == [4]
    assert feed.since(0, 1) == ([], 2)


def test_the_last_record_is_returned_as_it_is_kept() -> None:
    """A delivery without an endpoint is made when it is read, and not before."""
    feed = Feed(10)
    unsent = Unsent(Event("evt_1", "pay-in.created", "payin_1", 0, None, b"{}"), 0)
    feed.add(unsent)

    assert feed.last is unsent
    assert unsent.status == "no_endpoint"
    assert feed.newest() == Note(1, "delivery", unsent.delivery())
    feed.note("clock", 5)
    last: Any = feed.last
    assert (last.note_kind, last.record) == ("clock", 5)
