"""Bodies of requests: read piece by piece, unpacked no further than they may be large, and counted over all requests.

aiohttp would unpack a body as far as the server's own bound, whatever the sandbox allows, and go on with that after
the refusal. So it is told to unpack nothing (`web/http_server.py`), and what is packed is unpacked here.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from paydouble.runtime.bodies import Bodies

# A client that sends its body more slowly than this is told so, and its connection closed.
BODY_PATIENCE_SECONDS = 30.0
PACKED: Final = frozenset({"gzip", "deflate", "br", "zstd"})
"""The values of `Content-Encoding` that say that a body is packed; any other says nothing."""
_PIECE: Final = 65_536
# After so many bytes of a body the others get their turn.
_BYTES_A_TURN: Final = 1_048_576
_HELD: Final = web.RequestKey("held", int)


class Body(NamedTuple):
    """A body, or why it cannot be had and as much of it as may be kept."""

    data: bytes = b""
    problem: str | None = None


async def read_body(request: web.BaseRequest, limit: int, bodies: Bodies) -> Body:
    """Return the body, of at most `limit` bytes. What it holds of the server's memory is given back by `answered`."""
    if not request.body_exists:
        return Body()
    coding = request.headers.getall("Content-Encoding", ("",))[-1].lower()
    if coding in PACKED - {"gzip", "deflate"}:
        return Body(problem=f"The body is packed with {coding}; there are gzip and deflate.")
    expects = request.headers.get("Expect", "").lower() == "100-continue" and not request.content.is_eof()
    if expects and request.transport is not None:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    pieces: list[bytes] = []
    try:
        async with asyncio.timeout(BODY_PATIENCE_SECONDS):
            problem = await _read(request, _Unpacker(coding) if coding in PACKED else None, pieces, limit, bodies)
    except TimeoutError:
        return Body(problem=f"The body did not arrive within {BODY_PATIENCE_SECONDS:g} seconds.")
    except (web.RequestPayloadError, HttpProcessingError, ConnectionError) as error:
        return Body(problem=f"The body cannot be read: {' '.join(str(error).split())[:200]}.")
    return Body(b"".join(pieces)[:limit], problem)


def answered(request: web.BaseRequest, bodies: Bodies) -> None:
    """Give back what a request's body has held, once it has its answer."""
    bodies.release(request.get(_HELD, 0))


async def _read(
    request: web.BaseRequest, unpacker: _Unpacker | None, pieces: list[bytes], limit: int, bodies: Bodies
) -> str | None:
    """Read pieces until the body ends or is too large; returns what is wrong with it."""
    size = turn = 0
    while chunk := await request.content.readany():
        for piece in (chunk,) if unpacker is None else unpacker.feed(chunk):
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                return f"The body is larger than {limit} bytes."
            if not bodies.reserve(len(piece)):
                pieces.clear()
                return f"The server holds {bodies.most} bytes of bodies already (--bodies-in-flight); try again."
            request[_HELD] = size
            turn += len(piece)
            if turn >= _BYTES_A_TURN:
                turn = 0
                await asyncio.sleep(0)
        if unpacker is not None and unpacker.broken:
            break
    return None if unpacker is None else unpacker.problem


class _Unpacker:
    """Unpacks a body's bytes as they come, a bounded piece at a time."""

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._inflater: zlib._Decompress | None = None
        self.broken = False

    @property
    def problem(self) -> str | None:
        """Return what is wrong with the bytes, when they have all come."""
        if self.broken:
            return f"The body cannot be read: it is not {self._coding}."
        if self._inflater is None or not self._inflater.eof:
            return f"The body cannot be read: its {self._coding} data breaks off."
        return None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what the next bytes hold."""
        if self._inflater is None:
            self._inflater = zlib.decompressobj(self._window_bits(data[0]))
        while not self.broken:
            if self._inflater.eof:
                self.broken = bool(data)  # nothing may stand behind the end
                return
            try:
                piece = self._inflater.decompress(data, _PIECE)
            except zlib.error:
                self.broken = True
                return
            data = self._inflater.unused_data or self._inflater.unconsumed_tail
            if piece:
                yield piece
            if not data and len(piece) < _PIECE:
                return

    def _window_bits(self, first: int) -> int:
        if self._coding == "gzip":
            return 16 + zlib.MAX_WBITS
        # Some senders leave the two bytes at the beginning of `deflate` out (RFC 9110, 8.4.1.2).
        return zlib.MAX_WBITS if first & 0x0F == 8 else -zlib.MAX_WBITS  # noqa: PLR2004 - RFC 1950: the method's number
