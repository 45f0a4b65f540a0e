"""The service of a play on loopback, for a shop in another process or language, or one that only takes a base URL.

It is the HTTP server of `paydouble serve` (`web/http_server.py`): the same parser, the same limits, and the same code
that breaks an answer on the wire. Only its host differs. It carries no request out; the machine's thread does so
(`adapter_threads.py`), and the host sends what comes back, in real time.

Of the control API it has the clock of the play: `GET …/sandboxes/default/clock` and `POST …/clock/advance`, by which
the shop asks for the time and sleeps. Below it is a call that no other server has, `POST …/clock/checkpoint`: by it the
shop marks a point of its own code, as one in this process does by `service.checkpoint()`.

One server serves the plays of a whole run, one after the other, so that a shop is configured once. Between two plays,
and for what an earlier play has left behind, connections are reset.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, TypeVar, cast

from aiohttp import web

from paydouble.api.values import Reply, Request
from paydouble.faults.wire import Wire
from paydouble.runtime.bodies import Bodies
from paydouble.server import listen_at
from paydouble.stateful.verdicts import DatabaseDown
from paydouble.testing.in_process import finished
from paydouble.testing.loops import LoopThread
from paydouble.web import wire_faults
from paydouble.web.addresses import CONTROL_PREFIX, Addresses, Reached
from paydouble.web.bodies import read_body
from paydouble.web.control.access import Access
from paydouble.web.control.app import BODY_LIMIT, answer_call, find
from paydouble.web.control.replies import ControlError, reply
from paydouble.web.http_server import HttpServer
from paydouble.web.listening import Listener
from paydouble.web.targets import origin_form

if TYPE_CHECKING:
    from paydouble.config import Settings
    from paydouble.core.documents import Document
    from paydouble.inprocess import InProcess
    from paydouble.sandbox import Registry, Sandbox
    from paydouble.stateful.adapter_threads import AdapterThreads
    from paydouble.stateful.service import Service
    from paydouble.web.control.calls import ControlRoute

T = TypeVar("T")
HOST: Final = "127.0.0.1"
# The answer to a late reply comes after its time, or the client has given up: the play goes on as if it had waited for
# as long as the default of `Service.call`, so that a play is the same whatever the client's real timeout is.
_CLIENT_SECONDS: Final = 30.0
_NO_ANSWER: Final = Reply(503, b"", "", wire=Wire("reset"))
_CLOCK: Final = f"{CONTROL_PREFIX}/sandboxes/default/clock"
_CHECKPOINT: Final = f"{_CLOCK}/checkpoint"
_CLOCK_CALLS: Final = frozenset({"clock-read", "clock-advance"})
_shared: ContextVar[PlayServer | None] = ContextVar("shared", default=None)


class ServedPlay(NamedTuple):
    """What a server needs to know of the play that it serves."""

    double: InProcess
    service: Service
    threads: AdapterThreads

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Wrap the time for which a fault holds an answer back: the shop's wait for it is no hang."""
        with self.threads.hold():
            try:
                yield
            finally:
                self.service.answered_at = monotonic()


class PlayServer:
    """Listens on loopback, and answers for the play that is served at the time."""

    def __init__(self, port: int = 0) -> None:
        """Listen in a thread of its own; port 0 takes a free one. `UsageError` when the port cannot be used."""
        self._thread = LoopThread("paydouble-play")
        try:
            self._listener, self._host = self._thread.run(_start(port))
        except BaseException:
            self._thread.stop()
            raise
        self.url = f"http://{HOST}:{self._listener.port}"

    def serve(self, play: ServedPlay) -> None:
        """Answer for a play from now on."""
        self._host.play = play

    def end(self) -> None:
        """Answer for no play: requests that are still open are reset."""
        self._thread.run(self._host.end())

    def stop(self) -> None:
        """Free the port and end the thread."""
        try:
            self._thread.run(self._stop())
        finally:
            self._thread.stop()

    async def _stop(self) -> None:
        await self._host.end()
        await self._listener.close()


def shared_server() -> PlayServer | None:
    """Return the server of the running machine, which serves all its plays; None outside a run."""
    return _shared.get()


