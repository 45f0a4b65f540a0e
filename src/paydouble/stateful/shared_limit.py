"""The limit of a 429 as one of the whole business: until its reset nothing is asked of the service, by whatever call.

The contract does not say what a limit counts (section 8). Many shops let each request wait for itself, and jobs that
run once a minute need not look at a reset, so it is a policy. A merchant that has promised it stops as soon as it knows
of the 429: a call that had begun before, and has not met the 429 itself, may not know, and a process that was killed
may have forgotten it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from paydouble.guards.rate_limit import RESET
from paydouble.journal import RequestEntry

# A reset is a whole second, and may have been rounded down.
_ROUNDED_MS: Final = 1000

Sent = tuple[str, str, str | None]
"""The method, the target and the key of a request."""


class _Met(NamedTuple):
    refused: Sent
    at: int
    until: int
    operation: int
    """The number of the operation that met it."""
    latest: int
    """The number of the latest operation that had begun by then."""


class SharedLimit:
    """The 429 that a merchant has met last, as far as it has said when its limit ends."""

    def __init__(self) -> None:
        """Start without any."""
        self.on_broken: Callable[[str], None] = lambda _text: None
        """Called when a request comes before the reset; the text continues the sentence `The merchant …`."""
        self._met: _Met | None = None

    def note(self, refused: Sent, entry: RequestEntry, now: int, operation: int, latest: int) -> None:
        """Note that an operation, given by its number, has got a 429 at `now` (milliseconds), as `entry` has it."""
        end = end_of_limit(entry)
        if end is not None and (self._met is None or end > self._met.until):
            self._met = _Met(refused, now, end - _ROUNDED_MS, operation, latest)

    def forget(self) -> None:
        """Note that the merchant's process was killed."""
        self._met = None

    def check(self, sent: Sent, now: int, operation: int) -> None:
        """Check that a request that an operation sends at `now` (milliseconds) does not come before the reset."""
        met = self._met
        if met is None or now >= met.until:
            return
        if operation != met.operation and operation <= met.latest:
            return
        waits = (met.until + _ROUNDED_MS - met.at) / 1000
        asked = f"a 429 to {met.refused[0]} {met.refused[1]} that asked for {waits:g} s"
        self.on_broken(f"sends {sent[0]} {sent[1]} {(now - met.at) / 1000:g} s after {asked}")


def end_of_limit(limit: RequestEntry) -> int | None:
    """Return when the reset of a 429 comes, in milliseconds; None when it cannot be read, or was past."""
    value = next((value for name, value in limit.answer_headers if name == RESET), "")
    if not value.isdecimal():
        return None
    reset, now = int(value), limit.at
    # Its unit is open: milliseconds or seconds of the clock, or seconds from now. No two are of the same size.
    ends_at = min((reset, reset * 1000, now + reset * 1000), key=lambda at: abs(at - now))
    return ends_at if ends_at > now else None
