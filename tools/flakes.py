"""Run the tests of `make test` many times in random order, and name those that failed in some runs and not in others.

    python tools/flakes.py [--runs N] [--busy] [--seed N] [--minutes N] [--jobs N] [--kept FILE] [PATH …]

Each run has a seed, with which pytest-randomly orders the tests and seeds `random`; `pytest --randomly-seed=SEED`
repeats it. With paths all tests there are run, also those with the mark `long`. `--busy` makes two runs at a time, so
that each has the other one beside it, and keeps a core that neither uses busy with another program. `--minutes` begins
no run after so many. `--kept` keeps the outcome of each run in a file, and makes no kept run again, so that runs of
many hours can be made in parts. Ends with one line, and with status 1 when a test failed in any run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final
from xml.etree import ElementTree as ET

import environment
from kept import Kept, digest_of
from steps import PYTEST

ROOT: Final = Path(__file__).resolve().parent.parent
_SEEDS: Final = 1_000
"""The seed of the first run, where none is given."""
# A program that computes and never waits.
_BUSY: Final = "import os; os.nice(19)\nwhile True: sum(range(100_000))"
_BUSY_AT_ONCE: Final = 2
# As many as `make test` has on two cores: many tests wait for a browser, a compiler or a server.
_JOBS: Final = 4


def main() -> int:
    """Run the tests; return the exit status."""
    parser = argparse.ArgumentParser(prog="python tools/flakes.py", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=20, help="how many (default 20)")
    parser.add_argument("--busy", action="store_true", help="two runs at a time, on cores that are never free")
    parser.add_argument("--seed", type=int, default=_SEEDS, help="of the first run; each further run has the next one")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no run after so many minutes")
    parser.add_argument("--jobs", type=int, default=_JOBS, help=f"processes of a run (default {_JOBS})")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="keep each run's outcome, and make no kept one again")
    parser.add_argument("paths", nargs="*", help="the tests (default: those of `make test`)")
    options = parser.parse_args()
    try:
        kept = Kept(options.kept and options.kept.resolve(), digest_of(ROOT / "src", ROOT / "tests", ROOT / "tools"))
    except (OSError, ValueError) as error:
        parser.error(f"--kept: {error}")
    os.chdir(ROOT)
    environment.prepare()
    end = time.monotonic() + options.minutes * 60
    failed: defaultdict[str, list[int]] = defaultdict(list)
    took: dict[int, float] = {}

    def made(seed: int) -> tuple[int, dict[str, Any]] | None:
        if time.monotonic() > end:
            return None
        tests, beside = " ".join(options.paths) or "all", "busy" if options.busy else "idle"
        run = f"{tests}, seed {seed}, {options.jobs} jobs, {beside}"
        return seed, kept.outcome_of(run, partial(_run, seed, options.jobs, options.paths))

    at_once = _BUSY_AT_ONCE if options.busy else 1
    with _busy() if options.busy else nullcontext(), ThreadPoolExecutor(at_once) as pool:
        runs = pool.map(made, range(options.seed, options.seed + options.runs))
        for seed, outcome in filter(None, runs):
            took[seed] = outcome["seconds"]
            for name in outcome["failed"]:
                failed[name].append(seed)
            if outcome["status"] not in {0, 1}:
                failed[f"the run itself (status {outcome['status']})"].append(seed)
            print(f"seed {seed}: {len(outcome['failed'])} failed, {outcome['seconds']:.0f} s", flush=True)
    return _conclude(took, options.runs, failed)


def _conclude(took: dict[int, float], wanted: int, failed: dict[str, list[int]]) -> int:
    always = {name for name, seeds in failed.items() if len(seeds) == len(took)}
    for name, seeds in failed.items():
        kind = "fails" if name in always else "flaky"
        print(f"{kind}: {name}: in {len(seeds)} of {len(took)} runs; seeds {' '.join(map(str, seeds))}")
    of, want = ("", "") if len(took) == wanted else (f" of {wanted}", ", for want of time")
    runs = f"{len(took)}{of} runs of {median(took.values() or [0]):.0f} s (median){want}"
    if not failed:
        print(f"flakes: {runs}, no test failed in any")
        return 0
    named = "; ".join(f"{name} (seeds {' '.join(map(str, seeds))})" for name, seeds in failed.items())
    print(f"flakes: {runs}, {len(failed) - len(always)} flaky, {len(always)} failed in every run: {named}")
    return 1


def _run(seed: int, jobs: int, paths: list[str]) -> dict[str, Any]:
    """Run the tests once; return the names of those that failed, pytest's status, and how long it took."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        done = subprocess.run(
            [
                *(sys.executable, "-m", *PYTEST, str(jobs), "-q", f"--randomly-seed={seed}", f"--junit-xml={report}"),
                *(("-m", "", *paths) if paths else ("tests",)),
            ],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        names = _failed(report) if report.is_file() else []
    if names or done.returncode:
        print(done.stdout[-20_000:], flush=True)
    return {"failed": names, "status": done.returncode, "seconds": time.monotonic() - began}


def _failed(report: Path) -> list[str]:
    """Return the tests that a report says have failed."""
    cases = ET.parse(report).getroot().iter("testcase")  # noqa: S314 - pytest has just written it
    return [
        f"{case.get('classname')}.{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]


@contextmanager
def _busy() -> Iterator[None]:
    """Keep every core busy during the block, with programs that leave it to every other one."""
    programs = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


if __name__ == "__main__":
    sys.exit(main())
