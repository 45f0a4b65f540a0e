"""Requests that are answered while their bytes are being read.

aiohttp gives each request a task, a request object and a writer, and wakes the connection's own task twice. The service
needs none of that where nothing waits and the whole request has arrived: its pipeline is one call. So the parser of a
connection answers such a request by itself, and hands on whatever is unusual in any way: a body that is still to come,
requests in a pipeline, an old HTTP, the control API, an answer that is to be late or broken (docs/decisions).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aiohttp.http_parser import RawRequestMessage
from aiohttp.http_writer import HttpVersion11
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader

from paydouble.api.values import Reply, Request
from paydouble.runtime.host import Host
from paydouble.web.api import begin
from paydouble.web.replies import is_usual, written

if TYPE_CHECKING:
    from paydouble.web.front import Connection

_Messages = tuple[tuple[RawRequestMessage, StreamReader], ...]
_NOTHING: Final[_Messages] = ()


class AtOnce:
    """A connection's parser, which keeps to itself what it has answered."""

    # What is read for every request; the rest is the parser's own.
    __slots__ = ("__dict__", "_connection", "_consumed", "_elsewhere", "_host", "_read")

    def __init__(self, parser: Any, connection: Connection, host: Host, elsewhere: str) -> None:  # noqa: ANN401 - a class of aiohttp's that has no public name
        """Stand before a parser; a target that begins with `elsewhere` is not the service's to answer."""
        # All that a parser has; looked up when they are missed, they would make every attribute slow.
        for name in dir(parser):
            if not name.startswith("__") and name != "feed_data":
                setattr(self, name, getattr(parser, name))
        self._read = parser.feed_data
        self._consumed = parser.message_consumed
        self._connection = connection
        self._host = host
        self._elsewhere = elsewhere

    def feed_data(self, data: bytes) -> tuple[Any, bool, bytes]:
        """Return the messages that are left to be answered, whether an upgrade follows, and what it begins with."""
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
            or target[0] != "/"
            or target == "/"  # a browser is led on from there (`app.front`)
            or target.startswith(self._elsewhere)
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
        except Exception:  # noqa: BLE001, S110 - what fails here fails again on the ordinary way, which reports it
            pass
        if data is None:
            connection.begun = (asked, step)  # what has begun is gone on with, not begun again
            return False
        transport.write(data)
        connection.answered()
        return True


def _whole(payload: StreamReader) -> bytes | None:
    # The body, when all of it has arrived; one that could not be unpacked has no end. What `read_nowait` does, less
    # what that does for a reader of which some is still to come.
    if payload is EMPTY_PAYLOAD:
        return b""
    if not payload._eof:  # noqa: SLF001 - see above
        return None
    chunks = payload._buffer  # noqa: SLF001 - see above
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)
