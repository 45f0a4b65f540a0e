"""`Paydouble` and `AsyncPaydouble`: a server in a thread or in the running loop, or one that runs elsewhere."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Generator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from paydouble.core.errors import UsageError
from paydouble.testing.calls import Async, Sync
from paydouble.testing.executors import Address, AsyncExecutor, SyncExecutor
from paydouble.testing.loops import LoopThread, check_asyncio
from paydouble.testing.sandboxes import ServerHandle

if TYPE_CHECKING:
    from paydouble.server import Server, ServerOptions


def _options(  # noqa: PLR0913 - the options of `paydouble serve` that matter to a test
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    allowed_hosts: Collection[str] = (),
    seed: int | None = None,
    clock: str = "real",
    rate: float | None = None,
    start: str | None = None,
    scenario: str | None = None,
    settings: Mapping[str, Any] | None = None,
    paths: Mapping[str, str] | None = None,
    notification_url: str | None = None,
    ca_file: str | Path | None = None,
    insecure_targets: bool = False,
    max_sandboxes: int | None = None,
) -> ServerOptions:

    from paydouble.config import Settings, load_settings
    from paydouble.core.instants import parse_instant
    from paydouble.runtime.host import MOST_SANDBOXES, ClockSpec, HostOptions, server_seed
    from paydouble.server import DEFAULT_SANDBOX, ServerOptions

    if clock not in {"real", "manual", "auto"}:
        raise UsageError(f"{clock!r} is neither real, manual nor auto", member="clock")
    if rate is not None and clock != "real":
        raise UsageError(f"only a real clock has a rate, not a {clock} one", member="rate")
    try:
        begin = None if start is None else parse_instant(start)
    except ValueError as error:
        raise UsageError(str(error), member="start") from None
    if notification_url is not None:
        _check_url(notification_url)
    chosen = server_seed(seed, clock)  # type: ignore[arg-type]  # checked above
    change = {**(settings or {}), **({} if scenario is None else {"scenario": scenario})}
    return ServerOptions(
        host=host,
        port=port,
        control_token=token,
        allowed_hosts=allowed_hosts,
        default_sandbox=DEFAULT_SANDBOX._replace(notification_url=notification_url, seed=chosen),
        shared=HostOptions(
            settings=load_settings(change) if change else Settings.model_construct(),
            seed=chosen,
            clock=ClockSpec(clock, begin, rate or 1.0),  # type: ignore[arg-type]  # checked above
            paths=paths or {},
            ca_file=None if ca_file is None else Path(ca_file),
            insecure_targets=insecure_targets,
            max_sandboxes=MOST_SANDBOXES if max_sandboxes is None else max_sandboxes,
        ),
    )


def _check_url(url: str) -> None:
    from pydantic import TypeAdapter, ValidationError

    from paydouble.api.schemas import WebUrl
    from paydouble.config import explain

    try:
        TypeAdapter(WebUrl).validate_python(url)
    except ValidationError as error:
        raise UsageError(f"{url!r}: {explain(error)[1]}", member="notification_url") from None


class Paydouble(ServerHandle[Sync]):
    """A server for callers that block, in a thread of its own or elsewhere. A context manager."""

    def __init__(self, executor: SyncExecutor, stop: _Stop | None = None) -> None:
        """Made by `start` and `connect`."""
        super().__init__(executor)
        self._sync = executor
        self._stop = stop

    @classmethod
    def start(cls, **options: Any) -> Self:  # noqa: ANN401 - those of `_options`
        """Start a server at a free port, in a daemon thread; options are those of `paydouble serve`.

        They are `host`, `port`, `token`, `allowed_hosts`, `seed`, `clock`, `rate`, `start`, `scenario`, `settings`,
        `paths`, `notification_url`, `ca_file`, `insecure_targets` and `max_sandboxes`. `UsageError` says which one
        cannot be.
        """
        from paydouble.server import Server

        server = Server(_checked(options))
        thread = LoopThread("paydouble")
        try:
            thread.run(server.start())
        except BaseException:
            thread.stop()
            raise
        address = Address(server.base_url, server.options.control_token)
        return cls(SyncExecutor(address), _Stop(thread, server))

    @classmethod
    def connect(cls, url: str, token: str | None = None, api_url: str | None = None) -> Self:
        """Use a server that runs elsewhere. Nothing is sent yet; `health` checks that it answers.

        `api_url` is needed when its API is at another address than its control API (`serve --control-port`).
        """
        return cls(SyncExecutor(Address(url, token, api_url)))

    def close(self) -> None:
        """Stop the server, if it is our own, and close the connections."""
        self._sync.close()
        stop, self._stop = self._stop, None
        if stop is not None:
            stop()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()


class _Stop:
    """Ends a server in a thread."""

    def __init__(self, thread: LoopThread, server: Server) -> None:
        self._thread = thread
        self._server = server

    def __call__(self) -> None:
        try:
            self._thread.run(self._server.stop())
        finally:
            self._thread.stop()


class AsyncPaydouble(ServerHandle[Async]):
    """A server for callers that await, in the running event loop or elsewhere. An async context manager."""

    def __init__(self, executor: AsyncExecutor, server: Server | None = None) -> None:
        """Made by `start` and `connect`."""
        super().__init__(executor)
        self._async = executor
        self._server = server

    @classmethod
    def start(cls, **options: Any) -> Starting:  # noqa: ANN401 - those of `Paydouble.start`
        """Start a server in the running loop: `async with AsyncPaydouble.start() as server`, or await it.

        Options are those of `Paydouble.start`.
        """
        return Starting(cls, options)

    @classmethod
    def connect(cls, url: str, token: str | None = None, api_url: str | None = None) -> Self:
        """Use a server that runs elsewhere, as `Paydouble.connect` does."""
        return cls(AsyncExecutor(Address(url, token, api_url)))

    async def close(self) -> None:
        """Stop the server, if it is our own, and close the connections."""
        await self._async.close()
        server, self._server = self._server, None
        if server is not None:
            await server.stop()

    async def __aenter__(self) -> Self:
        """Keep connections until the end."""
        self._async.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        await self.close()


class Starting:
    """A server that starts when it is awaited, or entered with `async with`."""

    def __init__(self, kind: type[AsyncPaydouble], options: Mapping[str, Any]) -> None:
        """Start such a server with such options."""
        self._kind = kind
        self._options = options
        self._running: AsyncPaydouble | None = None

    def __await__(self) -> Generator[Any, Any, AsyncPaydouble]:
        """Start it."""
        return self._start().__await__()

    async def __aenter__(self) -> AsyncPaydouble:
        """Start it."""
        self._running = await self._start()
        return await self._running.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        if self._running is not None:
            await self._running.close()

    async def _start(self) -> AsyncPaydouble:
        from paydouble.server import Server

        check_asyncio(
            "AsyncPaydouble", "under trio start Paydouble, which has a thread of its own, and make its calls in threads"
        )
        server = Server(_checked(self._options))
        await server.start()
        address = Address(server.base_url, server.options.control_token)
        return self._kind(AsyncExecutor(address), server)


def _checked(options: Mapping[str, Any]) -> ServerOptions:
    known = inspect.signature(_options).parameters
    for name in options:
        if name not in known:
            raise UsageError(f"this option is not known; there are: {', '.join(known)}", member=name)
    return _options(**options)
