"""Writes a reply to a connection.

The usual reply (HTTP/1.1, a connection that stays open, a body of a few kilobytes) is written in one piece. aiohttp's
`Response` has a header table, a state and a writer for every answer, which takes a third of the time of a whole deposit
(docs/performance.md); it is used for any other reply.
"""

from __future__ import annotations

from email.utils import formatdate
from http import HTTPStatus
from time import time
from typing import Final

from aiohttp import ClientConnectionResetError, web
from aiohttp.abc import AbstractStreamWriter
from multidict import CIMultiDict

from paydouble.api.values import Reply

# Larger answers use aiohttp's flow control, so that a client that reads nothing does not occupy megabytes.
_LARGEST_AT_ONCE: Final = 64 * 1024
_STATUS_LINES: Final = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}


class _Heads(dict[int, str]):
    """The beginning of an answer, by status: the same bytes for all answers within one second."""

    __slots__ = ("_date", "_second")

    def __init__(self) -> None:
        super().__init__()
        self._second = -1
        self._date = ""

    def now(self, status: int) -> str:
        second = int(time())
        if second != self._second:
            self._second = second
            self._date = formatdate(second, usegmt=True)
            self.clear()
        return self[status]

    def __missing__(self, status: int) -> str:
        head = self[status] = f"{_STATUS_LINES[status]}Server: paydouble\r\nDate: {self._date}\r\nContent-Type: "
        return head


_HEADS: Final = _Heads()


class WholeResponse(web.StreamResponse):
    """An answer whose bytes are ready: head and body are sent in one write."""

    def __init__(self, status: int, data: bytes) -> None:  # the parent's state is what this class does without
        """Take the bytes; the status is only for the property."""
        self._status = status
        self._data = data

    @property
    def status(self) -> int:
        """Return the HTTP status."""
        return self._status

    @property
    def keep_alive(self) -> bool:
        """Return True: only connections that stay open are answered like this."""
        return True

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Write everything."""
        transport = request.transport
        if transport is None or transport.is_closing():
            message = "the client has gone"
            raise ClientConnectionResetError(message)
        transport.write(self._data)
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        """Do nothing: `prepare` has written everything."""


def render(reply: Reply, request: web.BaseRequest | None = None) -> web.StreamResponse:
    """Return a reply in the fastest form that the request allows."""
    if (
        request is not None
        and request.version == (1, 1)
        and request.keep_alive
        and request.method != "HEAD"
        and is_usual(reply)
        and not request.protocol.writing_paused  # a `Response` waits for a client that does not read
    ):
        return WholeResponse(reply.status, written(reply))
    # `Server` is named, or aiohttp would write its own version there.
    headers = CIMultiDict(
        (("Content-Type", reply.content_type), ("X-Request-Id", reply.request_id), ("Server", "paydouble"))
    )
    headers.extend(reply.headers)
    return web.Response(body=reply.body, status=reply.status, headers=headers)


def is_usual(reply: Reply) -> bool:
    """Return whether a reply is small and has a standard status; only then can it be `written`."""
    return reply.status in _STATUS_LINES and len(reply.body) < _LARGEST_AT_ONCE


def written(reply: Reply) -> bytes:
    """Return the bytes of a reply on a connection that stays open."""
    body = reply.body
    extra = "".join(f"{name}: {value}\r\n" for name, value in reply.headers) if reply.headers else ""
    head = (
        f"{_HEADS.now(reply.status)}{reply.content_type}\r\nX-Request-Id: {reply.request_id}\r\n"
        f"{extra}Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode("latin-1") + body
