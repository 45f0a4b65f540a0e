"""What the live log of `serve` costs a create: to a file, a pipe and a terminal, each against `serve --quiet`.

Both sides have a real clock, and the whole scenario of each payment belongs to its create, since it is logged too.
Somebody reads the pipe and the terminal.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from benchmarks.rows import Benchmark, Effort, Row, Target, micros, ratios
from benchmarks.servers import running
from benchmarks.turns import in_turn, scenario_seconds

# Ends without a word also at the error that a closed terminal gives.
_READER: Final = """
import contextlib, os
with contextlib.suppress(OSError):
    while os.read(0, 65536):
        pass
"""
BURSTS: Final = 4
# Each takes ten seconds, since the payments go through their scenario on a real clock.
ROUNDS: Final = 5
_ROWS_AND_COLUMNS: Final = (40, 120)


@contextmanager
def _file() -> Iterator[int]:
    with tempfile.TemporaryFile() as file:
        yield file.fileno()


@contextmanager
def piped() -> Iterator[int]:
    """Yield the end of a pipe to write to, whose other end somebody reads."""
    reading, writing = os.pipe()
    with _read_by_somebody(reading):
        try:
            yield writing
        finally:
            os.close(writing)


@contextmanager
def _terminal() -> Iterator[int]:
    import termios  # noqa: PLC0415 - not on every system

    controller, terminal = os.openpty()
    termios.tcsetwinsize(terminal, _ROWS_AND_COLUMNS)
    with _read_by_somebody(controller):
        try:
            yield terminal
        finally:
            os.close(terminal)


@contextmanager
def _read_by_somebody(descriptor: int) -> Iterator[None]:
    """Read a file descriptor in a process of its own, on this process's core, until its end."""
    with subprocess.Popen([sys.executable, "-c", _READER], stdin=descriptor):
        os.close(descriptor)
        yield


_OUTPUTS: Final[dict[str, Callable[[], AbstractContextManager[int]]]] = {
    "a create with the live log to a file, against --quiet (processor time)": _file,
    "a create with the live log to a pipe, against --quiet (processor time)": piped,
    "a create with the live log to a terminal, against --quiet (processor time)": _terminal,
}


def measure(effort: Effort) -> Iterator[Row]:
    """Yield a row for each kind of output."""
    target = Target(1.15, at_least=False)
    for name, output in _OUTPUTS.items():
        if output is _terminal and not hasattr(os, "openpty"):
            yield Row(name, "–", "–", (), "×", target)
            continue
        with (
            output() as log,
            running("paydouble", options=(), log=log) as logging,
            running("paydouble", options=["--quiet"]) as quiet,
        ):
            ours, without = in_turn(
                (logging, quiet),
                min(ROUNDS, effort.turns),
                BURSTS * effort.requests,
                idle_seconds=scenario_seconds(effort),
            )
        yield Row(name, micros(ours), micros(without), ratios(ours, without), "×", target)


BENCHMARK = Benchmark([*_OUTPUTS], measure)
