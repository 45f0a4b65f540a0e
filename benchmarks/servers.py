"""The two servers that are compared, each a process of its own on the server's core."""

from __future__ import annotations

import contextlib
import http.client
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
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
_READY = {"paydouble": "/_paydouble/health", "bare": "/"}


@dataclass(slots=True, frozen=True)
class Running:
    """A server that answers."""

    kind: Kind
    pid: int
    port: int
    started: float
    """When its process was started, by `time.perf_counter`."""
    ready: float
    """When its first 200 had arrived."""


@contextlib.contextmanager
def running(kind: Kind, loop: Loop = "asyncio", options: Sequence[str] = ()) -> Iterator[Running]:
    """Start a server, wait for its first 200, and stop it at the end; `options` are further flags of `serve`."""
    port = free_port()
    if kind == "bare":
        program = ["-m", "benchmarks.bare", str(port), loop]
    else:
        start = ["-m", "paydouble"] if loop == "uvloop" else ["-c", _WITHOUT_UVLOOP]
        program = [*start, "serve", "--quiet", "--clock", "manual", "--port", str(port), *options]
    with on_server_core():
        started = time.perf_counter()
        process = subprocess.Popen([sys.executable, *program], cwd=ROOT, env=ENVIRONMENT)
    try:
        _await_first_200(process, port, _READY[kind])
        yield Running(kind, process.pid, port, started, time.perf_counter())
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def _await_first_200(process: subprocess.Popen[bytes], port: int, path: str) -> None:
    deadline = time.perf_counter() + PATIENCE_SECONDS
    while time.perf_counter() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"benchmarks: {process.args!r} ended with status {process.returncode}; see its own words")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        try:
            connection.request("GET", path)
            if connection.getresponse().status == 200:
                return
        except ConnectionError:
            time.sleep(0.001)
        finally:
            connection.close()
    raise SystemExit(f"benchmarks: {process.args!r} did not answer within {PATIENCE_SECONDS:g} s")
