"""Everything that happens in a sandbox, numbered, so that a listener can follow and resume.

The feed holds references, not copies: what is read later shows the record as it is then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["request", "event", "attempt", "delivery", "clock", "fault", "reset"]


@dataclass(slots=True, frozen=True)
class Note:
    """One thing that happened. `record` is the entry, event or delivery it is about, or a small document."""

    sequence: int
    kind: Kind
    record: Any
    detail: Any = None


class Feed:
    """The newest notes of one sandbox, and who wants to know of new ones."""

    __slots__ = ("_details", "_kinds", "_listeners", "_records", "sequence")

    def __init__(self, limit: int) -> None:
        """Keep at most `limit` notes."""
        # Side by side and without their numbers, which follow from the places: some notes are made on every request.
        self._kinds: deque[Kind] = deque(maxlen=limit)
        self._records: deque[Any] = deque(maxlen=limit)
        self._details: deque[Any] = deque(maxlen=limit)
        self.sequence = 0
        self._listeners: list[Callable[[], None]] = []

    def add(self, kind: Kind, record: Any, detail: Any = None) -> None:  # noqa: ANN401 - see Note
        """Note something, and tell the listeners."""
        self.sequence += 1
        self._kinds.append(kind)
        self._records.append(record)
        self._details.append(detail)
        for listener in self._listeners:
            listener()

    def since(self, sequence: int) -> tuple[list[Note], int]:
        """Return the notes after a number, and how many of those are gone already."""
        if sequence >= self.sequence:
            return [], 0
        wanted = self.sequence - max(0, sequence)
        kept = len(self._kinds)
        first = max(0, kept - wanted)
        before = self.sequence - kept
        notes = [
            Note(before + at + 1, self._kinds[at], self._records[at], self._details[at]) for at in range(first, kept)
        ]
        return notes, max(0, wanted - kept)

    def listen(self, listener: Callable[[], None]) -> None:
        """Call a function after each note."""
        self._listeners = [*self._listeners, listener]

    def forget(self, listener: Callable[[], None]) -> None:
        """Call it no more."""
        # A new list, since a listener may go while it is being told.
        self._listeners = [each for each in self._listeners if each != listener]
