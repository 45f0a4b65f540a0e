"""Attempts that a fault sends in an unusual way: chunked, slowly in parts, or reset in the middle."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Iterable
from ipaddress import ip_address
from typing import Final, NoReturn

from aiohttp.abc import AbstractResolver
from yarl import URL

from paydouble.webhooks.attempts import Transport

# By then a receiver in another process has begun to read the request that is about to be reset.
_PAUSE_SECONDS: Final = 0.05
_CHUNKS: Final = 3


class BrokenOff(ConnectionResetError):
    """A fault has reset the connection."""


async def drips(body: bytes, transport: Transport) -> AsyncIterator[bytes]:
    """Yield a body in parts: spread over the transport's time for `drip`, without a pause for `chunked`."""
    drip = transport.kind == "drip"
    count = transport.chunks if drip else _CHUNKS
    for number in range(count):
        if drip:
            await asyncio.sleep(transport.seconds / count)
        part = body[number * len(body) // count : (number + 1) * len(body) // count]
        if part:
            yield part


async def break_off(
    url: URL, headers: Iterable[tuple[str, str]], body: bytes, resolver: AbstractResolver, tls: ssl.SSLContext | None
) -> NoReturn:
    """Send the head and half of the body, then reset the connection. Always raises: `BrokenOff` after the reset.

    All addresses come from the resolver, so that it can refuse some; the first that accepts a connection is used.
    """
    writer = await _connect(url, resolver, tls)
    try:
        lines = [f"POST {url.raw_path_qs} HTTP/1.1", f"Host: {url.host_port_subcomponent}"]
        lines += [f"{name}: {value}" for name, value in headers]
        lines.append(f"Content-Length: {len(body)}")
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + body[: len(body) // 2])
        await writer.drain()
        await asyncio.sleep(_PAUSE_SECONDS)
        # With a linger time of 0 the kernel closes with an RST instead of a FIN.
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    finally:
        writer.transport.abort()
    raise BrokenOff("a fault reset the connection in the middle of the request")


async def _connect(url: URL, resolver: AbstractResolver, tls: ssl.SSLContext | None) -> asyncio.StreamWriter:
    host, port = url.raw_host or "", url.port or 0
    failure = OSError(f"{host} has no address")
    for address in await _addresses(host, port, resolver):
        try:
            _, writer = await asyncio.open_connection(
                address, port, ssl=tls, server_hostname=host if tls is not None else None
            )
        except OSError as refused:
            failure = refused
        else:
            return writer
    raise failure


async def _addresses(host: str, port: int, resolver: AbstractResolver) -> list[str]:
    try:
        ip_address(host)
    except ValueError:
        return [each["host"] for each in await resolver.resolve(host, port, socket.AF_UNSPEC)]
    return [host]  # an address; `check_literal` has checked it
