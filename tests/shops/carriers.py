"""Carries the requests of `requests` and httpx to a service in the test's own process.

paydouble has such transports for httpx and aiohttp over its `Sandbox`, but none for `requests`, and none over the
service that `MerchantMachine` hands to an adapter.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, Protocol

import httpx
import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from paydouble import Sandbox


class Reply(Protocol):
    """What came back."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Any: ...
    @property
    def body(self) -> bytes: ...


class Line(Protocol):
    """Sends a request to the service; raises an `OSError` when no answer came."""

    def call(
        self, method: str, path: str, headers: Mapping[str, str] = ..., body: bytes = b"", timeout: float | None = None
    ) -> Reply: ...


class SandboxLine:
    """A line to a `paydouble.Sandbox`, for ordinary tests."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox

    def call(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        timeout: float | None = None,
    ) -> Reply:
        """Send a request."""
        return self.sandbox.handle(method, path, body=body, headers=dict(headers or {}), patience=timeout)


def _pairs(headers: Any) -> list[tuple[str, str]]:
    return [(str(name), str(value)) for name, value in (headers.items() if hasattr(headers, "items") else headers)]


class RequestsCarrier(BaseAdapter):
    """For `requests.Session().mount(base_url, RequestsCarrier(line))`."""

    def __init__(self, line: Line) -> None:
        super().__init__()
        self.line = line

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: bool | str = True,
        cert: Any = None,
        proxies: Any = None,
    ) -> requests.Response:
        """Send a request, and raise what requests would raise."""
        patience = timeout[1] if isinstance(timeout, tuple) else timeout
        body = request.body or b""
        body = body.encode() if isinstance(body, str) else bytes(body)
        try:
            reply = self.line.call(str(request.method), request.path_url, dict(request.headers), body, patience)
        except TimeoutError as error:
            raise requests.ReadTimeout(str(error), request=request) from error
        except OSError as error:
            raise requests.ConnectionError(str(error), request=request) from error
        response = requests.Response()
        response.status_code = reply.status
        response.headers = CaseInsensitiveDict(_pairs(reply.headers))
        response.encoding = "utf-8"
        response.raw = io.BytesIO(reply.body)
        response.url = str(request.url)
        response.request = request
        return response

    def close(self) -> None:
        """Nothing is open."""


class HttpxCarrier(httpx.AsyncBaseTransport):
    """For `httpx.AsyncClient(transport=HttpxCarrier(line))`."""

    def __init__(self, line: Line) -> None:
        self.line = line

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, and raise what httpx would raise."""
        patience = request.extensions.get("timeout", {}).get("read")
        headers = {name: value for name, value in request.headers.items() if name != "host"}
        path = request.url.raw_path.decode("ascii")
        try:
            reply = self.line.call(request.method, path, headers, await request.aread(), patience)
        except TimeoutError as error:
            raise httpx.ReadTimeout(str(error), request=request) from error
        except ConnectionRefusedError as error:
            raise httpx.ConnectError(str(error), request=request) from error
        except OSError as error:
            raise httpx.ReadError(str(error), request=request) from error
        return httpx.Response(reply.status, headers=_pairs(reply.headers), content=reply.body, request=request)
