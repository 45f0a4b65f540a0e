"""Kept connections that are closed when the receiver sends bytes between two requests.

Such bytes (a 408 for an idle connection, a second answer, the rest of a body with a wrong length) belong to no later
request, and a client "MUST NOT" take them for its answer (RFC 9112, section 9.2). aiohttp would: it keeps them for the
next request on the connection. So a `Link` sits between the socket and aiohttp's own protocol. It passes bytes on
only between the moment a request is written and the end of its answer; any other byte ends the connection. An attempt
of which nothing was written yet is then sent over another connection: the receiver cannot have seen any of it, so no
attempt is made twice.

The link also limits interim answers (1xx). aiohttp skips any number of them, and a receiver that sends nothing else
would occupy the event loop.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.payload import BytesPayload
from aiohttp.tracing import Trace

MOST_INTERIM_ANSWERS: Final = 16
MOST_INTERIM_BYTES: Final = 16_384
_BLANK_LINE: Final = b"\r\n\r\n"
# How a chunked answer ends. One that ends in trailers is accepted too, but its connection is not kept.
_LAST_CHUNK: Final = b"\r\n0\r\n\r\n"
# The length of a status line up to its code, which identifies an interim answer: "HTTP/1.1 103".
_STATUS_END: Final = 12


_TOO_EARLY: Final = "the receiver sent bytes before it was asked anything"


class UnsolicitedBytes(aiohttp.ClientConnectionError):
    """A receiver has sent bytes before a request was written."""


class TooManyInterimAnswers(aiohttp.ClientError):
    """A receiver has sent too many interim answers, or too long ones."""


def has_unread(transport: asyncio.Transport) -> bool:
    """Return whether a socket has bytes, or its end, that the event loop has not read yet.

    Without this check a request could be written after a receiver has closed the connection right after its answer
    (RFC 9112, 9.3.1), or has sent bytes while the loop was busy. For TLS it is always False: the unread bytes may be
    session tickets.
    """
    sock = transport.get_extra_info("socket")
    if sock is None or sock.fileno() < 0 or transport.get_extra_info("sslcontext") is not None:
        return False
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([sock], [], [], 0)[0])
    poller = select.poll()
    poller.register(sock, select.POLLIN)
    return bool(poller.poll(0))


class Link(asyncio.Protocol):
    """Filters what a connection's socket passes to aiohttp's protocol."""

    def __init__(self, transport: asyncio.Transport, inner: ResponseHandler) -> None:
        """Become the protocol of a transport, in place of `inner`."""
        self._transport = transport
        self._inner = inner
        self.idle = False
        """No request is in flight on it, and no byte has arrived since the end of the last answer."""
        self.spoke_early = False
        """The receiver has sent bytes before a request was written."""
        self._expecting = False
        self._received = 0
        self._last = b""
        self._head: bytearray | None = None
        self._interims = 0
        self._interim_bytes = 0
        self._head_end: int | None = None
        transport.set_protocol(self)

    @property
    def open(self) -> bool:
        """Return whether a request may be written, by what is known without asking the operating system."""
        return not (self.spoke_early or self._transport.is_closing() or self._inner.should_close)

    @property
    def usable(self) -> bool:
        """Return whether a request can be written now; this asks the operating system, so only once per request."""
        return self.open and not has_unread(self._transport)

    def reserve(self) -> None:
        """Reserve the connection for the next request."""
        self.idle = self._expecting = False

    def expect_answer(self) -> None:
        """Pass bytes on from now on, since a request is about to be written."""
        self._expecting = True
        self._received = self._interims = self._interim_bytes = 0
        self._last = b""
        self._head = bytearray()
        self._head_end = None

    def release(self, body: bytes, *, chunked: bool) -> None:
        """Keep the connection for the next request if nothing arrived after the answer, which was read to its end."""
        ended = self._last == _LAST_CHUNK if chunked else self._received == (self._head_end or 0) + len(body)
        if self._head_end is None or not ended or not self.open:
            self._transport.close()
        else:
            self.idle, self._expecting = True, False

    def data_received(self, data: bytes) -> None:
        """Pass on the bytes of an answer; close the connection for any others."""
        if not self._expecting:
            self.spoke_early = True
            self._transport.abort()
            return
        self._received += len(data)
        self._last = (self._last + data[-len(_LAST_CHUNK) :])[-len(_LAST_CHUNK) :]
        split = 0
        if self._head is not None:
            try:
                split = self._follow_head(self._head, data)
            except TooManyInterimAnswers as flood:
                self._head = None
                self._inner.set_exception(flood)
                self._transport.abort()
                return
        # The head separately: a parser that fails on bytes after a complete answer drops the answer too.
        if split:
            self._inner.data_received(data[:split])
        if split < len(data):
            self._inner.data_received(data[split:])

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass it on."""
        self._inner.connection_lost(exc)

    def eof_received(self) -> None:
        """Pass it on."""
        self._inner.eof_received()

    def pause_writing(self) -> None:
        """Pass it on."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Pass it on."""
        self._inner.resume_writing()

    def _follow_head(self, head: bytearray, data: bytes) -> int:
        """Skip interim heads; returns where in `data` the final head ends, or 0 while it is incomplete.

        `TooManyInterimAnswers` when the limit is passed.
        """
        head += data
        while True:
            while head[:2] == b"\r\n":  # empty lines before an answer, which parsers pass over
                self._count_interim(2)
                del head[:2]
            if len(head) < _STATUS_END:
                return 0
            interim = head[9:10] == b"1" and head[9:12] != b"101"
            end = head.find(_BLANK_LINE)
            if not interim:
                if end >= 0:
                    rest = len(head) - end - len(_BLANK_LINE)
                    self._head, self._head_end = None, self._received - rest
                    return len(data) - rest
                return 0
            if end < 0:
                if self._interim_bytes + len(head) > MOST_INTERIM_BYTES:
                    self._count_interim(len(head))
                return 0
            self._interims += 1
            self._count_interim(end + len(_BLANK_LINE))
            del head[: end + len(_BLANK_LINE)]

    def _count_interim(self, size: int) -> None:
        self._interim_bytes += size
        if self._interims > MOST_INTERIM_ANSWERS:
            raise TooManyInterimAnswers(f"the receiver sent more than {MOST_INTERIM_ANSWERS} interim (1xx) answers")
        if self._interim_bytes > MOST_INTERIM_BYTES:
            raise TooManyInterimAnswers(
                f"the receiver sent more than {MOST_INTERIM_BYTES // 1024} KiB of interim (1xx) answers"
            )


