"""Control calls to a sandbox in this thread, through the control API's own routes.

A handle does not know how its calls are carried out. Here a call is found in the same table, its body is validated by
the same models, and the same handler answers. So a sandbox in this process and one of a server take the same arguments,
give the same results and refuse the same things. Only the JSON text between caller and handler is left out: bodies and
answers are passed as values (`plain`, `as_read`).

A handler is a coroutine where it moves a clock or waits. With `InProcess` as its shell it never has to suspend:
whatever can happen happens at once, in this thread.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

from paydouble.core import json_text
from paydouble.core.documents import read_json
from paydouble.core.errors import UsageError
from paydouble.testing.calls import Exchange, Steps, carry_out, encode
from paydouble.testing.errors import ControlRefused

if TYPE_CHECKING:
    from paydouble.inprocess import InProcess
    from paydouble.sandbox import Sandbox
    from paydouble.sandbox.forking import ForkSpec
    from paydouble.sandbox.tenancy import Tenancy

T = TypeVar("T")
# Bounds of a body that is passed without JSON text: less than 50 000 values, which the control API always takes.
_LARGEST: Final = 2**63
_LONGEST: Final = 36
_DEEPEST: Final = 3
_CHECKOUT: Final = ""  # as the API of such a sandbox shows it


class RefusedHere(ControlRefused, UsageError):
    """A control call was refused, and nothing was changed. In this process it is a `UsageError` too."""


class LocalExecutor:
    """Carries calls out in this thread."""

    def __init__(self, core: InProcess) -> None:
        """Control a sandbox of this process."""
        self._core = core
        self._shell = _Shell(core)

    def forked(self) -> InProcess:
        """Return the latest fork that a call has made; it is not kept any longer."""
        made, self._shell.forked = self._shell.forked, None
        assert made is not None
        return made

    def run(self, steps: Steps[T]) -> T:
        """Carry a call out and return its result."""
        __tracebackhide__ = True
        try:
            return carry_out(steps, self._exchange)
        except ControlRefused as refused:
            raise RefusedHere(refused.status, refused.code, refused.message, refused.member) from None

    def blocked_ports(self) -> frozenset[int]:
        """Return none: a receiver of this sandbox is a function."""
        return frozenset()

    def _exchange(self, exchange: Exchange) -> tuple[int, Any]:
        # Loaded for the first control call: a property test may make thousands of sandboxes and no such call.
        from aiohttp import web

        from paydouble.inprocess import SERVER_URL
        from paydouble.web.addresses import Reached
        from paydouble.web.control.app import answer_call, find
        from paydouble.web.control.calls import TimelineOf
        from paydouble.web.control.replies import ControlError

        target, _, query = exchange.path.partition("?")
        try:
            route, params = find(exchange.method, target)
            work = answer_call(
                cast("Any", self._shell),
                (route, params),
                query=query,
                body=b"" if exchange.body is None else _body(exchange.body),
                reached=Reached(SERVER_URL, _CHECKOUT),
            )
            answer = finished(work)
            if isinstance(answer, TimelineOf):
                from paydouble.web.inspector.timeline import timeline_html

                return route.status, timeline_html(answer)
            if isinstance(answer, web.Response):
                return route.status, answer.text
            return route.status, as_read(answer)
        except ControlError as error:
            return error.status, error.document()


class NotPlain(Exception):
    """A value has to be written as JSON text and read again."""


def _body(members: Mapping[str, Any]) -> bytes | dict[str, Any]:
    try:
        return cast("dict[str, Any]", plain(dict(members)))
    except NotPlain:
        return encode(members)


def plain(value: Any, depth: int = 0) -> Any:  # noqa: ANN401 - JSON is any
    """Return a value as the control API would read it from JSON text.

    Raises `NotPlain` for anything that needs the text: numbers with a fraction, times, what JSON text refuses, and what
    is so large that the control API may refuse it.
    """
    kind = type(value)
    if value is None or kind is bool or (kind is str and value.isascii()) or (kind is int and abs(value) < _LARGEST):
        return value
    if depth < _DEEPEST and kind in {dict, list, tuple} and len(value) <= _LONGEST:
        if kind is not dict:
            return [plain(each, depth + 1) for each in value]
        if all(type(name) is str and name.isascii() for name in value):
            return {name: plain(member, depth + 1) for name, member in value.items()}
    raise NotPlain


def as_read(document: Any) -> Any:  # noqa: ANN401 - JSON is any
    """Return what a reader of a document's JSON text gets, in which a number with a fraction is a `Decimal`."""
    try:
        return _copied(document)
    except NotPlain:
        return read_json(json_text.dumps(document))


