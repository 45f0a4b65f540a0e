"""A limit in real time for the calls of an adapter, so that a call that hangs fails its own test alone.

On the main thread of a POSIX process an alarm (`SIGALRM`) interrupts the call. Elsewhere there is no limit, and the
test runner's own timeout applies.

A computer that is busy or was suspended must not look like a call that hangs, or the same play would fail once and pass
when it is repeated. So the limit is counted in slices: a suspended process misses slices, and a call that is slow for
want of processor time has used some, or was ready to run, which one that waits has not. The second matters for a
process of low priority: beside busy ones it may use less than a hundredth of a processor.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from paydouble.stateful.verdicts import Hanging

_ALARM: Final[int | None] = getattr(signal, "SIGALRM", None)
_SLICES: Final = 10
# A call that used less of the processor than this was waiting,
_WAITING: Final = 0.02
# unless it was ready to run for more than this. A call that waits is ready for a moment at the end of each slice.
_READY: Final = 0.2
_SCHEDULED: Final = Path("/proc/self/schedstat")
"""What Linux tells of the main thread: nanoseconds on a processor, nanoseconds ready for one, time slices."""
# However busy the computer is.
_MOST_LIMITS: Final = 10


class Watchdog:
    """Ends a call that takes too long; calls inside a watched call share its limit."""

    def __init__(self, seconds: float) -> None:
        """Take the limit."""
        self.seconds = seconds
        self._watching = False
        self._counting = False
        self._slices = 0
        self._processor_start = self._ready_start = 0.0

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Raise `Hanging` inside the block when it takes longer than the limit."""
        if _ALARM is None or self._watching or threading.current_thread() is not threading.main_thread():
            yield
            return
        before: Callable[[int, FrameType | None], object] | int | None = signal.signal(_ALARM, self._count)
        self._begin()
        self._watching = True
        left, interval = signal.setitimer(signal.ITIMER_REAL, *[self.seconds / _SLICES] * 2)
        try:
            yield
        finally:
            self._watching = False
            # An alarm that was set before, such as a test runner's timeout, continues with the time it had left.
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(_ALARM, before)
            if left:
                signal.setitimer(signal.ITIMER_REAL, left, interval)

    def _begin(self) -> None:
        self._slices, self._processor_start = 0, time.process_time()

    def _count(self, _number: int, _frame: FrameType | None) -> None:
        self._slices += 1
        # The next alarm may come while this one is handled, on a busy machine. It must not end the reading of a file
        # halfway, which would leave the file open.
        if self._counting or not self._watching:
            return
        self._counting = True
        try:
            if self._slices == 1:  # most calls are over by then, and need not ask
                self._ready_start = ready_seconds()
            used = time.process_time() - self._processor_start
            hangs = is_over(self._slices, used, ready_seconds() - self._ready_start, self.seconds)
        finally:
            self._counting = False
        if hangs:
            # What the call does while it ends, such as to give a lock back, has a limit of its own.
            self._begin()
            raise Hanging


def is_over(slices: int, processor_seconds: float, ready_seconds: float, limit_seconds: float) -> bool:
    """Return whether a call hangs after so many slices of its limit.

    In them it has used so many seconds of the processor, and was ready to run for so many without having it.
    """
    if slices < _SLICES:
        return False
    elapsed = limit_seconds * slices / _SLICES
    is_waiting = processor_seconds < elapsed * _WAITING and ready_seconds < elapsed * _READY
    return is_waiting or processor_seconds >= limit_seconds or slices >= _SLICES * _MOST_LIMITS


def ready_seconds() -> float:
    """Return for how many seconds the main thread was ready to run and had no processor; 0 where no system tells."""
    try:
        # As bytes: an alarm may interrupt the first import of a codec, and this runs in its handler.
        return int(_SCHEDULED.read_bytes().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):  # another system than Linux, or one that does not count
        return 0.0


def load_factor() -> float:
    """Return how many times as long as on an idle computer a process may take here, from the system's load average.

    1 on a computer that has a processor to spare, and where the system does not tell.
    """
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows; a system that does not show it
        return 1.0
    return min(max(load / (os.cpu_count() or 1), 1.0), float(_MOST_LIMITS))
