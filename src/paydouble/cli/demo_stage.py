"""The demo's stage: a server, a verifying receiver, and a merchant who talks to both over real HTTP."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from decimal import Decimal
from functools import partial
from typing import Any, Final
from uuid import uuid4

import aiohttp
import orjson

from paydouble.cli.demo_timeline import Row, rows_of
from paydouble.cli.terminal import Terminal
from paydouble.core.instants import parse_instant
from paydouble.guards.credentials import basic_header
from paydouble.runtime.host import ClockSpec, HostOptions, SandboxSpec
from paydouble.server import Server, ServerOptions
from paydouble.testing.receiver import Received, Receiver

START: Final = parse_instant("2026-01-01T00:00:00Z")
WEBHOOK_SECRET: Final = "whsec_demo"  # noqa: S105 - it protects nothing: the server lives for a second
_KEY: Final = "demo_key"
_SECRET: Final = "demo_secret"  # noqa: S105 - likewise
_SANDBOX: Final = "/_paydouble/sandboxes/demo"


class Unexpected(Exception):
    """A call was not answered as the act needs it; the message says how."""


class Stage:
    """What all acts share."""

    def __init__(self, terminal: Terminal, client: aiohttp.ClientSession, receiver: Receiver) -> None:
        """Play before a terminal."""
        self.terminal = terminal
        self.client = client
        self.receiver = receiver

    async def control(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Make a control call about the sandbox and return its answer."""
        status, answer = await self._send(method, _SANDBOX + path, body, {})
        if status >= 400:  # noqa: PLR2004 - HTTP
            raise Unexpected(f"{method} {path} was refused: {answer['error']['message']}")
        return answer

    async def api(self, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Call the API as the merchant does; returns the status and the answer."""
        headers = {"Authorization": basic_header(_KEY, _SECRET)}
        if method == "POST":
            headers["Idempotency-Key"] = str(uuid4())
        return await self._send(method, f"/api/v1{path}", body, headers)

    async def now(self) -> int:
        """Return where the sandbox's clock stands."""
        return parse_instant((await self.control("GET", "/clock"))["now"])

    async def _send(
        self, method: str, path: str, body: dict[str, Any] | None, headers: dict[str, str]
    ) -> tuple[int, dict[str, Any]]:
        data = None if body is None else orjson.dumps(body)
        headers = {**headers, "Content-Type": "application/json"}
        async with self.client.request(method, path, data=data, headers=headers) as response:
            answer: dict[str, Any] = await response.json(loads=partial(json.loads, parse_float=Decimal))
            return response.status, answer


class Act:
    """One act as it is played: its rows, what it set in motion, and what was found wrong."""

    def __init__(self, stage: Stage, number: int, began: int, cursor: int) -> None:
        """Begin the n-th act at an instant; `cursor` is the number of deliveries that earlier acts made."""
        self.stage = stage
        self.began = began
        self.rows: list[Row] = []
        self.problems: list[str] = []
        self.deliveries: list[dict[str, Any]] = []
        self._number = number
        self._cursor = cursor
        self._seen: dict[str, int] = {}

    @property
    def received(self) -> list[Received]:
        """Return what the receiver got of this act's events, refused ones included."""
        own = {delivery["event_id"] for delivery in self.deliveries}
        return [each for each in self.stage.receiver.received if each.event.get("id") in own]

    async def deposit(self, amount: str, email: str = "ada@example.test") -> dict[str, Any]:
        """Create a deposit as the merchant does."""
        order = f"order-{self._number}"
        body = {
            "amount": orjson.Fragment(amount),  # exact: money never goes through a binary float
            "currency": "EUR",
            "external_identifier": order,
            "payment_method": {"type": "CREDIT_CARD"},
            "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": email},
        }
        what = f"deposit-creation {amount} EUR"
        return await self.post("/pay-in/deposit-creation", body, what, also=order)

    async def post(self, path: str, body: dict[str, Any], what: str, *, also: str = "") -> dict[str, Any]:
        """Make a POST that must succeed, as a row that says more with `also`; returns the resource."""
        status, answer = await self.refusable(path, body, what, also=also)
        if status >= 400:  # noqa: PLR2004 - HTTP
            raise Unexpected(f"{what} was answered {status}: {answer['error']['message']}")
        data: dict[str, Any] = answer["data"]
        return data

    async def refusable(
        self, path: str, body: dict[str, Any], what: str, *, also: str = ""
    ) -> tuple[int, dict[str, Any]]:
        """Make a POST that may be refused, as a row."""
        at = await self.stage.now()
        status, answer = await self.stage.api("POST", path, body)
        result = answer["data"]["status"] if "data" in answer else answer["error"]["code"]
        self.rows.append(Row(at, ("merchant", "service"), what, f"{status} {result}" + (f", {also}" if also else "")))
        return status, answer

    async def get(self, path: str) -> dict[str, Any]:
        """Read a resource."""
        status, answer = await self.stage.api("GET", path)
        if status >= 400:  # noqa: PLR2004 - HTTP
            raise Unexpected(f"GET {path} was answered {status}: {answer['error']['message']}")
        data: dict[str, Any] = answer["data"]
        return data

    async def tell(self, who: tuple[str, ...], what: str, result: str = "") -> None:
        """Add a row for what is no API call."""
        self.rows.append(Row(await self.stage.now(), who, what, result))

    async def advance(self, by: str | None = None, *, brief: bool = False) -> None:
        """Move the clock (without `by`, until nothing is left to happen), and add rows for what was delivered."""
        await self.stage.control("POST", "/clock/advance", {"until_idle": True} if by is None else {"by": by})
        page = await self.stage.control("GET", f"/deliveries?limit=1000&cursor={self._cursor}")
        self.deliveries = page["items"]
        self.rows += rows_of(self.deliveries, self._seen, self.stage.terminal, brief=brief)

    def expect(self, what: str, expected: object, actual: object) -> None:
        """Note a problem when two things differ."""
        if expected != actual:
            self.problems.append(f"{what}: expected {expected}, got {actual}")


@contextlib.asynccontextmanager
async def open_stage(terminal: Terminal, seed: int) -> AsyncIterator[Stage]:
    """Start the server and the receiver, and stop them in the end."""
    async with Receiver(WEBHOOK_SECRET) as receiver:
        sandbox = SandboxSpec(
            id="demo",
            seed=seed,
            clock=ClockSpec("manual", START),
            notification_url=receiver.url,
            business_key=_KEY,
            business_secret=_SECRET,
            webhook_secret=WEBHOOK_SECRET,
        )
        options = ServerOptions(port=0, default_sandbox=sandbox, shared=HostOptions(seed=seed))
        async with Server(options) as server, aiohttp.ClientSession(server.base_url) as client:
            yield Stage(terminal, client, receiver)
