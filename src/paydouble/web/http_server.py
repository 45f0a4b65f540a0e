"""The HTTP server of a port, which passes each request to the API or to the control API.

It uses aiohttp's low-level server instead of its Application: the operations table does the routing, and the checks
follow the contract's order, so a router and middlewares would only cost time (docs/decisions).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

from paydouble.runtime.host import Host
from paydouble.web import api
from paydouble.web.addresses import CONTROL_PREFIX
from paydouble.web.bodies import release_body
from paydouble.web.connections import Connection
from paydouble.web.fast_path import FastConnection
from paydouble.web.lazy_control import LazyControl
from paydouble.web.private_names import missing
from paydouble.web.targets import origin_form
from paydouble.web.turns import Turns

_OPTIONS: Final[dict[str, Any]] = {
    "access_log": None,
    "keepalive_timeout": 75.0,
    "auto_decompress": False,  # `web/bodies.py` does it, up to the limit of each sandbox
}


class HttpServer(web.Server):
    """Serves the API, the control API, or both. Protocol errors have the documented envelope."""

    def __init__(
        self,
        host: Host,
        control: LazyControl | None,
        *,
        home: Callable[[web.BaseRequest], str],
        with_api: bool = True,
        fast: bool = True,
    ) -> None:
        """Serve a host; `fast` uses the fast path if this version of aiohttp supports it.

        `home` returns the URL to which a browser is led from `/`.
        """
        self.home = home
        self.host = host
        self.control = control
        # Targets with this prefix go to the control API: all with an empty prefix, none with a blank.
        self.control_prefix = " " if control is None else CONTROL_PREFIX if with_api else ""
        self.fast = fast and not missing()
        self.loop = asyncio.get_running_loop()
        self.reading = Turns(self.loop)
        """The turns of clients that send much at once."""
        self.answering = Turns(self.loop)
        """The turns of clients that do not wait for their answers."""
        super().__init__(self._serve, request_factory=self._make, **_OPTIONS)

    def __call__(self) -> RequestHandler:
        """Return the protocol of one connection."""
        if not self.fast:
            return Connection(self, self.host, loop=self.loop, **_OPTIONS)
        return FastConnection(self, self.host, self.control_prefix, self.reading, loop=self.loop, **_OPTIONS)

    def _make(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        return web.BaseRequest(message, payload, protocol, writer, task, self.loop)

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol
        if isinstance(connection, FastConnection) and connection.unanswered > 1:
            await self.answering.take()  # it has sent further requests already
        try:
            return await self._answer(request)
        finally:
            release_body(request, self.host.bodies)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        target = origin_form(request)
        if target == "/" and request.method in {"GET", "HEAD"} and "text/html" in request.headers.get("Accept", ""):
            # A person with a browser; neither the API nor the control API has anything at this path.
            return web.Response(status=302, headers={"Location": self.home(request), "Server": "paydouble"})
        if self.control is not None and target.startswith(self.control_prefix):
            return await self.control.answer(request)
        connection = request.protocol
        begun = connection.take_begun() if isinstance(connection, FastConnection) else None
        return await api.answer(self.host, request, begun)
