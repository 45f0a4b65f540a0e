"""Full garbage collections at a time when they delay no request.

`serve` nearly disables full collections: over the journals of a busy server one takes longer than hundreds of requests.
A deleted sandbox needs none, since it has no reference cycle, but what a failed connection left behind may refer to it
in a cycle. So a full collection follows a delete, once the server has been quiet for a moment. Many deletes share one
collection, and after each one there is a pause of 50 times its processor time.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from typing import Final

QUIET_SECONDS: Final = 0.25
"""A collection begins after so long without a request."""
LATEST_SECONDS: Final = 30.0
"""So long after it was requested, it begins in any case."""
REST: Final = 50
"""The pause after a collection, as a multiple of its processor time."""


class Collector:
    """Runs a full garbage collection some time after it was requested."""

    def __init__(self, requests: Callable[[], int]) -> None:
        """`requests` returns how many requests the server has received so far."""
        self._requests = requests
        self._alarm: asyncio.TimerHandle | None = None
        self._asked_at = 0.0
        self._rest_until = 0.0
        self.collections = 0

    @property
    def due_at(self) -> float | None:
        """Return the earliest instant of the next collection, by the event loop's clock, or None when none is due."""
        return None if self._alarm is None else self._alarm.when()

    def request(self) -> None:
        """Request a collection; further requests before it has run share it."""
        if self._alarm is None:
            loop = asyncio.get_running_loop()
            self._asked_at = loop.time()
            self._set(loop)

    def close(self) -> None:
        """Cancel the collection that is due."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _set(self, loop: asyncio.AbstractEventLoop) -> None:
        at = max(loop.time() + QUIET_SECONDS, self._rest_until)
        self._alarm = loop.call_at(at, self._look, loop, self._requests())

    def _look(self, loop: asyncio.AbstractEventLoop, seen: int) -> None:
        self._alarm = None
        if self._requests() != seen and loop.time() - self._asked_at < LATEST_SECONDS:
            self._set(loop)
            return
        start = time.thread_time()  # on a busy machine a collection takes longer, and the rest must not
        gc.collect()
        self._rest_until = loop.time() + (time.thread_time() - start) * REST
        self.collections += 1