@contextmanager
def serving(port: int) -> Iterator[None]:
    """Serve all plays of the block at one port; 0 takes a free one."""
    server = PlayServer(port)
    token = _shared.set(server)
    try:
        yield
    finally:
        _shared.reset(token)
        server.stop()


async def _start(port: int) -> tuple[Listener, _PlayHost]:
    host = _PlayHost()
    listener = await listen_at(_PlayHttpServer(host), HOST, port, "service_port")
    host.reached = Reached(*[f"http://{HOST}:{listener.port}"] * 2)
    return listener, host


class _Asked(NamedTuple):
    """A request that the machine's thread has to carry out: the step with which the server's code goes on."""

    request: Request


class _PlayHost:
    """The parts of `Host`, `Pipeline` and `LazyControl` that the HTTP server uses, for one play after the other."""

    def __init__(self) -> None:
        self.play: ServedPlay | None = None
        self.bodies = Bodies()
        self.reached = Reached("", "")
        self.open: set[asyncio.Transport] = set()
        """The connections of the requests that are being answered."""
        self._access = Access(None, Addresses())

    async def end(self) -> None:
        """Answer for no play, and reset what is open."""
        self.play = None
        for transport in tuple(self.open):
            wire_faults.abort(transport)

    # What `web/api.py` and `web/connections.py` use of a host

    @property
    def registry(self) -> Registry:
        """Return the sandboxes of the play."""
        return self._playing().double.registry

    @property
    def options(self) -> _PlayHost:
        """Return what has the settings of a request without known credentials."""
        return self

    @property
    def settings(self) -> Settings:
        """Return the settings of the play's sandbox."""
        return self._playing().double.sandbox.settings

    @property
    def pipeline(self) -> _PlayHost:
        """Return what carries a request out."""
        return self

    def handle(self, request: Request) -> _Asked:
        """Return the step with which `finish` goes on."""
        return _Asked(request)

    def unreadable(self, problem: str) -> Reply:
        """Return the answer to bytes that are not HTTP."""
        return _NO_ANSWER if self.play is None else self.play.double.pipeline.unreadable(problem)

    def internal_error(self) -> Reply:
        """Return the answer to a request that has met a bug of this package."""
        return self._playing().double.pipeline.internal_error()

    async def finish(self, step: _Asked | Reply) -> Reply:
        """Have a request carried out by the machine's thread, and hold its reply back for its delay in real time.

        Not where the shop follows the play's time, and a client would still wait: the play has let that time pass, and
        one whose timeout is short in tests would give up on an answer that it gets in production.
        """
        if isinstance(step, Reply):
            return step
        play = self.play
        if play is None:
            return _NO_ANSWER
        arrived_at = monotonic()
        done = await self.do(lambda: play.service.exchange(step.request, _CLIENT_SECONDS, arrived_at)[0])
        if done is None:
            return _NO_ANSWER
        is_in_time = done.delay_ms < _CLIENT_SECONDS * 1000 and not play.service.counts_real_pauses
        if done.delay_ms and not is_in_time:
            with play.holding():
                await asyncio.sleep(done.delay_ms / 1000)
        play.service.answered_at = monotonic()
        return done

    @contextmanager
    def sending(self, _: Reply) -> Iterator[None]:
        """Wrap the sending of a broken reply: the shop's wait for it is no hang."""
        with nullcontext() if self.play is None else self.play.holding():
            yield

    def lost(self, _: Reply) -> None:
        """Note that a client did not get its reply, which means nothing here."""

    # What `web/http_server.py` uses of the control API

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the answer to a control call, which the machine's thread carries out."""
        method, (target, _, query) = request.method, origin_form(request).partition("?")
        try:
            self._access.check(request)
            is_checkpoint = (method, target) == ("POST", _CHECKPOINT)
            found = None if is_checkpoint else _clock_route(method, target)
            body, _ = await read_body(request, BODY_LIMIT, self.bodies)
            play = self._playing()
            document = await self.do(
                lambda: _pass(play, body) if found is None else _clock_call(play, found, query, body, self.reached),
                only_looks=method == "GET",
            )
        except ControlError as error:
            return reply(error.status, error.document())
        if document is None:
            return await wire_faults.perform(request, _NO_ANSWER, Wire("reset"))
        return reply(200, document)

    async def do(self, work: Callable[[], T], *, only_looks: bool = False) -> T | None:
        """Have the machine's thread do something; None when the play has ended or the process was killed."""
        play = self._playing()
        # A client that disconnects changes nothing: its request is carried out.
        done = play.threads.do(work, from_socket=True, only_looks=only_looks)
        return await asyncio.shield(asyncio.wrap_future(done))

    def _playing(self) -> ServedPlay:
        assert self.play is not None  # noqa: S101 - a connection is reset without one
        return self.play


