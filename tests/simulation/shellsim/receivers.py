"""Receivers that do what a seed says: answer well, slowly, twice, early, in pieces, unasked, or not at all.

Each keeps what it got and what it meant to answer, by the request's signature. That is the truth that the double's
records are compared with. Statuses of stray answers are never meant for anybody.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from shellsim.loop import END, Loop, Transport

HEADER: Final = b"\r\nx-service-signature: "
STRAY_STATUSES: Final = (208, 408)
_STRAYS: Final = (
    b"HTTP/1.1 208 Already Reported\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 208 Already Reported\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    b"HTTP/1.1 408 Request Ti",
    b"HTTP/1.1 208 Already Reported\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"\x15\x03\x01\x00\x02",
    b"0\r\n\r\n",
    b"\r\n",
    b"x",
)


@dataclass
class Seen:
    """One request, as a receiver got it."""

    signature: str
    at: float
    whole: bool = False
    body: bytes = b""
    meant: int | None = None
    """The status that it has begun to answer with."""
    told: bool = False
    """All of that answer has been sent in good time, and nothing that could break it before it was read."""


@dataclass
class Receiver:
    """A server that listens at a port."""

    loop: Loop
    random: Random
    kindness: float
    """How often it simply takes an event."""
    seen: list[Seen] = field(default_factory=list)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    down: bool = False

    def start(self, behaviour: Awaitable[None]) -> None:
        """Run a coroutine as a task."""
        task = self.loop.create_task(_quietly(behaviour))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


async def _quietly(behaviour: Awaitable[None]) -> None:
    await behaviour


class Connection:
    """One connection of a receiver."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self.random = receiver.random
        self.open = True
        self._transport: Transport | None = None
        self._buffer = b""
        self._seen: Seen | None = None
        """The request that is being read."""
        self._latest: Seen | None = None
        self._length: int | None = None

    # As a peer

    def connected(self, transport: Transport) -> None:
        self._transport = transport
        if self.random.random() < 0.03:
            self.send(self.random.choice(_STRAYS))

    def received(self, data: bytes) -> None:
        if not self.open:
            self.reset()  # as a kernel does for a socket that is closed
            return
        self._buffer += data
        if self._seen is None:
            self._read_head()
        if self._seen is not None:
            self._read_body(self._seen)

    def ended(self) -> None:
        self.open = False

    def _read_head(self) -> None:
        head, blank, rest = self._buffer.partition(b"\r\n\r\n")
        if not blank:
            return
        lower = head.lower() + b"\r\n"
        signature = head[lower.index(HEADER) + len(HEADER) :].split(b"\r\n", 1)[0].decode()
        self._buffer = rest
        self._length = None
        if b"\r\ncontent-length:" in lower:
            self._length = int(lower.partition(b"\r\ncontent-length:")[2].split(b"\r\n", 1)[0])
        self._seen = Seen(signature, self.receiver.loop.time())
        self._latest = self._seen
        self.receiver.seen.append(self._seen)

    def _read_body(self, seen: Seen) -> None:
        if self._length is not None:
            if len(self._buffer) < self._length:
                return
            seen.body, self._buffer = self._buffer[: self._length], self._buffer[self._length :]
        else:
            if not self._buffer.endswith(b"0\r\n\r\n"):
                return
            seen.body, self._buffer = _unchunked(self._buffer), b""
        seen.whole = True
        self._seen = None
        kind = self.random.random() < self.receiver.kindness
        behaviour = well if kind else self.random.choice(BEHAVIOURS)
        self.receiver.start(behaviour(self, seen))

    # What a behaviour does

    async def pause(self, *choices: float) -> None:
        """Wait for one of these times."""
        await asyncio.sleep(self.random.choice(choices))

    def send(self, data: bytes) -> None:
        """Send bytes."""
        if self.open and self._transport is not None:
            self._transport.feed(data)

    def stray(self, after: Seen) -> None:
        """Send unsolicited bytes, unless another request has come: then they would look like its answer."""
        if self._latest is after and self._transport is not None and not self._transport.in_transit:
            self.send(self.random.choice(_STRAYS))

    def close(self) -> None:
        """Close, as the system does it: with unread bytes it is a reset."""
        self.send(END)
        self.open = False

    def reset(self) -> None:
        """Close with RST."""
        if self._transport is not None:
            if self._transport.inbox and self._latest is not None:
                self._latest.told = False  # what was not read yet is lost
            self._transport.reset()
        self.open = False


