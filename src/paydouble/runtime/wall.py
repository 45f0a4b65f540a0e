"""The machine's time, for everything below that may not read it."""

from __future__ import annotations

import time


def wall_ms() -> int:
    """Return the milliseconds since the Unix epoch."""
    return time.time_ns() // 1_000_000


def elapsed_ms() -> int:
    """Return the milliseconds since some moment before the start; no correction of the machine's time changes them."""
    return time.monotonic_ns() // 1_000_000
