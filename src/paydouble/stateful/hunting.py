"""How far a hunt is, and when it ends."""

from __future__ import annotations

import time
from collections.abc import Callable

from paydouble.stateful.progress import shortening, time_left
from paydouble.stateful.verdicts import MerchantBug


class TimeIsUp(BaseException):
    """The hunt's time is over. Hypothesis takes every `Exception` for a failure of the example."""


class Hunting:
    """The examples of a hunt; Hypothesis tries further ones to shorten the first that fails."""

    def __init__(self, progress: Callable[[str], object], most: int | None, seconds: float | None) -> None:
        """Take what is told how far it is, and the limits in examples and in real time, if there are."""
        self._progress = progress
        self._most = most
        self._until = None if seconds is None else time.monotonic() + seconds
        self._examples = 0
        self._tried = 0
        self.found: MerchantBug | None = None
        """The failure of the last example that failed; Hypothesis has no report when it does not come again."""
        self.is_over = False
        """Whether it was ended because of the time."""

    @property
    def left_out(self) -> int:
        """How many examples there was no time for; none when the hunt has no number of them."""
        return max(0, self._most - self._examples) if self.is_over and self._most is not None else 0

    def begin(self) -> None:
        """Begin an example. `TimeIsUp` when the time is over, unless a failure is being shortened."""
        if self._until is not None and time.monotonic() >= self._until and self.found is None:
            self.is_over = True
            raise TimeIsUp

    def end(self, failure: MerchantBug | None) -> None:
        """Note that an example is over, and what it failed with."""
        if self.found is None:
            self._examples += 1
        else:
            self._tried += 1
        self.found = failure or self.found
        most = "" if self._most is None else f" of {self._most}"
        done = f"{self._examples}{most} examples of the hunt"
        still_looking = done + time_left(self._until)
        self._progress(still_looking if self.found is None else shortening(self._tried, self.found.verdict))
