"""`python -m benchmarks.soak`: an hour of everything that `serve` is used for, and whether it stays well.

Each round makes sandboxes with all kinds of clocks, faults and receivers. Merchants create deposits in them and repeat
what they got no answer to, clocks move, sandboxes are reset, forked and deleted, some while their webhooks are being
sent. Then comes as much at once as a test suite could send: many deposits in one sandbox, and many empty ones. At the
end of a round all sandboxes but the default one are deleted.

After the rounds of the warm-up the resident memory must stay within 5 %, which is judged from fifteen rounds on, and
the number of open files must not grow. Every answer, delivery and signature is checked. The server must write no
traceback, and stop with status 0. Exit status 1 if something of that fails, 2 where the system does not say how much
memory a process has.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import uuid
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median
from typing import IO, Any, Final

import aiohttp

from benchmarks.load import DEPOSIT, deposit_request, send
from benchmarks.machine import free_port, resident_bytes
from benchmarks.servers import ENVIRONMENT, PATIENCE_SECONDS, ROOT
from paydouble import SignatureError, verify
from paydouble.guards.credentials import basic_header

MOST_GROWTH: Final = 0.05
# With fewer rounds the medians of both ends are no more than chance.
FEWEST_ROUNDS: Final = 15
MOST_MORE_FILES: Final = 10  # idle connections of the clients come and go
# What `serve` collects after a delete it collects once it has been quiet for a moment.
_SETTLE_SECONDS: Final = 1.0
# How long a merchant waits for an answer; longer than any fault here holds one back.
_MERCHANT_SECONDS: Final = 30.0
_CONTROL: Final = "/_paydouble"
_CREATE: Final = "/api/v1/pay-in/deposit-creation"
_LIST: Final = "/api/v1/pay-in"
_DEFAULT: Final = "default"
_SHORT: Final = {"timeout": "100ms", "schedule": ["0s", "1m", "1h"], "repeat_last": False}
_CLOCKS: Final[tuple[Any, ...]] = (
    *("manual",) * 6,
    "auto",
    {"mode": "real"},
    {"mode": "real", "rate": 60},
)
# Faults after whose end a repeated request is carried out, or gets the answer of the first one.
_API_FAULTS: Final[tuple[dict[str, Any], ...]] = (
    {"type": "error", "status": 503},
    {"type": "error", "status": 500, "envelope": "B"},
    {"type": "rate_limit"},
    {"type": "latency", "fixed": "30ms"},
    {"type": "no_response", "hold": "50ms"},
    {"type": "connection_reset"},
    {"type": "empty_response"},
    {"type": "truncate"},
    {"type": "wrong_content_length", "by": 10},
    {"type": "slow_body", "over": "50ms", "chunks": 5},
    {"type": "garbage"},
    {"type": "html_error"},
    {"type": "redirect", "to": "http://127.0.0.1:9/"},
    {"type": "force_conflict"},
    {"type": "stale_read"},
    {"type": "not_found_yet", "for": "1m"},
)
_AFTER: Final = frozenset({"error", "latency", "no_response", "connection_reset", "empty_response", "garbage"})
_WEBHOOK_FAULTS: Final[tuple[dict[str, Any], ...]] = (
    {"type": "delay", "fixed": "3s"},
    {"type": "drop"},
    {"type": "hold"},
    {"type": "duplicate", "copies": 2},
    {"type": "reorder", "window": 3},
    {"type": "before_response"},
    {"type": "tamper"},
    {"type": "payload", "mode": "huge"},
    {"type": "signature", "mode": "wrong_secret"},
    {"type": "slow_body", "over": "50ms"},
    {"type": "chunked"},
    {"type": "connection_reset"},
    {"type": "foreign"},
)


class Wrong(Exception):
    """The server has answered, sent or kept something else than it must."""


def must(holds: object, what: str) -> None:
    """Raise `Wrong` unless something holds."""
    if not holds:
        raise Wrong(what)


class Receivers:
    """Receivers of webhooks, one of each kind; the last part of a path is the sandbox's id."""

    def __init__(self) -> None:
        self.ports: dict[str, int] = {"dead": free_port()}
        self.secrets: dict[str, str] = {}
        """The webhook secret of each sandbox whose signatures are checked."""
        self.got: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """Sandbox → how often each event came, by its id."""
        self.wrong: list[str] = []
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[Any] | None] = set()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Listen during the block."""
        await self._start()
        try:
            yield
        finally:
            await self._stop()

    async def _start(self) -> None:
        for kind in ("prompt", "slow", "failing", "hanging", "resetting"):
            server = await asyncio.start_server(self._handler(kind), "127.0.0.1", 0)
            self.ports[kind] = server.sockets[0].getsockname()[1]
            self._servers.append(server)

    async def _stop(self) -> None:
        for server in self._servers:
            server.close()
        tasks = [task for task in self._tasks if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def url(self, kind: str, sandbox_id: str) -> str:
        """Return where a sandbox sends its events."""
        return f"http://127.0.0.1:{self.ports[kind]}/{sandbox_id}"

    def _handler(self, kind: str) -> Any:  # noqa: ANN401 - asyncio's own type is an overload
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._tasks.add(asyncio.current_task())
            try:
                while await self._answer(kind, reader, writer):
                    pass
            except (OSError, EOFError, ValueError, asyncio.LimitOverrunError, asyncio.CancelledError):
                pass  # a fault broke the request off, the sandbox is gone, or the run has ended
            finally:
                self._tasks.discard(asyncio.current_task())
                writer.close()

        return handle

    async def _answer(self, kind: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        if "content-length" not in headers:
            raise ValueError("a fault sends the body in chunks")
        body = await reader.readexactly(int(headers["content-length"]))
        match kind:
            case "hanging":
                await reader.read()
                return False
            case "resetting":
                writer.transport.abort()
                return False
            case "slow":
                await asyncio.sleep(0.03)
            case "prompt":
                self._note(lines[0].split(" ")[1].removeprefix("/"), headers, body)
        status = b"500 Internal Server Error" if kind == "failing" else b"200 OK"
        writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        return True

    def _note(self, sandbox_id: str, headers: Mapping[str, str], body: bytes) -> None:
        secret = self.secrets.get(sandbox_id)
        if secret is None:
            return
        try:
            verify(body, headers.get("x-service-signature"), secret)
        except SignatureError as error:
            self.wrong.append(f"{sandbox_id}: a signature does not verify: {error}")
        self.got[sandbox_id][json.loads(body)["id"]] += 1


@dataclass
class Box:
    """A sandbox and what its merchant knows."""

    id: str
    authorization: str
    faithful: bool
    """Whether its receiver takes everything, and no fault changes an event: every event must arrive, well signed."""
    manual: bool
    paid: dict[str, str] = field(default_factory=dict)
    """The order of each acknowledged pay-in, by the pay-in's id."""


