"""The time of one sandbox (assumptions, "Time").

A clock does not read the machine's time itself: it is given a function that does, so the core stays deterministic.
`real` starts at an instant and follows that function (times `rate`). `manual` only moves when it is told to. `auto` is
moved by the shell to the next timer whenever nothing is in flight. Every mode can jump forward; none goes back.

The function counts milliseconds from any origin and never steps: the shell passes the monotonic clock. A real clock on
the machine's wall clock would stop, with every timer, when that is set back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

ClockMode = Literal["real", "manual", "auto"]


class Clock:
    """The sandbox's time, in milliseconds since the epoch."""

    __slots__ = ("_base", "_elapsed", "_elapsed_base", "_latest", "mode", "rate")

    def __init__(self, elapsed: Callable[[], int], *, start: int, mode: ClockMode = "real", rate: float = 1.0) -> None:
        """Start at an instant; `elapsed` counts real milliseconds, `rate` is the speed of a `real` clock."""
        self._elapsed = elapsed
        self._elapsed_base = elapsed()
        self._base = self._latest = start
        self.mode: ClockMode = mode
        self.rate = rate

    def now(self) -> int:
        """Return the present instant; it never decreases."""
        if self.mode == "real":
            elapsed = self._elapsed() - self._elapsed_base
            self._latest = max(self._latest, self._base + int(elapsed * self.rate))
        return self._latest

    def jump(self, to: int) -> None:
        """Move forward to an instant; one in the past changes nothing."""
        now = self.now()
        if to > now:
            self._base = self._latest = to
            self._elapsed_base = self._elapsed()

    def continue_from(self, instant: int) -> None:
        """Show an instant now, which may be in the past, and go on from there."""
        self._base = self._latest = instant
        self._elapsed_base = self._elapsed()

    def real_seconds_until(self, due: int) -> float | None:
        """Return the real seconds until an instant, or None if this clock does not move by itself."""
        if self.mode != "real":
            return None
        return max(0, due - self.now()) / (1000 * self.rate)