class Request(aiohttp.ClientRequest):
    """A request that is written only to a connection without unread bytes."""

    link: Link | None = None
    """The connection that it was given."""
    kept: bool = False
    """Whether that connection has carried another request before."""
    written: bool = False
    """Whether some of it may have reached the receiver."""

    async def write_bytes(
        self, writer: AbstractStreamWriter, conn: Connection, content_length: int | None = None
    ) -> None:
        """Write head and body."""
        link = self.link
        if link is None or not link.usable:
            # Set on the protocol, where the wait for the answer raises it; nothing awaits this coroutine.
            if conn.protocol is not None:
                conn.protocol.set_exception(UnsolicitedBytes(_TOO_EARLY))
            return
        link.expect_answer()
        self.written = True
        if not isinstance(self.body, BytesPayload):
            writer.send_headers()  # now: aiohttp sends them with the first part of the body, after an early answer
        # aiohttp raises that the connection was closed before the end of the body, also where nothing awaits this
        # coroutine. The wait for the answer says it.
        with suppress(aiohttp.ClientConnectionResetError):
            await super().write_bytes(writer, conn, content_length)


class Connector(aiohttp.TCPConnector):
    """Opens connections, and keeps those that can carry another request."""

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - as in aiohttp
    ) -> Connection:
        """Return a connection on which no unsolicited byte has arrived."""
        while True:
            connection = await super().connect(req, traces, timeout)
            protocol, transport = connection.protocol, connection.transport
            if protocol is None or transport is None:
                connection.close()  # the receiver has closed it at once
                raise aiohttp.ServerDisconnectedError
            link = transport.get_protocol()
            kept = isinstance(link, Link)
            if not isinstance(link, Link):
                link = Link(transport, protocol)
            # A body that takes long to write gets a new connection: on a kept one, late bytes about an earlier request
            # could arrive meanwhile. Unread bytes are checked right before a request is written (`write_bytes`).
            if kept and not (link.idle and link.open and isinstance(req.body, BytesPayload)):
                connection.close()
                continue
            if not kept and not link.usable:
                connection.close()
                raise UnsolicitedBytes(_TOO_EARLY)
            if isinstance(req, Request):
                req.link, req.kept, req.written = link, kept, False
            link.reserve()
            return connection


class Exchange:
    """One try to send a request; the middleware of aiohttp's session that notes which connection carried it."""

    def __init__(self) -> None:
        """Start before the request is made."""
        self._request: Request | None = None

    @property
    def repeatable(self) -> bool:
        """Return whether it failed on a kept connection before any of it was written, so it can be sent again."""
        request = self._request
        return request is not None and request.kept and not request.written

    def release(self, response: aiohttp.ClientResponse, body: bytes) -> None:
        """Keep the connection for other requests, after the answer has been read to its end."""
        if self._request is not None and self._request.link is not None:
            self._request.link.release(body, chunked="chunked" in response.headers.get("Transfer-Encoding", "").lower())

    async def __call__(
        self,
        request: aiohttp.ClientRequest,
        handler: Callable[[aiohttp.ClientRequest], Awaitable[aiohttp.ClientResponse]],
    ) -> aiohttp.ClientResponse:
        """Carry out the request, as a middleware of aiohttp's session."""
        if isinstance(request, Request):
            self._request = request
        return await handler(request)


def session(**connector: Any) -> aiohttp.ClientSession:  # noqa: ANN401 - the arguments of aiohttp.TCPConnector
    """Return a session that adds no optional header, no cookie and no timeout of its own."""
    return aiohttp.ClientSession(
        connector=Connector(**connector),
        request_class=Request,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
        auto_decompress=False,
        # The contract documents no other header, so none is sent (principle P1).
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
    )
