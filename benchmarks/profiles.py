"""Where the time goes: a profile of one job, without sockets wherever the job has none of its own."""

from __future__ import annotations

import asyncio
import cProfile
import pstats
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Final

from benchmarks.load import KEY, SECRET, deposit
from benchmarks.receiver import receiving
from benchmarks.retries import send_all
from benchmarks.rows import FULL
from benchmarks.sandboxes import in_process
from benchmarks.servers import ENVIRONMENT, ROOT
from paydouble.runtime.host import ClockSpec, Host, HostOptions, SandboxSpec

_DEPOSITS = 20_000
_LINES = 30


def host_with_business() -> Host:
    """Return a host with the business that the load pays as, on a manual clock."""
    host = Host(HostOptions(clock=ClockSpec("manual")))
    host.create(SandboxSpec(business_key=KEY, business_secret=SECRET))
    return host


def create() -> None:
    """Take deposits through the pipeline."""
    host = host_with_business()
    requests = [deposit(number) for number in range(_DEPOSITS)]
    _print(lambda: [host.pipeline.handle(request) for request in requests])


def sandbox() -> None:
    """Make sandboxes and let them go."""
    _print(lambda: asyncio.run(in_process(FULL)))


def retries() -> None:
    """Let a hundred events fail for 72 hours."""

    async def run(url: str) -> None:
        host = Host(HostOptions())
        await send_all(host, url)
        await host.close()

    with receiving() as receiver:
        _print(lambda: asyncio.run(run(receiver.urls[0])))


def start() -> None:
    """Show what the imports of `serve` cost, the dearest modules last."""
    program = [sys.executable, "-X", "importtime", "-c", "import paydouble.cli.serve, paydouble.server"]
    command = partial(subprocess.run, program, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    command()  # writes the bytecode
    told = command().stderr.splitlines()
    print("import time: self [us] | cumulative | imported package")
    rows = [line for line in told if line.removeprefix("import time:").strip()[:1].isdigit()]
    print("\n".join(sorted(rows, key=lambda line: int(line.split("|")[1]))[-2 * _LINES :]))


def _print(job: Callable[[], object]) -> None:
    profile = cProfile.Profile()
    profile.runcall(job)
    pstats.Stats(profile).sort_stats("tottime").print_stats(_LINES)


PROFILES: Final = {"create": create, "sandbox": sandbox, "retries": retries, "start": start}
