"""Attempts that travel in an unusual way: chunked, in drips, or broken off in the middle."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator

from yarl import URL

from paydouble.webhooks.attempts import Transport


async def drips(body: bytes, transport: Transport) -> AsyncIterator[bytes]:
    """Yield a body in chunks, spread over the transport's time; chunked encoding does not pause."""
    count = transport.chunks if transport.kind == "drip" else min(3, max(1, len(body)))
    for number in range(count):
        if transport.kind == "drip":
            await asyncio.sleep(transport.seconds / count)
        chunk = body[number * len(body) // count : (number + 1) * len(body) // count]
        if chunk:
            yield chunk


async def break_off(url: URL, headers: tuple[tuple[str, str], ...], body: bytes, addresses: list[str]) -> None:
    """Send the head and half the body to the first address, then reset the connection; raises `ConnectionResetError`."""
    _, writer = await asyncio.open_connection(addresses[0], url.port)
    lines = [f"POST {url.raw_path_qs} HTTP/1.1", f"Host: {url.raw_authority}"]
    lines += [f"{name}: {value}" for name, value in headers]
    lines.append(f"Content-Length: {len(body)}")
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + body[: len(body) // 2])
    await writer.drain()
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    raise ConnectionResetError
