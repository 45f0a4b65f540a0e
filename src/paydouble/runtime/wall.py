"""The machine's time, for the layers below, which must not read it themselves."""

from __future__ import annotations

import time


def wall_ms() -> int:
    """Return the milliseconds since the Unix epoch."""
    return time.time_ns() // 1_000_000


def elapsed_ms() -> int:
    """Return milliseconds that grow steadily from an arbitrary beginning; setting the machine's time has no effect."""
    return time.monotonic_ns() // 1_000_000
