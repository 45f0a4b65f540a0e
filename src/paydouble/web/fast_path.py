"""The fast path: requests that are answered while their bytes are being read.

aiohttp gives each request a task, a request object and a writer, and wakes the connection's own task twice. None of
that is needed when the whole request has arrived and nothing has to wait, since the pipeline is one call. So the parser
of a connection answers such a request itself, and passes on any other to aiohttp: an incomplete body, pipelined
requests, an old version of HTTP, the control API, an answer that a fault delays or breaks (docs/decisions).
"""

from __future__ import annotations

from typing import Any, Final

from aiohttp import web
from aiohttp.http_parser import RawRequestMessage
from aiohttp.http_writer import HttpVersion11
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader

from paydouble.api.execution import Step
from paydouble.api.values import Reply, Request
from paydouble.runtime.host import Host
from paydouble.web.api import begin
from paydouble.web.connections import Connection
from paydouble.web.replies import is_usual, written
from paydouble.web.turns import Turns

_Messages = tuple[tuple[RawRequestMessage, StreamReader], ...]
_NOTHING: Final[_Messages] = ()
Begun = tuple[Request, Step]
# Fewer bytes are parsed at once; nearly every request has fewer.
_FEW_BYTES: Final = 2_048


class FastParser:
    """A connection's parser, which passes on only what it has not answered itself."""

    # The attributes that are read for every request; the others are the parser's, in `__dict__`.
    __slots__ = ("__dict__", "_connection", "_consumed", "_control_prefix", "_host", "_read")

    def __init__(self, parser: Any, connection: FastConnection, host: Host, control_prefix: str) -> None:  # noqa: ANN401 - a class of aiohttp's that has no public name
        """Wrap a parser; a target that begins with `control_prefix` is not answered here."""
        # All attributes of the parser are copied: a `__getattr__` would make every attribute slow.
        for name in dir(parser):
            if not name.startswith("__") and name != "feed_data":
                setattr(self, name, getattr(parser, name))
        self._read = parser.feed_data
        self._consumed = parser.message_consumed
        self._connection = connection
        self._host = host
        self._control_prefix = control_prefix

    def feed_data(self, data: bytes) -> tuple[Any, bool, bytes]:
        """Return the messages that aiohttp must answer, whether an upgrade follows, and the bytes after it."""
        read: tuple[Any, bool, bytes] = self._read(data)
        messages, upgraded, tail = read
        connection = self._connection
        if len(messages) == 1 and not upgraded and not connection.unanswered:
            message, payload = messages[0]
            if self._answered(message, payload):
                self._consumed()
                return _NOTHING, upgraded, tail
        connection.unanswered += len(messages)
        return read

    def _answered(self, message: RawRequestMessage, payload: StreamReader) -> bool:
        connection = self._connection
        transport = connection.transport
        target = message.path
        body = _whole(payload)
        if (
            body is None
            or message.should_close
            or message.version is not HttpVersion11
            or message.method == "HEAD"
            or message.compression is not None
            or target[0] != "/"
            or target == "/"  # a browser is redirected from there (`http_server.HttpServer`)
            or target.startswith(self._control_prefix)
            or transport is None
            or transport.is_closing()
            or connection.writing_paused
        ):
            return False
        peer = connection.peername
        asked = Request(
            message.method,
            target,
            message.headers,
            body,
            message.raw_headers,
            peer[0] if isinstance(peer, tuple) else None,
        )
        step = begin(self._host, asked)
        data = None
        try:
            # Nothing has been sent when this fails.
            if isinstance(step, Reply) and is_usual(step) and self._host.sends(step):
                data = written(step)
        except Exception:  # noqa: BLE001, S110 - it fails again on the ordinary path, which reports it
            pass
        if data is None:
            connection.begun = (asked, step)  # the ordinary path continues it instead of beginning again
            return False
        transport.write(data)
        connection.answered()
        return True


def _whole(payload: StreamReader) -> bytes | None:
    # The body when all of it has arrived, else None. This is `read_nowait` without its work for incomplete bodies.
    if payload is EMPTY_PAYLOAD:
        return b""
    if not payload._eof:  # noqa: SLF001 - see above
        return None
    chunks = payload._buffer  # noqa: SLF001 - see above
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


class FastConnection(Connection):
    """A connection that answers the usual request while it is read. It needs the names in `private_names.NEEDED`."""

    __slots__ = ("_held", "_held_back", "_turns", "begun", "unanswered")

    def __init__(
        self,
        server: web.Server,
        host: Host,
        control_prefix: str,
        turns: Turns,
        **options: Any,  # noqa: ANN401 - aiohttp's own
    ) -> None:
        """Serve one client, except for targets that begin with `control_prefix`; large data takes `turns`."""
        super().__init__(server, host, **options)
        self._turns = turns
        self._held: list[bytes] = []
        """Bytes that wait for their turn to be parsed."""
        self._held_back = False
        """Whether reading is paused until then."""
        self.begun: Begun | None = None
        """A request that was begun here and that aiohttp now passes on, with the step that it has reached."""
        self.unanswered = 0
        """Requests that were passed on to aiohttp and are not answered yet."""
        self._parser: Any = FastParser(self._parser, self, host, control_prefix)

    def data_received(self, data: bytes) -> None:
        """Parse bytes: at once when they are few and nothing of this client is in flight, otherwise in their turn."""
        if not data or (len(data) < _FEW_BYTES and not self.unanswered and not self._held):
            super().data_received(data)
            return
        self._held.append(data)
        if len(self._held) > 1 or not self._turns.do(self._parse_held):
            self._held_back = True
            self._pause_transport_reading()

    def _parse_held(self) -> None:
        data = b"".join(self._held)
        self._held.clear()
        if self.transport is None:
            return
        super().data_received(data)
        if self._held_back:
            self._held_back = False
            if not (self._reading_paused or self._buffer_paused):
                self._resume_transport_reading()

    def answered(self) -> None:
        """Note an answer that aiohttp did not write: count it, and restart the keep-alive timeout."""
        server: Any = self._manager
        server.requests_count += 1
        self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout

    def resume_reading(self, resume_parser: bool = True) -> None:  # noqa: FBT001, FBT002 - aiohttp's signature
        """Resume reading and parsing, if it was paused or if aiohttp waits for a message."""
        if self._reading_paused or self._buffer_paused or (resume_parser and self._waiter is None):
            super().resume_reading(resume_parser)

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Write an answer. From now on the next request may take the fast path, if the connection stays open.

        aiohttp's own task resumes one turn of the event loop later. A quick client's next request may arrive before
        that; it, and every request after it, would then miss the fast path.
        """
        written = await super().finish_response(request, resp, start_time)
        if written[0].keep_alive:
            self.unanswered -= 1
        return written

    def take_begun(self) -> Begun | None:
        """Return the request that was begun here, and forget it."""
        begun, self.begun = self.begun, None
        return begun
