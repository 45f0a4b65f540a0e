"""Reads the bodies of requests in pieces, and decompresses no more than the sandbox's limit allows.

aiohttp would decompress a body up to the server's own limit, whatever the sandbox allows, and go on after a refusal. So
it is configured to decompress nothing (`web/http_server.py`), and compressed bodies are decompressed here. The bytes of
all bodies in flight are counted against one limit of the server.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from paydouble.runtime.bodies import Bodies

# A client that takes longer to send its body gets an error, and its connection is closed.
BODY_PATIENCE_SECONDS = 30.0
PACKED: Final = frozenset({"gzip", "deflate", "br", "zstd"})
"""The values of `Content-Encoding` that mean compression; any other is ignored."""
_PIECE: Final = 65_536
# After so many bytes of a body the event loop serves other requests.
_BYTES_A_TURN: Final = 1_048_576
_HELD: Final = web.RequestKey("held", int)


class Body(NamedTuple):
    """A body; or what is wrong with it, and as much of it as may be kept."""

    data: bytes = b""
    problem: str | None = None


async def read_body(request: web.BaseRequest, limit: int, bodies: Bodies) -> Body:
    """Return the body, of at most `limit` bytes. `release_body` must be called once the request is answered."""
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
    except RuntimeError:
        # aiohttp raises it when the client has disconnected before the first read.
        if request.transport is not None:
            raise
        return Body(problem="The body cannot be read: the client has disconnected.")
    return Body(b"".join(pieces)[:limit], problem)


def release_body(request: web.BaseRequest, bodies: Bodies) -> None:
    """Release the bytes that a request's body has reserved, once it is answered."""
    bodies.release(request.get(_HELD, 0))


async def _read(
    request: web.BaseRequest, unpacker: _Unpacker | None, pieces: list[bytes], limit: int, bodies: Bodies
) -> str | None:
    """Read pieces until the body ends or is too large; returns what is wrong with it, or None."""
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
    """Decompresses the bytes of a body as they arrive, a piece of bounded size at a time."""

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._inflater: zlib._Decompress | None = None
        self.broken = False

    @property
    def problem(self) -> str | None:
        """Return what is wrong with the bytes once all have arrived, or None."""
        if self.broken:
            return f"The body cannot be read: it is not {self._coding}."
        if self._inflater is None or not self._inflater.eof:
            return f"The body cannot be read: its {self._coding} data breaks off."
        return None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the decompressed content of the next bytes."""
        if self._inflater is None:
            self._inflater = zlib.decompressobj(self._window_bits(data[0]))
        while not self.broken:
            if self._inflater.eof:
                self.broken = bool(data)  # nothing may follow the end
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
        # Some senders leave out the two header bytes of `deflate` (RFC 9110, 8.4.1.2).
        return zlib.MAX_WBITS if first & 0x0F == 8 else -zlib.MAX_WBITS  # noqa: PLR2004 - RFC 1950: the method's number
