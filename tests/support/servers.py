"""A running server and a small client of it, for tests over real sockets."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from drive import deposit_body, key

from paydouble.guards.credentials import basic_header
from paydouble.server import Server, ServerOptions

CONTROL = "/_paydouble"


@dataclass(frozen=True)
class Answer:
    """One answer, read whole. `document` is its JSON."""

    status: int
    document: Any
    headers: Mapping[str, str]

    @property
    def error(self) -> tuple[int, str, str | None]:
        """Return status, code and member of a refused control call."""
        inner = self.document["error"]
        return self.status, inner["code"], inner.get("member")


@dataclass
class Client:
    """Speaks to one server as a test would from outside."""

    server: Server
    session: aiohttp.ClientSession
    keys: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        port: int | None = None,
    ) -> Answer:
        """Make any request; `body` goes out as JSON, `data` as it is."""
        if body is not None:
            data = json.dumps(body).encode()
        sent = {"Content-Type": "application/json"} if data is not None else {}
        url = f"http://127.0.0.1:{port or self.server.port}{path}"
        async with self.session.request(method, url, data=data, headers={**sent, **(headers or {})}) as response:
            content = await response.read()
            return Answer(response.status, json.loads(content) if content else None, response.headers)

    async def control(self, method: str, path: str, body: object = None) -> Answer:
        """Make a control call."""
        return await self.call(method, CONTROL + path, body, port=self.server.control_port)

    async def sandbox(self, **members: object) -> Box:
        """Make a sandbox, on a manual clock unless told otherwise."""
        answer = await self.control("POST", "/sandboxes", {"clock": "manual", **members})
        assert answer.status == 201, answer.document
        return Box(self, answer.document)


@dataclass
class Box:
    """One sandbox of a server."""

    client: Client
    document: dict[str, Any]

    @property
    def id(self) -> str:
        """Return its id."""
        name: str = self.document["id"]
        return name

    @property
    def credentials(self) -> dict[str, str]:
        """Return the headers that authenticate its business."""
        header = basic_header(self.document["business_key"], self.document["business_secret"])
        return {"Authorization": header}

    async def control(self, method: str, path: str = "", body: object = None) -> Answer:
        """Make a control call about this sandbox."""
        return await self.client.control(method, f"/sandboxes/{self.id}{path}", body)

    async def get(self, path: str = "") -> Any:  # noqa: ANN401 - JSON is any
        """Return what a control call shows."""
        answer = await self.control("GET", path)
        assert answer.status == 200, answer.document
        return answer.document

    async def api(self, method: str, path: str, body: object = None) -> Answer:
        """Make a call of the business."""
        headers = dict(self.credentials)
        if method == "POST":
            headers["Idempotency-Key"] = key(next(self.client.keys))
        return await self.client.call(method, f"/api/v1{path}", body, headers=headers)

    async def deposit(self, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON is any
        """Create a deposit and return the pay-in."""
        answer = await self.api("POST", "/pay-in/deposit-creation", deposit_body(**changes))
        assert answer.status == 200, answer.document
        pay_in: dict[str, Any] = answer.document["data"]
        return pay_in

    async def advance(self, **how: object) -> dict[str, Any]:
        """Move the clock; returns when everything due has settled."""
        answer = await self.control("POST", "/clock/advance", how)
        assert answer.status == 200, answer.document
        done: dict[str, Any] = answer.document
        return done

    async def deliveries(self) -> list[dict[str, Any]]:
        """Return the deliveries, oldest first."""
        items: list[dict[str, Any]] = (await self.get("/deliveries?limit=1000"))["items"]
        return items


@asynccontextmanager
async def running(options: ServerOptions | None = None) -> AsyncIterator[Client]:
    """Run a server at a free port, in this event loop."""
    async with Server(options or ServerOptions(port=0)) as server, aiohttp.ClientSession() as session:
        yield Client(server, session)


async def exchange(port: int, data: bytes, answers: int = 1) -> bytes:
    """Send bytes over a socket of their own and return so many answers, byte for byte."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        received = b""
        for _ in range(answers):
            head = await reader.readuntil(b"\r\n\r\n")
            (length,) = re.findall(rb"(?i)\r\nContent-Length: (\d+)\r\n", head)
            received += head
            if not data.startswith(b"HEAD "):
                received += await reader.readexactly(int(length))
        return received
    finally:
        writer.transport.abort()
