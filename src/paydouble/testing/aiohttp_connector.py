"""aiohttp without sockets: `aiohttp.ClientSession(connector=SandboxConnector(sandbox))`.

Each connection is a pair of transports in memory, with aiohttp's own client protocol at one end and the double's own
HTTP shell at the other, so a fault does the same to the bytes as on the real server.
A late reply is waited for in real time.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp
from aiohttp import web
from aiohttp.client_proto import ResponseHandler

from paydouble.api.values import Request
from paydouble.runtime.bodies import Bodies
from paydouble.testing.errors import ServiceDown
from paydouble.testing.socketless import Sandbox
from paydouble.web import wire_faults
from paydouble.web.bodies import read_body, release_body
from paydouble.web.replies import render
from paydouble.web.targets import origin_form

if TYPE_CHECKING:
    from aiohttp.client import ClientTimeout
    from aiohttp.client_reqrep import ClientRequest
    from aiohttp.tracing import Trace

__all__ = ["SandboxConnector"]


class SandboxConnector(aiohttp.BaseConnector):
    """Connects every request of a session to a sandbox, for any host."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Answer for a sandbox; made inside the event loop in which it is used."""
        super().__init__(force_close=True)
        self.sandbox = sandbox
        self._bodies = Bodies()
        self._server = web.Server(self._handle, access_log=None, auto_decompress=False)

    async def _create_connection(
        self,
        req: ClientRequest,
        traces: list[Trace],  # noqa: ARG002 - aiohttp's signature
        timeout: ClientTimeout,  # noqa: ARG002, ASYNC109 - aiohttp's signature
    ) -> ResponseHandler:
        if self.sandbox.is_down:
            refused = ServiceDown("nobody listens: the sandbox is down")
            raise aiohttp.ClientConnectorError(req.connection_key, refused)
        client = ResponseHandler(self._loop)
        service = self._server()
        link = _Link()
        to_service, to_client = _End(link, service, client), _End(link, client, service)
        service.connection_made(to_client)
        client.connection_made(to_service)
        return client

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._answer(request)
        finally:
            release_body(request, self._bodies)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        body, problem = await read_body(request, self.sandbox.core.sandbox.settings.body_limit, self._bodies)
        asked = Request(
            request.method, origin_form(request), request.headers, body, request.raw_headers, "127.0.0.1", problem
        )
        reply = self.sandbox.reply(asked)
        if reply.delay_ms:
            await asyncio.sleep(reply.delay_ms / 1000)
        if reply.wire is not None:
            return await wire_faults.perform(request, reply, reply.wire)
        return render(reply, request)


@dataclass(slots=True)
class _Link:
    """What the two ends of a connection share."""

    closed: bool = False


class _End(asyncio.Transport):
    """One end of a connection in memory: what is written here, the protocol at the far end receives."""

    def __init__(self, link: _Link, far: asyncio.Protocol, near: asyncio.Protocol) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._link = link
        self._far = far
        self._near = near

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - asyncio's signature
        """Return the peer's address; other information is not available."""
        return ("127.0.0.1", 0) if name == "peername" else default

    def is_closing(self) -> bool:
        """Return whether this end, or the other, has closed."""
        return self._link.closed

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Let the other side receive bytes, in the loop's next turn."""
        if not self._link.closed:
            self._loop.call_soon(self._far.data_received, bytes(data))

    def close(self) -> None:
        """End the connection cleanly."""
        self._end(None)

    def abort(self) -> None:
        """Break the connection off."""
        self._end(ConnectionResetError("the service reset the connection"))

    def pause_reading(self) -> None:
        """Nothing is held back: the bytes are in memory already."""

    def resume_reading(self) -> None:
        """See `pause_reading`."""

    def _end(self, error: Exception | None) -> None:
        if not self._link.closed:
            self._link.closed = True
            # After the bytes that are already written.
            self._loop.call_soon(self._far.connection_lost, error)
            self._loop.call_soon(self._near.connection_lost, None)
