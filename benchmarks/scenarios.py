"""A create on a real clock with everything that its payment does afterwards, against the bare handler's create."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from benchmarks.rows import Benchmark, Effort, Row, micros, ratios
from benchmarks.servers import running
from benchmarks.turns import in_turn, scenario_seconds

_NAME: Final = "a create and its payment's whole scenario, real clock (processor time)"


def measure(effort: Effort) -> Iterator[Row]:
    """Yield the row."""
    with running("paydouble", options=["--quiet"]) as double, running("bare") as handler:
        ours, bare = in_turn((double, handler), effort.turns, effort.requests, idle_seconds=scenario_seconds(effort))
    yield Row(_NAME, micros(ours), micros(bare), ratios(ours, bare), "×")


BENCHMARK = Benchmark([_NAME], measure)
