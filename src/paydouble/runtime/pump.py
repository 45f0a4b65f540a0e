"""Drives one sandbox: fires its timers when they are due, and sends its attempts.

No task waits for work. `wake` is called whenever there may be something to send or a new timer, and starts:

    wake ─┬─► a worker for each endpoint that can take an attempt
          │      └─ next attempt ─► wake ─► send ─► settle ─► next attempt … none left: end, and wake
          └─► one alarm for the next timer ── due ──► fire it, and wake

A worker makes one attempt after the other. After it has taken an attempt, `wake` starts another worker if the endpoint
has another delivery to send and may have more attempts in flight (`Sandbox.most_in_flight`). An endpoint in
`_starting` has a worker that has not looked for an attempt yet, and gets no second one until then.

The alarm depends on the clock's mode. On a real clock it goes off when the next timer is due. On a manual clock there
is no alarm. An auto clock jumps to the next timer after a pause in which nothing is in flight, neither an attempt nor a
request (`enter`, `leave`), and no client is expected to repeat a request (`Sandbox.awaited`).

`advance` moves the clock from one due instant to the next, and at each waits until no worker is left (`quiet`). So the
attempts of an instant have their outcomes, and their retries have timers, before the next instant begins. `interrupt`
cancels the workers, runs an action such as a reset, and calls `wake`; no worker starts meanwhile.
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
# An `auto` clock jumps when nothing was in flight for this time (assumptions, "Time").
AUTO_PAUSE_SECONDS = 0.05
# A timer that is due later is reached by several alarms, since an event loop cannot wait for any length of time.
_LONGEST_ALARM_SECONDS = 86_400.0
# After so many stops an advance yields to the event loop; without anything to send it would not yield at all.
_STOPS_PER_LOOP_TURN = 64


class Advanced(NamedTuple):
    """What an advance did; `now` is the sandbox's instant at its end.

    `attempts` counts those that became due during the advance. An attempt that was already due when it began is not
    counted, since it depends on the machine's speed whether it was sent before.
    """

    now: int
    fired: int
    attempts: int
    idle: bool


class Pump:
    """Drives one sandbox; see the head of this module."""

    def __init__(self, sandbox: Sandbox, sender: Sender) -> None:
        """Drive a sandbox, and send its attempts with a sender."""
        self.sandbox = sandbox
        self._sender = sender
        self._workers: set[asyncio.Task[None]] = set()
        self._starting: set[str] = set()
        """Endpoints with a worker that has not looked for an attempt yet."""
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_for: tuple[Clock, int] | None = None
        self._advancing = asyncio.Lock()
        self._in_flight = 0
        self._interruptions = 0
        self._interrupting = asyncio.Lock()
        self._closed = False
        self.attempts = 0
        """The number of attempts so far."""
        self._counts_after = 0
        self._became_due = 0
        self._clock_resets = 0
        self._waits: dict[str, tuple[object, float]] = {}
        """The requests that an auto clock waits for: their token in `Sandbox.awaited`, and until when (loop time)."""

    def wake(self) -> None:
        """Start the workers that are needed, and set the alarm for the next timer."""
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
        """Count a request as in flight; meanwhile an `auto` clock does not move."""
        self._in_flight += 1
        if self.sandbox.clock.mode == "auto":
            self._drop_alarm()  # `leave` sets it again when nothing is in flight

    def leave(self) -> None:
        """Count a request as answered."""
        self._in_flight -= 1
        self.wake()

    async def quiet(self) -> None:
        """Wait until no attempt is in flight and none is due."""
        self.wake()
        while self._workers:
            await asyncio.wait(self._workers)

    async def advance(self, *, to: int | None = None, by: int | None = None, limit: int = MOST_TIMERS) -> Advanced:
        """Move the clock to an instant or by some milliseconds, or with neither until no timer is left.

        The clock stops at each instant at which a timer is due, until the attempts of that instant have outcomes. A
        second advance waits for the first, and `by` counts from where that one ends. After `limit` timers it stops
        where it is; a reset of the clock ends it too. `UsageError` for an instant in the past or after the year 9998.
        """
        async with self._advancing:
            sandbox = self.sandbox
            self._became_due, self._counts_after = 0, sandbox.tick()
            clock_resets, fired_before = self._clock_resets, sandbox.fired
            for stop, _ in enumerate(sandbox.instants(to=to, by=by, limit=limit), 1):
                await self.quiet()
                if stop % _STOPS_PER_LOOP_TURN == 0:
                    await asyncio.sleep(0)
                if self._closed or clock_resets != self._clock_resets:
                    break
            sandbox.feed.note("clock", sandbox.now)
            self.wake()
            return Advanced(sandbox.now, max(0, sandbox.fired - fired_before), self._became_due, sandbox.idle)

    def abort_advance(self) -> None:
        """End the running advance, since a reset is about to set the clock back."""
        self._clock_resets += 1

    async def interrupt(self, action: Callable[[], T]) -> tuple[T, int]:
        """Cancel the attempts in flight and run an action; returns its result and the number of cancelled workers."""
        # A counter, since a second reset or `close` may begin while the first one waits for its workers.
        self._interruptions += 1
        try:
            async with self._interrupting:  # or a delete could end while a reset still waits, and then acts
                self._drop_alarm()
                workers = tuple(self._workers)
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
                # A task that is cancelled before its first step runs no `finally`.
                self._workers.difference_update(workers)
                self._starting.clear()
                result = action()
        finally:
            self._interruptions -= 1
        self.wake()
        return result, len(workers)

    async def close(self) -> None:
        """Cancel the attempts in flight, and start nothing more."""
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
                self._became_due += attempt.due_at > self._counts_after
                self.wake()  # another attempt may be possible at the same time
                outcome = await self._sender.send(attempt, sandbox.settings.webhooks)
                sandbox.settle(delivery, attempt, outcome)
        finally:
            self._starting.discard(endpoint)
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
            delay = max(AUTO_PAUSE_SECONDS, self._retry_wait_seconds())
        else:
            delay = min(seconds + 0.001, _LONGEST_ALARM_SECONDS)
        self._alarm_for = (clock, due)
        self._alarm = asyncio.get_running_loop().call_later(delay, self._wake_at_alarm, due if automatic else None)

    def _retry_wait_seconds(self) -> float:
        """Return how long an auto clock still waits for clients that will probably repeat a request."""
        awaited, now = self.sandbox.awaited, asyncio.get_running_loop().time()
        patience = self.sandbox.settings.auto_patience / 1000
        waits = {}
        for name, token in tuple(awaited.items()):
            known, until = self._waits.get(name, (None, 0.0))
            if known is not token:
                until = now + patience
            if until > now:
                waits[name] = (token, until)
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
            self.sandbox.feed.note("clock", jump_to)
        self.sandbox.tick()
        self.wake()
