"""httpx without sockets: `httpx.Client(transport=HttpxTransport(sandbox), base_url=sandbox.base_url)`.

Network errors are raised as httpx raises them. Nothing waits: a reply later than the client's read timeout raises
`ReadTimeout` at once.

The same transports take what the adapter of a machine is made with: `HttpxTransport(service)` in a `Merchant`. Then a
late reply takes its time on the play's clock.
"""

from __future__ import annotations

import httpx
from multidict import CIMultiDict

from paydouble.api.values import Request
from paydouble.testing.client_responses import client_response
from paydouble.testing.errors import ReplyLost, ReplyTimeout, ServiceDown
from paydouble.testing.play_service import PlayService
from paydouble.testing.socketless import Sandbox

__all__ = ["AsyncHttpxTransport", "HttpxTransport"]


class HttpxTransport(httpx.BaseTransport):
    """For `httpx.Client`."""

    def __init__(self, sandbox: Sandbox | PlayService) -> None:
        """Answer for a sandbox, for any host of a URL, or for the service of a machine's play."""
        self.sandbox = sandbox

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Return the service's answer."""
        return _answer(self.sandbox, request, request.read())


class AsyncHttpxTransport(httpx.AsyncBaseTransport):
    """For `httpx.AsyncClient`."""

    def __init__(self, sandbox: Sandbox | PlayService) -> None:
        """Answer for a sandbox, for any host of a URL, or for the service of a machine's play."""
        self.sandbox = sandbox

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the service's answer."""
        return _answer(self.sandbox, request, await request.aread())


def _answer(sandbox: Sandbox | PlayService, request: httpx.Request, body: bytes) -> httpx.Response:
    if not isinstance(sandbox, Sandbox):
        return _called(sandbox, request, body)
    raw = tuple(request.headers.raw)
    headers = CIMultiDict((name.decode("latin-1"), value.decode("latin-1")) for name, value in raw)
    asked = Request(request.method, request.url.raw_path.decode("ascii"), headers, body, raw, "127.0.0.1")
    patience = request.extensions.get("timeout", {}).get("read")
    try:
        response = client_response(sandbox.reply(asked), patience, method=asked.method)
    except ServiceDown as error:
        raise httpx.ConnectError(str(error), request=request) from error
    except ReplyTimeout as error:
        raise httpx.ReadTimeout(str(error), request=request) from error
    except ReplyLost as error:
        kind = httpx.ReadError if error.kind == "reset" else httpx.RemoteProtocolError
        raise kind(str(error), request=request) from error
    return httpx.Response(response.status, headers=list(response.headers), content=response.body, request=request)


def _called(service: PlayService, request: httpx.Request, body: bytes) -> httpx.Response:
    headers = CIMultiDict(request.headers.multi_items())
    # httpx has no limit for the whole answer; its read timeout stands for one.
    patience = request.extensions.get("timeout", {}).get("read")
    try:
        answer = service.call(request.method, str(request.url), headers, body, patience)
    except TimeoutError as error:
        raise httpx.ReadTimeout(str(error), request=request) from error
    except ConnectionResetError as error:
        raise httpx.ReadError(str(error), request=request) from error
    except ConnectionError as error:
        raise httpx.RemoteProtocolError(str(error), request=request) from error
    return httpx.Response(answer.status, headers=list(answer.headers.items()), content=answer.body, request=request)
