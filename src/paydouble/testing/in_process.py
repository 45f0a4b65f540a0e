"""Control calls to a sandbox in this very thread, through the control API's own routes.

A handle does not know how its calls travel. Here a call is looked up in the same table, its body is read by the same
models, and the same handler answers; the answer is the same JSON. So a sandbox in this process and one of a server take
the same arguments, give the same results and refuse the same things.

A handler is a coroutine where it moves a clock or waits. With `InProcess` as its shell it never has to suspend:
whatever can happen happens at once, in this thread.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

from paydouble.core.errors import UsageError
from paydouble.testing.calls import Exchange, Steps
from paydouble.testing.errors import ControlRefused

if TYPE_CHECKING:
    from paydouble.inprocess import InProcess
    from paydouble.sandbox import Sandbox

T = TypeVar("T")
_SERVER: Final = "http://paydouble.test"
_CHECKOUT: Final = ""  # as the API of such a sandbox shows it


class RefusedHere(ControlRefused, UsageError):
    """A control call was refused, and nothing was changed; in this process that is also an argument that cannot be."""


class LocalExecutor:
    """Carries calls out in this thread."""

    def __init__(self, core: InProcess) -> None:
        """Steer a sandbox of this process."""
        self._core = core

    def run(self, steps: Steps[T]) -> T:
        """Carry a call out and return its result."""
        __tracebackhide__ = True
        try:
            exchange = next(steps)
            while True:
                exchange = steps.send(self._exchange(exchange))
        except StopIteration as end:
            result: T = end.value
            return result
        except ControlRefused as refused:
            raise RefusedHere(refused.status, refused.code, refused.message, refused.member) from None

    def blocked_ports(self) -> frozenset[int]:
        """Return none: a receiver of this sandbox is a function."""
        return frozenset()

    def _exchange(self, exchange: Exchange) -> tuple[int, bytes]:
        # Loaded for the first control call: a property test may make thousands of sandboxes and no such call.
        from paydouble.core import json_text
        from paydouble.web.addresses import Reached
        from paydouble.web.control.app import carry_out, find
        from paydouble.web.control.values import ControlError

        target, _, query = exchange.path.partition("?")
        try:
            route, params = find(exchange.method, target)
            work = carry_out(
                cast("Any", _Shell(self._core)),
                (route, params),
                query=query,
                body=exchange.body or b"",
                reached=Reached(_SERVER, _CHECKOUT),
            )
            return route.status, json_text.dumps(_finished(work))
        except ControlError as error:
            return error.status, json_text.dumps(error.document())


def _finished(work: Awaitable[T]) -> T:
    """Return the result of a coroutine that never suspends."""
    try:
        work.__await__().send(None)
    except StopIteration as end:
        return cast("T", end.value)
    message = "a control call has to wait, and nobody in this thread can end that"
    raise RuntimeError(message)


class _Moved(NamedTuple):
    now: int
    fired: int
    attempts: int
    idle: bool


class _Shell:
    """What control calls ask of the shell, for a sandbox that has none."""

    def __init__(self, core: InProcess) -> None:
        self._core = core
        self.registry = core.registry
        self.unclaimed = core.unclaimed

    def act(self, sandbox: Sandbox, action: Callable[[], T]) -> T:  # noqa: ARG002 - the shell of a server has many
        """Run a command; what it has set in motion leaves when the test says so."""
        return action()

    def pump(self, sandbox: Sandbox) -> _Shell:  # noqa: ARG002 - likewise
        """Return what moves a sandbox."""
        return self

    async def advance(self, *, to: int | None, by: int | None, limit: int) -> _Moved:
        """Move the clock."""
        core = self._core
        fired = core.advance(to=to, by=by, limit=limit)
        return _Moved(core.sandbox.now, fired, core.fell_due, core.sandbox.idle)

    async def reset(self, sandbox: Sandbox, scope: frozenset[str], *, same_ids: bool) -> dict[str, int]:
        """Forget what the scope names."""
        from paydouble.sandbox.business import check_scope

        check_scope(scope, same_ids=same_ids)
        removed = sandbox.reset(scope, same_ids=same_ids)
        return {**removed, "attempts_broken_off": 0} if "deliveries" in scope else removed

    async def delete(self, sandbox: Sandbox) -> None:
        """Forget the sandbox: its key is no longer known."""
        self.registry.remove(sandbox)
        sandbox.close()

    async def until(self, sandbox: Sandbox, holds: Callable[[], bool], seconds: float) -> bool:
        """Return whether something comes to hold: what is due is sent, and a clock that moves by itself is waited for.

        On a manual clock nothing more would happen in this thread, so the time is not waited for.
        """
        end = time.monotonic() + seconds
        while True:
            self._core.deliver()
            if holds():
                return True
            due = sandbox.timers.next_due()
            left = end - time.monotonic()
            if due is None or sandbox.clock.mode == "manual" or left <= 0:
                return False
            pause = sandbox.clock.real_seconds_until(due)
            if pause is None:
                self._core.advance(to=due)
            else:
                time.sleep(min(left, pause + 0.001))  # noqa: ASYNC251 - no event loop runs this coroutine
