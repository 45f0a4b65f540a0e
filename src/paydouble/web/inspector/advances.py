"""Long advances of a clock, in steps, so that a page can show how far one has come, and stop it.

A step is the control call `clock-advance` with a limit. Between two steps the server answers others. An advance goes on
when the page that has started it is closed. One sandbox has one at a time; the last one is kept, for its summary.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from paydouble.core.durations import parse_duration
from paydouble.core.instants import write_instant
from paydouble.sandbox import Sandbox
from paydouble.web.control.replies import ControlError
from paydouble.web.inspector.activity import Tone, attempt_result
from paydouble.web.inspector.control_calls import perform

if TYPE_CHECKING:
    from paydouble.web.inspector.visits import Visit

STEP_TIMERS: Final = 200
"""Timers of one step."""
MOST_TIMERS: Final = 1_000_000
"""Timers of one advance, since a retry schedule can go on without an end."""
PATIENCE_SECONDS: Final = 0.8
"""For how long an answer waits for an advance to end, before the page shows its progress."""
_MOST_RECORDS: Final = 20_000
"""The newest events, and as many deliveries, from which a summary is made."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What happened during an advance."""

    events: tuple[tuple[str, int], ...]
    """Types of events, and how many there were."""
    attempts: tuple[tuple[str, Tone, int], ...]
    """Results of attempts with their marks, and how many there were."""


class Advance:
    """One advance of a clock. It has no reference to its sandbox, so a deleted one is freed."""

    def __init__(self, box: Sandbox, by: str) -> None:
        """Take how far to go: a duration, or an empty text for until nothing is left to happen."""
        self.by = by
        self.start = self.now = box.tick()
        self.to: int | None = None
        """Where it ends; known after its first step, and None until nothing is left to happen."""
        self.fired = 0
        self.attempts = 0
        self.idle = False
        self.running = True
        self.refusal: ControlError | None = None
        """Why the first step was refused."""
        self.problem = ""
        """Why it ended early."""
        self.seconds = 0.0
        """Real seconds that it took."""
        self.summary = Summary((), ())
        self._began_after = box.journal.sequence
        self._clock = box.clock
        self._stopped = False

    @property
    def moved(self) -> int:
        """Return how far the clock has moved, in milliseconds."""
        return max(0, self.now - self.start)

    @property
    def span(self) -> int | None:
        """Return how far it is to move, in milliseconds; None until nothing is left to happen."""
        return None if self.to is None else self.to - self.start

    def stop(self) -> None:
        """End it after the present step."""
        self._stopped = True

    async def run(self, visit: Visit) -> None:
        """Go to the end."""
        box, began = visit.sandbox, perf_counter()
        try:
            await self._steps(visit, box)
        finally:
            self.running = False
            self.seconds = perf_counter() - began
            self.summary = _summary(box, self._began_after)

    async def _steps(self, visit: Visit, box: Sandbox) -> None:
        first = True
        while first or self._goes_on(box):
            how: dict[str, Any] = {"until_idle": True} if not self.by else {"by": self.by}
            if self.to is not None:
                how = {"to": write_instant(self.to)}
            try:
                moved = await self._step(visit, box, {**how, "limit": STEP_TIMERS})
            except ControlError as error:
                self.refusal, self.problem = (error, "") if first else (None, str(error))
                return
            if self.by and first:
                self.to = self.start + parse_duration(self.by)
            if not moved:
                return
            first = False
            await asyncio.sleep(0)

    async def _step(self, visit: Visit, box: Sandbox, body: dict[str, Any]) -> bool:
        """Take one step; returns whether anything has moved."""
        done = await perform(visit, "POST", "sandboxes", box.identity.id, "clock", "advance", body=body)
        before, self.now = self.now, box.now
        self.fired += done["fired"]
        self.attempts += done["attempts"]
        self.idle = done["idle"]
        return bool(done["fired"]) or self.now > before

    def _goes_on(self, box: Sandbox) -> bool:
        if self.idle if self.to is None else self.now >= self.to:
            return False
        if self._stopped:
            self.problem = "It was stopped."
        elif box.clock is not self._clock:
            self.problem = "The clock was replaced meanwhile."
        elif self.fired >= MOST_TIMERS:
            self.problem = f"It ended after {self.fired:,} timers."
        return not self.problem


def _summary(box: Sandbox, after: int) -> Summary:
    """Return what happened after a number of the journal, as far as it is kept."""
    events = Counter(
        event.type for event in islice(reversed(box.journal.events.entries), _MOST_RECORDS) if event.sequence > after
    )
    attempts = Counter(
        attempt_result(attempt)
        for delivery in islice(reversed(box.outbox.deliveries.values()), _MOST_RECORDS)
        for attempt in delivery.attempts
        if attempt.sequence > after
    )
    return Summary(tuple(events.most_common()), tuple((*result, count) for result, count in attempts.most_common()))


_LAST: Final[WeakKeyDictionary[Sandbox, Advance]] = WeakKeyDictionary()
_TASKS: Final[set[asyncio.Task[None]]] = set()


def last(box: Sandbox) -> Advance | None:
    """Return the advance that a page has started last, running or not."""
    return _LAST.get(box)


async def start(visit: Visit, by: str) -> Advance:
    """Start an advance, and wait a moment for its end; `ControlError` when it is refused."""
    box = visit.sandbox
    present = _LAST.get(box)
    if present is not None and present.running:
        raise ControlError(
            409, "validation_error", "An advance of this clock is running; stop it, or wait for its end."
        )
    advance = Advance(box, by)
    task = asyncio.get_running_loop().create_task(advance.run(visit))
    _TASKS.add(task)  # the event loop itself keeps no reference to a task
    task.add_done_callback(_TASKS.discard)
    await asyncio.wait({task}, timeout=PATIENCE_SECONDS)
    if advance.refusal is not None:
        raise advance.refusal
    _LAST[box] = advance
    return advance


async def ended() -> None:
    """Wait until no advance runs."""
    if _TASKS:
        await asyncio.wait(_TASKS)
