"""A play over sockets: bytes that are HTTP, nearly HTTP, or no HTTP at all, to a server in this process.

The server must answer each whole request, in the envelopes of the contract, and close a connection whose bytes are no
request. It must log no error, and serve others all the time.
"""

from __future__ import annotations

import asyncio
import logging
import re
from random import Random
from typing import Any, Final

import orjson

from paydouble.guards.credentials import basic_header
from paydouble.runtime.host import ClockSpec
from paydouble.sandbox.identity import Secrets
from paydouble.server import DEFAULT_SANDBOX, Server, ServerOptions
from requestfuzz.answers import CONTROL_STATUSES, check_answer, must
from requestfuzz.requests import Draw
from requestfuzz.values import damaged, encoded

REQUESTS: Final = 250
"""How many connections a play opens."""
_START: Final = 1_767_225_600_000  # 2026-01-01T00:00:00Z
# Connections at a time.
_AT_ONCE: Final = 50
# Nothing here is answered later than this, unless the server waits for more bytes.
_QUIET_SECONDS: Final = 0.05
_LONGEST_SECONDS: Final = 60.0
_CONTROL: Final = "/_paydouble"
_HEALTH: Final = b"GET /_paydouble/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
# Parts of HTTP, put where they do not belong.
_TOKENS: Final = (
    *(
        b"\r\n",
        b"\n",
        b"\r",
        b"\r\n\r\n",
        b" ",
        b"\t",
        b":",
        b"\x00",
        b"\xff",
        b"HTTP/1.0",
        b"HTTP/2.0",
        b"GET ",
        b"?",
        b"#",
    ),
    *(
        b"\r\nContent-Length: 5",
        b"\r\nContent-Length: -1",
        b"\r\nContent-Length: 99999999999",
        b"\r\nContent-Length: 0x1",
    ),
    *(
        b"\r\nTransfer-Encoding: chunked",
        b"\r\nTransfer-Encoding: x",
        b"\r\nConnection: close",
        b"\r\nConnection: upgrade",
    ),
    *(
        b"\r\nContent-Encoding: gzip",
        b"\r\nContent-Encoding: br, x",
        b"\r\nExpect: 100-continue",
        b"\r\nUpgrade: websocket",
    ),
    *(
        b"\r\nHost: evil.test",
        b"\r\nX-Forwarded-Host: a b",
        b"\r\nX: " + b"a" * 9_000,
        b"\r\n folded",
        b"0\r\n\r\n",
        b"5\r\nabcde",
    ),
    *(b"http://a.test/", b"//", b"*", b"%", b"%00", b"/_paydouble", b"\x16\x03\x01\x02\x00\x01\x00"),
)
# aiohttp answers a request line without a version as HTTP/0.9.
_ANSWER: Final = re.compile(rb"HTTP/(?:1\.[01]|0\.9) (\d{3}) [^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n")


class _Errors(logging.Handler):
    """Keeps what is logged as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record."""
        self.lines.append(logging.Formatter().format(record))


def play(seed: int, requests: int = REQUESTS) -> None:
    """Play a seed; `Violation` says what does not hold. The order of the answers is not repeatable."""
    errors = _Errors()
    root = logging.getLogger()
    root.addHandler(errors)
    try:
        asyncio.run(_play(Random(seed), requests, errors))
    finally:
        root.removeHandler(errors)
    must(not errors.lines, f"the server has logged: {errors.lines[:1]}")


async def _play(random: Random, requests: int, errors: _Errors) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.lines.append(str(context)))
    default = DEFAULT_SANDBOX._replace(clock=ClockSpec("manual", start=_START))
    async with Server(ServerOptions(port=0, default_sandbox=default)) as server:
        secrets = Secrets()
        draw = Draw(random, basic_header(secrets.business_key, secrets.business_secret))
        left = requests
        while left > 0:
            written = [_bytes(draw) for _ in range(min(left, _AT_ONCE))]
            left -= len(written)
            for data, received in zip(
                written, await asyncio.gather(*(_send(server.port, each) for each in written)), strict=True
            ):
                _check(data, received, draw)
            health = await _send(server.port, _HEALTH)
            must(health.startswith(b"HTTP/1.1 200 "), f"the server is not well: {health[:200]!r}")


