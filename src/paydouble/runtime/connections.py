"""Connections that are kept only while nobody has said anything unasked on them.

Between two requests a receiver has nothing to say. What it sends all the same (a 408 for a connection that has rested
too long, a second answer, the rest of a body whose length it got wrong) belongs to no request that is still to come,
and must not be taken for the answer to one: a client "MUST NOT" do so (RFC 9112, section 9.2). aiohttp keeps such
bytes for the next request on the connection. So there is a `Link` between the socket and aiohttp's own protocol. It
lets bytes pass only from the moment at which a request is written to the end of its answer; any other byte ends the
connection. An attempt of which nothing has been written yet then goes over another one: the receiver cannot have seen
any of it, so it is not an attempt twice.

The link also counts interim answers (1xx). aiohttp passes over them without an end, and a receiver that sends nothing
else would keep the event loop to itself.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Awaitable, Callable
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
# How an answer in chunks ends. One that ends in trailers is taken as well, but its connection is not kept.
_LAST_CHUNK: Final = b"\r\n0\r\n\r\n"
# As much of a status line as tells an interim answer: "HTTP/1.1 103".
_STATUS_END: Final = 12


_UNASKED: Final = "the receiver sent bytes before it was asked anything"


class SpokeUnasked(aiohttp.ClientConnectionError):
    """A receiver has sent something before it was asked."""


class InterimFlood(aiohttp.ClientError):
    """A receiver has sent more interim answers than anybody needs."""


def has_unread(transport: asyncio.Transport) -> bool:
    """Return whether a socket holds bytes, or its end, that the event loop has not come to read yet.

    Without this a receiver that closes right after its answer (RFC 9112, 9.3.1), or speaks while the loop is at other
    things, would get a request written after it. Of TLS the socket cannot tell: what it holds may be tickets.
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
    """Stands between a connection's socket and aiohttp's protocol for it."""

    def __init__(self, transport: asyncio.Transport, inner: ResponseHandler) -> None:
        """Take the place of `inner` at a transport."""
        self._transport = transport
        self._inner = inner
        self.resting = False
        """Nothing is under way on it, and nothing has been said on it since the last answer's end."""
        self.spoken = False
        """The receiver has sent something unasked."""
        self._asked = False
        self._received = 0
        self._last = b""
        self._head: bytearray | None = None
        self._interims = 0
        self._interim_bytes = 0
        self._head_end: int | None = None
        transport.set_protocol(self)

    @property
    def open(self) -> bool:
        """Return whether nothing is known that would keep a request from being written to it."""
        return not (self.spoken or self._transport.is_closing() or self._inner.should_close)

    @property
    def usable(self) -> bool:
        """Return whether a request can be written to it now; this asks the operating system, once for each request."""
        return self.open and not has_unread(self._transport)

    def take(self) -> None:
        """Be at the disposal of the next request."""
        self.resting = self._asked = False

    def ask(self) -> None:
        """Let the answer pass, to the request that is about to be written."""
        self._asked = True
        self._received = self._interims = self._interim_bytes = 0
        self._last = b""
        self._head = bytearray()
        self._head_end = None

    def rest(self, body: bytes, *, chunked: bool) -> None:
        """Keep the connection for the next request if the answer, which has been read whole, was all that came."""
        ended = self._last == _LAST_CHUNK if chunked else self._received == (self._head_end or 0) + len(body)
        if self._head_end is None or not ended or not self.open:
            self._transport.close()
        else:
            self.resting, self._asked = True, False

    def data_received(self, data: bytes) -> None:
        """Pass on what belongs to an answer."""
        if not self._asked:
            self.spoken = True
            self._transport.abort()
            return
        self._received += len(data)
        self._last = (self._last + data[-len(_LAST_CHUNK) :])[-len(_LAST_CHUNK) :]
        split = 0
        if self._head is not None:
            try:
                split = self._follow_head(self._head, data)
            except InterimFlood as flood:
                self._head = None
                self._inner.set_exception(flood)
                self._transport.abort()
                return
        # The head alone first: a parser that stumbles over what is behind a whole answer forgets the answer too.
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
        """Read on in the heads; returns where in `data` the last one ends, or 0 while it has not ended.

        Raises `InterimFlood` when there is no end of interim ones.
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
            raise InterimFlood(f"the receiver sent more than {MOST_INTERIM_ANSWERS} interim (1xx) answers")
        if self._interim_bytes > MOST_INTERIM_BYTES:
            raise InterimFlood(f"the receiver sent more than {MOST_INTERIM_BYTES // 1024} KiB of interim (1xx) answers")


class Request(aiohttp.ClientRequest):
    """A request that is written only to a connection on which nobody has spoken."""

    link: Link | None = None
    """The connection that it has been given."""
    kept: bool = False
    """That connection has carried another request before."""
    written: bool = False
    """Some of it may have reached the receiver."""

    async def write_bytes(
        self, writer: AbstractStreamWriter, conn: Connection, content_length: int | None = None
    ) -> None:
        """Write head and body."""
        link = self.link
        if link is None or not link.usable:
            # What waits for the answer is told; nothing waits for this.
            if conn.protocol is not None:
                conn.protocol.set_exception(SpokeUnasked(_UNASKED))
            return
        link.ask()
        self.written = True
        if not isinstance(self.body, BytesPayload):
            writer.send_headers()  # else they wait for the body's first part, and an answer would be let in before that
        await super().write_bytes(writer, conn, content_length)


class Connector(aiohttp.TCPConnector):
    """Dials, and keeps connections that are fit to carry another request."""

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - as in aiohttp
    ) -> Connection:
        """Return a connection on which nothing has been said unasked."""
        while True:
            connection = await super().connect(req, traces, timeout)
            protocol, transport = connection.protocol, connection.transport
            if protocol is None or transport is None:
                connection.close()  # closed in the moment in which it was made
                raise aiohttp.ServerDisconnectedError
            link = transport.get_protocol()
            kept = isinstance(link, Link)
            if not isinstance(link, Link):
                link = Link(transport, protocol)
            # What takes long to write would be open to late words about an earlier request for as long. Whether the
            # socket holds anything is asked right before a request is written (`write_bytes`).
            if kept and not (link.resting and link.open and isinstance(req.body, BytesPayload)):
                connection.close()
                continue
            if not kept and not link.usable:
                connection.close()
                raise SpokeUnasked(_UNASKED)
            if isinstance(req, Request):
                req.link, req.kept, req.written = link, kept, False
            link.take()
            return connection


class Exchange:
    """One request and its answer, however many connections it takes to find one that can carry it."""

    def __init__(self) -> None:
        """Start before the request is made."""
        self._request: Request | None = None

    @property
    def repeatable(self) -> bool:
        """Return whether it has failed on a kept connection before any of it was written."""
        request = self._request
        return request is not None and request.kept and not request.written

    def rest(self, response: aiohttp.ClientResponse, body: bytes) -> None:
        """Keep the connection for others, after the answer has been read whole."""
        if self._request is not None and self._request.link is not None:
            self._request.link.rest(body, chunked="chunked" in response.headers.get("Transfer-Encoding", "").lower())

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
    """Return a session that sends what it is given and nothing of its own."""
    return aiohttp.ClientSession(
        connector=Connector(**connector),
        request_class=Request,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
        auto_decompress=False,
        # The contract documents no other header, so none is sent (principle P1).
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
    )