def _unchunked(data: bytes) -> bytes:
    body = b""
    while True:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            return body
        body, data = body + data[:length], data[length + 2 :]


def _answer(connection: Connection, seen: Seen) -> bytes:
    """Return an answer, and note what it means."""
    random = connection.random
    status = random.choice((200, 200, 200, 201, 204, 302, 404, 500, 503))
    seen.meant = status
    head = b"HTTP/1.1 %d Any\r\n" % status
    if status == 204:
        return head + b"\r\n"
    body = random.choice((b"", b"ok", b"x" * 3_000, b"HTTP/1.1 208 Already Reported\r\n\r\n"))
    if random.random() < 0.3:
        chunks = b"%x\r\n%s\r\n" % (len(body), body) if body else b""
        return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
    return head + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def _has_told(connection: Connection, seen: Seen) -> None:
    seen.told = connection.open and connection.receiver.loop.time() - seen.at < 5


async def well(connection: Connection, seen: Seen) -> None:
    """Answer soon."""
    await connection.pause(0, 0, 0.001, 0.02)
    connection.send(_answer(connection, seen))
    _has_told(connection, seen)


async def _late(connection: Connection, seen: Seen) -> None:
    await connection.pause(0.5, 3.0, 9.9, 10.1, 30.0)
    connection.send(_answer(connection, seen))
    _has_told(connection, seen)


async def _in_pieces(connection: Connection, seen: Seen) -> None:
    answer = _answer(connection, seen)
    cuts = sorted(connection.random.sample(range(1, len(answer)), min(3, len(answer) - 1)))
    for start, end in itertools.pairwise((0, *cuts, len(answer))):
        connection.send(answer[start:end])
        await connection.pause(0, 0.001, 0.1)
    _has_told(connection, seen)


async def _after_interims(connection: Connection, seen: Seen) -> None:
    for _ in range(connection.random.choice((1, 3, 16))):
        connection.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        await connection.pause(0, 0, 0.001)
    await well(connection, seen)


async def _flood(connection: Connection, seen: Seen) -> None:
    while connection.open:
        connection.send(b"HTTP/1.1 100 Continue\r\n\r\n" * 40)
        await connection.pause(0, 0.001)


async def _hang(connection: Connection, seen: Seen) -> None:
    await connection.pause(60.0)
    connection.close()


async def _hang_up(connection: Connection, seen: Seen) -> None:
    await connection.pause(0, 0.001, 0.02)
    connection.random.choice((connection.close, connection.reset))()


async def _break_off(connection: Connection, seen: Seen) -> None:
    answer = _answer(connection, seen)
    connection.send(answer[: connection.random.randrange(1, len(answer))])
    await connection.pause(0, 0.001)
    connection.random.choice((connection.close, connection.reset))()


async def _babble(connection: Connection, seen: Seen) -> None:
    connection.send(
        connection.random.choice((b"220 mail.example.test ESMTP\r\n", b"\x00\xff" * 100, b"HTTP/1.1 9x\r\n\r\n"))
    )
    await connection.pause(0, 1.0)
    connection.close()


async def _and_more(connection: Connection, seen: Seen) -> None:
    connection.send(_answer(connection, seen) + connection.random.choice(_STRAYS))
    _has_told(connection, seen)


async def _and_later_more(connection: Connection, seen: Seen) -> None:
    await well(connection, seen)
    await connection.pause(0, 0, 0.001, 0.3, 2.0)
    connection.stray(seen)


async def _and_later_nothing(connection: Connection, seen: Seen) -> None:
    await well(connection, seen)
    await connection.pause(0.001, 0.3, 0.9, 2.0)
    if connection.random.random() < 0.5:
        connection.stray(seen)
    connection.close()


Behaviour = Callable[[Connection, Seen], Awaitable[None]]
BEHAVIOURS: Final[tuple[Behaviour, ...]] = (
    well,
    _late,
    _in_pieces,
    _after_interims,
    _flood,
    _hang,
    _hang_up,
    _break_off,
    _babble,
    _and_more,
    _and_more,
    _and_later_more,
    _and_later_more,
    _and_later_nothing,
)
