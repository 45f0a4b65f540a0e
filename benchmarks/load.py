"""The load: requests that are built before, over connections that stay open, for less work than any server does.

Each connection has one request in flight. An answer is measured by its Content-Length, or ends with its last chunk. Of
the rest only the status is looked at, which must be a success: a server that refuses quickly has not been quick.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import cast

from multidict import CIMultiDict

from benchmarks.machine import has_uvloop
from paydouble.api.values import Request
from paydouble.guards.credentials import basic_header

CONNECTIONS = 32
PATIENCE_SECONDS = 300.0
KEY, SECRET = "sandbox_key", "sandbox_secret"
PATH = "/api/v1/pay-in/deposit-creation"
DEPOSIT = (
    b'{"amount":49.90,"currency":"EUR","country":"DE","external_identifier":"order-100042",'
    b'"payment_method":{"type":"CREDIT_CARD"},"return_url":"https://merchant.test/orders/100042/return",'
    b'"customer":{"first_name":"Ada","last_name":"Lovelace","email":"ada.lovelace@merchant.test"},"expires_in":86400,'
    b'"metadata":{"cart":"c-1843","shop":"berlin"}}'
)
_LENGTH = b"Content-Length: "
_LAST_CHUNK = b"\r\n0\r\n\r\n"


def deposit_request(key: str = KEY, secret: str = SECRET) -> bytes:
    """Return a request of a business to create a deposit, with an idempotency key of its own."""
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {basic_header(key, secret)}\r\n"
        f"Idempotency-Key: {uuid.uuid4()}\r\nContent-Type: application/json\r\nContent-Length: {len(DEPOSIT)}\r\n\r\n"
    )
    return head.encode() + DEPOSIT


def deposit(number: int) -> Request:
    """Return the same request as the pipeline gets it; its key follows from a number."""
    headers = CIMultiDict(
        {
            "Authorization": basic_header(KEY, SECRET),
            "Idempotency-Key": f"00000000-0000-4000-8000-{number:012d}",
            "Content-Type": "application/json",
        }
    )
    return Request("POST", PATH, headers, DEPOSIT)


@dataclass(slots=True)
class Burst:
    """What a burst of requests took; latencies in seconds, sorted."""

    seconds: float
    latencies: list[float]

    @property
    def rate(self) -> float:
        """Return requests a second."""
        return len(self.latencies) / self.seconds


def send_deposits(port: int, count: int) -> Burst:
    """Send so many deposits, each with a fresh key, and wait for every answer."""
    return send(port, [deposit_request() for _ in range(count)])


def send(port: int, requests: list[bytes], connections: int = CONNECTIONS) -> Burst:
    """Send requests and wait for every answer; ends the program when one is refused."""
    factory = None
    if has_uvloop():
        import uvloop  # noqa: PLC0415 - an extra that need not be there

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(_send(port, requests, min(connections, len(requests))))


async def _send(port: int, requests: list[bytes], connections: int) -> Burst:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    latencies: list[float] = []
    waiting = iter(requests)
    clients = [
        (await loop.create_connection(lambda: _Connection(waiting, latencies, done, len(requests)), "127.0.0.1", port))[
            1
        ]
        for _ in range(connections)
    ]
    start = perf_counter()
    for client in clients:
        client.send_next()
    async with asyncio.timeout(PATIENCE_SECONDS):
        # The load never sleeps. The wake-up of a sleeping process is charged to the server that writes to it, and a
        # slower server lets the load sleep more often: without this its own slowness would be counted twice.
        while not done.done():  # noqa: ASYNC110 - to sleep is what it must not
            await asyncio.sleep(0)
        await done
    seconds = perf_counter() - start
    for client in clients:
        client.close()
    return Burst(seconds, sorted(latencies))


class _Connection(asyncio.Protocol):
    def __init__(
        self, waiting: Iterator[bytes], latencies: list[float], done: asyncio.Future[None], wanted: int
    ) -> None:
        self._waiting = waiting
        self._latencies = latencies
        self._done = done
        self._wanted = wanted
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._sent_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but its bases

    def send_next(self) -> None:
        request = next(self._waiting, None)
        if request is not None and self._transport is not None:
            self._sent_at = perf_counter()
            self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        data = self._buffer + data
        head = data.find(b"\r\n\r\n")
        if head < 0 or not _is_whole(data, head):
            self._buffer = data
            return
        self._buffer = b""
        self._latencies.append(perf_counter() - self._sent_at)
        if not data.startswith(b"HTTP/1.1 2"):
            self._fail(f"a request of the benchmark was refused:\n{data.decode(errors='replace')}")
        elif len(self._latencies) == self._wanted:
            self._done.set_result(None)
        else:
            self.send_next()

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(f"the server closed a connection of the benchmark ({exc})")

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _fail(self, message: str) -> None:
        if not self._done.done():
            self._done.set_exception(SystemExit(f"benchmarks: {message}"))


def _is_whole(data: bytes, head: int) -> bool:
    start = data.find(_LENGTH, 0, head)
    if start < 0:
        return data.endswith(_LAST_CHUNK)
    start += len(_LENGTH)
    return len(data) >= head + 4 + int(data[start : data.find(b"\r", start)])
