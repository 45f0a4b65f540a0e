"""A quota: a fixed window per business, on the sandbox's clock (assumptions, "Rate limits").

A window begins with its first request, and the next one with the first request after its end. Windows that began at
round times of the clock would make a test depend on the time of day: two requests that usually share a window would now
and then stand on both sides of a boundary.
"""

from __future__ import annotations

from typing import Final

from paydouble.config import RateLimit

Headers = tuple[tuple[str, str], ...]
RESET: Final = "X-RateLimit-Reset"
Wall = int | None
"""The machine's time in milliseconds; None where the sandbox's clock is the only one."""


class Quota:
    """Counts the requests of the present window."""

    __slots__ = ("_began", "_used")

    def __init__(self) -> None:
        """Start with an unused window."""
        self.restart()

    def restart(self) -> None:
        """Start again with an unused window."""
        self._began: int | None = None
        self._used = 0

    def take(self, rule: RateLimit, now: int, wall: Wall = None) -> tuple[bool, Headers, int]:
        """Count a request.

        Returns whether it may pass, the three documented headers (see `headers`), and the milliseconds that are left of
        the window.
        """
        if self._began is None or not self._began <= now < self._began + rule.window:
            self._began = now
            self._used = 0
        passes = self._used < rule.limit
        if passes:
            self._used += 1
        remaining = max(0, rule.limit - self._used)
        reset_at = self._began + rule.window
        return passes, headers(rule, remaining=remaining, reset_at=reset_at, now=now, wall=wall), reset_at - now


def headers(rule: RateLimit, *, remaining: int, reset_at: int, now: int, wall: Wall) -> Headers:
    """Return the documented headers (contract section 8); `now` and `reset_at` are on the sandbox's clock.

    The reset is rounded up, so that the window is open for a client that waits until then. The client waits by its
    machine's clock, so the epoch units count on that one, as the signature's `t` does, unless the rule says otherwise.
    """
    if wall is not None and rule.clock == "wall_clock" and rule.reset_unit != "delta_seconds":
        reset_at += wall - now
    if rule.reset_unit == "epoch_milliseconds":
        reset = reset_at
    elif rule.reset_unit == "delta_seconds":
        reset = -((now - reset_at) // 1000)
    else:
        reset = -(-reset_at // 1000)
    return (
        ("X-RateLimit-Limit", str(rule.limit)),
        ("X-RateLimit-Remaining", str(remaining)),
        (RESET, str(reset)),
    )


def retry_after(milliseconds: int) -> tuple[str, str]:
    """Return the header `Retry-After` for a wait, in whole seconds rounded up."""
    return "Retry-After", str(-(-milliseconds // 1000))
