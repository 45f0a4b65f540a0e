"""Drives one sandbox: wakes it when something is due and sends what it wants sent.

There is no task that waits. A `wake`, after anything that may have changed something, starts a worker for each
endpoint at which an attempt can be made, and sets one alarm for the next timer. A worker that has taken an attempt
kicks again, so an endpoint has as many workers as it may have attempts in flight, and needs. A worker makes one attempt
after the other and ends when it finds none to make.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple, TypeVar, cast

from paydouble.core.clock import Clock
from paydouble.runtime.sender import Sender
from paydouble.runtime.wall import wall_ms
from paydouble.sandbox import Sandbox
from paydouble.sandbox.business import MOST_TIMERS

T = TypeVar("T")
# How long an `auto` clock sees nothing in flight before it jumps (assumptions, "Time").
AUTO_PAUSE_SECONDS = 0.05
# An alarm further away than this is set anew when it rings; the event loop's own clock has an end.
_LONGEST_ALARM_SECONDS = 86_400.0
# Without anything to send an advance would never let the event loop breathe.
_INSTANTS_PER_BREATH = 64


class Advanced(NamedTuple):
    """What an advance did; `now` is the sandbox's instant at its end.

    `attempts` are those that fell due on the way. What was due when it began may have been sent before or not, as the
    machine had time, so it counts in neither case.
    """

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
        self._workers: set[asyncio.Task[None]] = set()
        self._starting: set[str] = set()
        """Endpoints that have a worker which has not looked for an attempt yet."""
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_for: tuple[Clock, int] | None = None
        self._advancing = asyncio.Lock()
        self._in_flight = 0
        self._interruptions = 0
        self._closed = False
        self.attempts = 0
        """How many attempts have been made."""
        self._counts_after = 0
        self._fell_due = 0
        self._clock_resets = 0
        self._waits: dict[str, tuple[object, float]] = {}
        """Until when an auto clock waits for which client to ask again, by the loop's time, and why."""

    def wake(self) -> None:
        """Start what can start, and see to it that the next timer is met."""
        if self._closed or self._interruptions:
            return
        sandbox = self.sandbox
        if not sandbox.outbox.quiet:
            for endpoint in sandbox.ready_endpoints():
                if endpoint not in self._starting:
                    self._starting.add(endpoint)
                    self._workers.add(asyncio.get_running_loop().create_task(self._work(endpoint)))
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
        self.wake()

    async def quiet(self) -> None:
        """Return when no attempt is in flight and none is due."""
        self.wake()
        while self._workers:
            await asyncio.wait(self._workers)

    async def advance(self, *, to: int | None = None, by: int | None = None, limit: int = MOST_TIMERS) -> Advanced:
        """Move the clock to an instant or by some milliseconds, or with neither until nothing is left to happen.

        What is due happens instant by instant; the attempts of an instant settle before the next begins. A second
        advance waits for the first, and `by` counts from where that one ends. `limit` is the number of timers after
        which it stops where it is; a reset of the clock ends it too.
        """
        async with self._advancing:
            sandbox = self.sandbox
            self._fell_due, self._counts_after = 0, sandbox.tick()
            clock_resets, fired_before = self._clock_resets, sandbox.fired
            for stop, _ in enumerate(sandbox.instants(to=to, by=by, limit=limit), 1):
                await self.quiet()
                if stop % _INSTANTS_PER_BREATH == 0:
                    await asyncio.sleep(0)
                if self._closed or clock_resets != self._clock_resets:
                    break
            sandbox.feed.say("clock", sandbox.now)
            self.wake()
            return Advanced(sandbox.now, max(0, sandbox.fired - fired_before), self._fell_due, sandbox.idle)

    def begin_time_anew(self) -> None:
        """End an advance that is under way: a reset is about to put the clock back, which the rest is not meant for."""
        self._clock_resets += 1

    async def interrupt(self, action: Callable[[], T]) -> tuple[T, int]:
        """Break off the attempts in flight, run an action, and go on; returns its result and how many those were."""
        # Counted, since a second reset or the end may come while the first still waits for its workers.
        self._interruptions += 1
        try:
            self._drop_alarm()
            workers = tuple(self._workers)
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            self._workers.difference_update(workers)  # one that was cancelled before its first step could not do so
            self._starting.clear()
            result = action()
        finally:
            self._interruptions -= 1
        self.wake()
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
                self._starting.discard(endpoint)
                if due is None:
                    break
                delivery, attempt = due
                self.attempts += 1
                self._fell_due += attempt.due_at > self._counts_after
                self.wake()  # another may leave beside it
                outcome = await self._sender.send(attempt, sandbox.settings.webhooks)
                sandbox.settle(delivery, attempt, outcome)
                self.wake()  # copies that were to follow a success may leave by queues of their own
        finally:
            self._workers.discard(cast("asyncio.Task[None]", asyncio.current_task()))
            self.wake()

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
        if seconds is None:
            delay = max(AUTO_PAUSE_SECONDS, self._patience_seconds())
        else:
            delay = min(seconds + 0.001, _LONGEST_ALARM_SECONDS)
        self._alarm_for = (clock, due)
        self._alarm = asyncio.get_running_loop().call_later(delay, self._wake_at_alarm, due if automatic else None)

    def _patience_seconds(self) -> float:
        """Return for how long an auto clock still waits for clients that are likely to ask again."""
        awaited, now = self.sandbox.awaited, asyncio.get_running_loop().time()
        patience = self.sandbox.settings.auto_patience / 1000
        waits = {}
        for name, why in tuple(awaited.items()):
            known, until = self._waits.get(name, (None, 0.0))
            if known is not why:
                until = now + patience
            if until > now:
                waits[name] = (why, until)
            else:
                del awaited[name]
        self._waits = waits
        return max((until for _, until in waits.values()), default=now) - now

    def _drop_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _wake_at_alarm(self, jump_to: int | None) -> None:
        self._alarm = None
        if jump_to is not None:
            self.sandbox.clock.jump(jump_to)
            self.sandbox.feed.say("clock", jump_to)
        self.sandbox.tick()
        self.wake()
