"""Control calls over HTTP: blocking, over kept connections, or awaited in the event loop."""

from __future__ import annotations

import http.client
import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from paydouble.core.errors import UsageError
from paydouble.testing.calls import Exchange, Pending, Steps, carry_out, encode
from paydouble.testing.errors import ServerGone
from paydouble.testing.loops import blocked_ports, check_asyncio, is_this_machine

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")
_PREFIX: Final = "/_paydouble"
# Well below the server's 75 s: a connection that it may be closing at this moment is not used again.
_KEPT_SECONDS: Final = 30.0


class Address:
    """The address of a server's control API, and its token."""

    def __init__(self, url: str, token: str | None = None, api_url: str | None = None) -> None:
        """Take the server's URL, without a path; `UsageError` when it is none.

        `api_url` is where the API is when that is not the same, as with `serve --control-port`.
        """
        if api_url is not None:
            api_url = Address(api_url).url
        parts = urlsplit(url)
        try:
            port = parts.port
            sound = not parts.path.strip("/")
        except ValueError:
            port, sound = None, False
        if not sound or parts.scheme not in {"http", "https"} or not parts.hostname:
            raise UsageError(f"{url!r} is not a server's URL; write it like http://localhost:8080", member="url")
        self.secure = parts.scheme == "https"
        self.host = parts.hostname
        self.port = port or (443 if self.secure else 80)
        self.url: str = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self.api_url = api_url or self.url
        self.headers = {"Content-Type": "application/json"}
        if token is not None:
            self.headers["Authorization"] = f"Bearer {token}"

    def gone(self, exchange: Exchange, reason: object) -> ServerGone:
        """Return the error of a server that does not answer."""
        what = " ".join(str(reason).split()) or type(reason).__name__
        if isinstance(reason, TimeoutError):
            what = f"no answer within {exchange.patience:g} s"
        return ServerGone(
            f"the paydouble server at {self.url} does not answer {exchange.method} {exchange.path} ({what}); "
            "is it running, and at this address?"
        )


class SyncExecutor:
    """Carries calls out over kept connections, one for each thread that calls at the same time."""

    def __init__(self, address: Address) -> None:
        """Make calls to a server."""
        self.address = address
        self._idle: deque[tuple[http.client.HTTPConnection, float]] = deque()
        self._lock = threading.Lock()
        self._finalizer = weakref.finalize(self, _close, self._idle)

    def run(self, steps: Steps[T]) -> T:
        """Carry a call out and return its result."""
        __tracebackhide__ = True
        return carry_out(steps, self._exchange)

    def blocked_ports(self) -> frozenset[int]:
        """Return the ports at which this thread's event loop listens, if one runs: a call blocks it."""
        return blocked_ports()

    def close(self) -> None:
        """Close the kept connections; a later call opens new ones."""
        with self._lock:
            _close(self._idle)

    def _exchange(self, exchange: Exchange) -> tuple[int, Any]:
        __tracebackhide__ = True
        body = _encoded(exchange)
        address = self.address
        if is_this_machine(address.host) and address.port in blocked_ports():
            raise UsageError(
                f"the paydouble server at {address.url} runs in this event loop, which a call that blocks would stop; "
                "use AsyncPaydouble and await its calls, or make this one in a thread (asyncio.to_thread)"
            )
        connection = self._take(exchange.patience)
        try:
            connection.request(exchange.method, _PREFIX + exchange.path, body, self.address.headers)
            response = connection.getresponse()
            status, answer = response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self.address.gone(exchange, error) from None
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._idle.append((connection, time.monotonic()))
        return status, exchange.read(status, answer)

    def _take(self, patience: float) -> http.client.HTTPConnection:
        with self._lock:
            while self._idle:
                connection, since = self._idle.pop()
                if time.monotonic() - since < _KEPT_SECONDS and connection.sock is not None:
                    connection.sock.settimeout(patience)
                    return connection
                connection.close()
        kind = http.client.HTTPSConnection if self.address.secure else http.client.HTTPConnection
        return kind(self.address.host, self.address.port, timeout=patience)


def _close(idle: deque[tuple[http.client.HTTPConnection, float]]) -> None:
    while idle:
        idle.pop()[0].close()


def _encoded(exchange: Exchange) -> bytes | None:
    return None if exchange.body is None else encode(exchange.body)


class AsyncExecutor:
    """Carries calls out in the running event loop; a session is kept only between `open` and `close`."""

    def __init__(self, address: Address) -> None:
        """Make calls to a server."""
        self.address = address
        self._session: aiohttp.ClientSession | None = None

    def run(self, steps: Steps[T]) -> Pending[T]:
        """Return the call, to be awaited."""
        return Pending(self._run(steps))

    def blocked_ports(self) -> frozenset[int]:
        """Return none: the event loop runs while a call is awaited."""
        return frozenset()

    def open(self) -> None:
        """Keep connections from now on."""
        if self._session is None:
            self._session = self._make()

    async def close(self) -> None:
        """Close the kept connections; a later call opens one of its own."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _run(self, steps: Steps[T]) -> T:
        __tracebackhide__ = True
        check_asyncio(
            "a call that is awaited",
            "under trio make it in a thread through the synchronous handle: "
            'await trio.to_thread.run_sync(sandbox.clock.advance, "72h")',
        )
        try:
            exchange = next(steps)
            while True:
                exchange = steps.send(await self._exchange(exchange))
        except StopIteration as end:
            result: T = end.value
            return result

    def _make(self) -> aiohttp.ClientSession:
        import aiohttp

        # No limit: many calls may wait at the same time, and the call that ends their wait must not queue after them.
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=self.address.headers)

    async def _exchange(self, exchange: Exchange) -> tuple[int, Any]:
        __tracebackhide__ = True
        if self._session is not None:
            return await self._send(self._session, exchange)
        async with self._make() as session:
            return await self._send(session, exchange)

    async def _send(self, session: aiohttp.ClientSession, exchange: Exchange) -> tuple[int, Any]:
        __tracebackhide__ = True
        import aiohttp
        from yarl import URL

        url = URL(f"{self.address.url}{_PREFIX}{exchange.path}", encoded=True)
        timeout = aiohttp.ClientTimeout(total=exchange.patience)
        try:
            async with session.request(exchange.method, url, data=_encoded(exchange), timeout=timeout) as response:
                return response.status, exchange.read(response.status, await response.read())
        except (aiohttp.ClientError, OSError) as error:
            raise self.address.gone(exchange, error) from None
