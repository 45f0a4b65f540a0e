"""Receivers of webhooks that give every POST the same answer at once: `python -m benchmarks.receiver STATUS COUNT`.

All belong to one process, which writes their ports in a line. A GET is answered with the number of POSTs so far.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from benchmarks.servers import PATIENCE_SECONDS, ROOT

_LENGTH = b"content-length: "


@dataclass(slots=True, frozen=True)
class Receiver:
    """Receivers that listen."""

    ports: list[int]

    @property
    def urls(self) -> list[str]:
        """Return the URL of each receiver."""
        return [f"http://127.0.0.1:{port}/" for port in self.ports]

    def received(self) -> int:
        """Return how many POSTs have come so far, to all of them together."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[0], timeout=PATIENCE_SECONDS)
        try:
            connection.request("GET", "/")
            return int(connection.getresponse().read())
        finally:
            connection.close()

    def await_posts(self, count: int) -> None:
        """Wait until so many POSTs have come."""
        deadline = time.perf_counter() + PATIENCE_SECONDS
        while self.received() < count:
            if time.perf_counter() > deadline:
                raise SystemExit(f"benchmarks: of {count} webhooks only {self.received()} have come")
            time.sleep(0.01)


class _Counter:
    def __init__(self, status: int) -> None:
        self.posts = 0
        self.answer = f"HTTP/1.1 {status} Answer\r\nContent-Length: 0\r\n\r\n".encode()


class _Connection(asyncio.Protocol):
    def __init__(self, counter: _Counter) -> None:
        self._counter = counter
        self._transport: asyncio.Transport | None = None
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        data = self._buffer + data
        head = data.find(b"\r\n\r\n")
        if head < 0 or self._transport is None:
            self._buffer = data
            return
        if data.startswith(b"GET "):
            posts = str(self._counter.posts)
            self._transport.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(posts)}\r\n\r\n{posts}".encode())
            return
        start = data[:head].lower().find(_LENGTH) + len(_LENGTH)
        if len(data) < head + 4 + int(data[start : data.find(b"\r", start)]):
            self._buffer = data
            return
        self._buffer = b""
        self._counter.posts += 1
        self._transport.write(self._counter.answer)


async def _serve(status: int, count: int) -> None:
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    counter = _Counter(status)
    servers = [await loop.create_server(lambda: _Connection(counter), "127.0.0.1", 0) for _ in range(count)]
    print(*(server.sockets[0].getsockname()[1] for server in servers), flush=True)
    await stopped.wait()
    for server in servers:
        server.close()


@contextlib.contextmanager
def receiving(count: int = 1, status: int = 500) -> Iterator[Receiver]:
    """Start receivers, in one process on this process's core."""
    program = [sys.executable, "-m", "benchmarks.receiver", str(status), str(count)]
    with subprocess.Popen(program, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            ports = [int(port) for port in process.stdout.readline().split()]
            if len(ports) != count:
                raise SystemExit("benchmarks: the receiver did not start")
            yield Receiver(ports)
        finally:
            process.terminate()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2])))
