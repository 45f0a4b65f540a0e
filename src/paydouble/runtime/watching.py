"""Reads scenario folders again when their files change, so that a scenario can be written while the server runs.

The files are polled, not watched by the operating system: a look at a few dozen files takes a fraction of a
millisecond, and works on every file system, mounted ones included.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from paydouble.scenarios.library import Changes, Library

INTERVAL_SECONDS = 0.3


def describe(changes: Changes) -> list[str]:
    """Return what has changed, one line each."""
    lines = [f"scenario {name} is read again" for name in changes.changed]
    lines += [f"scenario {name} is gone" for name in changes.removed]
    lines += changes.notices
    for problem in changes.problems:
        lines += [problem, "  (what was read before stays)"]
    return lines


async def watch(library: Library, say: Callable[[str], None]) -> None:
    """Poll for changes until cancelled, and pass a description of each to `say`."""
    while True:
        await asyncio.sleep(INTERVAL_SECONDS)
        try:
            changes = library.look()
        except OSError:
            continue  # a folder has changed while it was listed; the next look sees its new state
        for line in describe(changes):
            say(line)
