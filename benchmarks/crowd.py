"""20,000 small sandboxes: one after the other, and all at the same time; in each a deposit is created."""

from __future__ import annotations

import contextlib
import http.client
import time
import uuid
from collections.abc import Iterator
from typing import Final

from benchmarks.control import Control, controlling
from benchmarks.load import DEPOSIT, PATH
from benchmarks.machine import resident_bytes
from benchmarks.rows import Benchmark, Effort, Row, write
from benchmarks.servers import QUIET, running
from paydouble.guards.credentials import basic_header

_SANDBOXES: Final = 20_000
# At the beginning and at the end so many are timed.
_TIMED: Final = 1_000
_COME_AND_GO: Final = "a sandbox made, used and deleted, the last of 20,000 against the first"
_LEFT: Final = "resident memory that 20,000 deleted sandboxes leave"
_ALIVE: Final = "a sandbox made and used, the last of 20,000 alive against the first"
_EACH: Final = "resident memory for each of 20,000 sandboxes alive"


def measure(effort: Effort) -> Iterator[Row]:
    """Yield time and memory of sandboxes that come and go, then of those that stay."""
    count, timed = _SANDBOXES // effort.scale, _TIMED // effort.scale
    for keep, time_name, memory_name in ((False, _COME_AND_GO, _LEFT), (True, _ALIVE, _EACH)):
        with (
            running("paydouble", options=[*QUIET, "--max-sandboxes", str(_SANDBOXES + 1)]) as server,
            controlling(server.port) as control,
            contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port)) as api,
        ):
            _use(control, api, timed, keep=False)  # loads what the first sandboxes load
            before = resident_bytes(server.pid)
            early = _use(control, api, timed, keep=keep)
            _use(control, api, count - 2 * timed, keep=keep)
            late = _use(control, api, timed, keep=keep)
            after = resident_bytes(server.pid)
        yield Row(time_name, write(late * 1e3, "ms"), write(early * 1e3, "ms"), [late / early], "×")
        if before is None or after is None:
            yield Row(memory_name, "–", "–", (), "KB")
            continue
        ours = f"{write(before / 1e6, 'MB')} → {write(after / 1e6, 'MB')}"
        grown = after - before
        figure, unit = (grown / count / 1e3, "KB") if keep else (grown / 1e6, "MB")
        yield Row(memory_name, ours, "–", [figure], unit)


def _use(control: Control, api: http.client.HTTPConnection, count: int, *, keep: bool) -> float:
    """Make so many sandboxes and create a deposit in each; return the seconds of one, with its delete unless kept."""
    start = time.perf_counter()
    for _ in range(count):
        box = control.post("/sandboxes")
        headers = {
            "Authorization": basic_header(box["business_key"], box["business_secret"]),
            "Idempotency-Key": str(uuid.uuid4()),
            "Content-Type": "application/json",
        }
        api.request("POST", PATH, DEPOSIT, headers)
        response = api.getresponse()
        response.read()
        if response.status != 200:
            raise SystemExit(f"benchmarks: a deposit was refused with {response.status}")
        if not keep:
            control.delete(f"/sandboxes/{box['id']}")
    return (time.perf_counter() - start) / count


BENCHMARK = Benchmark([_COME_AND_GO, _LEFT, _ALIVE, _EACH], measure, takes_minutes=True)