class _PlayHttpServer(HttpServer):
    """The server, with a connection that is reset when there is no play."""

    def __init__(self, host: _PlayHost) -> None:
        super().__init__(cast("Any", host), cast("Any", host), home=lambda _: _CLOCK, fast=False)
        self.handler_cancellation = True  # a client that gives up ends what holds its answer back
        self._plays = host

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        transport = request.transport
        if self._plays.play is None or transport is None:
            return await wire_faults.perform(request, _NO_ANSWER, Wire("reset"))
        self._plays.open.add(transport)
        try:
            return await super()._answer(request)
        finally:
            self._plays.open.discard(transport)


class _Clock:
    """The parts of `Host` and `Pump` that the calls of the clock use: a shop that sleeps lets the play's time pass."""

    def __init__(self, play: ServedPlay) -> None:
        self._play = play
        self.registry = play.double.registry

    def pump(self, _: Sandbox) -> _Clock:
        return self

    async def advance(self, *, to: int | None, by: int | None, limit: int) -> _Advanced:  # noqa: ARG002 - the pump's
        """Sleep as the shop's code would by `service.sleep`."""
        box = self._play.double.sandbox
        if by is None:
            if to is None:
                self._refuse()
            by = to - box.tick()
        fired, attempts = box.fired, self._play.double.attempts
        self._play.service.sleep(by / 1000)
        return _Advanced(box.now, box.fired - fired, self._play.double.attempts - attempts, box.idle)

    def _refuse(self) -> NoReturn:
        message = "until_idle: a shop sleeps for a time; give by."
        raise ControlError(400, "invalid", message, "until_idle")


class _Advanced(NamedTuple):
    now: int
    fired: int
    attempts: int
    idle: bool


def _clock_route(method: str, target: str) -> tuple[ControlRoute, dict[str, str]]:
    found = find(method, target.removeprefix(CONTROL_PREFIX))
    if found[0].name not in _CLOCK_CALLS:
        message = (
            "A play offers its clock alone: GET …/sandboxes/default/clock, POST …/clock/advance and …/clock/checkpoint."
        )
        raise ControlError(403, "not_in_a_play", message)
    return found


def _pass(play: ServedPlay, body: bytes) -> Document:
    """Pass a checkpoint of the shop's code; `ControlError` when its database has to fail there."""
    try:
        asked = json.loads(body or b"{}")
        said = {name: asked.get(name, False) for name in ("in_transaction", "concurrent")}
    except (ValueError, AttributeError, RecursionError):
        said = {"in_transaction": None}
    wrong = next((name for name, value in said.items() if not isinstance(value, bool)), None)
    if wrong is not None:
        message = (
            'A checkpoint has the body {"in_transaction": true}, {"in_transaction": false}, or none; '
            'beside that, "concurrent" is true where the database takes another transaction meanwhile.'
        )
        raise ControlError(400, "invalid", message, wrong)
    try:
        play.service.checkpoint(**said)
    except DatabaseDown:
        message = "The database fails at this point: let the shop behave as if its own database had."
        raise ControlError(503, "database_down", message) from None
    return {"passed": True}


def _clock_call(
    play: ServedPlay, found: tuple[ControlRoute, dict[str, str]], query: str, body: bytes, reached: Reached
) -> Document:
    work: Any = answer_call(cast("Any", _Clock(play)), found, query=query, body=body, reached=reached)
    answer: Document = finished(work)
    return answer
