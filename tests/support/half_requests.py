"""A receiver that keeps whatever arrives on a connection, piece by piece, and how the connection ended."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Overheard:
    """The connections of a listener that never answers."""

    url: str
    data: list[bytes] = field(default_factory=list)
    """What came on each connection, in the order in which they ended."""
    ends: list[str] = field(default_factory=list)
    """How each ended: `closed` or `reset`."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read one connection to its end."""
        data = b""
        end = "closed"
        try:
            while piece := await reader.read(65_536):
                data += piece
        except ConnectionResetError:
            end = "reset"
        finally:
            writer.transport.abort()
        self.data.append(data)
        self.ends.append(end)
        self.ended.set()


@asynccontextmanager
async def overhearing(host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> AsyncIterator[Overheard]:
    """Run such a listener for a while."""
    overheard = Overheard("")
    server = await asyncio.start_server(overheard.listen, host, 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    overheard.url = f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}/hooks?shop=1"
    try:
        yield overheard
    finally:
        server.close()
