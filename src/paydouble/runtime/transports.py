"""Attempts that travel in an unusual way: chunked, in drips, or broken off in the middle."""

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

# A receiver in another process has then begun to read what is about to be broken off.
_PAUSE_SECONDS: Final = 0.05
_CHUNKS: Final = 3


class BrokenOff(ConnectionResetError):
    """The connection was reset by us, on purpose."""


async def drips(body: bytes, transport: Transport) -> AsyncIterator[bytes]:
    """Yield a body in parts: in drips spread over the transport's time, or for chunked encoding at once."""
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
    """Send the head and half the body, then reset the connection: always raises, `BrokenOff` when it came so far.

    The addresses are the resolver's alone, so that it can refuse some; the first that takes the connection is it.
    """
    writer = await _connect(url, resolver, tls)
    try:
        lines = [f"POST {url.raw_path_qs} HTTP/1.1", f"Host: {url.host_port_subcomponent}"]
        lines += [f"{name}: {value}" for name, value in headers]
        lines.append(f"Content-Length: {len(body)}")
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + body[: len(body) // 2])
        await writer.drain()
        await asyncio.sleep(_PAUSE_SECONDS)
        # Without a linger the kernel closes with an RST in place of a FIN.
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
    return [host]  # an address; whether it may be dialled has been seen to
