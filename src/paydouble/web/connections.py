"""A client's connection, which answers bytes that are not HTTP in the form of the contract."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from paydouble.runtime.host import Host
from paydouble.web.replies import render


class Connection(RequestHandler):
    """aiohttp's connection, except that bytes that are not HTTP are answered in the form of the contract."""

    __slots__ = ("host",)

    def __init__(self, server: web.Server, host: Host, **options: Any) -> None:  # noqa: ANN401 - aiohttp's own
        """Serve one client."""
        super().__init__(server, **options)
        self.host = host

    def log_exception(self, *args: Any, **kw: Any) -> None:  # noqa: ANN401 - aiohttp's signature
        """Log a failure, unless it is an unreadable body, which has been answered.

        A request that ends in the same turn of the event loop as a shutdown cancels it is not logged either: aiohttp
        then completes the same future twice.
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
        """Return INVALID_INPUT for what cannot be parsed; aiohttp reports anything else."""
        if status >= 500:  # noqa: PLR2004 - HTTP: not the caller's fault
            return super().handle_error(request, status, exc, message)
        reason = " ".join((message or "it is not HTTP").split())[:200]
        # Not through `_manager`, which is None once the client has disconnected.
        response = render(self.host.pipeline.unreadable(f"The request cannot be read: {reason}."))
        response.force_close()
        return response
