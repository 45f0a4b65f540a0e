"""What `--store` costs: creating a deposit with a store, against creating one without."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.load import send_deposits
from benchmarks.rows import Benchmark, Effort, Row, Target, write
from benchmarks.servers import running

CREATE = "create a deposit with --store, time against without"


def measure(effort: Effort) -> Iterator[Row]:
    """Yield how many times as long a create takes; both servers take turns."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--store", str(Path(folder) / "sandboxes.db")]
        with running("paydouble", options=options) as storing, running("paydouble") as free:
            stored, without = [], []
            for _ in range(effort.rounds):
                stored.append(send_deposits(storing.port, effort.requests).rate)
                without.append(send_deposits(free.port, effort.requests).rate)
    costs = [theirs / mine for mine, theirs in zip(stored, without, strict=True)]
    mine, theirs = (write(sorted(rates)[len(rates) // 2], "/s") for rates in (stored, without))
    yield Row(CREATE, mine, theirs, costs, "×", Target(2.0, at_least=False))


BENCHMARK = Benchmark([CREATE], measure)
