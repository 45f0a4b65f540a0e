"""What faults and questions cost: a table of faults that never match, adding one, and verify over a full journal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

from benchmarks.control import DEFAULT, Control, controlling
from benchmarks.load import send_deposits
from benchmarks.rows import Benchmark, Effort, Row, Target, ratios, write
from benchmarks.servers import running

IDLE_FAULTS = "create a deposit among 100 faults that do not match"
ADD = "a fault over HTTP (one kept connection)"
VERIFY = "verify over a full journal, with near misses explained"
_FAULT, _VERIFY = f"{DEFAULT}/faults", f"{DEFAULT}/requests/verify"
_FAULTS = 100


def measure(effort: Effort) -> Iterator[Row]:
    """Yield the throughput that is kept, and the milliseconds of the two calls."""
    with running("paydouble") as burdened, running("paydouble") as free:
        with controlling(burdened.port) as control:
            for number in range(_FAULTS):
                control.post(_FAULT, {"effect": {"type": "connection_reset"}, "match": _match(number)})
        with_faults, without = [], []
        for _ in range(effort.rounds):
            with_faults.append(send_deposits(burdened.port, effort.requests).rate)
            without.append(send_deposits(free.port, effort.requests).rate)
        mine, theirs = (write(median(rates), "/s") for rates in (with_faults, without))
        yield Row(IDLE_FAULTS, mine, theirs, ratios(with_faults, without), "×", Target(0.85, at_least=True))
        with controlling(free.port) as control:
            millis = _calls(control, effort, _FAULT, {"effect": {"type": "drop"}, "match": {"object_id": "none"}})
            yield Row(ADD, write(median(millis), "ms"), "–", millis, "ms", Target(2.0, at_least=False))
            question = {"match": {"operation": "deposit-creation", "status": 500, "external_identifier": "order-*"}}
            while control.post(_VERIFY, question)["evicted"] == 0:
                send_deposits(free.port, max(effort.requests, 2_000))
            millis = _calls(control, effort, _VERIFY, question)
        yield Row(VERIFY, write(median(millis), "ms"), "–", millis, "ms", Target(20.0, at_least=False))


def _match(number: int) -> dict[str, str]:
    # As a suite has them: most about one order each, some about a pattern of them.
    return {"external_identifier": f"other-{number}*" if number % 4 == 0 else f"other-{number}"}


def _calls(control: Control, effort: Effort, path: str, body: object) -> list[float]:
    count = max(1, effort.sandboxes // 20)
    millis = []
    for _ in range(effort.rounds):
        start = time.perf_counter()
        for _ in range(count):
            control.post(path, body)
        millis.append((time.perf_counter() - start) / count * 1e3)
    return millis


BENCHMARK = Benchmark((IDLE_FAULTS, ADD, VERIFY), measure)
