"""aiohttp without sockets: `aiohttp.ClientSession(connector=SandboxConnector(sandbox))`.

Each connection is a pair of transports in memory, with aiohttp's own client protocol at one end and the double's own
HTTP shell at the other, so a fault does the same to the bytes as on the real server.
A late reply is waited for in real time.

The same connector takes what the adapter of a machine is made with: `SandboxConnector(service)` in a `Merchant`. Then a
late reply takes its time on the play's clock, and a client whose limit it exceeds gets its timeout error at once.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import aiohttp
from aiohttp import web
from aiohttp.client_proto import ResponseHandler
from multidict import CIMultiDict

from paydouble.api.values import Request
from paydouble.runtime.bodies import Bodies
from paydouble.testing.errors import ServiceDown
from paydouble.testing.play_service import PlayService
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
# As much as the service of any play takes.
_MOST_BYTES: Final = 8 * 1024 * 1024


class SandboxConnector(aiohttp.BaseConnector):
    """Connects every request of a session to a sandbox, for any host, or to the service of a machine's play."""

    def __init__(self, sandbox: Sandbox | PlayService) -> None:
        """Answer for one of them; made inside the event loop in which it is used."""
        super().__init__(force_close=True)
        self.sandbox = sandbox
        self._bodies = Bodies()
        self._server = web.Server(self._handle, access_log=None, auto_decompress=False)

    async def _create_connection(
        self,
        req: ClientRequest,
        traces: list[Trace],  # noqa: ARG002 - aiohttp's signature
        timeout: ClientTimeout,  # noqa: ASYNC109 - aiohttp's signature
    ) -> ResponseHandler:
        if isinstance(self.sandbox, Sandbox) and self.sandbox.is_down:
            refused = ServiceDown("nobody listens: the sandbox is down")
            raise aiohttp.ClientConnectorError(req.connection_key, refused)
        client = ResponseHandler(self._loop)
        service = self._server()
        link = _Link(str(req.url.origin()), timeout.total or timeout.sock_read)
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
        if not isinstance(self.sandbox, Sandbox):
            return await self._answer_of_play(self.sandbox, request)
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

    async def _answer_of_play(self, service: PlayService, request: web.BaseRequest) -> web.StreamResponse:
        end = request.transport
        assert isinstance(end, _End)
        body, _ = await read_body(request, _MOST_BYTES, self._bodies)
        url = end.link.origin + origin_form(request)
        lost = web.Response()
        lost.force_close()
        try:
            answer = service.call(request.method, url, request.headers, body, end.link.limit_seconds)
        except TimeoutError as error:
            end.fail(aiohttp.ServerTimeoutError(str(error)))
            return lost
        except ConnectionResetError:
            end.abort()
            return lost
        except ConnectionError:
            end.close()
            return lost
        except BaseException as error:  # noqa: BLE001 - what ends the merchant's code is raised where it waits
            end.fail(error)
            return lost
        headers = CIMultiDict(answer.headers)
        headers.popall("Content-Length", None)  # aiohttp writes its own
        return web.Response(status=answer.status, headers=headers, body=answer.body)


@dataclass(slots=True)
class _Link:
    """What the two ends of a connection share."""

    origin: str
    """What the client has connected to: scheme, host and port."""
    limit_seconds: float | None
    """How long the client waits for an answer; None is a client without a limit."""
    closed: bool = False


class _End(asyncio.Transport):
    """One end of a connection in memory: what is written here, the protocol at the far end receives."""

    def __init__(self, link: _Link, far: asyncio.Protocol, near: asyncio.Protocol) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self.link = link
        self._far = far
        self._near = near

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - asyncio's signature
        """Return the peer's address; other information is not available."""
        return ("127.0.0.1", 0) if name == "peername" else default

    def is_closing(self) -> bool:
        """Return whether this end, or the other, has closed."""
        return self.link.closed

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Let the other side receive bytes, in the loop's next turn."""
        if not self.link.closed:
            self._loop.call_soon(self._far.data_received, bytes(data))

    def close(self) -> None:
        """End the connection cleanly."""
        self._end(None)

    def abort(self) -> None:
        """Break the connection off."""
        self._end(ConnectionResetError("the service reset the connection"))

    def fail(self, error: BaseException) -> None:
        """End the connection with an error of the client's own, as its timer would."""
        if isinstance(self._far, ResponseHandler):
            self._far.set_exception(error)
        self._end(None)

    def pause_reading(self) -> None:
        """Nothing is held back: the bytes are in memory already."""

    def resume_reading(self) -> None:
        """See `pause_reading`."""

    def _end(self, error: Exception | None) -> None:
        if not self.link.closed:
            self.link.closed = True
            # After the bytes that are already written.
            self._loop.call_soon(self._far.connection_lost, error)
            self._loop.call_soon(self._near.connection_lost, None)
