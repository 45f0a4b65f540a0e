"""Kill a server with `--store` at seeded points: `python tools/kill_store.py`, or with `--points 3 --seed 7`.

A client makes deposits, refunds and sandboxes and moves the clock, and notes each answer. At a seeded point, while one
more request is on its way, the server is killed with SIGKILL. A server that is started on the same store must then give
each noted answer again, byte for byte: the stored answers of idempotent requests, the pay-ins, the sandboxes, the time.
The request on its way is repeated, and must succeed. The next point continues with this server.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from paydouble.guards.credentials import basic_header

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

from ports import free_port

POINTS: Final = 200
# A store of its own after so many points, so that the answers to repeat stay few.
_POINTS_A_STORE: Final = 10
_MOST_REQUESTS: Final = 12
_LONGEST_WAIT_SECONDS: Final = 0.004
_PATIENCE_SECONDS: Final = 120.0
_AUTHORIZATION: Final = basic_header("sandbox_key", "sandbox_secret")
_CLOCK: Final = "/_paydouble/sandboxes/default/clock"
_SANDBOXES: Final = "/_paydouble/sandboxes"
_DEPOSIT: Final = {
    "amount": 49.90,
    "currency": "EUR",
    "payment_method": {"type": "CREDIT_CARD"},
    "customer": {"first_name": "Ada", "last_name": "Byron", "email": "ada@example.test"},
}


@dataclass
class Asked:
    """A request of the client; `answer` is its status and body, once it was answered."""

    method: str
    path: str
    body: bytes = b""
    key: str | None = None
    answer: tuple[int, bytes] | None = None

    def headers(self) -> dict[str, str]:
        """Return its headers."""
        headers = {"Authorization": _AUTHORIZATION, "Content-Type": "application/json"}
        return headers if self.key is None else {**headers, "Idempotency-Key": self.key}

    def raw(self) -> bytes:
        """Return its bytes."""
        lines = [f"{self.method} {self.path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(self.body)}"]
        lines += [f"{name}: {value}" for name, value in self.headers().items()]
        return "\r\n".join([*lines, "", ""]).encode() + self.body


@dataclass
class World:
    """A store, the server on it, and what its client was told."""

    store: Path
    chance: random.Random
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    told: list[Asked] = field(default_factory=list)
    pay_ins: list[str] = field(default_factory=list)

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        if not self.port:
            self.port = free_port()
        options = [
            "--quiet",
            "--clock",
            "manual",
            "--notification-url",
            "http://127.0.0.1:9/",
            "--store",
            str(self.store),
        ]
        options += ["--set", "idempotency_validity=30d"]  # the client repeats its requests after days
        command = [sys.executable, "-m", "paydouble", "serve", "--port", str(self.port), *options]
        self.process = subprocess.Popen(command)
        until = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            try:
                if self.send(Asked("GET", "/_paydouble/health"))[0] == http.client.OK:
                    return
            except ConnectionError:
                time.sleep(0.01)
        raise SystemExit(f"kill_store: the server on {self.store} does not answer")

    def kill(self) -> None:
        """Kill the server."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(_PATIENCE_SECONDS)

    def send(self, asked: Asked) -> tuple[int, bytes]:
        """Return the answer to a request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE_SECONDS)
        try:
            connection.request(asked.method, asked.path, asked.body, asked.headers())
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def ask(self) -> Asked:
        """Return another request: usually one that changes something."""
        kind = self.chance.choice(["deposit", "deposit", "refund", "clock", "sandbox"])
        key = str(uuid.UUID(int=self.chance.getrandbits(128), version=4))
        if kind == "clock":
            by = self.chance.choice(["1s", "7m", "3h"])
            return Asked("POST", f"{_CLOCK}/advance", json.dumps({"by": by}).encode())
        if kind == "sandbox":
            return Asked("POST", _SANDBOXES, json.dumps({"id": key[:13], "clock": "manual"}).encode())
        if kind == "refund" and self.pay_ins:
            body: dict[str, Any] = {"payin_id": self.chance.choice(self.pay_ins), "amount": 1.5}
            return Asked("POST", "/api/v1/refund/refund-creation", json.dumps(body).encode(), key)
        body = {**_DEPOSIT, "external_identifier": f"order-{key[:8]}"}
        return Asked("POST", "/api/v1/pay-in/deposit-creation", json.dumps(body).encode(), key)

    def note(self, asked: Asked) -> None:
        """Send a request, and note its answer."""
        asked.answer = self.send(asked)
        self.told.append(asked)
        document = json.loads(asked.answer[1])
        if "deposit" in asked.path:
            self.pay_ins.append(document["data"]["id"])

    def views(self) -> dict[str, tuple[int, bytes]]:
        """Return what the server shows of pay-ins, events and the clock."""
        paths = [f"/api/v1/pay-in/{each}" for each in self.pay_ins]
        return {path: self.send(Asked("GET", path)) for path in [*paths, _CLOCK, f"{_SANDBOXES}/default/events"]}

    def point(self) -> list[str]:
        """Play to a seeded point, kill the server there, start it again; returns what is missing."""
        for _ in range(self.chance.randint(1, _MOST_REQUESTS)):
            self.note(self.ask())
        seen, on_its_way = self.views(), self.ask()
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(on_its_way.raw())
            time.sleep(self.chance.uniform(0, _LONGEST_WAIT_SECONDS))
            self.kill()
        self.start()
        missing = [asked.path for asked in self.told if not self._kept(asked)]
        if on_its_way.key is not None and "refund" not in on_its_way.path:  # nothing else may have changed these
            missing += [
                path for path, answer in self.views().items() if path in seen and not _same(path, seen[path], answer)
            ]
        if on_its_way.key is not None:
            self.note(on_its_way)
        return missing

    def _kept(self, asked: Asked) -> bool:
        if asked.key is not None:
            return self.send(asked) == asked.answer
        assert asked.answer is not None  # noqa: S101 - it was noted
        status, body = asked.answer
        told = json.loads(body)
        if asked.path == _SANDBOXES:
            return self.send(Asked("GET", f"{_SANDBOXES}/{told['id']}"))[1] == body
        return bool(status == http.client.OK and json.loads(self.send(Asked("GET", _CLOCK))[1])["now"] >= told["now"])


def _same(path: str, before: tuple[int, bytes], after: tuple[int, bytes]) -> bool:
    if path == _CLOCK:  # the request on its way may have set timers
        return bool(json.loads(before[1])["now"] == json.loads(after[1])["now"])
    if not path.endswith("/events"):
        return before == after
    items = [each["id"] for each in json.loads(before[1])["items"]]
    return {*items} <= {each["id"] for each in json.loads(after[1])["items"]}


def main() -> int:
    """Kill at the points that the arguments ask for; the status is 1 when something is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    failed = told = 0
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, arguments.points, _POINTS_A_STORE):
            seed = arguments.seed + first
            world = World(Path(folder) / f"{seed}.store", random.Random(seed))  # noqa: S311 - it must be repeatable
            try:
                world.start()
                for number in range(first, min(first + _POINTS_A_STORE, arguments.points)):
                    missing = world.point()
                    failed += bool(missing)
                    for path in missing:
                        print(f"point {number}: what was told about {path} is not there after the restart")
            finally:
                world.kill()
            told += len(world.told)
    print(f"{arguments.points} points, {told} answers, {failed} points with something missing")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
