"""Kept connections that are closed when the receiver sends bytes between two requests.

Such bytes (a 408 for an idle connection, a second answer, the rest of a body with a wrong length) belong to no later
request, and a client "MUST NOT" take them for its answer (RFC 9112, section 9.2). aiohttp would: it keeps them for the
next request on the connection. So a `Link` sits between the socket and aiohttp's own protocol. It passes bytes on
only between the moment a request is written and the end of its answer; any other byte ends the connection. An attempt
of which nothing was written yet is then sent over another connection (`Unwritten`): the receiver cannot have seen any
of it, so no attempt is made twice.

A short body is written at once, in the same turn of the event loop in which its connection was checked. Any other is
written by aiohttp's own task, and never over a kept connection: late bytes about an earlier request could arrive
meanwhile. At once is also quicker, by the task that aiohttp starts for each body before Python 3.12.

The link also limits interim answers (1xx). aiohttp skips any number of them, and a receiver that sends nothing else
would occupy the event loop.
"""

from __future__ import annotations

import asyncio
import inspect
import select
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http import StreamWriter
from aiohttp.tracing import Trace
from multidict import istr
from yarl import URL

MOST_INTERIM_ANSWERS: Final = 16
MOST_INTERIM_BYTES: Final = 16_384
# The contract documents no other header than those of an attempt, so none is sent (principle P1).
_NOT_SENT: Final = tuple(map(istr, ("User-Agent", "Accept", "Accept-Encoding")))
# `Sender` limits the time until the headers of an answer, and that of its body.
_NO_TIMEOUT: Final = aiohttp.ClientTimeout(total=None)
# Less than the 64 KiB in a socket's buffer from which event loops make a writer wait.
_AT_ONCE_BYTES: Final = 32_768
_BLANK_LINE: Final = b"\r\n\r\n"
# How a chunked answer ends. One that ends in trailers is accepted too, but its connection is not kept.
_LAST_CHUNK: Final = b"\r\n0\r\n\r\n"
# The length of a status line up to its code, which identifies an interim answer: "HTTP/1.1 103".
_STATUS_END: Final = 12


_TOO_EARLY: Final = "the receiver sent bytes before it was asked anything"


class UnsolicitedBytes(aiohttp.ClientConnectionError):
    """A receiver has sent bytes before a request was written."""


class Unwritten(UnsolicitedBytes):
    """The same on a kept connection; nothing of the request was written, so it can be sent over another one."""


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


_OF_A_REQUEST: Final = ("headers", "skip_auto_headers", "data", "loop", "response_class", "ssl")
_OF_A_RESPONSE: Final = (
    *("writer", "continue100", "timer", "request_info", "traces", "loop", "session", "stream_writer"),
)
_OF_READING: Final = ("read_until_eof", "auto_decompress")
"""The arguments that aiohttp's parts get from us, in the place of its session."""


def parts_fit() -> bool:
    """Return whether the parts of the installed aiohttp take our arguments; they are public, and not documented."""
    parts: tuple[tuple[Callable[..., object], tuple[object, ...], tuple[str, ...]], ...] = (
        (aiohttp.ClientRequest, ("POST", None), _OF_A_REQUEST),
        (aiohttp.ClientResponse, ("POST", None), _OF_A_RESPONSE),
        (ResponseHandler.set_response_params, (None,), _OF_READING),
    )
    try:
        for part, positional, named in parts:
            inspect.signature(part).bind(*positional, **dict.fromkeys(named))
    except TypeError:
        return False
    return True


PARTS_FIT: Final = parts_fit()
"""Where it is False, in another release of aiohttp, its session posts, over a new connection for each attempt."""


class Response(aiohttp.ClientResponse):
    """An answer that knows its connection."""

    link: Link

    def keep_connection(self, body: bytes) -> None:
        """Keep the connection for other requests, after the answer's body has been read to its end."""
        self.link.release(body, chunked="chunked" in self.headers.get("Transfer-Encoding", "").lower())


