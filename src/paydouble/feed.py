"""Everything that happens in a sandbox, numbered, so that a listener can follow and resume.

The feed holds references, not copies: what is read later shows the record as it is then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from typing import Any, Literal, NamedTuple, Protocol

Kind = Literal["request", "event", "attempt", "delivery", "clock", "fault", "reset"]


class Note(NamedTuple):
    """One thing that happened. `record` is the entry, event or delivery it is about, or a small document."""

    sequence: int
    kind: Kind
    record: Any
    detail: Any = None


class Notable(Protocol):
    """A record that says itself what its note holds, to whoever reads it."""

    def noted(self) -> tuple[Kind, Any]:
        """Return the kind of note and the record."""


class _Said(NamedTuple):
    kind: Kind
    record: Any
    detail: Any

    def noted(self) -> tuple[Kind, Any, Any]:
        return self


class Feed:
    """The newest notes of one sandbox, and who wants to know of new ones."""

    __slots__ = ("_kept", "_listeners", "sequence")

    def __init__(self, limit: int) -> None:
        """Keep at most `limit` notes."""
        # Without their numbers, which follow from the places, and mostly nothing but a record that knows its kind:
        # some notes are made on every request.
        self._kept: deque[Any] = deque(maxlen=limit)
        self.sequence = 0
        self._listeners: list[Callable[[], None]] = []

    def add(self, record: Notable) -> None:
        """Note a record, and tell the listeners."""
        self.sequence += 1
        self._kept.append(record)
        for listener in self._listeners:
            listener()

    def say(self, kind: Kind, record: Any, detail: Any = None) -> None:  # noqa: ANN401 - see Note
        """Note what no record is about alone, and tell the listeners."""
        self.sequence += 1
        self._kept.append(_Said(kind, record, detail))
        for listener in self._listeners:
            listener()

    def since(self, sequence: int) -> tuple[list[Note], int]:
        """Return the notes after a number, and how many of those are gone already."""
        if sequence >= self.sequence:
            return [], 0
        wanted = self.sequence - max(0, sequence)
        kept = len(self._kept)
        first = max(0, kept - wanted)
        before = self.sequence - kept
        notes = [Note(before + at + 1, *self._kept[at].noted()) for at in range(first, kept)]
        return notes, max(0, wanted - kept)

    def listen(self, listener: Callable[[], None]) -> None:
        """Call a function after each note."""
        self._listeners = [*self._listeners, listener]

    def forget(self, listener: Callable[[], None]) -> None:
        """Call it no more."""
        # A new list, since a listener may go while it is being told.
        self._listeners = [each for each in self._listeners if each != listener]

    def drop(self, gone: Collection[object]) -> None:
        """Keep no note of any of these records, nor what is older: the notes that are kept have no gap."""
        ids = set(map(id, gone))
        for at in range(len(self._kept) - 1, -1, -1):
            if id(self._kept[at].noted()[1]) in ids:
                for _ in range(at + 1):
                    self._kept.popleft()
                return

    def close(self) -> None:
        """Call nobody any more."""
        self._listeners = []