class Soak:
    """The clients of one server."""

    def __init__(self, session: aiohttp.ClientSession, port: int, receivers: Receivers, random: Random) -> None:
        self.session = session
        self.port = port
        self.base = f"http://127.0.0.1:{port}"
        self.receivers = receivers
        self.random = random
        self.requests = 0

    async def control(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:  # noqa: ANN401 - JSON
        """Make a control call; `Wrong` when it is answered with another status."""
        self.requests += 1
        async with self.session.request(method, f"{self.base}{_CONTROL}{path}", json=body) as response:
            text = await response.text()
            must(response.status == status, f"{method} {path}: {response.status} {text[:200]}")
            return [json.loads(line) for line in text.splitlines()] if path.endswith("/export") else json.loads(text)

    async def round(self, boxes: int, deposits: int, empty: int) -> None:
        """Play one round, and leave the default sandbox alone."""
        await asyncio.gather(*(self._play(Random(self.random.random())) for _ in range(boxes)), self._half_requests())
        await self._default()
        await self._crowd(deposits, empty)
        left = [box["id"] for box in (await self.control("GET", "/sandboxes"))["items"]]
        must(left == [_DEFAULT], f"sandboxes are left: {left}")
        must(not self.receivers.wrong, "; ".join(self.receivers.wrong[:3]))
        self.receivers.secrets.clear()
        self.receivers.got.clear()

    async def _play(self, random: Random) -> None:
        box = await self._make(random)
        path = f"/sandboxes/{box.id}"
        async with self._watched(path) if random.random() < 0.2 else _nothing():
            asked = [
                (str(uuid.UUID(int=random.getrandbits(128), version=4)), self._order(random, n)) for n in range(12)
            ]
            for key, order in asked:
                await self._troubled(box, key, order)
            await self.control("DELETE", f"{path}/faults")
            if box.manual:
                await self.control("POST", f"{path}/clock/advance", {"by": random.choice(["1ms", "1m", "1h", "20h"])})
            for key, order in asked:
                await self._repeat(box, key, order)
            if box.manual:
                await self._check(box, path, random)
            await self._end(path, random)

    async def _make(self, random: Random) -> Box:
        kind = random.choice(["prompt", "prompt", "slow", "failing", "hanging", "resetting", "dead"])
        clock = random.choice(_CLOCKS)
        sandbox_id = f"soak-{random.getrandbits(60):x}"
        made = await self.control(
            "POST",
            "/sandboxes",
            {
                "id": sandbox_id,
                "clock": clock,
                "seed": random.getrandbits(31),
                "notification_url": self.receivers.url(kind, sandbox_id),
                "settings": {"webhooks": _SHORT | ({"timeout": "5m"} if kind == "prompt" else {})},
                "labels": {"soak": kind},
            },
            201,
        )
        faithful = kind == "prompt" and clock == "manual" and random.random() < 0.7
        box = Box(sandbox_id, basic_header(made["business_key"], made["business_secret"]), faithful, clock == "manual")
        if faithful:
            self.receivers.secrets[sandbox_id] = made["webhook_secret"]
        for effect in random.sample(_API_FAULTS, 3):
            fault = {"on": "api", "effect": effect, "times": random.randint(1, 3), "skip": random.randint(0, 4)}
            if effect["type"] in _AFTER and random.random() < 0.5:
                fault["phase"] = "after_commit"
            await self.control("POST", f"/sandboxes/{sandbox_id}/faults", fault, 201)
        if not faithful:
            fault = {"on": "webhooks", "effect": random.choice(_WEBHOOK_FAULTS), "times": random.randint(1, 5)}
            await self.control("POST", f"/sandboxes/{sandbox_id}/faults", fault, 201)
        return box

    @staticmethod
    def _order(random: Random, number: int) -> dict[str, Any]:
        return {
            **json.loads(DEPOSIT),
            "external_identifier": f"order-{number}",
            "amount": random.randint(100, 99_999) / 100,
            "customer": {
                "first_name": "Ada",
                "last_name": "Lovelace",
                "email": f"{random.choice(['happy-path', 'card-declined', 'abandoned'])}@scenario.test",
            },
        }

    async def _post(self, box: Box, key: str, order: dict[str, Any]) -> tuple[int, bytes]:
        self.requests += 1
        headers = {"Authorization": box.authorization, "Idempotency-Key": key}
        async with self.session.post(
            f"{self.base}{_CREATE}", json=order, headers=headers, allow_redirects=False
        ) as response:
            return response.status, await response.read()

    async def _troubled(self, box: Box, key: str, order: dict[str, Any]) -> None:
        """Create a deposit where faults may act: any answer that a fault gives is right."""
        with suppress(aiohttp.ClientError):
            await self._post(box, key, order)

    async def _repeat(self, box: Box, key: str, order: dict[str, Any]) -> None:
        """Repeat the request without faults: it is carried out now, or was then, and never twice."""
        status, body = await self._post(box, key, order)
        must(status == 200, f"{box.id}: a repeated request got {status} {body[:200]!r}")
        pay_in = json.loads(body)["data"]
        shown = (pay_in["external_identifier"], round(pay_in["amount"] * 100))
        must(shown == (order["external_identifier"], round(order["amount"] * 100)), f"{box.id}: {shown} for {order}")
        must(pay_in["id"] not in box.paid, f"{box.id}: {pay_in['id']} was given out twice")
        box.paid[pay_in["id"]] = order["external_identifier"]
        must(await self._post(box, key, order) == (200, body), f"{box.id}: the replay of {key} differs")

    async def _check(self, box: Box, path: str, random: Random) -> None:
        """Let everything happen, and compare the books with what the merchant knows."""
        if not box.faithful and random.random() < 0.3:  # a fork sends what is pending to the same receiver
            fork = await self.control("POST", f"{path}/fork", {}, 201)
            await self.control("POST", f"/sandboxes/{fork['id']}/clock/advance", {"by": "1d"})
            await self.control("DELETE", f"/sandboxes/{fork['id']}")
        moved = await self.control("POST", f"{path}/clock/advance", {"until_idle": True})
        must(moved["idle"], f"{box.id}: not idle after everything has happened")
        self.requests += 1
        async with self.session.get(
            f"{self.base}{_LIST}?limit=100", headers={"Authorization": box.authorization}
        ) as response:
            listed = {each["id"] for each in (await response.json())["data"]["items"]}
        must(set(box.paid) <= listed, f"{box.id}: acknowledged pay-ins are not listed")
        orders = Counter(box.paid.values())
        must(len(listed) == len(orders), f"{box.id}: {len(listed)} pay-ins for {len(orders)} orders")
        events = (await self.control("GET", f"{path}/events?limit=1000"))["items"]
        created = {event["object_id"] for event in events if event["type"] == "pay-in.created"}
        must(set(box.paid) <= created, f"{box.id}: acknowledged pay-ins have no event")
        deliveries = (await self.control("GET", f"{path}/deliveries?limit=1000"))["items"]
        open_ones = [each["id"] for each in deliveries if each["status"] == "waiting"]
        must(not open_ones, f"{box.id}: idle, and {open_ones} wait")
        if box.faithful:
            got = self.receivers.got[box.id]
            must(set(got) == {event["id"] for event in events}, f"{box.id}: the receiver did not get every event")
            must(max(got.values()) == 1, f"{box.id}: an event came twice")

    async def _end(self, path: str, random: Random) -> None:
        if random.random() < 0.2:
            await self.control("POST", f"{path}/export", {})
        if random.random() < 0.3:
            await self.control("POST", f"{path}/reset", {})
        await self.control("DELETE", path)
        await self.control("GET", path, status=404)

    async def _default(self) -> None:
        """Use the default sandbox, which is never deleted: its journals evict, and its keys expire."""
        path = f"/sandboxes/{_DEFAULT}"
        await asyncio.to_thread(send, self.port, [deposit_request() for _ in range(200)])
        self.requests += 200
        await self.control("POST", f"{path}/clock/advance", {"by": "5d"})
        await self.control("POST", f"{path}/reset", {"scope": ["state"]})

    async def _crowd(self, deposits: int, empty: int) -> None:
        box = await self.control("POST", "/sandboxes", {}, 201)
        ours = (box["business_key"], box["business_secret"])
        await asyncio.to_thread(send, self.port, [deposit_request(*ours) for _ in range(deposits)])
        self.requests += deposits
        await self.control("DELETE", f"/sandboxes/{box['id']}")
        names = [(await self.control("POST", "/sandboxes", {}, 201))["id"] for _ in range(empty)]
        for name in names:
            await self.control("DELETE", f"/sandboxes/{name}")

    async def _half_requests(self) -> None:
        """Open connections that send nothing, half a request, or something that is none, and leave."""
        for data in (b"", deposit_request()[:-20], b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/9.9\r\n\r\n"):
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.write(data)
            await asyncio.sleep(0.01)
            writer.transport.abort()

    @asynccontextmanager
    async def _watched(self, path: str) -> AsyncIterator[None]:
        async with self.session.get(f"{self.base}{_CONTROL}{path}/stream") as response:
            must(response.status == 200, f"{path}/stream: {response.status}")
            yield


@asynccontextmanager
async def _nothing() -> AsyncIterator[None]:
    yield


def _serve(port: int, stderr: IO[bytes]) -> subprocess.Popen[bytes]:
    program = ["-m", "paydouble", "serve", "--quiet", "--clock", "manual", "--port", str(port)]
    program += ["--set", "journal_limit=1000", "--notification-url", f"http://127.0.0.1:{free_port()}/"]
    return subprocess.Popen([sys.executable, *program], cwd=ROOT, env=ENVIRONMENT, stderr=stderr)


async def _ready(process: subprocess.Popen[bytes], session: aiohttp.ClientSession, port: int) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        must(process.poll() is None, "the server ended at its start")
        must(time.monotonic() < deadline, "the server does not answer")
        with suppress(aiohttp.ClientError):
            async with session.get(f"http://127.0.0.1:{port}{_CONTROL}/health") as response:
                if response.status == 200:
                    return
        await asyncio.sleep(0.05)


@dataclass
class Figures:
    """What each round left behind."""

    resident: list[int] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    requests: int = 0

    def growth(self, warm_up: int) -> float:
        """Return by which share the memory has grown since the warm-up."""
        start, end = _ends(self.resident[warm_up:])
        return end / start - 1

    def more_files(self, warm_up: int) -> float:
        """Return how many more files are open than after the warm-up."""
        start, end = _ends(self.files[warm_up:])
        return end - start


def _ends(figures: Sequence[int]) -> tuple[float, float]:
    """Return the medians of the first fifth and of the last fifth."""
    share = max(1, len(figures) // 5)
    return median(figures[:share]), median(figures[-share:])


def _open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


async def _rounds(figures: Figures, arguments: argparse.Namespace, process: subprocess.Popen[bytes], port: int) -> None:
    """Play rounds until the time is over, and note what each leaves."""
    receivers = Receivers()
    timeout = aiohttp.ClientTimeout(total=_MERCHANT_SECONDS * 10, sock_read=_MERCHANT_SECONDS * 10)
    connector = aiohttp.TCPConnector(limit=100)
    async with receivers.listening(), aiohttp.ClientSession(timeout=timeout, connector=connector) as session:
        await _ready(process, session, port)
        soak = Soak(session, port, receivers, Random(arguments.seed))
        end = time.monotonic() + arguments.minutes * 60
        while len(figures.resident) < arguments.warm_up + 1 or time.monotonic() < end:
            await soak.round(arguments.boxes, arguments.deposits, arguments.sandboxes)
            await asyncio.sleep(_SETTLE_SECONDS)
            resident = resident_bytes(process.pid)
            if resident is None:
                raise SystemExit(2)
            figures.resident.append(resident)
            figures.files.append(_open_files(process.pid))
            figures.requests = soak.requests
            number = len(figures.resident)
            print(
                f"round {number}: {resident / 1e6:.1f} MB, {figures.files[-1]} files, {soak.requests} requests",
                flush=True,
            )


def main() -> int:
    """Run the rounds, print what each leaves, and end with one line that says whether all is well."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--minutes", type=float, default=60, help="how long; at least one round is measured")
    parser.add_argument("--warm-up", type=int, default=10, help="how many rounds go before")
    parser.add_argument("--boxes", type=int, default=12, help="sandboxes with a merchant in each round")
    parser.add_argument("--deposits", type=int, default=500, help="deposits sent at once in each round")
    parser.add_argument("--sandboxes", type=int, default=100, help="empty sandboxes of each round")
    parser.add_argument("--seed", type=int, default=0, help="of everything that is chosen")
    arguments = parser.parse_args()
    if resident_bytes(os.getpid()) is None:
        print("soak: this system does not say how much memory a process has", file=sys.stderr)
        return 2
    began, port, figures = time.monotonic(), free_port(), Figures()
    problems: list[str] = []
    with tempfile.TemporaryFile() as stderr:
        process = _serve(port, stderr)
        try:
            asyncio.run(_rounds(figures, arguments, process, port))
        except Exception as error:  # noqa: BLE001 - whatever it is, the run has failed and says so
            traceback.print_exc()
            problems.append(f"{type(error).__name__}: {error}")
        finally:
            process.send_signal(signal.SIGTERM)
            status = process.wait(PATIENCE_SECONDS)
        stderr.seek(0)
        written = stderr.read().decode(errors="replace")
    if status:
        problems.append(f"the server ended with status {status}")
    if "Traceback" in written or "ERROR" in written:
        print(written[-20_000:], flush=True)
        problems.append(f"the server has written {written.count('Traceback')} tracebacks or errors")
    return _conclude(figures, problems, arguments, time.monotonic() - began)


def _conclude(figures: Figures, problems: list[str], arguments: argparse.Namespace, seconds: float) -> int:
    line = f"{len(figures.resident)} rounds, {figures.requests:,} requests, {seconds:.0f} s"
    if len(figures.resident) > arguments.warm_up:
        growth, files = figures.growth(arguments.warm_up), figures.more_files(arguments.warm_up)
        start, end = _ends(figures.resident[arguments.warm_up :])
        line += (
            f"; memory {start / 1e6:.1f} MB after the warm-up, {end / 1e6:.1f} MB at the end "
            f"({growth:+.1%}, at most {MOST_GROWTH:+.0%})"
        )
        if len(figures.resident) - arguments.warm_up < FEWEST_ROUNDS:
            line += f"; not judged, with fewer than {FEWEST_ROUNDS} rounds"
        elif growth > MOST_GROWTH:
            problems.append("the memory grows")
        if files > MOST_MORE_FILES:
            problems.append(f"{files} more files are open at the end")
    print(f"soak: {'; '.join([*problems, line])}" if problems else f"soak: {line}; nothing wrong", flush=True)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
