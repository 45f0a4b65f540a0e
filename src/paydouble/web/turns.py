"""Turns: a limit on how much work of one kind is done in one turn of the event loop.

A client that sends requests without waiting for the answers has dozens of them in flight. Two thousand such clients
have a hundred thousand, and the loop would answer all of them before it serves anybody else. So bulk work takes turns:
a few pieces of it in each turn of the loop, in the order of arrival.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

PER_LOOP_TURN: Final = 16
"""Pieces of work in one turn of the event loop: a few milliseconds."""


class Turns:
    """Spreads pieces of work over the turns of an event loop."""

    __slots__ = ("_left", "_loop", "_waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Work on an event loop."""
        self._loop = loop
        self._left: int | None = None
        """How many pieces this turn of the loop still allows; None while turns are not counted."""
        self._waiting: deque[Callable[[], None]] = deque()

    @property
    def waiting(self) -> int:
        """Return how many pieces of work wait for their turn."""
        return len(self._waiting)

    def do(self, work: Callable[[], None]) -> bool:
        """Do a piece of work now if this turn of the loop allows it, otherwise later; returns whether now."""
        if self._left is None:
            self._begin_turn()
        if self._left:
            self._left -= 1
            work()
            return True
        self._waiting.append(work)
        return False

    async def take(self) -> None:
        """Return now if this turn of the loop allows a piece of work, otherwise later."""
        turn = self._loop.create_future()
        self.do(lambda: None if turn.done() else turn.set_result(None))
        await turn

    def _begin_turn(self) -> None:
        self._left = PER_LOOP_TURN
        self._loop.call_soon(self._end_turn)

    def _end_turn(self) -> None:
        if self._left == PER_LOOP_TURN:
            self._left = None  # no work in this turn
            return
        self._begin_turn()
        for _ in range(min(PER_LOOP_TURN, len(self._waiting))):
            assert self._left is not None  # noqa: S101 - set above
            self._left -= 1
            self._waiting.popleft()()
