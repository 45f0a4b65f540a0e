"""How many processors a run can use, for the advice to use all of them."""

from __future__ import annotations

import os


def processors() -> int:
    """Return on how many processors this process may run."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
