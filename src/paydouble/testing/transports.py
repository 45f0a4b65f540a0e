"""httpx without sockets: `httpx.Client(transport=HttpxTransport(sandbox), base_url=sandbox.base_url)`.

Network errors are raised as httpx raises them. Nothing waits: a reply later than the client's read timeout raises
`ReadTimeout` at once.
"""

from __future__ import annotations

import httpx
from multidict import CIMultiDict

from paydouble.api.values import Request
from paydouble.testing.client_responses import client_response
from paydouble.testing.errors import ReplyLost, ReplyTimeout, ServiceDown
from paydouble.testing.socketless import Sandbox

__all__ = ["AsyncHttpxTransport", "HttpxTransport"]


class HttpxTransport(httpx.BaseTransport):
    """For `httpx.Client`."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Answer for a sandbox, for any host of a URL."""
        self.sandbox = sandbox

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Return the service's answer."""
        return _answer(self.sandbox, request, request.read())


class AsyncHttpxTransport(httpx.AsyncBaseTransport):
    """For `httpx.AsyncClient`."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Answer for a sandbox, for any host of a URL."""
        self.sandbox = sandbox

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the service's answer."""
        return _answer(self.sandbox, request, await request.aread())


def _answer(sandbox: Sandbox, request: httpx.Request, body: bytes) -> httpx.Response:
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
