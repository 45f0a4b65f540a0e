"""Resident memory for each deposit, once the journal is full and lets an entry go for each that it takes."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.load import send_deposits
from benchmarks.machine import resident_bytes
from benchmarks.rows import Benchmark, Effort, Row, Target, write
from benchmarks.servers import QUIET, running

NAME = "resident memory for each deposit, journal full"


def measure(effort: Effort) -> Iterator[Row]:
    """Fill the journal, then see how much a further lot of deposits adds."""
    options = QUIET if effort.judged else (*QUIET, "--set", f"journal_limit={effort.fill // 2}")
    with running("paydouble", options=options) as server:
        send_deposits(server.port, effort.fill)
        before = resident_bytes(server.pid)
        send_deposits(server.port, effort.growth)
        after = resident_bytes(server.pid)
    target = Target(4.0, at_least=False)
    if before is None or after is None:
        yield Row(NAME, "–", "–", (), "KB", target)
        return
    ours = f"{write(before / 1e6, 'MB')} → {write(after / 1e6, 'MB')}"
    yield Row(NAME, ours, "–", ((after - before) / effort.growth / 1e3,), "KB", target)


BENCHMARK = Benchmark((NAME,), measure)
