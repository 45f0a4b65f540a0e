"""An event loop whose time is a number, and a network whose bytes are lists: nothing waits, and a seed decides all.

It is asyncio's own loop; only what it would ask the system is answered here. Time moves in `select` alone, to the next
timer and sometimes, as on a busy machine, past it. What a peer sends lies in the kernel's place (`Transport.inbox`)
until the loop comes to read it, at its next `select`, as with real sockets.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import count
from random import Random
from typing import Any, Protocol, cast

END = b""
"""In an inbox: the peer has closed."""


class Peer(Protocol):
    """The other end of a connection."""

    def connected(self, transport: Transport) -> None:
        """Note the connection."""

    def received(self, data: bytes) -> None:
        """Get bytes."""

    def ended(self) -> None:
        """Learn that the connection has ended."""


class Socket:
    """A socket, as far as the code under test uses it."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.family = 0

    def setsockopt(self, *_: object) -> None:
        """Take any option."""

    def close(self) -> None:
        """Close it without having used it."""
        self.peer.ended()


class Transport(asyncio.Transport):
    """The client's end of a connection."""

    def __init__(self, loop: Loop, sock: Socket, protocol: asyncio.Protocol) -> None:
        super().__init__({"socket": sock, "peername": ("127.0.0.1", 1)})
        self._loop = loop
        self._peer = sock.peer
        self._protocol = protocol
        self._closing = self._paused = self._reset = False
        self.inbox: deque[bytes] = deque()
        self.in_transit = 0
        """Writes that the peer has not got yet."""
        self.number = loop.next_number()
        loop.transports.add(self)

    # What the program does

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = cast("asyncio.Protocol", protocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def is_closing(self) -> bool:
        return self._closing

    def is_reading(self) -> bool:
        return not (self._paused or self._closing)

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        self._paused = False

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: Any) -> None:  # noqa: ANN401 - any buffer
        if not self._closing:
            self.in_transit += 1
            self._loop.call_soon(self._arrive, bytes(data))

    def writelines(self, list_of_data: Any) -> None:  # noqa: ANN401 - as in asyncio
        self.write(b"".join(list_of_data))

    def can_write_eof(self) -> bool:
        return False

    def close(self) -> None:
        self._end(None)

    def abort(self) -> None:
        self._end(None)

    # What the peer does

    def feed(self, data: bytes) -> None:
        """Put bytes, or the END, into the inbox."""
        if not self._closing:
            self.inbox.append(data)

    def reset(self) -> None:
        """End the connection with RST."""
        self._reset = True
        self.inbox.clear()
        self.inbox.append(END)

    # What the loop does

    def read(self) -> None:
        """Pass on what is in the inbox, as one read of a socket does."""
        if not self.inbox or self._paused or self._closing:
            return
        if self._reset:
            self._end(ConnectionResetError(104, "Connection reset by peer"))
        elif self.inbox[0] == END:
            self.inbox.popleft()
            if not self._protocol.eof_received():
                self._end(None)
        else:
            data = b""
            while self.inbox and self.inbox[0] != END:
                data += self.inbox.popleft()
            self._protocol.data_received(data)

    def _arrive(self, data: bytes) -> None:
        self.in_transit -= 1
        self._peer.received(data)

    def _end(self, reason: Exception | None) -> None:
        if not self._closing:
            self._closing = True
            self._loop.call_soon(self._lost, reason)

    def _lost(self, reason: Exception | None) -> None:
        self._loop.transports.discard(self)
        self._protocol.connection_lost(reason)
        self._peer.ended()


def _finish(made: asyncio.Future[None]) -> None:
    if not made.done():  # nobody may wait for it any more
        made.set_result(None)


class Stuck(Exception):
    """Nothing is ready and nothing ever will be: a task waits for something that never happens."""


class Loop(asyncio.BaseEventLoop):
    """An event loop whose time and network follow a seed."""

    def __init__(self, random: Random, dial: Callable[[int], Peer]) -> None:
        super().__init__()
        self._selector = self
        self._clock_resolution = 1e-9
        self._random = random
        self._dial = dial
        self._numbers = count(1)
        self._shown = 1_000.0
        self.transports: set[Transport] = set()
        """The connections that are open at the client's end."""
        self.set_exception_handler(self._take_note)
        self.failures: list[str] = []
        """What has been raised where nobody could catch it."""

    def time(self) -> float:
        return self._shown

    def select(self, timeout: float | None) -> list[Transport]:
        """Let time pass until the next timer, and return the connections that have something to read."""
        readable = [each for each in self.transports if each.inbox and each.is_reading()]
        if readable:
            # A set's order is that of addresses in memory.
            return sorted(readable, key=lambda each: each.number)
        if timeout is None:
            raise Stuck
        if timeout > 0:
            self._shown += timeout
            if self._random.random() < 0.02:
                self._shown += self._random.choice((0.001, 0.05, 1.0))  # the machine was at other things
        return []

    def _process_events(self, event_list: list[Transport]) -> None:
        for transport in event_list:
            self.call_soon(transport.read)

    def _write_to_self(self) -> None:
        """Do nothing: the loop never sleeps."""

    def next_number(self) -> int:
        """Return the number of a new connection."""
        return next(self._numbers)

    async def dial(self, port: int) -> Socket:
        """Connect, or raise `ConnectionRefusedError`, after a while."""
        await asyncio.sleep(self._random.choice((0, 0, 0.0005, 0.02)))
        return Socket(self._dial(port))

    async def create_connection(self, protocol_factory: Any, *args: Any, **options: Any) -> Any:  # noqa: ANN401
        sock = options.get("sock") or await self.dial(args[1])
        protocol = protocol_factory()
        transport = Transport(self, sock, protocol)
        sock.peer.connected(transport)
        made = self.create_future()
        self.call_soon(protocol.connection_made, transport)
        self.call_soon(_finish, made)
        try:
            await made
        except BaseException:
            transport.close()
            raise
        return transport, protocol

    def _take_note(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        failure = context.get("exception")
        self.failures.append(f"{context['message']}: {failure!r}")
