"""Turns: how much of one kind of work is done before the event loop looks after everybody else.

A client that sends its requests without waiting for the answers, and reads none, has dozens of them under way; two
thousand such clients would have a hundred thousand, and the loop would answer them all before it comes back to anybody.
So what comes in bulk takes turns: some pieces of work in each round of the loop, in the order in which they came.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

A_ROUND: Final = 16
"""Pieces of work in one round of the event loop: a few milliseconds."""


class Turns:
    """Shares the rounds of the event loop among pieces of work."""

    __slots__ = ("_left", "_loop", "_waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Count the rounds of a loop."""
        self._loop = loop
        self._left: int | None = None
        """How many pieces this round still takes; None while no round is counted."""
        self._waiting: deque[Callable[[], None]] = deque()

    @property
    def waiting(self) -> int:
        """Count the pieces of work that wait for their turn."""
        return len(self._waiting)

    def do(self, work: Callable[[], None]) -> bool:
        """Do a piece of work now if this round still takes it, else in its turn; returns whether it has been done."""
        if self._left is None:
            self._begin_round()
        if self._left:
            self._left -= 1
            work()
            return True
        self._waiting.append(work)
        return False

    async def take(self) -> None:
        """Return now if this round still takes a piece of work, else in its turn."""
        turn = self._loop.create_future()
        self.do(lambda: None if turn.done() else turn.set_result(None))
        await turn

    def _begin_round(self) -> None:
        self._left = A_ROUND
        self._loop.call_soon(self._end_round)

    def _end_round(self) -> None:
        if self._left == A_ROUND:
            self._left = None  # nobody had anything to do
            return
        self._begin_round()
        for _ in range(min(A_ROUND, len(self._waiting))):
            assert self._left is not None  # noqa: S101 - set above
            self._left -= 1
            self._waiting.popleft()()
