"""From starting the process to its first 200; and, because work can be put off, to its first deposit as well.

Both with bytecode that was written before, and the first deposit without: then the packages, paydouble among them, have
none and may not write any. Python's own library always has its bytecode.
"""

from __future__ import annotations

import shutil
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

from benchmarks.load import deposit_request, send
from benchmarks.rows import Benchmark, Effort, Row, Target, ratios, write
from benchmarks.servers import ENVIRONMENT, Kind, running

FIRST_200 = "cold start to the first 200"
FIRST_DEPOSIT = "cold start to the first deposit"
UNCOMPILED = "cold start to the first deposit, packages without bytecode"


def measure(effort: Effort) -> Iterator[Row]:
    """Yield the starts; a first pair that fills the disk's cache and writes the bytecode is not counted."""
    _start("paydouble")
    _start("bare")
    pairs = [(_start("paydouble"), _start("bare")) for _ in range(effort.starts)]
    for place, name, target in (
        (0, FIRST_200, Target(1.5, at_least=False, aim=1.3)),
        (1, FIRST_DEPOSIT, Target(1.5, at_least=False)),
    ):
        yield _row(name, [ours[place] for ours, _ in pairs], [bare[place] for _, bare in pairs], target)
    with tempfile.TemporaryDirectory() as prefix:
        _copy_bytecode_of_library(Path(prefix))
        without = {**ENVIRONMENT, "PYTHONPYCACHEPREFIX": prefix, "PYTHONDONTWRITEBYTECODE": "1"}
        pairs = [(_start("paydouble", without), _start("bare", without)) for _ in range(effort.starts)]
    target = Target(2.0, at_least=False)
    yield _row(UNCOMPILED, [ours[1] for ours, _ in pairs], [bare[1] for _, bare in pairs], target)


def _copy_bytecode_of_library(prefix: Path) -> None:
    """Copy the bytecode of Python's own library, as far as the starts before have used it."""
    for name in ("stdlib", "platstdlib"):
        place = Path(sysconfig.get_path(name)).resolve()
        place = place.relative_to(place.anchor)
        source = Path(ENVIRONMENT["PYTHONPYCACHEPREFIX"]) / place
        if source.is_dir():
            ignore = shutil.ignore_patterns("site-packages", "dist-packages")
            shutil.copytree(source, prefix / place, ignore=ignore, dirs_exist_ok=True)


def _start(kind: Kind, environment: Mapping[str, str] = ENVIRONMENT) -> tuple[float, float]:
    request = deposit_request()
    with running(kind, environment=environment) as server:
        send(server.port, [request])
        return server.ready - server.started, time.perf_counter() - server.started


def _row(name: str, ours: list[float], bare: list[float], target: Target) -> Row:
    return Row(name, _millis(ours), _millis(bare), ratios(ours, bare), "×", target)


def _millis(seconds: list[float]) -> str:
    return write(median(seconds) * 1e3, "ms")


BENCHMARK = Benchmark((FIRST_200, FIRST_DEPOSIT, UNCOMPILED), measure)
