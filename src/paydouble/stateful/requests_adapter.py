"""requests without sockets: `session.mount("http://", RequestsAdapter(service))`, for a machine's play or a `Sandbox`.

An answer that is lost raises what requests raises. In a play the time that a client would wait passes on the play's
clock; with a `Sandbox` nothing waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import requests
from multidict import CIMultiDict, CIMultiDictProxy
from requests.adapters import BaseAdapter
from urllib3 import HTTPHeaderDict, HTTPResponse

from paydouble.api.values import Request
from paydouble.stateful.merchant import ServiceLike
from paydouble.stateful.service import Response
from paydouble.testing.play_service import Answer
from paydouble.testing.socketless import Sandbox

__all__ = ["RequestsAdapter"]


class RequestsAdapter(BaseAdapter):
    """Sends every request of a session to the service of a play, or to a sandbox in this process."""

    def __init__(self, service: ServiceLike | Sandbox) -> None:
        """Take what the adapter of a merchant is made with, or a sandbox, which answers for any host."""
        super().__init__()
        self.service = service

    def send(  # noqa: PLR0913, PLR0917 - requests' signature
        self,
        request: requests.PreparedRequest,
        stream: bool = False,  # noqa: ARG002, FBT001, FBT002 - requests' signature
        timeout: float | tuple[float | None, float | None] | None = None,
        verify: bool | str = True,  # noqa: ARG002, FBT001, FBT002 - requests' signature
        cert: Any = None,  # noqa: ANN401, ARG002 - requests' signature
        proxies: Mapping[str, str] | None = None,  # noqa: ARG002 - requests' signature
    ) -> requests.Response:
        """Return the service's answer. The timeout counts for the whole answer, which no option of requests does."""
        patience = timeout[1] if isinstance(timeout, tuple) else timeout
        body = request.body or b""
        sent = body.encode() if isinstance(body, str) else bytes(body)
        try:
            answer = self._call(request.method or "GET", request.url or "", request.headers, sent, patience)
        except TimeoutError as error:
            raise requests.ReadTimeout(error, request=request) from error
        except ConnectionError as error:
            raise requests.ConnectionError(error, request=request) from error
        response = requests.Response()
        response.status_code = answer.status
        response.headers.update(answer.headers)
        response.request, response.url = request, request.url or ""
        headers = HTTPHeaderDict(answer.headers)
        response.raw = HTTPResponse(BytesIO(answer.body), headers, answer.status, preload_content=False)
        response.encoding = requests.utils.get_encoding_from_headers(response.headers)
        return response

    def close(self) -> None:
        """There is nothing to close."""

    def _call(self, method: str, url: str, headers: Mapping[str, str], body: bytes, patience: float | None) -> Answer:
        if not isinstance(self.service, Sandbox):
            return self.service.call(method, url, headers, body, patience)
        parts = urlsplit(url)
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        raw = tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items())
        sent = Request(method, target, CIMultiDict(headers), body, raw, "127.0.0.1")
        answer = self.service.handle(sent, patience=patience)
        return Response(answer.status, CIMultiDictProxy(CIMultiDict(answer.headers)), answer.body)
