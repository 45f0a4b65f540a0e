"""Drives one sandbox: wakes it when something is due and sends what it wants sent.

There is no task that waits. A `kick`, after anything that may have changed something, starts a worker for each
endpoint that has something to send and none yet, and sets one alarm for the next timer. A worker sends an endpoint's
attempts one after the other and ends when there are none left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from paydouble.core.clock import Clock
from paydouble.core.errors import UsageError
from paydouble.core.instants import LATEST_MS, write_instant
from paydouble.runtime.sender import Sender
from paydouble.runtime.wall import wall_ms
from paydouble.sandbox import Sandbox

T = TypeVar("T")
# How long an `auto` clock sees nothing in flight before it jumps (assumptions, "Time").
AUTO_PAUSE_SECONDS = 0.05
DEFAULT_LIMIT = 1_000_000
# An alarm further away than this is set anew when it rings; the event loop's own clock has an end.
_LONGEST_ALARM_SECONDS = 86_400.0
# Without anything to send an advance would never let the event loop breathe.
_INSTANTS_PER_BREATH = 64


class Advanced(NamedTuple):
    """What an advance did; `now` is the sandbox's instant at its end."""

    now: int
    fired: int
    attempts: int
    idle: bool


class Pump:
    """The shell's half of a sandbox."""

    def __init__(self, sandbox: Sandbox, sender: Sender) -> None:
        """Drive a sandbox through a sender."""
        self.sandbox = sandbox
        self._sender = sender
        self._workers: dict[str, asyncio.Task[None]] = {}
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_for: tuple[Clock, int] | None = None
        self._advancing = asyncio.Lock()
        self._in_flight = 0
        self._interruptions = 0
        self._closed = False
        self.attempts = 0

    def kick(self) -> None:
        """Start what can start, and see to it that the next timer is met."""
        if self._closed or self._interruptions:
            return
        sandbox = self.sandbox
        if not sandbox.outbox.quiet:
            for endpoint in sandbox.outbox.idle_endpoints():
                if endpoint not in self._workers:
                    self._workers[endpoint] = asyncio.get_running_loop().create_task(self._work(endpoint))
        if sandbox.clock.mode != "manual" or self._alarm is not None:
            self._set_alarm()

    def enter(self) -> None:
        """A request is in flight: an `auto` clock stands meanwhile."""
        self._in_flight += 1
        if self.sandbox.clock.mode == "auto":
            self._drop_alarm()  # it was set when nothing was in flight; `leave` sets it anew

    def leave(self) -> None:
        """A request has been answered."""
        self._in_flight -= 1
        self.kick()

    async def quiet(self) -> None:
        """Return when no attempt is in flight and none is due."""
        self.kick()
        while self._workers:
            await asyncio.wait(self._workers.values())

    async def advance(self, *, to: int | None = None, by: int | None = None, limit: int = DEFAULT_LIMIT) -> Advanced:
        """Move the clock to an instant or by some milliseconds, or with neither until nothing is left to happen.

        What is due happens instant by instant; the attempts of an instant settle before the next begins. A second
        advance waits for the first, and `by` counts from where that one ends. `limit` is the number of timers after
        which it stops where it is.
        """
        async with self._advancing:
            sandbox = self.sandbox
            now = sandbox.tick()
            if by is not None:
                to = now + by
            if to is not None and not now <= to < LATEST_MS:
                where = "in the past" if to < now else "after the year 9998"
                raise UsageError(f"{write_instant(to) if to < LATEST_MS else 'that'} is {where}; "
                                 f"the clock stands at {write_instant(now)}", member="to")  # fmt: skip
            fired_before, attempts_before, instants = sandbox.fired, self.attempts, 0
            await self.quiet()
            while sandbox.fired - fired_before < limit and not self._closed:
                due = sandbox.timers.next_due()
                if due is None or due >= LATEST_MS or (to is not None and due > to):
                    break
                sandbox.clock.jump(due)
                sandbox.tick()
                await self.quiet()
                instants += 1
                if instants % _INSTANTS_PER_BREATH == 0:
                    await asyncio.sleep(0)
            else:
                to = None
            if to is not None:
                sandbox.clock.jump(to)
                sandbox.tick()
            sandbox.feed.say("clock", sandbox.now)
            self.kick()
            return Advanced(sandbox.now, sandbox.fired - fired_before, self.attempts - attempts_before, sandbox.idle)

    async def interrupt(self, action: Callable[[], T]) -> tuple[T, int]:
        """Break off the attempts in flight, run an action, and go on; returns its result and how many those were."""
        # Counted, since a second reset or the end may come while the first still waits for its workers.
        self._interruptions += 1
        try:
            self._drop_alarm()
            workers = tuple(self._workers.values())
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            for endpoint, worker in tuple(self._workers.items()):
                if worker.done():  # one that was cancelled before its first step could not tidy up behind itself
                    del self._workers[endpoint]
            result = action()
        finally:
            self._interruptions -= 1
        self.kick()
        return result, len(workers)

    async def close(self) -> None:
        """End for good."""
        self._closed = True
        await self.interrupt(lambda: None)

    async def _work(self, endpoint: str) -> None:
        sandbox = self.sandbox
        try:
            while not (self._closed or self._interruptions):
                sandbox.tick()
                due = sandbox.next_attempt(endpoint, wall_ms())
                if due is None:
                    break
                delivery, attempt = due
                self.attempts += 1
                outcome = await self._sender.send(attempt, sandbox.settings.webhooks)
                sandbox.settle(delivery, attempt, outcome)
                self.kick()  # copies that were to follow a success may leave by lanes of their own
        finally:
            del self._workers[endpoint]
            self.kick()

    def _set_alarm(self) -> None:
        sandbox = self.sandbox
        clock = sandbox.clock
        due = None if clock.mode == "manual" else sandbox.timers.next_due()
        automatic = clock.mode == "auto"
        if due is None or (automatic and (self._workers or self._in_flight)):
            self._drop_alarm()
            return
        if self._alarm is not None and self._alarm_for == (clock, due) and not automatic:
            return
        self._drop_alarm()
        seconds = clock.real_seconds_until(due)
        delay = AUTO_PAUSE_SECONDS if seconds is None else min(seconds + 0.001, _LONGEST_ALARM_SECONDS)
        self._alarm_for = (clock, due)
        self._alarm = asyncio.get_running_loop().call_later(delay, self._ring, due if automatic else None)

    def _drop_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _ring(self, jump_to: int | None) -> None:
        self._alarm = None
        if jump_to is not None:
            self.sandbox.clock.jump(jump_to)
            self.sandbox.feed.say("clock", jump_to)
        self.sandbox.tick()
        self.kick()
