"""The servers that are compared, each a process of its own on the server's core."""

from __future__ import annotations

import contextlib
import http.client
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.machine import free_port, on_server_core

Kind = Literal["paydouble", "bare"]
Loop = Literal["asyncio", "uvloop"]
ROOT = Path(__file__).parents[1]
PATIENCE_SECONDS = 120.0
# `serve` takes uvloop wherever it is installed; this is an installation without it.
_WITHOUT_UVLOOP = "import sys; sys.modules['uvloop'] = None; from paydouble.__main__ import main; main()"
# Wherever the environment forbids bytecode, a start would mostly measure the compiler; here both sides have theirs.
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    "PYTHONPYCACHEPREFIX": str(ROOT / ".cache" / "pycache"),
}
HEALTH = "/_paydouble/health"
QUIET = ("--quiet", "--clock", "manual")
"""The options with which most rows start `serve`."""


@dataclass(slots=True, frozen=True)
class Running:
    """A server that answers."""

    pid: int
    port: int
    started: float
    """When its process was started, by `time.perf_counter`."""
    ready: float
    """When its first 200 had arrived."""


@contextlib.contextmanager
def running(
    kind: Kind,
    loop: Loop = "asyncio",
    options: Sequence[str] = QUIET,
    *,
    log: int | None = None,
    environment: Mapping[str, str] = ENVIRONMENT,
) -> Iterator[Running]:
    """Start a server, wait for its first 200, and stop it at the end.

    `options` are those of `serve`, besides its port; its log goes to the file descriptor `log`.
    """
    port = free_port()
    if kind == "bare":
        program, ready = ["-m", "benchmarks.bare", str(port), loop], "/"
    else:
        start = ["-m", "paydouble"] if loop == "uvloop" else ["-c", _WITHOUT_UVLOOP]
        program, ready = [*start, "serve", "--port", str(port), *options], HEALTH
    with started([sys.executable, *program], port, ready, log=log, environment=environment) as server:
        yield server


@contextlib.contextmanager
def started(
    program: Sequence[str],
    port: int,
    ready: str | None,
    *,
    log: int | None = None,
    environment: Mapping[str, str] = ENVIRONMENT,
) -> Iterator[Running]:
    """Start any server, and stop it at the end.

    First wait until it answers 200 at the path `ready`, or anything if that is None.
    """
    with on_server_core():
        begin = time.perf_counter()
        process = subprocess.Popen(program, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=log)
    try:
        _await_answer(process, port, ready)
        yield Running(process.pid, port, begin, time.perf_counter())
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def _await_answer(process: subprocess.Popen[bytes], port: int, path: str | None) -> None:
    deadline = time.perf_counter() + PATIENCE_SECONDS
    while time.perf_counter() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"benchmarks: {process.args!r} ended with status {process.returncode}")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        try:
            connection.request("GET", path or "/")
            if connection.getresponse().status == 200 or path is None:
                return
        except ConnectionError:
            time.sleep(0.001)
        finally:
            connection.close()
    raise SystemExit(f"benchmarks: {process.args!r} did not answer within {PATIENCE_SECONDS:g} s")
