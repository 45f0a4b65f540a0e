"""What happened in a sandbox, as plain values: requests, events, deliveries and their attempts. Bytes are exact."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from paydouble.records import Attempt, Delivery, Event, Request, UnclaimedRequest
from paydouble.testing.errors import NotAsExpected

__all__ = ["Attempt", "Delivery", "Event", "Records", "Request", "UnclaimedRequest"]
R = TypeVar("R")


class Records(list[R]):
    """What happened of a kind, oldest first."""

    def __init__(self, records: Iterable[R], what: str) -> None:
        """Hold records; `what` names them in messages."""
        list.__init__(self, records)  # not the next class: a handle may come after it
        self._what = what

    @property
    def last(self) -> R:
        """Return the newest; `NotAsExpected` when there is none."""
        __tracebackhide__ = True
        if not self:
            raise NotAsExpected(f"there are no {self._what} at all")
        return self[-1]
