"""Drives one sandbox: fires its timers when they are due, and sends its attempts.

No task waits for work. `wake` is called after everything that may have changed something, and does two things:

    wake ─┬─► a worker for each endpoint that can take an attempt
          │      └─ next attempt ─► wake ─► send ─► settle ─► wake ─► next attempt … none left: end, and wake
          └─► one alarm for the next timer ── due ──► fire it, and wake

A worker makes one attempt after the other. The wake after it has taken one starts another worker beside it if the
endpoint may have more attempts in flight, so an endpoint has as many workers as it needs and `Sandbox.most_in_flight`
allows. An endpoint in `_starting` has a worker that has not looked for an attempt yet, and gets no second one.

The clock's mode decides about the alarm. On a real clock it goes off when the next timer is due. On a manual clock
there is none. An auto clock jumps to the next timer once nothing is in flight, neither an attempt nor a request
(`enter`, `leave`), and no client is expected to repeat a request (`Sandbox.awaited`).

`advance` moves the clock from one due instant to the next and waits at each for `quiet`: no worker is left. So the
attempts of one instant settle, and their retries are timers, before the next instant begins. `interrupt` cancels the
workers, runs an action such as a reset, and wakes; no worker starts meanwhile.
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
# For so long nothing must be in flight before an `auto` clock jumps (assumptions, "Time").
AUTO_PAUSE_SECONDS = 0.05
# A longer alarm is set again when it goes off, since the event loop's own clock has an end.
_LONGEST_ALARM_SECONDS = 86_400.0
# An advance with nothing to send would never yield to the event loop.
_STOPS_PER_LOOP_TURN = 64


class Advanced(NamedTuple):
    """What an advance did; `now` is the sandbox's instant at its end.

    `attempts` counts those that became due during the advance. An attempt that was due when it began does not count,
    since it may or may not have been sent before, depending on the machine's speed.
    """

    now: int
    fired: int
    attempts: int
    idle: bool


class Pump:
    """Drives one sandbox; see the head of this module."""

    def __init__(self, sandbox: Sandbox, sender: Sender) -> None:
        """Send the attempts of a sandbox with a sender."""
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
        self._closed = False
        self.attempts = 0
        """How many attempts were made so far."""
        self._counts_after = 0
        self._fell_due = 0
        self._clock_resets = 0
        self._waits: dict[str, tuple[object, float]] = {}
        """The requests that an auto clock waits for: the token in `Sandbox.awaited`, and until when it waits."""

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
        """Count a request in flight, during which an `auto` clock stands still."""
        self._in_flight += 1
        if self.sandbox.clock.mode == "auto":
            self._drop_alarm()  # it was set when nothing was in flight; `leave` sets it again

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
        """Move the clock to an instant or by some milliseconds, or with neither until nothing is left to happen.

        What is due happens instant by instant; the attempts of an instant settle before the next begins. A second
        advance waits for the first, and `by` counts from where that one ends. After `limit` timers it stops where it
        is; a reset of the clock ends it too. `UsageError` for an instant in the past or after the year 9998.
        """
        async with self._advancing:
            sandbox = self.sandbox
            self._fell_due, self._counts_after = 0, sandbox.tick()
            clock_resets, fired_before = self._clock_resets, sandbox.fired
            for stop, _ in enumerate(sandbox.instants(to=to, by=by, limit=limit), 1):
                await self.quiet()
                if stop % _STOPS_PER_LOOP_TURN == 0:
                    await asyncio.sleep(0)
                if self._closed or clock_resets != self._clock_resets:
                    break
            sandbox.feed.note("clock", sandbox.now)
            self.wake()
            return Advanced(sandbox.now, max(0, sandbox.fired - fired_before), self._fell_due, sandbox.idle)

    def abort_advance(self) -> None:
        """End the advance that is running, since a reset is about to set the clock back."""
        self._clock_resets += 1

    async def interrupt(self, action: Callable[[], T]) -> tuple[T, int]:
        """Cancel the attempts in flight, run an action, and go on; returns its result and the number of attempts."""
        # Counted, since a second reset or `close` may begin while the first one waits for its workers.
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
        """Stop: cancel the attempts in flight, and start nothing any more."""
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
                self.wake()  # another attempt may be possible at the same time
                outcome = await self._sender.send(attempt, sandbox.settings.webhooks)
                sandbox.settle(delivery, attempt, outcome)
                self.wake()  # copies that follow a success may have other queues
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
            self.sandbox.feed.note("clock", jump_to)
        self.sandbox.tick()
        self.wake()
