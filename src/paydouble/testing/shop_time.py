"""The time that a shop's own code sees: `time`, `datetime` and the sleeps of `time` and `asyncio` on a sandbox's clock.

A shop calls `time.time()`, `datetime.now()`, `time.sleep()` and `asyncio.sleep()`. In a test these have to show the
clock of the sandbox, and a sleep has to move it, or a shop refuses each webhook and a test waits for real.

**The present time** comes from time-machine, or from freezegun where that one is not installed. Both freeze the whole
process, so it is frozen only while the shop's code runs: the test runner, Hypothesis and the limit in real time of a
call measure real seconds. time-machine starts in microseconds. freezegun scans every loaded module when it starts,
which takes about 20 ms; `unfrozen_session` lets many short freezes share one such start.

**Sleeps** are replaced here, since neither library does that. Only what a call of the shop starts follows: the calling
thread, the tasks that inherit its context, and threads that are younger than the call. A task or thread that was there
before, such as the loop of a server or a background job that the shop has started, keeps real sleeps. Otherwise it
would move the clock from elsewhere, at any moment.

**`time.monotonic`** follows too, since retry loops measure their limit with it. The standard library keeps the real
one: the timers of an event loop, of locks and of sockets wait in real time.
"""

from __future__ import annotations

import asyncio
import math
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final, Protocol, TypeVar

from paydouble.core.errors import UsageError
from paydouble.inprocess import InProcess
from paydouble.testing.socketless import Sandbox

__all__ = ["ShopTime", "follow_time", "unfrozen_session"]

T = TypeVar("T")
_MILLISECOND: Final = timedelta(milliseconds=1)
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - freezegun takes naive datetimes in UTC
_REAL_SLEEP: Final = time.sleep
_REAL_ASYNC_SLEEP: Final = asyncio.sleep
_REAL_MONOTONIC: Final = time.monotonic
_REAL_MONOTONIC_NS: Final = time.monotonic_ns
_call: Final[ContextVar[object]] = ContextVar("paydouble_shop_call", default=None)
"""The outermost call of a shop from which a task or thread comes."""


class _Frozen(Protocol):
    # What both libraries return when they start, as far as this module uses it.
    def stop(self) -> None: ...

    def move(self, to_ms: int) -> None: ...


class ShopTime:
    """The time of one shop, on the clock of one sandbox in this process."""

    latest_monotonic: float = 0.0
    """The latest `time.monotonic` that any shop was shown: a monotonic clock never goes back."""

    def __init__(self, double: InProcess, sleep: Callable[[float], object]) -> None:
        """Follow the clock of a double; `sleep` takes seconds and moves it.

        `UsageError` when neither time-machine nor freezegun is installed.
        """
        self._freeze = _library()
        self._double = double
        self._sleep = sleep
        self._depth = 0
        self._frozen: _Frozen
        self._current: object = None
        self._older: set[int | None] = set()
        self._replacements: dict[tuple[str, object], object] = {
            ("sleep", _REAL_SLEEP): self._shown_sleep,
            ("sleep", _REAL_ASYNC_SLEEP): self._shown_async_sleep,
        }
        if self._freeze is _start_time_machine:  # freezegun shows its own monotonic time
            self._replacements["monotonic", _REAL_MONOTONIC] = self._shown_monotonic
            self._replacements["monotonic_ns", _REAL_MONOTONIC_NS] = self._shown_monotonic_ns
        self._start_ms = double.sandbox.tick()
        self._base = max(_REAL_MONOTONIC(), ShopTime.latest_monotonic)
        double.on_moved = self._moved

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the sandbox's time inside the block. A block inside another one belongs to it."""
        if self._depth:
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
            return
        self._current = object()
        self._older = {thread.ident for thread in threading.enumerate()}
        token = _call.set(self._current)
        self._frozen = self._freeze(self._double.sandbox.tick())
        replaced = self._replaced()
        for module, name, _, shown in replaced:
            setattr(module, name, shown)
        self._depth = 1
        try:
            yield
        finally:
            self._depth = 0
            self._current = None
            for module, name, real, _ in replaced:
                setattr(module, name, real)
            self._frozen.stop()
            _call.reset(token)
            ShopTime.latest_monotonic = max(ShopTime.latest_monotonic, self._monotonic_now())

    def _moved(self, now_ms: int) -> None:
        if self._depth:
            self._frozen.move(now_ms)

    def _follows(self) -> bool:
        """Return whether the code that calls was started by the present call of the shop."""
        return _call.get() is self._current or threading.get_ident() not in self._older

    def _replaced(self) -> list[tuple[ModuleType, str, object, object]]:
        newest = sys.modules[next(reversed(sys.modules))]
        return [
            (module, name, real, self._replacements[name, real])
            for module, name, real in _uses(len(sys.modules), newest, self._freeze)
            if (name, real) in self._replacements
        ]

    def _shown_sleep(self, seconds: float) -> None:
        if self._follows():
            self._sleep(seconds)
        else:
            _REAL_SLEEP(seconds)

    def _shown_async_sleep(self, delay: float, result: T | None = None) -> Coroutine[Any, Any, T | None]:
        # A sleep of zero lets other tasks run, and one without end waits to be cancelled.
        if 0 < delay < math.inf and self._follows():
            return self._move_and_yield(delay, result)
        return _REAL_ASYNC_SLEEP(delay, result)

    async def _move_and_yield(self, delay: float, result: T | None) -> T | None:
        self._sleep(delay)
        return await _REAL_ASYNC_SLEEP(0, result)

    def _monotonic_now(self) -> float:
        return self._base + (self._double.sandbox.now - self._start_ms) / 1000

    def _shown_monotonic(self) -> float:
        if self._follows() and not _is_standard(sys._getframe(1).f_globals.get("__name__", "")):  # noqa: SLF001 - the caller decides
            return self._monotonic_now()
        return _REAL_MONOTONIC()

    def _shown_monotonic_ns(self) -> int:
        if self._follows() and not _is_standard(sys._getframe(1).f_globals.get("__name__", "")):  # noqa: SLF001 - the caller decides
            return int(self._monotonic_now() * 1e9)
        return _REAL_MONOTONIC_NS()


