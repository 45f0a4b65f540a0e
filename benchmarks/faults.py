"""What faults and questions cost: a table of faults that never match, adding one, and verify over a full journal."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator

from benchmarks.load import send_deposits
from benchmarks.rows import Benchmark, Effort, Row, Target, write
from benchmarks.servers import running

IDLE_FAULTS = "create a deposit among 100 faults that do not match"
ADD = "a fault over HTTP (one kept connection)"
VERIFY = "verify over a full journal, with near misses explained"
_SANDBOX = "/_paydouble/sandboxes/default"
_FAULTS = 100


def measure(effort: Effort) -> Iterator[Row]:
    """Yield the throughput that is kept, and the milliseconds of the two calls."""
    with running("paydouble") as burdened, running("paydouble") as free:
        for number in range(_FAULTS):
            elsewhere = {"effect": {"type": "connection_reset"}, "match": _match(number)}
            _call(_connect(burdened.port), f"{_SANDBOX}/faults", elsewhere, 201)
        with_faults, without = [], []
        for _ in range(effort.rounds):
            with_faults.append(send_deposits(burdened.port, effort.requests).rate)
            without.append(send_deposits(free.port, effort.requests).rate)
        kept = [mine / theirs for mine, theirs in zip(with_faults, without, strict=True)]
        mine, theirs = (write(sorted(rates)[len(rates) // 2], "/s") for rates in (with_faults, without))
        yield Row(IDLE_FAULTS, mine, theirs, kept, "×", Target(0.85, at_least=True))
        fault = {"effect": {"type": "drop"}, "match": {"object_id": "none"}}
        millis = _calls(free.port, effort, "faults", fault, 201)
        yield Row(ADD, _median(millis), "–", millis, "ms", Target(2.0, at_least=False))
        question = {"match": {"operation": "deposit-creation", "status": 500, "external_identifier": "order-*"}}
        while _call(_connect(free.port), f"{_SANDBOX}/requests/verify", question, 200)["evicted"] == 0:
            send_deposits(free.port, max(effort.requests, 2_000))
        millis = _calls(free.port, effort, "requests/verify", question, 200)
        yield Row(VERIFY, _median(millis), "–", millis, "ms", Target(20.0, at_least=False))


def _match(number: int) -> dict[str, str]:
    # As a suite has them: most about one order each, some about a pattern of them.
    return {"external_identifier": f"other-{number}*" if number % 4 == 0 else f"other-{number}"}


def _median(millis: list[float]) -> str:
    return write(sorted(millis)[len(millis) // 2], "ms")


def _calls(port: int, effort: Effort, path: str, body: object, status: int) -> list[float]:
    connection = _connect(port)
    count = max(1, effort.sandboxes // 20)
    millis = []
    for _ in range(effort.rounds):
        start = time.perf_counter()
        for _ in range(count):
            _call(connection, f"{_SANDBOX}/{path}", body, status)
        millis.append((time.perf_counter() - start) / count * 1e3)
    connection.close()
    return millis


def _connect(port: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=30.0)


def _call(connection: http.client.HTTPConnection, path: str, body: object, status: int) -> dict[str, int]:
    connection.request("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = response.read()
    if response.status != status:
        raise SystemExit(f"benchmarks: {path} was refused: {answer.decode(errors='replace')}")
    parsed: dict[str, int] = json.loads(answer)
    return parsed


BENCHMARK = Benchmark((IDLE_FAULTS, ADD, VERIFY), measure)