def _bytes(draw: Draw) -> bytes:
    """Return what is sent over one connection."""
    random = draw.random
    if random.random() < 0.03:
        return random.randbytes(random.choice((1, 10, 500)))
    data = b"".join(_request(draw) for _ in range(random.choice((1, 1, 1, 1, 2, 3))))
    for _ in range(random.choice((0, 1, 1, 1, 2))):
        data = damaged(random, data, _TOKENS)
    return data


def _request(draw: Draw) -> bytes:
    random = draw.random
    if random.random() < 0.2:
        call = next(call for call in iter(draw.control, None) if not call.name.startswith("fault-"))
        body = b"" if call.body is None else encoded(call.body)
        if call.name.endswith("-wait"):
            body = b"{}" if random.random() < 0.5 else b""
            call = call._replace(path=call.path.replace("/wait", "/verify"))
        method, target = call.method, _CONTROL + call.path
        headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)
    else:
        method, target, headers, body = draw.asked()
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", *(f"{name}: {value}" for name, value in headers)]
    if random.random() < 0.1 and body:
        size = random.randint(1, len(body))
        parts = [body[:size], body[size:]] if body[size:] else [body]
        body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
        lines.append("Transfer-Encoding: chunked")
    elif body or method == "POST":
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body


async def _send(port: int, data: bytes) -> bytes:
    """Send bytes over a connection of their own; return all that comes back, until nothing more does."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    received = b""
    try:
        async with asyncio.timeout(_LONGEST_SECONDS):
            writer.write(data)
            while not _is_all(received, data):
                try:
                    async with asyncio.timeout(_QUIET_SECONDS):
                        piece = await reader.read(1 << 20)
                except TimeoutError:
                    received += await _rest(reader, writer)
                    break
                if not piece:
                    break
                received += piece
    except ConnectionError:
        pass
    finally:
        writer.transport.abort()
    return received


async def _rest(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """Say that nothing more comes, and return what is still answered."""
    if writer.can_write_eof():
        writer.write_eof()
    try:
        return await reader.read()
    except ConnectionError:
        return b""


def _is_all(received: bytes, data: bytes) -> bool:
    """Return whether bytes are as many whole answers as there can be requests in what was sent."""
    answers, rest = _answers(received)
    return not rest and len(answers) >= max(1, data.count(b"HTTP/"))


def _answers(received: bytes) -> tuple[list[tuple[int, dict[str, str], bytes]], bytes]:
    """Return the answers in some bytes, and what is left of them."""
    answers: list[tuple[int, dict[str, str], bytes]] = []
    while received and (found := _ANSWER.match(received)):
        status = int(found[1])
        lines = [line.partition(":") for line in found[2].decode("latin-1").split("\r\n") if line]
        headers = {name.lower(): value.strip() for name, _, value in lines}
        length = 0 if status < 200 or status in {204, 304} else int(headers.get("content-length", "0"))
        body = received[found.end() : found.end() + length]
        if len(body) < length and headers.get("content-length"):
            return answers, received
        answers.append((status, headers, body))
        received = received[found.end() + length :]
    return answers, received


def _check(data: bytes, received: bytes, draw: Draw) -> None:
    """Check what came back."""
    if b"HEAD " in data or b"head " in data.lower():
        received = received.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" if received else b""
        must(not received or received[9:12] < b"500", f"{data[:300]!r} was answered {received[:100]!r}")
        return
    answers, rest = _answers(received)
    must(not rest, f"{data[:300]!r} was answered with bytes that are no whole answer: {rest[:300]!r}")
    for status, headers, body in answers:
        try:
            _check_one(status, headers, body, draw)
        except AssertionError as error:
            error.add_note(f"sent: {data[:2_000]!r}")
            raise


def _check_one(status: int, headers: dict[str, str], body: bytes, draw: Draw) -> None:
    must(status < 500, f"answered {status}: {body[:300]!r}")
    if status < 200 or headers.get("content-type", "").partition(";")[0] != "application/json":
        must(
            status in {100, 200, 302, 304, 404, 400, 403, 405, 413}, f"answered {status} with {headers}: {body[:100]!r}"
        )
        return
    must(body, f"answered {status} without a body: {headers}")
    document: Any = orjson.loads(body)
    if "x-request-id" in headers:
        data = check_answer(status, body, headers["x-request-id"])
        if isinstance(data, dict):
            draw.know(data.get("id"))
    else:
        must(status in CONTROL_STATUSES, f"a control call was answered {status}")
        must(status < 400 or set(document["error"]) <= {"code", "message", "member"}, f"a refusal with {document}")
