"""A real quota: a fixed window per business, on the sandbox's clock (assumptions, "Rate limits")."""

from __future__ import annotations

from collections.abc import Callable

from paydouble.config import RateLimit

Headers = tuple[tuple[str, str], ...]
Wall = Callable[[], int] | None
"""Gives the machine's time in milliseconds, where there is any besides the sandbox's."""


class Quota:
    """Counts the requests of the present window."""

    __slots__ = ("_used", "_window")

    def __init__(self) -> None:
        """Start with an unused window."""
        self._window = -1
        self._used = 0

    def restart(self) -> None:
        """Begin with an unused window."""
        self._window = -1
        self._used = 0

    def take(self, rule: RateLimit, now: int, wall: Wall = None) -> tuple[bool, Headers]:
        """Count one request; returns whether it may pass, and the three documented headers (see `headers`)."""
        window = now // rule.window
        if window != self._window:
            self._window = window
            self._used = 0
        passes = self._used < rule.limit
        if passes:
            self._used += 1
        remaining = max(0, rule.limit - self._used)
        return passes, headers(rule, remaining=remaining, reset_at=(window + 1) * rule.window, now=now, wall=wall)


def headers(rule: RateLimit, *, remaining: int, reset_at: int, now: int, wall: Wall) -> Headers:
    """Write the documented headers; the reset is rounded up, so that who waits for it finds the window open.

    `now` and `reset_at` are on the sandbox's clock. A correct client sleeps until the reset by the clock of its own
    machine, so the epoch units count on that one, as the signature's `t` does, unless the rule says otherwise.
    """
    if wall is not None and rule.clock == "wall_clock" and rule.reset_unit != "delta_seconds":
        reset_at += wall() - now
    if rule.reset_unit == "epoch_milliseconds":
        reset = reset_at
    elif rule.reset_unit == "delta_seconds":
        reset = -((now - reset_at) // 1000)
    else:
        reset = -(-reset_at // 1000)
    return (
        ("X-RateLimit-Limit", str(rule.limit)),
        ("X-RateLimit-Remaining", str(remaining)),
        ("X-RateLimit-Reset", str(reset)),
    )
