"""A client's connection, and our own words for bytes that are no request."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from paydouble.runtime.host import Host
from paydouble.web.replies import render


class Connection(RequestHandler):
    """aiohttp's connection, except that garbage is answered as the contract answers."""

    __slots__ = ("host",)

    def __init__(self, server: web.Server, host: Host, **options: Any) -> None:  # noqa: ANN401 - aiohttp's own
        """Serve one client."""
        super().__init__(server, **options)
        self.host = host

    def log_exception(self, *args: Any, **kw: Any) -> None:  # noqa: ANN401 - aiohttp's signature
        """Log a failure; a body that cannot be read is none of ours, and has been answered.

        Neither is a request that ends in the very round of the event loop in which a shutdown gives it up: aiohttp then
        ends the wait for it twice.
        """
        failure = kw.get("exc_info")
        given_up = getattr(self, "_force_close", False) and isinstance(failure, asyncio.InvalidStateError)
        if not given_up and not isinstance(failure, web.RequestPayloadError):
            super().log_exception(*args, **kw)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Return INVALID_INPUT for what cannot be parsed; anything else is aiohttp's own to report."""
        if status >= 500:  # noqa: PLR2004 - HTTP: not the caller's fault
            return super().handle_error(request, status, exc, message)
        reason = " ".join((message or "it is not HTTP").split())[:200]
        # Not by way of `_manager`: a client that has gone meanwhile has taken it away.
        response = render(self.host.pipeline.unreadable(f"The request cannot be read: {reason}."))
        response.force_close()
        return response
