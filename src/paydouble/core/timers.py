"""A heap of timers, ordered by due instant and sequence number, that hold data and not closures.

A timer is data, so it can be printed, compared and replayed. Timers of the same instant go off in the order in which
they were set. A cancelled timer stays in the heap and is skipped when it comes to the top, so both operations are
cheap; the heap is rebuilt when more than half of it is cancelled.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Generic, NamedTuple, TypeVar

C = TypeVar("C")


class Timer(NamedTuple, Generic[C]):
    """One command that is due at an instant, on behalf of a subject (the id of an object or a delivery).

    A tuple, so it is its own heap entry: sequence numbers are unique, so the members after them are never compared.
    """

    due: int
    sequence: int
    command: C
    subject: str


class Timers(Generic[C]):
    """The timers of one sandbox."""

    __slots__ = ("_by_subject", "_dead", "_heap", "_sequence")

    def __init__(self) -> None:
        """Start empty."""
        self._heap: list[Timer[C]] = []
        self._by_subject: dict[str, tuple[Timer[C], ...]] = {}
        self._sequence = 0
        self._dead: set[int] = set()
        """Sequence numbers of the cancelled timers that are still in the heap."""

    def __len__(self) -> int:
        """Count the timers that will still go off."""
        return len(self._heap) - len(self._dead)

    def schedule(self, due: int, command: C, subject: str) -> Timer[C]:
        """Set a timer."""
        self._sequence = sequence = self._sequence + 1
        timer = Timer(due, sequence, command, subject)
        heappush(self._heap, timer)
        siblings = self._by_subject.get(subject)
        self._by_subject[subject] = (timer,) if siblings is None else (*siblings, timer)
        return timer

    def cancel(self, timer: Timer[C]) -> bool:
        """Cancel a timer; False if it has gone off or was cancelled before."""
        if timer not in self._by_subject.get(timer.subject, ()):
            return False
        self._forget(timer)
        dead = self._dead
        dead.add(timer.sequence)
        if len(self._heap) > 64 and len(dead) * 2 > len(self._heap):  # noqa: PLR2004 - not worth it for a small heap
            self._heap = [each for each in self._heap if each.sequence not in dead]
            heapify(self._heap)
            dead.clear()
        return True

    def cancel_subject(self, subject: str) -> int:
        """Cancel every timer of a subject; returns how many there were."""
        return sum(self.cancel(timer) for timer in self.of(subject))

    def of(self, subject: str) -> tuple[Timer[C], ...]:
        """Return the timers of a subject that will still go off."""
        return self._by_subject.get(subject, ())

    def next_due(self) -> int | None:
        """Return the instant of the next timer, or None."""
        heap, dead = self._heap, self._dead
        while dead and heap and heap[0][1] in dead:
            dead.remove(heappop(heap)[1])
        return heap[0][0] if heap else None

    def pop_due(self, now: int) -> Timer[C] | None:
        """Remove and return the next timer that is due at or before `now`; None if there is none."""
        due = self.next_due()
        if due is None or due > now:
            return None
        timer = heappop(self._heap)
        self._forget(timer)
        return timer

    def pending(self) -> list[Timer[C]]:
        """Return the timers that will still go off, in that order."""
        return sorted(each for each in self._heap if each.sequence not in self._dead)

    def _forget(self, timer: Timer[C]) -> None:
        siblings = tuple(each for each in self._by_subject[timer.subject] if each is not timer)
        if siblings:
            self._by_subject[timer.subject] = siblings
        else:
            del self._by_subject[timer.subject]
