"""Run the long checks: an hour of load, many runs of the tests, a million fuzzed requests, two simulations.

    python tools/nightly.py [PART …] [--size N] [--seed N] [--minutes N] [--kept FILE] [--write]

Without names it runs all parts, one after the other. Each part is a program of its own, which ends with one line and
status 0 or 1; `--size` gives a single part another size, in its own unit. `--write` puts the results into
docs/long-runs.md as they are, also those of failed and of smaller runs; what other parts have there stays. `--kept`
keeps each of the runs of `suite` and `busy` in a file, so that they can be made in parts. Ends with
status 1 when a part failed. Short forms of all parts are in `make test` (CONTRIBUTING.md).
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import environment

ROOT: Final = Path(__file__).resolve().parent.parent
PAGE: Final = ROOT / "docs" / "long-runs.md"


@dataclass(frozen=True)
class Part:
    """A long check; `command` ends with the option that takes its size."""

    name: str
    what: str
    command: tuple[str, ...]
    size: int
    unit: str
    seeded: bool = True
    """Whether `--seed` makes it choose something else."""
    can_keep: bool = False
    """Whether it takes `--kept FILE`."""


PARTS: Final = (
    Part(
        "soak",
        "`serve` over sockets, with faults, all kinds of receivers, sandboxes that come and go, and clocks that move: "
        "memory stays flat, every answer and delivery is right",
        ("-m", "benchmarks.soak", "--minutes"),
        60,
        "minutes",
    ),
    Part(
        "suite",
        "the tests of `make test` in random order: one that fails in some runs only is named, with its seed",
        ("tools/flakes.py", "--runs"),
        10,
        "runs",
        can_keep=True,
    ),
    Part(
        "busy",
        "the same, two runs at a time, on cores that are never free",
        ("tools/flakes.py", "--busy", "--runs"),
        10,
        "runs",
        can_keep=True,
    ),
    Part(
        "fuzz",
        "requests with valid, invalid and malformed parts: no 5xx, no traceback, always one of the envelopes, "
        "and journals that agree with the answers",
        ("tests/fuzz/send.py", "--requests"),
        1_000_000,
        "requests",
    ),
    Part(
        "simulate-shell",
        "plays of the shell with a loop, sockets and clocks that follow a seed",
        ("tests/simulation/play.py", "--seeds"),
        100_000,
        "seeds",
        seeded=False,
    ),
    Part(
        "simulate-business",
        "plays of a business without sockets, with every invariant checked after every command",
        ("tests/simulation/play.py", "--of", "business", "--seeds"),
        100_000,
        "seeds",
        seeded=False,
    ),
)
_ALIASES: Final = {"simulate": ("simulate-shell", "simulate-business")}
HEAD: Final = """\
# Long runs

What `make nightly` found. It runs in CI every night; `python tools/nightly.py PART --write` puts the result of a whole
run into this table as it is, with the size that was run. Short forms are in `make test`
([what they catch](../CONTRIBUTING.md#long-runs)).

| part | what must hold | size | command | seconds | result | when, on what |
|---|---|---|---|---|---|---|
"""


def main() -> int:
    """Run the parts that the arguments name; return the exit status."""
    parser = argparse.ArgumentParser(prog="python tools/nightly.py", description=(__doc__ or "").split("\n", 1)[0])
    names = [part.name for part in PARTS]
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join([*names, *_ALIASES])}; all without one")
    parser.add_argument("--size", type=int, help="of a single part, in its unit, instead of the whole size")
    parser.add_argument(
        "--seed", type=int, help="of what the parts choose; a part that counts through seeds ignores it"
    )
    parser.add_argument("--minutes", type=float, help="end each part but soak early, and say how far it came")
    parser.add_argument(
        "--kept", type=Path, metavar="FILE", help="keep each run of suite and busy, and make no kept one again"
    )
    parser.add_argument("--write", action="store_true", help=f"put the results into {PAGE.relative_to(ROOT)}")
    options = parser.parse_args()
    wanted = [name for given in options.parts for name in _ALIASES.get(given, (given,))] or names
    if unknown := [name for name in wanted if name not in names]:
        parser.error(f"there is no part {', '.join(unknown)}; there are: {' '.join([*names, *_ALIASES])}")
    if options.kept and not any(part.can_keep for part in PARTS if part.name in wanted):
        parser.error(f"--kept goes with {' and '.join(part.name for part in PARTS if part.can_keep)}")
    if options.size is not None and (len(options.parts) != 1 or options.size < 1):
        parser.error("--size takes a whole number from 1, and goes with one PART, whose unit it has")
    kept = options.kept and options.kept.resolve()  # what is relative is so to the caller's folder
    os.chdir(ROOT)
    environment.prepare()
    failed = [part.name for part in PARTS if part.name in wanted and not _run(part, options, kept)]
    print(f"nightly: {'FAILED: ' + ' '.join(failed) if failed else 'all of ' + ' '.join(wanted) + ' passed'}")
    return int(bool(failed))


def _run(part: Part, options: argparse.Namespace, kept: Path | None) -> bool:
    """Run a part, show its output, and return whether it passed."""
    size = options.size or part.size
    command = [*part.command, str(size)]
    if part.seeded and options.seed is not None:
        command += ["--seed", str(options.seed)]
    if part.unit != "minutes" and options.minutes is not None:
        command += ["--minutes", str(options.minutes)]
    keeps = ["--kept", str(kept)] if part.can_keep and kept else []
    print(f"nightly: {part.name}: python {' '.join([*command, *keeps])}", flush=True)
    began, last = time.monotonic(), ""
    with subprocess.Popen(
        [sys.executable, *command, *keeps],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            last = line.strip() or last
    passed = process.returncode == 0
    seconds = time.monotonic() - began
    print(f"nightly: {part.name} {'passed' if passed else 'FAILED'} after {seconds:.0f} s", flush=True)
    if options.write:
        took = "in parts" if keeps else f"{seconds:,.0f}"
        _write(part, size, command, took, f"{'passed' if passed else '**failed**'}: {last.partition(': ')[2]}")
    return passed


def _write(part: Part, size: int, command: list[str], seconds: str, result: str) -> None:
    """Put a result into the page, in place of the one that the part has there."""
    rows = _rows(PAGE.read_text("utf-8")) if PAGE.exists() else {}
    of = f"{size:,}" if size == part.size else f"{size:,} of {part.size:,}"
    cells = (
        part.name,
        part.what,
        f"{of} {part.unit}",
        f"`python {' '.join(command)}`",
        seconds,
        result.replace("|", "\\|"),
        f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {os.cpu_count()} cores",
    )
    rows[part.name] = f"| {' | '.join(cells)} |"
    PAGE.write_text(HEAD + "".join(f"{rows.get(each.name) or _not_run(each)}\n" for each in PARTS), "utf-8")


def _not_run(part: Part) -> str:
    """Return the row of a part that has no result."""
    command = f"`python {' '.join(part.command)} {part.size}`"
    return f"| {part.name} | {part.what} | {part.size:,} {part.unit} | {command} | – | not run yet | – |"


def _rows(page: str) -> dict[str, str]:
    """Return the rows of the page's table by the name of their part."""
    return {row[1]: row[0] for row in re.finditer(r"^\| ([a-z-]+) \| .* \|$", page, re.MULTILINE) if row[1] != "part"}


if __name__ == "__main__":
    sys.exit(main())
