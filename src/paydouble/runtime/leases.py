"""Leases: a sandbox with a `ttl` that nobody uses for so long is reaped, that is, deleted by the server.

A job that is cancelled cannot delete its sandboxes; their leases end instead. Every request to the API and every
control call of a sandbox renews its lease, and while one is in progress (a `wait`, an `advance`, a stream) the lease
does not run. Leases count real time, whatever the sandbox's clock does; setting the machine's time has no effect.

`Host` looks for expired leases once a second while there are leases, so a use costs one look into a dictionary, and a
sandbox is reaped up to a second late. What was reaped is remembered for a while, so that a late control call gets an
answer that explains it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple

from paydouble.core.durations import format_duration
from paydouble.core.instants import write_instant
from paydouble.runtime.wall import elapsed_ms, wall_ms
from paydouble.sandbox import Sandbox

LOOK_MS: Final = 1_000
"""Milliseconds between two looks for expired leases."""
MOST_REAPED: Final = 1_000
"""How many reaped sandboxes are remembered."""


class RealTime:
    """The machine's time. Tests replace it with a clock that they move."""

    def elapsed_ms(self) -> int:
        """Return milliseconds that grow steadily from an arbitrary beginning."""
        return elapsed_ms()

    def wall_ms(self) -> int:
        """Return the milliseconds since the Unix epoch."""
        return wall_ms()

    async def sleep(self, milliseconds: int) -> None:
        """Return after some milliseconds."""
        await asyncio.sleep(milliseconds / 1000)


class Reaped(NamedTuple):
    """A sandbox that was deleted because nobody used it."""

    id: str
    at: int
    """In milliseconds of real time."""
    ttl: int

    def explain(self) -> str:
        """Return what happened, and how to prevent it."""
        return (
            f"Sandbox {self.id!r} was deleted at {write_instant(self.at)}: nobody had used it for its ttl of "
            f"{format_duration(self.ttl)}. Make it again with a longer ttl; PATCH raises the ttl of an existing "
            "sandbox."
        )


@dataclass(slots=True)
class _Lease:
    ttl: int
    used_at: int
    users: int = 0
    """Requests and control calls that are in progress."""


class Leases:
    """The leases of a server's sandboxes, and what was reaped."""

    def __init__(self, time: RealTime) -> None:
        """Start without any."""
        self._time = time
        self._leases: dict[Sandbox, _Lease] = {}
        self._reaped: dict[str, Reaped] = {}

    def __len__(self) -> int:
        """Count the sandboxes that have a lease."""
        return len(self._leases)

    def set(self, box: Sandbox, ttl: int | None) -> None:
        """Give a sandbox a lease that begins now, or none."""
        lease = self._leases.get(box)
        if ttl is None:
            self._leases.pop(box, None)
        elif lease is None:
            self._leases[box] = _Lease(ttl, self._time.elapsed_ms())
        else:
            lease.ttl = ttl
            lease.used_at = self._time.elapsed_ms()

    def ttl(self, box: Sandbox) -> int | None:
        """Return the ttl of a sandbox in milliseconds; None without a lease."""
        lease = self._leases.get(box)
        return None if lease is None else lease.ttl

    def expires_at(self, box: Sandbox) -> int | None:
        """Return when a sandbox is reaped if nobody uses it from now on, in milliseconds of real time."""
        lease = self._leases.get(box)
        return None if lease is None else self._time.wall_ms() + self._left(lease)

    def renew(self, box: Sandbox | None) -> None:
        """Let the lease of a sandbox begin again."""
        lease = None if box is None else self._leases.get(box)
        if lease is not None:
            lease.used_at = self._time.elapsed_ms()

    @contextmanager
    def in_use(self, box: Sandbox | None) -> Iterator[None]:
        """Keep a sandbox meanwhile, and renew its lease at the end."""
        lease = None if box is None else self._leases.get(box)
        if lease is None:
            yield
            return
        lease.users += 1
        try:
            yield
        finally:
            lease.users -= 1
            lease.used_at = self._time.elapsed_ms()

    def expired(self, box: Sandbox) -> bool:
        """Return whether nobody has used a sandbox for its ttl."""
        lease = self._leases.get(box)
        return lease is not None and self._left(lease) <= 0

    def all_expired(self) -> list[Sandbox]:
        """Return the sandboxes that nobody has used for their ttl."""
        now = self._time.elapsed_ms()
        return [box for box, lease in self._leases.items() if not lease.users and lease.used_at + lease.ttl <= now]

    def reap(self, box: Sandbox) -> Reaped:
        """Remember that the lease of a sandbox has expired, which is deleted now."""
        name = box.identity.id
        self._reaped.pop(name, None)
        made = self._reaped[name] = Reaped(name, self._time.wall_ms(), self._leases[box].ttl)
        if len(self._reaped) > MOST_REAPED:
            del self._reaped[next(iter(self._reaped))]
        return made

    def reaped(self, sandbox_id: str) -> Reaped | None:
        """Return what is remembered of a reaped sandbox."""
        return self._reaped.get(sandbox_id)

    def begin(self, sandbox_id: str) -> None:
        """Forget a reaped sandbox, whose id another one has now."""
        self._reaped.pop(sandbox_id, None)

    def _left(self, lease: _Lease) -> int:
        if lease.users:
            return lease.ttl
        return lease.used_at + lease.ttl - self._time.elapsed_ms()
