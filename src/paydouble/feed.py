"""Everything that happens in a sandbox, numbered, so that a listener can follow it and resume.

The feed keeps references, not copies: a note that is read later shows its record as it is then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from typing import Any, Final, Literal, NamedTuple, Protocol, get_args

Kind = Literal["request", "event", "attempt", "delivery", "clock", "fault", "reset"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


class Note(NamedTuple):
    """One thing that happened. `record` is a request entry, an event, a delivery, or a small document."""

    sequence: int
    kind: Kind
    record: Any
    detail: Any = None


class Notable(Protocol):
    """A record that knows its kind of note."""

    @property
    def note_kind(self) -> Kind:
        """The kind of its note."""

    def noted(self) -> Any:  # noqa: ANN401 - see Note
        """Return the record of its note."""


class _Detailed(NamedTuple):
    note_kind: Kind
    record: Any
    detail: Any


def _note(number: int, kept: Notable | _Detailed) -> Note:
    if isinstance(kept, _Detailed):
        return Note(number, *kept)
    return Note(number, kept.note_kind, kept.noted())


class Feed:
    """The newest notes of one sandbox, and the listeners that are called for new ones."""

    __slots__ = ("_kept", "_listeners", "sequence")

    def __init__(self, limit: int) -> None:
        """Keep at most `limit` notes."""
        # Notes are made on every request, so most are kept as the record alone; their numbers follow from their places.
        self._kept: deque[Notable | _Detailed] = deque(maxlen=limit)
        self.sequence = 0
        self._listeners: list[Callable[[], None]] = []

    def add(self, record: Notable) -> None:
        """Note a record, and call the listeners."""
        self.sequence += 1
        self._kept.append(record)
        for listener in self._listeners:
            listener()

    def note(self, kind: Kind, record: Any, detail: Any = None) -> None:  # noqa: ANN401 - see Note
        """Note something that a record alone does not describe, and call the listeners."""
        self.sequence += 1
        self._kept.append(_Detailed(kind, record, detail))
        for listener in self._listeners:
            listener()

    @property
    def last(self) -> Any:  # noqa: ANN401 - see Note
        """Return the last record as it is kept: one that is made when it is first read has not been made."""
        return self._kept[-1]

    def newest(self) -> Note:
        """Return the last note; the feed must have one."""
        return _note(self.sequence, self._kept[-1])

    def since(self, sequence: int, last: int | None = None) -> tuple[list[Note], int]:
        """Return the notes after a number, up to the number `last`, and how many of them are no longer kept."""
        if sequence >= self.sequence:
            return [], 0
        wanted = self.sequence - max(0, sequence)
        kept = len(self._kept)
        first = max(0, kept - wanted)
        before = self.sequence - kept
        end = kept if last is None else min(kept, last - before)
        notes = [_note(before + at + 1, self._kept[at]) for at in range(first, end)]
        return notes, max(0, wanted - kept)

    def listen(self, listener: Callable[[], None]) -> None:
        """Call a function after each note from now on."""
        self._listeners = [*self._listeners, listener]

    def forget(self, listener: Callable[[], None]) -> None:
        """Stop calling a function."""
        # A new list, since a listener may remove itself while the list is iterated.
        self._listeners = [each for each in self._listeners if each != listener]

    def drop(self, records: Collection[object]) -> None:
        """Remove the notes about these records, and all older ones, so that the notes that are kept have no gap."""
        ids = set(map(id, records))
        for at in range(len(self._kept) - 1, -1, -1):
            if id(_note(0, self._kept[at]).record) in ids:
                for _ in range(at + 1):
                    self._kept.popleft()
                return

    def close(self) -> None:
        """Remove all listeners."""
        self._listeners = []