def _copied(value: Any) -> Any:  # noqa: ANN401 - JSON is any
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is dict:
        return {name: _copied(member) for name, member in value.items()}
    if kind is list or kind is tuple:
        return [_copied(each) for each in value]
    if kind is float and isfinite(value):
        return Decimal(repr(value))
    raise NotPlain


def finished(work: Awaitable[T]) -> T:
    """Return the result of a coroutine that never suspends."""
    try:
        work.__await__().send(None)
    except StopIteration as end:
        return cast("T", end.value)
    message = "a control call has to wait, and nothing in this thread can end that"
    raise RuntimeError(message)


class _Moved(NamedTuple):
    now: int
    fired: int
    attempts: int
    idle: bool


class _Shell:
    """The parts of `Host` and `Pump` that control calls use, for a sandbox without a shell."""

    def __init__(self, core: InProcess) -> None:
        self._core = core
        self.registry = core.registry
        self.pipeline = core.pipeline
        self.unclaimed = core.unclaimed
        self.forked: InProcess | None = None
        """The latest fork."""

    def fork(self, sandbox: Sandbox, spec: ForkSpec, checkpoint_id: str | None) -> Sandbox:  # noqa: ARG002 - see `act`
        """Fork the sandbox; the fork is not found by its id here, since it belongs to a service of its own."""
        self.forked = self._core.fork(spec, checkpoint_id)
        return self.forked.sandbox

    def tenancy(self, sandbox: Sandbox) -> Tenancy:  # noqa: ARG002 - see `act`
        """Return neither a lease nor labels: only a server deletes sandboxes and lists them."""
        from paydouble.sandbox.tenancy import Tenancy

        return Tenancy()

    def expires_at(self, sandbox: Sandbox) -> None:
        """Return no instant: there is no lease."""

    def change_tenancy(self, sandbox: Sandbox, tenancy: Tenancy) -> None:
        """Do nothing: a sandbox of this process ends with the object that holds it, and nothing lists it."""

    def act(self, sandbox: Sandbox, action: Callable[[], T]) -> T:  # noqa: ARG002 - the shell of a server has many
        """Run a command; the deliveries that it causes are sent when the test says so."""
        return action()

    def pump(self, sandbox: Sandbox) -> _Shell:  # noqa: ARG002 - see `act`
        """Return what moves the clock of a sandbox."""
        return self

    async def advance(self, *, to: int | None, by: int | None, limit: int) -> _Moved:
        """Move the clock."""
        core = self._core
        fired = core.advance(to=to, by=by, limit=limit)
        return _Moved(core.sandbox.now, fired, core.fell_due, core.sandbox.idle)

    async def reset(self, sandbox: Sandbox, scope: frozenset[str], *, same_ids: bool) -> dict[str, int]:
        """Reset what the scope names."""
        from paydouble.sandbox.business import check_scope

        check_scope(scope, same_ids=same_ids)
        removed = sandbox.reset(scope, same_ids=same_ids)
        return {**removed, "attempts_broken_off": 0} if "deliveries" in scope else removed

    async def delete(self, sandbox: Sandbox) -> None:
        """Delete the sandbox: its key is no longer known."""
        self.registry.remove(sandbox)
        sandbox.close()

    async def until(self, sandbox: Sandbox, holds: Callable[[], bool], seconds: float) -> bool:
        """Return whether a condition becomes true; what is due is sent, and a clock that moves by itself is waited for.

        On a manual clock nothing more can happen in this thread, so it returns at once.
        """
        end = time.monotonic() + seconds
        while True:
            self._core.deliver()
            if holds():
                return True
            if self._core.deliver():
                continue  # the look let timers fire, on a real clock
            due = sandbox.timers.next_due()
            left = end - time.monotonic()
            if due is None or sandbox.clock.mode == "manual" or left <= 0:
                return False
            pause = sandbox.clock.real_seconds_until(due)
            if pause is None:
                self._core.advance(to=due)
            else:
                time.sleep(min(left, pause + 0.001))  # noqa: ASYNC251 - no event loop runs this coroutine
