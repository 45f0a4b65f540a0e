"""A client that reads answers byte for byte, and arms faults in its sandbox."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import Any, Literal

from drive import DEPOSITS, START, deposit_body, key
from servers import Box, Client

from paydouble.core.instants import write_instant
from paydouble.faults.armed import Armed
from paydouble.faults.model import parse_fault
from paydouble.journal import RequestEntry
from paydouble.payments.resources import PayIn
from paydouble.sandbox import Sandbox

End = Literal["closed", "reset"]


@dataclass(frozen=True)
class Seen:
    """What came over one connection, how it ended, and how many seconds that took."""

    data: bytes
    end: End
    seconds: float

    @property
    def status(self) -> int:
        """Return the status."""
        return int(self.data.split(b" ", 2)[1])

    @property
    def body(self) -> bytes:
        """Return what follows the head."""
        return self.data.partition(b"\r\n\r\n")[2]

    @property
    def document(self) -> Any:  # noqa: ANN401 - JSON is any
        """Return the body's JSON."""
        return json.loads(self.body)

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers."""
        lines = self.data.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]
        return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}

    @property
    def told(self) -> bytes:
        """Return everything except the header that has the machine's time."""
        return b"\r\n".join(line for line in self.data.split(b"\r\n") if not line.startswith(b"Date: "))


async def ask(port: int, data: bytes) -> Seen:
    """Send bytes over a connection of their own, and read until it ends."""
    start = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    received = b""
    end: End = "closed"
    try:
        writer.write(data)
        while chunk := await reader.read(65_536):
            received += chunk
    except ConnectionResetError:
        end = "reset"
    finally:
        writer.transport.abort()
    return Seen(received, end, time.perf_counter() - start)


@dataclass
class Caller:
    """One business over real sockets, with access to its sandbox."""

    box: Box

    @property
    def port(self) -> int:
        """Return the server's port."""
        return self.box.client.server.port

    @property
    def sandbox(self) -> Sandbox:
        """Return the sandbox itself."""
        return self.box.client.server.host.registry.get(self.box.id)

    @property
    def entries(self) -> list[RequestEntry]:
        """Return the request journal, oldest first."""
        return list(self.sandbox.journal.requests.entries)

    @property
    def events(self) -> list[str]:
        """Return the types of the events, oldest first."""
        return [event.type for event in self.sandbox.journal.events.entries]

    @property
    def pay_ins(self) -> list[PayIn]:
        """Return the pay-ins, newest first."""
        return list(self.sandbox.ledger.newest_first(PayIn))

    def arm(self, effect: str | dict[str, Any], **members: Any) -> Armed:  # noqa: ANN401 - JSON is any
        """Arm a fault on the API."""
        wanted = {"type": effect} if isinstance(effect, str) else effect
        return self.sandbox.faults.add(parse_fault({"on": "api", **members, "effect": wanted}), self.sandbox.now)

    def request(
        self, method: str, path: str, body: dict[str, Any] | bytes | None = None, *, n: int = 1, keep: bool = False
    ) -> bytes:
        """Return a request as bytes; a POST has the n-th key."""
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Host": "test", **self.box.credentials}
        if method == "POST":
            headers |= {"Idempotency-Key": key(n), "Content-Type": "application/json", "Content-Length": str(len(data))}
        if not keep:
            headers["Connection"] = "close"
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"{method} /api/v1{path} HTTP/1.1\r\n{head}\r\n".encode() + data

    async def ask(self, method: str, path: str, body: dict[str, Any] | bytes | None = None, *, n: int = 1) -> Seen:
        """Make a request and read until the connection ends."""
        return await ask(self.port, self.request(method, path, body, n=n))

    async def deposit(self, *, n: int = 1, **changes: Any) -> Seen:  # noqa: ANN401 - JSON is any
        """Create a deposit under the n-th key."""
        return await self.ask("POST", DEPOSITS, deposit_body(**changes), n=n)

    def pay(self, pay_in: PayIn) -> None:
        """Let a pay-in succeed."""
        for state in ("pending", "processing", "succeeded"):
            self.sandbox.force_transition(pay_in, state)


async def caller(client: Client, name: str = "shop", **members: object) -> Caller:
    """Create a sandbox with a fixed seed, and a manual clock at a fixed instant."""
    clock = {"mode": "manual", "start": write_instant(START)}
    wanted: dict[str, object] = {"id": name, "seed": 7, "clock": clock, "business_key": f"key_{name}", **members}
    return Caller(await client.sandbox(**wanted))
