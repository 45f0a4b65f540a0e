"""Run the checks of this repository, as `make test` and CI do.

    python tools/check.py [STEP ...]

Without names it runs all but the tests that take long, three at a time; the tests use several processes themselves and
run alone. Each step prints one line with its seconds when it ends; a failed one shows its whole output, and the rest
still run. Ends with status 1 when a step failed, 2 when a name is unknown. A skipped step says why it could not run.
"""

from __future__ import annotations

import itertools
import os
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import environment
from outcome import Outcome, Verdict
from steps import STEPS, Step

ROOT = Path(__file__).resolve().parent.parent
# The usual machine of CI has two cores, and one of three steps waits: for a network, or for a container.
AT_A_TIME = 3
MARKS = {Verdict.OK: "ok", Verdict.FAILED: "FAILED", Verdict.SKIPPED: "skipped"}


def main(names: list[str]) -> int:
    """Run the named steps, or all; return the exit status."""
    known = {step.name: step for step in STEPS}
    if unknown := [name for name in names if name not in known]:
        print(f"check: no step named {', '.join(unknown)}; there are: {' '.join(known)}", file=sys.stderr)
        return 2
    os.chdir(ROOT)
    environment.prepare()
    chosen = [known[name] for name in names] or [step for step in STEPS if not step.only_named]
    began = time.monotonic()
    outcomes = run_all(chosen)
    return summarise(outcomes, time.monotonic() - began)


def run_all(steps: list[Step]) -> list[tuple[Step, Outcome]]:
    """Run the steps in their order, some of them at the same time; return each with its outcome."""
    report = Report(len(steps))
    outcomes: list[tuple[Step, Outcome]] = []
    for alone, group in itertools.groupby(steps, key=lambda step: step.shows_itself):
        members = list(group)
        with ThreadPoolExecutor(1 if alone else AT_A_TIME) as pool:
            outcomes += zip(members, pool.map(report.run, members), strict=True)
    return outcomes


class Report:
    """Prints the steps as they end, each as a whole."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._ended = 0
        self._printing = threading.Lock()

    def run(self, step: Step) -> Outcome:
        """Run one step and print its line, and its output if it failed."""
        if step.shows_itself:
            print(f"{step.name}: {step.what}", flush=True)
        began = time.monotonic()
        outcome = step.run()
        seconds = time.monotonic() - began
        with self._printing:
            self._ended += 1
            place = f"[{self._ended}/{self._total}]"
            line = f"{place:<7} {step.name:<14} {seconds:6.1f} s  {MARKS[outcome.verdict]}"
            print(f"{line}: {outcome.reason}" if outcome.reason else line, flush=True)
            if outcome.verdict is Verdict.FAILED and outcome.output:
                print(textwrap.indent(outcome.output.rstrip(), "    "), flush=True)
        return outcome


def summarise(outcomes: list[tuple[Step, Outcome]], seconds: float) -> int:
    """Print a summary; return 1 if any step failed."""
    counts = {verdict: [step.name for step, outcome in outcomes if outcome.verdict is verdict] for verdict in Verdict}
    parts = [f"{len(names)} {MARKS[verdict]}" for verdict, names in counts.items() if names]
    print(f"checks: {', '.join(parts)} in {seconds:.0f} s", flush=True)
    for step, outcome in outcomes:
        if outcome.verdict is Verdict.SKIPPED:
            print(f"  skipped {step.name}: {outcome.reason}")
    if failed := counts[Verdict.FAILED]:
        print(f'  FAILED: {" ".join(failed)}; run one alone with: make test STEPS="{failed[0]}"')
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
