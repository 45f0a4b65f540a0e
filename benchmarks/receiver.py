"""A receiver that answers 500 at once, whatever comes: `python -m benchmarks.receiver PORT`."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import cast

from benchmarks.machine import free_port
from benchmarks.servers import PATIENCE_SECONDS, ROOT

_ANSWER = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"
_LENGTH = b"content-length: "


class _Refusal(asyncio.Protocol):
    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but its bases

    def data_received(self, data: bytes) -> None:
        data = self._buffer + data
        head = data.find(b"\r\n\r\n")
        start = data[: max(head, 0)].lower().find(_LENGTH) + len(_LENGTH)
        if head < 0 or len(data) < head + 4 + int(data[start : data.find(b"\r", start)]):
            self._buffer = data
            return
        self._buffer = b""
        if self._transport is not None:
            self._transport.write(_ANSWER)


async def _serve(port: int) -> None:
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    server = await loop.create_server(_Refusal, "127.0.0.1", port)
    await stopped.wait()
    server.close()


@contextlib.contextmanager
def receiving() -> Iterator[str]:
    """Start the receiver in a process of its own, on this process's core, and return its URL."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.receiver", str(port)], cwd=ROOT)
    try:
        deadline = time.perf_counter() + PATIENCE_SECONDS
        while not _listens(port):
            if process.poll() is not None or time.perf_counter() > deadline:
                raise SystemExit("benchmarks: the receiver did not start; see its own words")
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS).close()
    except ConnectionRefusedError:
        return False
    return True


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
