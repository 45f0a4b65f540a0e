"""What the fixture `paydouble` costs a suite of tiny tests, in process and with a running server, by xdist workers.

The comparison is the same suite with a fixture of the same name that does nothing.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks.machine import on_all_cores
from benchmarks.rows import Benchmark, Effort, Row, ratios, write
from benchmarks.servers import ENVIRONMENT, running

_WORKERS: Final = (1, 4, 8)
_ROUNDS: Final = 2
_TEST: Final = "def test_{number}(paydouble):\n    pass\n\n\n"
_NO_FIXTURE: Final = "import pytest\n\n\n@pytest.fixture\ndef paydouble():\n    return None\n"


def _names(workers: int) -> tuple[str, str]:
    many = "1 worker" if workers == 1 else f"{workers} workers"
    return (
        f"a test with the fixture, server in its process, {many} (wall time of the suite)",
        f"a test with the fixture, one server for all, {many} (wall time of the suite)",
    )


def measure(effort: Effort) -> Iterator[Row]:
    """Yield two rows for each number of workers."""
    if importlib.util.find_spec("xdist") is None:
        yield from (Row(name, "–", "–", (), "×") for name in BENCHMARK.names)
        return
    with (
        tempfile.TemporaryDirectory() as ours,
        tempfile.TemporaryDirectory() as bare,
        running("paydouble", options=["--quiet"]) as server,
    ):
        _write_suite(Path(ours), effort.tests)
        _write_suite(Path(bare), effort.tests)
        (Path(bare) / "conftest.py").write_text(_NO_FIXTURE, "utf-8")
        url = f"--paydouble-url=http://127.0.0.1:{server.port}"
        rounds: list[tuple[float, float, float]] = []
        for workers in _WORKERS:
            # A quick run starts one number of workers only, since each takes seconds.
            if effort.judged or not rounds:
                rounds = [
                    (_run(ours, workers, []), _run(ours, workers, [url]), _run(bare, workers, []))
                    for _ in range(min(_ROUNDS, effort.rounds))
                ]
            inside, outside, nothing = (
                [each / effort.tests for each in column] for column in zip(*rounds, strict=True)
            )
            for name, seconds in zip(_names(workers), (inside, outside), strict=True):
                yield Row(name, _millis(seconds), _millis(nothing), ratios(seconds, nothing), "×")


def _write_suite(folder: Path, tests: int) -> None:
    (folder / "pytest.ini").write_text("[pytest]\n", "utf-8")
    (folder / "test_tiny.py").write_text("".join(_TEST.format(number=number) for number in range(tests)), "utf-8")


def _run(folder: str, workers: int, options: Sequence[str]) -> float:
    """Return the seconds of a run of a suite; ends the program if a test fails."""
    # Nothing but what the row is about: no plugin that happens to be installed.
    plugins = ["-p", "xdist.plugin", "-p", "paydouble.testing.plugin", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(workers), *plugins, *options]
    # This program may itself be run by a test.
    environment = {name: value for name, value in ENVIRONMENT.items() if not name.startswith(("PYTEST_", "COV"))}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    with on_all_cores():
        start = time.perf_counter()
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"benchmarks: the suite has failed:\n{done.stdout}{done.stderr}")
    return seconds


def _millis(seconds: Sequence[float]) -> str:
    return write(sorted(seconds)[len(seconds) // 2] * 1e3, "ms")


BENCHMARK = Benchmark([name for workers in _WORKERS for name in _names(workers)], measure)
