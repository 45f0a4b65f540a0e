"""What it costs a create that somebody has the inspector's inbox open.

Two servers take turns: one whose inbox is followed, and one that nobody looks at. The reader reads all that it is sent,
as a browser does.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from benchmarks.rows import Benchmark, Effort, Row, Target, micros, ratios
from benchmarks.servers import running
from benchmarks.turns import in_turn

_NAME: Final = "a create with the inbox open (processor time)"
_STREAM: Final = "/_paydouble/inspector/inbox/stream"


def measure(effort: Effort) -> Iterator[Row]:
    """Yield the row."""
    with running("paydouble") as one, running("paydouble") as other, _following(one.port):
        watched, alone = in_turn((one, other), effort.rounds, effort.requests)
    yield Row(_NAME, micros(watched), micros(alone), ratios(watched, alone), "×", Target(1.03, at_least=False))


@contextmanager
def _following(port: int) -> Iterator[None]:
    """Read the stream of a server's inbox until the end."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(f"GET {_STREAM} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n".encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 200 ")
        reader = threading.Thread(target=_read, args=(connection,))
        reader.start()
        try:
            yield
        finally:
            connection.shutdown(socket.SHUT_RDWR)
            reader.join()


def _read(connection: socket.socket) -> None:
    while connection.recv(1 << 16):
        pass


BENCHMARK = Benchmark([_NAME], measure)
