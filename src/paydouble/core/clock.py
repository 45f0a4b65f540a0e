"""The time of one sandbox (assumptions, "Time").

A clock never reads the machine's time by itself: it is handed a function that does, so that the core stays
deterministic. `real` follows that function (times `rate`), `manual` stands until it is moved, `auto` stands too and
is moved by the shell whenever nothing is in flight. Every mode can be jumped forward; none ever goes back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

ClockMode = Literal["real", "manual", "auto"]


class Clock:
    """Now, in milliseconds since the epoch."""

    __slots__ = ("_base", "_latest", "_wall", "_wall_base", "mode", "rate")

    def __init__(
        self, wall: Callable[[], int], *, mode: ClockMode = "real", start: int | None = None, rate: float = 1.0
    ) -> None:
        """Start at `start`, or at wall time when it is absent; `rate` is sandbox time per wall time (real only)."""
        self._wall = wall
        self._wall_base = wall()
        self._base = self._wall_base if start is None else start
        self._latest = self._base
        self.mode: ClockMode = mode
        self.rate = rate

    def now(self) -> int:
        """Return the present instant; never smaller than an earlier answer."""
        if self.mode == "real":
            elapsed = self._wall() - self._wall_base
            self._latest = max(self._latest, self._base + int(elapsed * self.rate))
        return self._latest

    def jump(self, to: int) -> None:
        """Move forward to an instant; an instant in the past changes nothing."""
        now = self.now()
        if to > now:
            self._base = self._latest = to
            self._wall_base = self._wall()

    def real_seconds_until(self, due: int) -> float | None:
        """Return the real seconds until an instant, or None when this clock does not get there by itself."""
        if self.mode != "real":
            return None
        return max(0, due - self.now()) / (1000 * self.rate)
