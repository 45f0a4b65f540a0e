"""The clock of a merchant that is told the time: when it has to be set.

Such a clock goes on by itself between two calls, as the computer's does, and may so run ahead of the play's. It is not
set back, since code that measures a pause by it would meet a negative one.
"""

from __future__ import annotations

import time
from typing import Final

from paydouble.sandbox import Sandbox
from paydouble.stateful.merchant import Merchant

# The shop's clock may be so far behind the play's, as that of any two computers. Each setting is a request.
_MAY_LAG_MS: Final = 1000


class ToldClock:
    """The clock of the merchant of one play."""

    def __init__(self, box: Sandbox, make: object) -> None:
        """Take the play's sandbox, and what makes the adapter."""
        self._box = box
        self._is_told = getattr(make, "set_time", Merchant.set_time) is not Merchant.set_time
        self._told: tuple[int, int] | None = None
        """What it was set to, and the computer's monotonic clock then, in milliseconds."""

    def set(self, merchant: Merchant) -> None:
        """Set it, where the merchant can be told and the play has moved on further than the computer."""
        if not self._is_told:
            return
        now, running = self._box.now, time.monotonic_ns() // 1_000_000
        if self._told is None or now - self._told[0] > running - self._told[1] + _MAY_LAG_MS:
            self._told = now, running
            merchant.set_time(now / 1000)

    def forget(self) -> None:
        """Note that a new process begins, which goes by the computer's clock."""
        self._told = None
