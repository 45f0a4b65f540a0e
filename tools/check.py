"""Run the checks of this repository one after the other, as `make test` and CI do.

    python tools/check.py [STEP ...]

Without names it runs them all. Each prints one line with its seconds; a failed one shows its whole output, and the rest
still run. Ends with status 1 when a step failed, 2 when a name is unknown. A skipped step says why it could not run.
"""

from __future__ import annotations

import os
import sys
import textwrap
import time
from pathlib import Path

from outcome import Outcome, Verdict
from steps import STEPS, Step

ROOT = Path(__file__).resolve().parent.parent
MARKS = {Verdict.OK: "ok", Verdict.FAILED: "FAILED", Verdict.SKIPPED: "skipped"}


def main(names: list[str]) -> int:
    """Run the named steps, or all; return the exit status."""
    known = {step.name: step for step in STEPS}
    if unknown := [name for name in names if name not in known]:
        print(f"check: no step named {', '.join(unknown)}; there are: {' '.join(known)}", file=sys.stderr)
        return 2
    os.chdir(ROOT)
    # The tools of this virtual environment come before those of the caller's PATH.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    chosen = [known[name] for name in names] or list(STEPS)
    began = time.monotonic()
    outcomes = [(step, run(step, f"{number}/{len(chosen)}")) for number, step in enumerate(chosen, 1)]
    return summarise(outcomes, time.monotonic() - began)


def run(step: Step, place: str) -> Outcome:
    """Run one step and print its line, and its output if it failed."""
    if step.shows_itself:
        print(f"[{place}] {step.name}: {step.what}", flush=True)
    began = time.monotonic()
    outcome = step.run()
    line = f"[{place}] {step.name:<14} {time.monotonic() - began:6.1f} s  {MARKS[outcome.verdict]}"
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
