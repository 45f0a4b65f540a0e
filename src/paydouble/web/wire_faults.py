"""Answers that a fault breaks on the wire.

The core decides how and describes it with a `Wire`; this module writes the bytes to the socket. The connection is
always closed afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from http import HTTPStatus
from typing import Final, assert_never

from aiohttp import web

from paydouble.api.values import Reply
from paydouble.faults.wire import Wire

# Longer than any client waits; the connection ends earlier if the client or the server closes it.
_LONGEST_SILENCE_SECONDS = 86_400.0
_REASONS: Final = {status.value: status.phrase for status in HTTPStatus}


async def perform(request: web.BaseRequest, reply: Reply, wire: Wire) -> web.StreamResponse:
    """Carry out a wire fault; the returned response is not sent, since the connection is closed by then."""
    transport = request.transport
    if transport is not None:
        match wire.kind:
            case "silence":
                await _until_closed(transport, wire.seconds)
            case "reset":
                abort(transport)
            case "empty":
                transport.close()
            case "garbage":
                transport.write(wire.data)
                transport.close()
            case "cut" | "length" | "drip" if request.method == "HEAD":  # nothing follows the headers
                transport.write(head(reply, wire.announced(len(reply.body))))
                transport.close()
            case "cut" | "length":
                transport.write(head(reply, wire.announced(len(reply.body))) + wire.sent(reply.body))
                transport.close()
            case "drip":
                await _drip(transport, reply, wire)
            case _:
                assert_never(wire.kind)
    response = web.Response(status=reply.status)
    response.force_close()
    return response


def head(reply: Reply, length: int) -> bytes:
    """Return the head of an answer with the given Content-Length."""
    lines = [
        f"HTTP/1.1 {reply.status} {_REASONS.get(reply.status, 'Unknown')}",
        f"Content-Type: {reply.content_type}",
        f"X-Request-Id: {reply.request_id}",
        "Server: paydouble",
        *(f"{name}: {value}" for name, value in reply.headers),
        f"Content-Length: {length}",
        "Connection: close",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def abort(transport: asyncio.Transport) -> None:
    """Close with RST: with a linger time of 0 the kernel sends a reset instead of a clean end."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


async def _drip(transport: asyncio.Transport, reply: Reply, wire: Wire) -> None:
    body = reply.body
    transport.write(head(reply, len(body)))
    for number in range(wire.chunks):
        await asyncio.sleep(wire.pause_seconds)
        if transport.is_closing():
            return
        transport.write(body[number * len(body) // wire.chunks : (number + 1) * len(body) // wire.chunks])
    transport.close()


async def _until_closed(transport: asyncio.Transport, seconds: float | None) -> None:
    loop = asyncio.get_running_loop()
    end = loop.time() + (_LONGEST_SILENCE_SECONDS if seconds is None else seconds)
    while not transport.is_closing() and loop.time() < end:  # noqa: ASYNC110 - aiohttp has no event for a client that disconnects
        await asyncio.sleep(min(0.05, max(0.0, end - loop.time())))
    transport.close()
