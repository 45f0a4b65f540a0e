"""What `--store` costs: creating a deposit with a store, against creating one without."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.load import send_deposits
from benchmarks.rows import Benchmark, Effort, Row, Target, ratios, write
from benchmarks.servers import QUIET, running

CREATE = "create a deposit with --store, time against without"


def measure(effort: Effort) -> Iterator[Row]:
    """Yield how many times as long a create takes; both servers take turns."""
    with tempfile.TemporaryDirectory() as folder:
        options = [*QUIET, "--store", str(Path(folder) / "sandboxes.db")]
        with running("paydouble", options=options) as storing, running("paydouble") as free:
            stored, without = [], []
            for _ in range(effort.rounds):
                stored.append(send_deposits(storing.port, effort.requests).rate)
                without.append(send_deposits(free.port, effort.requests).rate)
    mine, theirs = (write(median(rates), "/s") for rates in (stored, without))
    yield Row(CREATE, mine, theirs, ratios(without, stored), "×", Target(2.0, at_least=False))


BENCHMARK = Benchmark([CREATE], measure)