@contextmanager
def follow_time(sandbox: Sandbox) -> Iterator[None]:
    """Let the code inside the block see the time of a sandbox: `time`, `datetime`, and sleeps, which move its clock.

    `UsageError` when neither time-machine nor freezegun is installed.
    """
    shop_time = ShopTime(sandbox.core, lambda seconds: sandbox.clock.advance(timedelta(seconds=seconds)))
    with shop_time.shown():
        yield


@contextmanager
def unfrozen_session() -> Iterator[None]:
    """Let freezegun scan the loaded modules once for all calls inside the block; between the calls time is real."""
    if _library() is not _start_freezegun:
        yield
        return
    import freezegun

    with freezegun.freeze_time(datetime.now(UTC), tick=True, real_asyncio=True):
        yield


@cache
def _library() -> Callable[[int], _Frozen]:
    if find_spec("time_machine"):
        return _start_time_machine
    if find_spec("freezegun"):
        return _start_freezegun
    raise UsageError(
        "a shop's own time follows the sandbox with time-machine or freezegun, and neither is installed; "
        "run: pip install time-machine"
    )


class _TimeMachine:
    # Moves by whole milliseconds: a float of seconds since 1970 is not exact to the microsecond.
    def __init__(self, now_ms: int) -> None:
        import time_machine

        self._now_ms = now_ms - now_ms % 1000
        self._travel = time_machine.travel(self._now_ms // 1000, tick=False)
        self._traveller = self._travel.start()
        self.move(now_ms)

    def stop(self) -> None:
        self._travel.stop()

    def move(self, to_ms: int) -> None:
        self._traveller.shift(_MILLISECOND * (to_ms - self._now_ms))
        self._now_ms = to_ms


class _Freezegun:
    def __init__(self, now_ms: int) -> None:
        import freezegun

        self._freezer = freezegun.freeze_time(_EPOCH + _MILLISECOND * now_ms, real_asyncio=True)
        self._frozen = self._freezer.start()

    def stop(self) -> None:
        self._freezer.stop()

    def move(self, to_ms: int) -> None:
        self._frozen.move_to(_EPOCH + _MILLISECOND * to_ms)


_start_time_machine: Final[Callable[[int], _Frozen]] = _TimeMachine
_start_freezegun: Final[Callable[[int], _Frozen]] = _Freezegun


@lru_cache(maxsize=1)
def _uses(_loaded: int, _newest: ModuleType, _freeze: object) -> list[tuple[ModuleType, str, object]]:
    """Return the modules that hold a function that is replaced, under its own name: `from time import sleep`.

    They are found again when other modules are loaded, or by another library: freezegun hides some of these functions.
    """
    reals = {
        "sleep": (_REAL_SLEEP, _REAL_ASYNC_SLEEP),
        "monotonic": (_REAL_MONOTONIC,),
        "monotonic_ns": (_REAL_MONOTONIC_NS,),
    }
    found: list[tuple[ModuleType, str, object]] = []
    for module in list(sys.modules.values()):
        held = getattr(module, "__dict__", {})
        found += [(module, name, held[name]) for name in reals if any(held.get(name) is real for real in reals[name])]
    return found


@cache
def _is_standard(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names
