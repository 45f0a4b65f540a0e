"""requests without sockets, for a machine's play: `session.mount("http://", RequestsAdapter(service))`.

The time that a client would wait passes on the play's clock, and an answer that is lost raises what requests raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import requests
from requests.adapters import BaseAdapter
from urllib3 import HTTPHeaderDict, HTTPResponse

from paydouble.stateful.merchant import ServiceLike

__all__ = ["RequestsAdapter"]


class RequestsAdapter(BaseAdapter):
    """Sends every request of a session to the service of a play."""

    def __init__(self, service: ServiceLike) -> None:
        """Take what the adapter of a merchant is made with."""
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
            answer = self.service.call(request.method or "GET", request.url or "", request.headers, sent, patience)
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