class Request(aiohttp.ClientRequest):
    """A request that is written only to a connection without unread bytes."""

    link: Link
    """The connection that it was given."""
    kept: bool = False
    """Whether that connection has carried another request before."""
    at_once: bool = False
    """Whether it can be written without waiting for anything."""

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        """Write head and body, or let aiohttp start a task that does; `Unwritten` when the connection is unusable."""
        if not self.at_once:
            response = await super().send(conn)
        else:
            protocol = conn.protocol
            if protocol is None or not self.link.usable:
                raise Unwritten(_TOO_EARLY) if self.kept else UnsolicitedBytes(_TOO_EARLY)
            writer = StreamWriter(protocol, self.loop)
            await writer.write_headers(f"{self.method} {self.url.raw_path_qs} HTTP/1.1", self.headers)
            self.link.expect_answer()
            await super().write_bytes(writer, conn)
            given: dict[str, Any] = dict.fromkeys(_OF_A_RESPONSE)
            given.update(request_info=self.request_info, traces=[], loop=self.loop, stream_writer=writer)
            response = Response(self.method, self.original_url, **given)
        if isinstance(response, Response):
            response.link = self.link
        return response

    async def write_bytes(
        self, writer: AbstractStreamWriter, conn: Connection, content_length: int | None = None
    ) -> None:
        """Write head and body in aiohttp's task."""
        if not self.link.usable:
            # Set on the protocol, where the wait for the answer raises it; nothing awaits this coroutine.
            if conn.protocol is not None:
                conn.protocol.set_exception(UnsolicitedBytes(_TOO_EARLY))
            return
        self.link.expect_answer()
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
            # Unread bytes are checked right before a request is written.
            if kept and not (link.idle and link.open and isinstance(req, Request) and req.at_once):
                connection.close()
                continue
            if not kept and not link.usable:
                connection.close()
                raise UnsolicitedBytes(_TOO_EARLY)
            if isinstance(req, Request):
                req.link, req.kept = link, kept
            link.reserve()
            return connection


class Client:
    """Posts over kept connections, without what an attempt must not have: redirects, cookies, headers of its own."""

    def __init__(self, **connector: Any) -> None:  # noqa: ANN401 - the arguments of aiohttp.TCPConnector
        """Open connections as the arguments say; an event loop must be running."""
        self._connector = Connector(**connector)
        self._opened: aiohttp.ClientSession | None = None

    async def post(
        self, url: URL, *, headers: Sequence[tuple[str, str]], data: object, tls: ssl.SSLContext | bool
    ) -> aiohttp.ClientResponse:
        """Return the answer to a POST when its headers have arrived; raises what aiohttp's session raises."""
        if not PARTS_FIT:
            return await self._session().post(url, data=data, headers=headers, allow_redirects=False, ssl=tls)
        request = Request(
            "POST",
            url,
            headers=headers,
            skip_auto_headers=_NOT_SENT,
            data=data,
            loop=asyncio.get_running_loop(),
            response_class=Response,
            ssl=tls,
        )
        request.at_once = isinstance(data, bytes) and len(data) <= _AT_ONCE_BYTES
        connection = await self._connector.connect(request, [], _NO_TIMEOUT)
        response = None
        try:
            if connection.protocol is not None:
                connection.protocol.set_response_params(read_until_eof=True, auto_decompress=False)
            response = await request.send(connection)
            return await response.start(connection)
        except BaseException:
            if response is not None:
                response.close()
            connection.close()
            raise

    def _session(self) -> aiohttp.ClientSession:
        if self._opened is None:
            self._opened = aiohttp.ClientSession(
                connector=self._connector,
                request_class=Request,
                response_class=Response,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=_NO_TIMEOUT,
                auto_decompress=False,
                skip_auto_headers=_NOT_SENT,
            )
        return self._opened

    async def close(self) -> None:
        """Close all connections."""
        await (self._opened or self._connector).close()
