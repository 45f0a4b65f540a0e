"""Waiting for something to happen in a sandbox, without polling and without missing anything."""

from __future__ import annotations

import asyncio

from paydouble.feed import Feed


class Signal:
    """Wakes waiting tasks when a feed grows. It listens only while a task waits, since every request adds to a feed."""

    def __init__(self, feed: Feed) -> None:
        """Wait for changes of a feed."""
        self._feed = feed
        self._waiters: set[asyncio.Future[None]] = set()
        self.closed = False
        """Whether the sandbox was deleted or its server has stopped, so that nothing will happen any more."""

    @property
    def waiting(self) -> int:
        """Return how many tasks wait."""
        return len(self._waiters)

    def changed(self) -> asyncio.Future[None]:
        """Return a future for the next change after this call; it may be dropped or cancelled at any time."""
        future = asyncio.get_running_loop().create_future()
        if not self._waiters:
            self._feed.listen(self.notify)
        self._waiters.add(future)
        future.add_done_callback(self._leave)
        return future

    def close(self) -> None:
        """Wake all waiting tasks for the last time."""
        self.closed = True
        self.notify()

    def notify(self) -> None:
        """Wake all waiting tasks."""
        for waiter in tuple(self._waiters):
            if not waiter.done():
                waiter.set_result(None)

    def _leave(self, waiter: asyncio.Future[None]) -> None:
        self._waiters.discard(waiter)
        if not self._waiters:
            self._feed.forget(self.notify)
