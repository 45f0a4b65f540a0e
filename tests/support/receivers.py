"""Webhook receivers made of raw sockets, which can do to a sender whatever a network can.

A receiver answers its n-th request with the n-th of its answers, and every later one with the last. An answer is a
coroutine that writes what it likes; the bytes of each request are kept as they came.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from ports import free_port


@dataclass(frozen=True)
class Received:
    """One request, byte for byte: the head up to and with its blank line, and the body."""

    head: bytes
    body: bytes

    @property
    def request_line(self) -> str:
        """Return the first line."""
        return self.head.split(b"\r\n", 1)[0].decode()

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Return names and values in the order in which they came."""
        lines = self.head.decode().split("\r\n")[1:-2]
        return [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]

    def header(self, name: str) -> str:
        """Return the one value of a header."""
        (value,) = [value for each, value in self.headers if each.lower() == name.lower()]
        return value


@dataclass
class Exchange:
    """One connection, at the moment at which its request has been read whole."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    receiver: Receiver
    kept: bool = True
    """Whether the connection goes on to another request."""

    async def write(self, data: bytes) -> None:
        """Send bytes and wait until they have left."""
        self.writer.write(data)
        await self.writer.drain()


Answer = Callable[[Exchange], Awaitable[None]]


@dataclass
class Receiver:
    """What runs at a port of this machine."""

    answers: list[Answer]
    requests: list[Received] = field(default_factory=list)
    connections: int = 0
    released: asyncio.Event = field(default_factory=asyncio.Event)
    """Ends every answer that hangs."""
    url: str = ""
    port: int = 0
    _arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def wait_for(self, count: int) -> None:
        """Return once so many requests have come."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection until an answer lets it go."""
        self.connections += 1
        exchange = Exchange(reader, writer, self)
        try:
            while exchange.kept:
                head = await reader.readuntil(b"\r\n\r\n")
                request = Received(head, await _read_body(head, reader))
                async with self._arrived:
                    self.requests.append(request)
                    self._arrived.notify_all()
                await self.answers[min(len(self.requests), len(self.answers)) - 1](exchange)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the sender has hung up, as it may
        finally:
            writer.close()


async def _read_body(head: bytes, reader: asyncio.StreamReader) -> bytes:
    headers = {name.lower(): value for name, value in Received(head, b"").headers}
    if headers.get("transfer-encoding") != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    return body


@asynccontextmanager
async def receiving(*answers: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    """Run a receiver for a while; without answers it takes everything."""
    receiver = Receiver(list(answers) or [ok])
    tasks: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks[task] = writer
        # A cancelled handler would be reported by asyncio's streams as an unhandled error.
        with suppress(asyncio.CancelledError):
            await receiver.serve(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    receiver.url = f"{'https' if tls else 'http'}://127.0.0.1:{receiver.port}/hooks"
    try:
        yield receiver
    finally:
        server.close()
        receiver.released.set()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # One that waits to send the rest of an answer would outlive the loop.
        for writer in tasks.values():
            writer.transport.abort()


def closed_port() -> int:
    """Return a port at which nobody listens."""
    return free_port()


def raw(data: bytes, *, keep: bool = False) -> Answer:
    """Answer with exactly these bytes; then close, or with `keep` wait for the next request."""

    async def answer(exchange: Exchange) -> None:
        await exchange.write(data)
        exchange.kept = keep

    return answer


def status(code: int) -> Answer:
    """Answer with a status and an empty body, over a connection that is kept."""
    length = b"" if code == 204 else b"Content-Length: 0\r\n"
    return raw(b"HTTP/1.1 %d Any\r\n%s\r\n" % (code, length), keep=True)


ok = status(200)


async def hang(exchange: Exchange) -> None:
    """Answer nothing until the receiver is released, then take the event."""
    await exchange.receiver.released.wait()
    await ok(exchange)


async def silent(exchange: Exchange) -> None:
    """Close without a byte."""
    exchange.kept = False


async def reset(exchange: Exchange) -> None:
    """Close with an RST instead of a FIN."""
    transport_socket = exchange.writer.get_extra_info("socket")
    transport_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    exchange.writer.transport.abort()
    exchange.kept = False


async def endless_body(exchange: Exchange) -> None:
    """Say 200 and send body for as long as anybody reads."""
    await exchange.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        await exchange.write(b"10000\r\n" + b"x" * 65_536 + b"\r\n")


async def endless_header(exchange: Exchange) -> None:
    """Send one header field of ten mebibytes."""
    await exchange.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    for _ in range(160):
        await exchange.write(b"x" * 65_536)
    await exchange.write(b"\r\nContent-Length: 0\r\n\r\n")
    exchange.kept = False


def body_that_stops(received: bytes) -> Answer:
    """Say 200, send the beginning of a longer body, and nothing more until released."""

    async def answer(exchange: Exchange) -> None:
        await exchange.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + received)
        await exchange.receiver.released.wait()
        exchange.kept = False

    return answer
