"""The machine's time, for everything below that may not read it."""

from __future__ import annotations

import time


def wall_ms() -> int:
    """Return the milliseconds since the Unix epoch."""
    return time.time_ns() // 1_000_000
