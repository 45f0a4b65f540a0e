"""Waiting for something to happen in a sandbox, without polling and without missing it."""

from __future__ import annotations

import asyncio

from paydouble.feed import Feed


class Signal:
    """Wakes whoever waits when a feed grows."""

    def __init__(self, feed: Feed) -> None:
        """Listen to a feed."""
        self._waiters: set[asyncio.Future[None]] = set()
        self.closed = False
        """Nothing will happen any more: the sandbox has been deleted, or its server has ended."""
        feed.listen(self.ring)

    @property
    def waiting(self) -> int:
        """Count those who wait."""
        return len(self._waiters)

    def changed(self) -> asyncio.Future[None]:
        """Return a future for the next change after this call; whoever waits no longer may just drop or cancel it."""
        future = asyncio.get_running_loop().create_future()
        self._waiters.add(future)
        future.add_done_callback(self._waiters.discard)
        return future

    def close(self) -> None:
        """Wake everybody for the last time."""
        self.closed = True
        self.ring()

    def ring(self) -> None:
        """Wake everybody."""
        if self._waiters:
            for waiter in tuple(self._waiters):
                if not waiter.done():
                    waiter.set_result(None)
