"""A shop that reaches the service of its play over sockets: its server, its threads, and the adapter's service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar, cast

from paydouble.inprocess import InProcess
from paydouble.stateful.adapter_threads import AdapterThreads
from paydouble.stateful.findings import Rule
from paydouble.stateful.merchant import Merchant, ServiceLike, knows_play_time
from paydouble.stateful.play_server import PlayServer, ServedPlay, shared_server
from paydouble.stateful.service import Response, Service

T = TypeVar("T")
Make = Callable[[ServiceLike], Merchant]
# How many limits a start may take: a process, a framework, a database.
_LIMITS_OF_A_START: Final = 6
_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class ServedShop:
    """One play's server and threads. `close` ends both; the server of a machine's run goes on."""

    def __init__(self, make: Make, double: InProcess, add_finding: Callable[[Rule, str], None], seconds: float) -> None:
        """Serve a double to the shop of an adapter; `seconds` is the limit of a call in which nothing happens.

        `UsageError` when the port cannot be used.
        """
        running = shared_server()
        self._own = PlayServer(getattr(make, "service_port", 0)) if running is None else None
        self._server = cast("PlayServer", running or self._own)
        self.threads = AdapterThreads(seconds)
        self.service = Service(double, add_finding, self._server.url)
        self.service.counts_real_pauses = not getattr(make, "follows_time", False)
        self.service.has_two_clocks = self.service.counts_real_pauses and knows_play_time(make)
        self.has_restart = getattr(make, "restart", None) is not Merchant.restart
        self._closed = False
        self._server.serve(ServedPlay(double, self.service, self.threads))

    def start(self, make: Make) -> Merchant:
        """Make the adapter, in the thread of its methods."""
        service = _ServiceElsewhere(self.service, self.threads)
        return self.threads.run(lambda: make(service), limits=_LIMITS_OF_A_START)

    def in_thread(self, made: Merchant) -> Merchant:
        """Return the adapter with methods that run in its thread."""
        return cast("Merchant", _AdapterElsewhere(made, self.threads))

    def calls(self, work: Callable[..., T]) -> Callable[..., T]:
        """Return a function that runs another in the adapter's thread."""
        return _in_thread(work, self.threads)

    def close(self) -> None:
        """End what the play has left, and free the port if it is the play's own."""
        if self._closed:
            return
        self._closed = True
        self._server.end()
        self.threads.close()
        if self._own is not None:
            self._own.stop()


class _AdapterElsewhere:
    """An adapter whose methods run in another thread."""

    def __init__(self, made: Merchant, threads: AdapterThreads) -> None:
        self._made = made
        self._threads = threads

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the adapter's
        value = getattr(self._made, name)
        if not callable(value):
            return value
        return _in_thread(value, self._threads, limits=_LIMITS_OF_A_START if name == "restart" else 1)


class _ServiceElsewhere:
    """The service for code in another thread; `ServiceLike` describes the members."""

    def __init__(self, service: Service, threads: AdapterThreads) -> None:
        self._service = service
        self._threads = threads
        self.base_url = service.base_url
        self.clock_url = service.clock_url
        self.business_key = service.business_key
        self.business_secret = service.business_secret
        self.webhook_secret = service.webhook_secret

    @property
    def is_nested(self) -> bool:
        """Whether the call that is running has come within another one."""
        return self._threads.do(lambda: self._service.is_nested, only_looks=True).result()

    def call(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] = _NO_HEADERS,
        body: bytes | None = b"",
        timeout: float | None = 30.0,
    ) -> Response:
        """Send a request, without a socket."""
        return self._threads.do(lambda: self._service.call(method, path, headers, body, timeout)).result()

    def now(self) -> float:
        """Return the time in Unix seconds."""
        return self._threads.do(self._service.now, only_looks=True).result()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self._threads.do(lambda: self._service.sleep(seconds)).result()

    def checkpoint(self, *, in_transaction: bool = False) -> None:
        """Mark a point at which an interruption can act."""
        self._threads.do(lambda: self._service.checkpoint(in_transaction=in_transaction)).result()


def _in_thread(work: Callable[..., T], threads: AdapterThreads, *, limits: int = 1) -> Callable[..., T]:
    return lambda *arguments: threads.run(lambda: work(*arguments), limits=limits)
