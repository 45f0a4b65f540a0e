"""What will happen later: a heap of `(due, sequence)` timers that hold data, not closures.

Because a timer is data it can be printed, compared and replayed. Two timers of one instant go off in the order in
which they were set. A cancelled timer stays in the heap and is passed over when it surfaces, which keeps both
operations cheap; the heap is rebuilt when more than half of it is dead.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Generic, TypeVar

C = TypeVar("C")


@dataclass(slots=True, eq=False)
class Timer(Generic[C]):
    """One command that is due at an instant, on behalf of a subject (the id of an object or a delivery)."""

    due: int
    sequence: int
    command: C
    subject: str
    live: bool = True


class Timers(Generic[C]):
    """The timers of one sandbox."""

    __slots__ = ("_by_subject", "_heap", "_live", "_sequence")

    def __init__(self) -> None:
        """Start empty."""
        self._heap: list[tuple[int, int, Timer[C]]] = []
        self._by_subject: dict[str, list[Timer[C]]] = {}
        self._sequence = 0
        self._live = 0

    def __len__(self) -> int:
        """Count the timers that will still go off."""
        return self._live

    def schedule(self, due: int, command: C, subject: str) -> Timer[C]:
        """Set a timer."""
        self._sequence += 1
        timer = Timer(due, self._sequence, command, subject)
        heapq.heappush(self._heap, (due, self._sequence, timer))
        self._by_subject.setdefault(subject, []).append(timer)
        self._live += 1
        return timer

    def cancel(self, timer: Timer[C]) -> bool:
        """Take one timer back; False when it has gone off or was cancelled before."""
        if not timer.live:
            return False
        self._forget(timer)
        if len(self._heap) > 64 and self._live * 2 < len(self._heap):  # noqa: PLR2004 - not worth it for a small heap
            self._heap = [entry for entry in self._heap if entry[2].live]
            heapq.heapify(self._heap)
        return True

    def cancel_subject(self, subject: str) -> int:
        """Take back every timer of a subject; returns how many."""
        return sum(self.cancel(timer) for timer in self.of(subject))

    def of(self, subject: str) -> tuple[Timer[C], ...]:
        """Return the timers of a subject that will still go off."""
        return tuple(self._by_subject.get(subject, ()))

    def next_due(self) -> int | None:
        """Return the instant of the next timer, or None."""
        heap = self._heap
        while heap and not heap[0][2].live:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def pop_due(self, now: int) -> Timer[C] | None:
        """Take out the next timer that is due at or before `now`."""
        due = self.next_due()
        if due is None or due > now:
            return None
        timer = heapq.heappop(self._heap)[2]
        self._forget(timer)
        return timer

    def pending(self) -> list[Timer[C]]:
        """Return what is still to come, in the order in which it will happen."""
        return [timer for _, _, timer in sorted(self._heap, key=lambda entry: entry[:2]) if timer.live]

    def _forget(self, timer: Timer[C]) -> None:
        timer.live = False
        self._live -= 1
        siblings = self._by_subject[timer.subject]
        siblings.remove(timer)
        if not siblings:
            del self._by_subject[timer.subject]
