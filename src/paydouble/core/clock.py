"""The time of one sandbox (assumptions, "Time").

A clock never reads the machine's time by itself: it is handed a function that does, so that the core stays
deterministic. `real` starts at an instant and follows that function (times `rate`), `manual` stands until it is moved,
`auto` stands too and is moved by the shell whenever nothing is in flight. Every mode can be jumped forward; none ever
goes back.

The function counts milliseconds from anywhere and never steps: the shell gives the monotonic clock. A real clock that
followed the machine's wall clock would stand still for as long as that was set back, and everything due with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

ClockMode = Literal["real", "manual", "auto"]


class Clock:
    """Now, in milliseconds since the epoch."""

    __slots__ = ("_base", "_elapsed", "_elapsed_base", "_latest", "mode", "rate")

    def __init__(self, elapsed: Callable[[], int], *, start: int, mode: ClockMode = "real", rate: float = 1.0) -> None:
        """Start at an instant; `elapsed` counts real milliseconds, `rate` is sandbox time per real time (real only)."""
        self._elapsed = elapsed
        self._elapsed_base = elapsed()
        self._base = self._latest = start
        self.mode: ClockMode = mode
        self.rate = rate

    def now(self) -> int:
        """Return the present instant; never smaller than an earlier answer."""
        if self.mode == "real":
            elapsed = self._elapsed() - self._elapsed_base
            self._latest = max(self._latest, self._base + int(elapsed * self.rate))
        return self._latest

    def jump(self, to: int) -> None:
        """Move forward to an instant; an instant in the past changes nothing."""
        now = self.now()
        if to > now:
            self._base = self._latest = to
            self._elapsed_base = self._elapsed()

    def real_seconds_until(self, due: int) -> float | None:
        """Return the real seconds until an instant, or None when this clock does not get there by itself."""
        if self.mode != "real":
            return None
        return max(0, due - self.now()) / (1000 * self.rate)
