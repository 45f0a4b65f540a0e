"""Webhooks that a clause sends by itself, byte by byte: at once, in parts, or without waiting for an answer."""

from __future__ import annotations

import http.client
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from paydouble.core.printable import printable

PATIENCE_SECONDS: Final = 10.0
"""How long a receiver may take (contract section 8)."""
_MOST_BYTES: Final = 65_536
_OK: Final = range(200, 300)
_CRASH: Final = 500
# SO_LINGER on, with no time: close sends RST.
_RESET: Final = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class Posted:
    """What was sent to the receiver, and what came back."""

    sent: bytes
    """The request as it went over the connection."""
    status: int | None
    """The status; None when no answer came."""
    got: bytes
    """The status line, the headers and the body of the answer."""
    error: str
    """Why no answer came; empty with one."""
    seconds: float
    """Real time until the answer or the error."""

    @property
    def accepted(self) -> bool:
        """Return whether the receiver has acknowledged the webhook."""
        return self.status in _OK

    @property
    def crashed(self) -> bool:
        """Return whether there was no answer, or a 5xx."""
        return self.status is None or self.status >= _CRASH

    @property
    def summary(self) -> str:
        """Return the answer in a few words."""
        return f"answered with {self.status}" if self.status is not None else self.error


def request_bytes(url: str, headers: Iterable[tuple[str, str | bytes]], body: bytes) -> bytes:
    """Return a POST of HTTP/1.1 as bytes; `headers` come after Host, Content-Type and Content-Length."""
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [
        f"POST {target} HTTP/1.1".encode(),
        f"Host: {parts.netloc.rpartition('@')[2]}".encode(),
        b"Content-Type: application/json",
        b"Content-Length: %d" % len(body),
        b"Connection: close",
    ]
    for name, value in headers:
        lines.append(name.encode() + b": " + (value if isinstance(value, bytes) else value.encode()))
    return b"\r\n".join((*lines, b"", body))


def post(url: str, request: bytes, *, pauses: Sequence[float] = (), patience: float = PATIENCE_SECONDS) -> Posted:
    """Send a request's bytes and read the answer.

    `pauses` are seconds to wait between parts of the request, which is cut into one part more than there are pauses.
    """
    started = time.monotonic()
    try:
        with connect(url, patience) as connection:
            size = -(-len(request) // (len(pauses) + 1))
            for number, pause in enumerate((0.0, *pauses)):
                time.sleep(pause)
                connection.sendall(request[number * size : (number + 1) * size])
            answer = http.client.HTTPResponse(connection, method="POST")
            answer.begin()
            body = answer.read(_MOST_BYTES)
    except TimeoutError:
        return _unanswered(request, f"no answer after {patience:g} s", started)
    except ssl.SSLError as error:
        return _unanswered(request, f"no TLS connection: {error.reason or error}", started)
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return _unanswered(request, f"no answer: {printable(reason)}", started)
    head = f"HTTP/1.1 {answer.status} {answer.reason}\r\n".encode("latin-1", "replace") + bytes(
        answer.msg.as_bytes() if answer.msg else b""
    )
    return Posted(request, answer.status, head + body, "", time.monotonic() - started)


def post_and_leave(url: str, request: bytes, then: Callable[[], None] = lambda: None) -> Posted:
    """Send a request's bytes, do something, and reset the connection without reading an answer."""
    started = time.monotonic()
    try:
        connection = connect(url, PATIENCE_SECONDS)
        with connection:
            connection.sendall(request)
            then()
            if not isinstance(connection, ssl.SSLSocket):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    except OSError as error:
        return _unanswered(request, f"not sent: {error.strerror or error}", started)
    return _unanswered(request, "the connection was reset before the answer", started)


def connect(url: str, patience: float, context: ssl.SSLContext | None = None) -> socket.socket:
    """Return a connection to a receiver; its certificate is not verified, since a test's is seldom signed."""
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    connection = socket.create_connection((parts.hostname or "", parts.port or (443 if secure else 80)), patience)
    if not secure:
        return connection
    if context is None:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(connection, server_hostname=parts.hostname)


def _unanswered(request: bytes, why: str, started: float) -> Posted:
    return Posted(request, None, b"", why, time.monotonic() - started)
