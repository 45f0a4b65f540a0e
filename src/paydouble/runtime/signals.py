"""Waiting for something to happen in a sandbox, without polling and without missing it."""

from __future__ import annotations

import asyncio

from paydouble.feed import Feed


class Signal:
    """Wakes whoever waits when a feed grows. It listens only while somebody waits: a feed grows with every request."""

    def __init__(self, feed: Feed) -> None:
        """Wake those who wait for a feed."""
        self._feed = feed
        self._waiters: set[asyncio.Future[None]] = set()
        self.closed = False
        """Nothing will happen any more: the sandbox has been deleted, or its server has ended."""

    @property
    def waiting(self) -> int:
        """Count those who wait."""
        return len(self._waiters)

    def changed(self) -> asyncio.Future[None]:
        """Return a future for the next change after this call; whoever waits no longer may just drop or cancel it."""
        future = asyncio.get_running_loop().create_future()
        if not self._waiters:
            self._feed.listen(self.notify)
        self._waiters.add(future)
        future.add_done_callback(self._leave)
        return future

    def close(self) -> None:
        """Wake everybody for the last time."""
        self.closed = True
        self.notify()

    def notify(self) -> None:
        """Wake everybody."""
        for waiter in tuple(self._waiters):
            if not waiter.done():
                waiter.set_result(None)

    def _leave(self, waiter: asyncio.Future[None]) -> None:
        self._waiters.discard(waiter)
        if not self._waiters:
            self._feed.forget(self.notify)
