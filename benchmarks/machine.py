"""What the operating system is asked for: cores, memory, processor time, a free port."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

from ports import free_port

__all__ = ["free_port"]  # it is chosen there

# The first core serves, the last one makes the load; on one core, or without the call, the system decides.
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
PINNED = len(CORES) > 1


def pin(core: int) -> None:
    """Keep this process on the core with this place in `CORES`."""
    if PINNED:
        os.sched_setaffinity(0, {CORES[core]})


@contextlib.contextmanager
def on_server_core() -> Iterator[None]:
    """Run a block on the server's core; a process that it starts stays there."""
    pin(0)
    try:
        yield
    finally:
        pin(-1)


@contextlib.contextmanager
def on_all_cores() -> Iterator[None]:
    """Run a block where the system decides; a process that it starts stays there."""
    if PINNED:
        os.sched_setaffinity(0, CORES)
    try:
        yield
    finally:
        pin(-1)


def resident_bytes(pid: int) -> int | None:
    """Return a process's resident memory, or None where the system does not tell."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def processor_seconds(pid: int) -> float | None:
    """Return the processor time that a process has used, or None where the system does not tell."""
    # The scheduler counts nanoseconds, but only of threads that still run, and not in every kernel. The process's own
    # count includes the others and has steps of ten milliseconds. Neither is ever more than the whole.
    precise = 0.0
    for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):
            precise += int(task.read_text("ascii").split()[0]) / 1e9
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        return None
    return max(precise, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))


def has_uvloop() -> bool:
    """Return whether the `fast` extra is installed."""
    with contextlib.suppress(ImportError):
        import uvloop  # noqa: F401, PLC0415 - the question is whether it can be imported

        return True
    return False


def describe() -> str:
    """Return what the figures of this run depend on, in a line."""
    cores = f"server and load pinned to one of {len(CORES)} cores each" if PINNED else "processes not pinned"
    return (
        f"{platform.python_implementation()} {platform.python_version()}, aiohttp {version('aiohttp')}, "
        f"{platform.system()} on {platform.machine()}; {cores}"
    )
