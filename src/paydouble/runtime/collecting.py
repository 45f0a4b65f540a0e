"""Collections of what holds itself, at a moment when they keep nobody waiting.

`serve` all but does without full collections: over the journals of a busy server one takes longer than hundreds of
requests. A sandbox needs none, since nothing in it holds it in a circle. What a failed connection or a broken exchange
has left behind may do so. So a full collection follows a delete, once the server has been quiet for a moment; many
deletes share one; and what it takes is a small part of the time however many there are.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from typing import Final

QUIET_SECONDS: Final = 0.25
"""For how long no request may have come."""
LATEST_SECONDS: Final = 30.0
"""After this the server is never quiet."""
REST: Final = 50
"""How many times as long as it took no other collection follows one."""


class Collector:
    """Collects what holds itself, some time after it was asked to."""

    def __init__(self, requests: Callable[[], int]) -> None:
        """Take what counts the requests that the server has met."""
        self._requests = requests
        self._alarm: asyncio.TimerHandle | None = None
        self._asked_at = 0.0
        self._rest_until = 0.0
        self.collections = 0

    @property
    def due_at(self) -> float | None:
        """Return the earliest instant of the next collection, by the event loop's clock, or None when none is due."""
        return None if self._alarm is None else self._alarm.when()

    def want(self) -> None:
        """Collect before long; asked again before it has come to that, it is still once."""
        if self._alarm is None:
            loop = asyncio.get_running_loop()
            self._asked_at = loop.time()
            self._set(loop)

    def close(self) -> None:
        """Collect no more."""
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
        start = time.perf_counter()
        gc.collect()
        self._rest_until = loop.time() + (time.perf_counter() - start) * REST
        self.collections += 1
