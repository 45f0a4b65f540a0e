"""The HTTP server itself: one handler for every request, and our own words for bytes that are no request.

aiohttp's low-level server is used rather than its Application: routing is the operations table's, and the checks come
in the contract's order, so a router and middlewares in front would only cost time (docs/decisions).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

from paydouble.api.values import Request, Step
from paydouble.runtime.host import Host
from paydouble.web.at_once import AtOnce
from paydouble.web.replies import render

Begun = tuple[Request, Step]
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
# What the shell reads at most; each sandbox refuses less by its own setting `body_limit`.
HARD_BODY_LIMIT = 64 * 1024 * 1024


class FrontServer(web.Server):
    """A server whose protocol errors wear the documented envelope."""

    def __init__(self, host: Host, handler: Handler, elsewhere: str) -> None:
        """Answer requests with a handler, always those whose target begins with `elsewhere`."""
        self.elsewhere = elsewhere
        super().__init__(handler, request_factory=self._make, access_log=None, keepalive_timeout=75.0)
        self.host = host

    def __call__(self) -> RequestHandler:
        """Return the protocol of one connection."""
        return Connection(self, loop=self._loop, **self._kwargs)

    def _make(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        return web.BaseRequest(message, payload, protocol, writer, task, self._loop, client_max_size=HARD_BODY_LIMIT)


class Connection(RequestHandler):
    """aiohttp's connection, except that garbage is answered as the contract answers, and the usual request at once."""

    __slots__ = ("begun", "unanswered")

    def __init__(self, server: FrontServer, **options: Any) -> None:  # noqa: ANN401 - aiohttp's own
        """Serve one client."""
        super().__init__(server, **options)
        self.begun: Begun | None = None
        """A request whose pipeline has been entered before aiohttp got to see it, and how far it went."""
        self.unanswered = 0
        """Requests that were handed on to aiohttp and whose answers have not been written yet."""
        self._parser: Any = AtOnce(self._parser, self, server.host, server.elsewhere)

    def answered(self) -> None:
        """Note an answer that aiohttp knows nothing of: the connection may stay open for as long again."""
        server: Any = self._manager
        server.requests_count += 1
        self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout

    def resume_reading(self, resume_parser: bool = True) -> None:  # noqa: FBT001, FBT002 - aiohttp's signature
        """Go on reading and parsing; a request that is answered at once has been read whole, and asks for nothing."""
        if self._reading_paused or self._buffer_paused or (resume_parser and self._waiter is None):
            super().resume_reading(resume_parser)

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Write an answer. Only now may the next request be answered at once, and only if the connection stays open.

        aiohttp's own task learns of it a turn of the event loop later. A quick client's next request may be there by
        then, and all that come after it would miss their chance as well.
        """
        written = await super().finish_response(request, resp, start_time)
        if written[0].keep_alive:
            self.unanswered -= 1
        return written

    def take_begun(self) -> Begun | None:
        """Return the request that has begun already, once."""
        begun, self.begun = self.begun, None
        return begun

    def log_exception(self, *args: Any, **kw: Any) -> None:  # noqa: ANN401 - aiohttp's signature
        """Log a failure; a body that cannot be read is none of ours, and has been answered."""
        if not isinstance(kw.get("exc_info"), web.RequestPayloadError):
            super().log_exception(*args, **kw)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Return INVALID_INPUT for what cannot be parsed; anything else is aiohttp's own to report."""
        server: Any = self._manager
        if status >= 500 or server is None:  # noqa: PLR2004 - HTTP: not the caller's fault
            return super().handle_error(request, status, exc, message)
        reason = " ".join((message or "it is not HTTP").split())[:200]
        response = render(server.host.pipeline.unreadable(f"The request cannot be read: {reason}."))
        response.force_close()
        return response
