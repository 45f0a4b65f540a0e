"""A server that listens, and its end, at which nothing is left to the loop, which may end next.

A connection is accepted in three turns of the loop: the socket is accepted, its transport is made, the server gets to
know it. Where the listening socket is closed in between, older Pythons fail to make the transport and forget the
socket. aiohttp closes the connections that its server knows, so one that it gets to know later stays open, and so does
one whose client does not read its answer. Python warns of each when it is collected, and a test in which warnings are
errors then fails. So a listener accepts no more, waits until what was accepted is known, and then closes.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aiohttp import web

_BACKLOG: Final = 1024
_TURNS_TO_ACCEPT: Final = 3


class Listener:
    """A server that listens, made by `listen`."""

    def __init__(self, server: web.Server, accepting: asyncio.Server, grace_seconds: float) -> None:
        """Take the server, what accepts its connections, and how long answers may take once it is closed."""
        self.server = server
        self._accepting = accepting
        self._grace_seconds = grace_seconds

    @property
    def port(self) -> int:
        """Return the port at which it listens."""
        port: int = self._accepting.sockets[0].getsockname()[1]
        return port

    async def refuse(self) -> None:
        """Accept no more connections, and free the port. Those that are open stay so."""
        loop = asyncio.get_running_loop()
        for each in self._accepting.sockets:
            with suppress(NotImplementedError):  # a loop without readers, as on Windows
                loop.remove_reader(each.fileno())
        for _ in range(_TURNS_TO_ACCEPT):
            await asyncio.sleep(0)
        self._accepting.close()

    async def close(self) -> None:
        """Accept no more connections, let answers end, and cut off the clients that do not read theirs."""
        await self.refuse()
        transports = [each.transport for each in self.server.connections]
        self.server.pre_shutdown()
        await self.server.shutdown(self._grace_seconds)
        for transport in transports:
            if transport is not None:
                transport.abort()


async def listen(server: web.Server, where: tuple[str, int] | socket.socket, grace_seconds: float) -> Listener:
    """Let a server listen at a host and port, of which 0 is a free one, or at a socket that is bound.

    `OSError` when that cannot be.
    """
    loop = asyncio.get_running_loop()
    if isinstance(where, socket.socket):
        accepting = await loop.create_server(server, sock=where, backlog=_BACKLOG)
    else:
        accepting = await loop.create_server(server, *where, backlog=_BACKLOG)
    return Listener(server, accepting, grace_seconds)
