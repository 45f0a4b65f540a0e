"""A limit in real time for the calls of an adapter, so that a call that hangs fails its own test alone.

On the main thread of a POSIX process an alarm (`SIGALRM`) interrupts the call. Elsewhere there is no limit, and the
test runner's own timeout applies.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from paydouble.stateful.verdicts import Hanging

_ALARM: Final[int | None] = getattr(signal, "SIGALRM", None)


class Watchdog:
    """Ends a call that takes too long; calls inside a watched call share its limit."""

    def __init__(self, seconds: float) -> None:
        """Take the limit."""
        self.seconds = seconds
        self._watching = False

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Raise `Hanging` inside the block when it takes longer than the limit."""
        if _ALARM is None or self._watching or threading.current_thread() is not threading.main_thread():
            yield
            return
        before: Callable[[int, FrameType | None], object] | int | None = signal.signal(_ALARM, _interrupt_call)
        left, interval = signal.setitimer(signal.ITIMER_REAL, self.seconds)
        self._watching = True
        try:
            yield
        finally:
            self._watching = False
            # An alarm that was set before, such as a test runner's timeout, continues with the time it had left.
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(_ALARM, before)
            if left:
                signal.setitimer(signal.ITIMER_REAL, left, interval)


def _interrupt_call(_number: int, _frame: FrameType | None) -> None:
    raise Hanging
