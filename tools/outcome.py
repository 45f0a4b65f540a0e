"""The outcome of a step of `check.py`, and how to get it from a command."""

from __future__ import annotations

import enum
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass


class Verdict(enum.Enum):
    """The verdict of a step, ordered by severity."""

    OK = enum.auto()
    SKIPPED = enum.auto()
    FAILED = enum.auto()


@dataclass(frozen=True)
class Outcome:
    """A verdict, a short reason, and the output to show for a failure."""

    verdict: Verdict
    reason: str = ""
    output: str = ""


def ok(reason: str = "") -> Outcome:
    """Return a success."""
    return Outcome(Verdict.OK, reason)


def skipped(reason: str) -> Outcome:
    """Return a skip; the reason says what is missing here."""
    return Outcome(Verdict.SKIPPED, reason)


def failed(reason: str, output: str = "") -> Outcome:
    """Return a failure."""
    return Outcome(Verdict.FAILED, reason, output)


def run_command(arguments: Sequence[str], *, captured: bool = True) -> Outcome:
    """Run a program in the repository's root; it fails if its status is not 0.

    Its output is captured, to be shown after a failure, or goes directly to the terminal.
    """
    try:
        done = subprocess.run(
            arguments,
            check=False,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if captured else None,
            stderr=subprocess.STDOUT if captured else None,
        )
    except OSError as error:
        return failed(f"{arguments[0]} does not start: {error.strerror}; make setup installs the tools")
    if done.returncode:
        return failed(f"status {done.returncode} from: {' '.join(arguments)}", done.stdout or "")
    return ok()
