"""From starting the process to its first 200; and, because work can be put off, to its first deposit as well."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

from benchmarks.load import deposit_request, send
from benchmarks.rows import Benchmark, Effort, Row, Target, write
from benchmarks.servers import Kind, running

FIRST_200 = "cold start to the first 200"
FIRST_DEPOSIT = "cold start to the first deposit"


def measure(effort: Effort) -> Iterator[Row]:
    """Yield both starts; a first pair that fills the disk's cache and writes the bytecode is not counted."""
    _start("paydouble")
    _start("bare")
    pairs = [(_start("paydouble"), _start("bare")) for _ in range(effort.starts)]
    for place, name in enumerate((FIRST_200, FIRST_DEPOSIT)):
        ours = [mine[place] for mine, _ in pairs]
        bare = [theirs[place] for _, theirs in pairs]
        ratios = [mine / theirs for mine, theirs in zip(ours, bare, strict=True)]
        target = Target(1.5, at_least=False, aim=1.3) if place == 0 else None
        yield Row(name, _millis(ours), _millis(bare), ratios, "×", target)


def _start(kind: Kind) -> tuple[float, float]:
    request = deposit_request()
    with running(kind) as server:
        send(server.port, [request])
        return server.ready - server.started, time.perf_counter() - server.started


def _millis(seconds: list[float]) -> str:
    return write(median(seconds) * 1e3, "ms")


BENCHMARK = Benchmark((FIRST_200, FIRST_DEPOSIT), measure)
