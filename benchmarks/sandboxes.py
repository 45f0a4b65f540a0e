"""A fresh, isolated business: in the process, as a test's fixture makes one, and over HTTP."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator

from benchmarks.control import controlling
from benchmarks.machine import on_server_core
from benchmarks.rows import Benchmark, Effort, Row, Target, write
from benchmarks.servers import QUIET, running
from paydouble.runtime.host import Host, HostOptions, SandboxSpec

CREATE = "a fresh sandbox in the process (create)"
CREATE_AND_DELETE = "a fresh sandbox in the process (create and delete)"
OVER_HTTP = "a fresh sandbox over HTTP (one kept connection)"


def measure(effort: Effort) -> Iterator[Row]:
    """Yield the mean time of each, a figure a round."""
    with on_server_core():
        rounds = asyncio.run(in_process(effort))
    for name, place, target in ((CREATE, 0, Target(50.0, at_least=False)), (CREATE_AND_DELETE, 1, None)):
        figures = sorted(each[place] * 1e6 for each in rounds)
        yield Row(name, write(figures[len(figures) // 2], "µs"), "–", figures, "µs", target)
    millis = sorted(_over_http(effort))
    yield Row(OVER_HTTP, write(millis[len(millis) // 2], "ms"), "–", millis, "ms", Target(2.0, at_least=False))


async def in_process(effort: Effort) -> list[tuple[float, float]]:
    """Return, for each round, the seconds of a create alone and of a create with its delete."""
    host = Host(HostOptions())
    await host.delete(host.create(SandboxSpec()))  # reads the scenarios, once a process
    rounds: list[tuple[float, float]] = []
    for _ in range(effort.rounds):
        gc.collect()
        start = time.perf_counter()
        boxes = [host.create(SandboxSpec()) for _ in range(effort.sandboxes)]
        created = time.perf_counter()
        for box in boxes:
            await host.delete(box)
        deleted = time.perf_counter()
        rounds.append(((created - start) / effort.sandboxes, (deleted - start) / effort.sandboxes))
    await host.close()
    return rounds


def _over_http(effort: Effort) -> list[float]:
    millis: list[float] = []
    options = [*QUIET, "--max-sandboxes", "1000000"]
    with running("paydouble", options=options) as server, controlling(server.port) as control:
        for _ in range(effort.rounds):
            start = time.perf_counter()
            for _ in range(effort.sandboxes):
                control.post("/sandboxes")
            millis.append((time.perf_counter() - start) / effort.sandboxes * 1e3)
    return millis


BENCHMARK = Benchmark((CREATE, CREATE_AND_DELETE, OVER_HTTP), measure)
