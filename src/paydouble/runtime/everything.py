"""What happens in all sandboxes, in one numbered order, for those who watch a whole server.

Each sandbox numbers its own notes (`feed.py`). Here they get a second number, the order in which they were noticed, but
only when somebody looks: then each sandbox that has new notes adds one span of numbers. So a request costs nothing
more, whether anybody watches or not. Spans refer to their sandbox weakly and hold no notes: a deleted sandbox is freed,
and its notes count as missed.
"""

from __future__ import annotations

import secrets
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakKeyDictionary, ref

if TYPE_CHECKING:
    from paydouble.feed import Note
    from paydouble.sandbox import Registry, Sandbox

MOST_SPANS: Final = 10_000


class Happening(NamedTuple):
    """One thing that happened: its number, where, and what; without a note the sandbox was deleted."""

    number: int
    sandbox: str
    box: Sandbox | None = None
    note: Note | None = None


class Noticed(NamedTuple):
    """What happened after a number, oldest first."""

    happenings: list[Happening]
    missed: int
    """How many things happened in between that are no longer kept."""
    deleted: int
    """How many things happened in between in sandboxes that were deleted."""
    reached: int
    """The number up to which this is everything."""


class _Span(NamedTuple):
    """Consecutive notes of one sandbox, or its deletion."""

    before: int
    """The number before its first."""
    last: int
    sandbox: str
    box: ref[Sandbox] | None
    seen: int
    """The sandbox's own number before the first note."""


class Everything:
    """The numbers of one server."""

    def __init__(self, registry: Registry, most_spans: int = MOST_SPANS) -> None:
        """Number what happens in the sandboxes of a registry; the newest spans are kept."""
        self._registry = registry
        self._spans: deque[_Span] = deque(maxlen=most_spans)
        self._seen: WeakKeyDictionary[Sandbox, int] = WeakKeyDictionary()
        self._number = 0
        self.run: Final = secrets.token_hex(4)
        """A name for this run of the server: after a restart the numbers begin again."""
        self.closed = False
        """Whether the server has stopped, so that nothing will happen any more."""

    def look(self) -> int:
        """Number what is new, and return the newest number."""
        for box in self._registry:
            newest, seen = box.feed.sequence, self._seen.get(box, 0)
            if newest > seen:
                self._seen[box] = newest
                self._add(box.identity.id, newest - seen, ref(box), seen)
        return self._number

    def skip(self, box: Sandbox) -> None:
        """Number only what happens in a sandbox from now on: a fork has the past of its original."""
        self._seen[box] = box.feed.sequence

    def note_deletion(self, box: Sandbox) -> None:
        """Note that a sandbox was deleted."""
        unseen = max(0, box.feed.sequence - self._seen.pop(box, 0))
        self._add(box.identity.id, unseen + 1, None, 0)

    def since(self, number: int, most: int) -> Noticed:
        """Return at most `most` things that happened after a number, the oldest of them first."""
        newest = self.look()
        happenings: list[Happening] = []
        missed, deleted, reached = 0, 0, min(number, newest)
        for span in self._spans:
            if span.last <= reached:
                continue
            if len(happenings) >= most:
                break
            missed += max(0, span.before - reached)
            reached = max(reached, span.before)
            found = _notes(span, reached, most - len(happenings))
            happenings += found
            end = found[-1].number if found and len(happenings) >= most else span.last
            lost = end - reached - len(found)
            if span.box is None or span.box() is None:
                deleted += lost
            else:
                missed += lost
            reached = end
        return Noticed(happenings, missed, deleted, reached)

    def _add(self, sandbox: str, count: int, box: ref[Sandbox] | None, seen: int) -> None:
        last = self._spans[-1] if self._spans else None
        self._number += count
        if last is not None and box is not None and last.box == box and last.last == self._number - count:
            self._spans[-1] = last._replace(last=self._number)
        else:
            self._spans.append(_Span(self._number - count, self._number, sandbox, box, seen))


def _notes(span: _Span, after: int, most: int) -> list[Happening]:
    """Return at most `most` things of a span after a number, as far as they are kept."""
    if span.box is None:
        return [Happening(span.last, span.sandbox)]
    box = span.box()
    if box is None:
        return []
    ahead = span.before - span.seen
    _, evicted = box.feed.since(after - ahead, after - ahead)
    first = after - ahead + evicted
    notes, _ = box.feed.since(first, min(span.last - ahead, first + most))
    return [Happening(note.sequence + ahead, span.sandbox, box, note) for note in notes]
