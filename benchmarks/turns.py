"""Processor time of a request, of servers that take turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from benchmarks.load import send_deposits
from benchmarks.machine import processor_seconds
from benchmarks.rows import Effort
from benchmarks.servers import PATIENCE_SECONDS, Running
from paydouble.config import Settings
from paydouble.scenarios.library import shipped
from paydouble.scenarios.steps import PayInStep

_LOOK_SECONDS = 0.1
_MARGIN_SECONDS = 0.3
_WARM_UP = 500
# Of its core; a server that only waits uses less, one that still works uses more.
_IDLE_SHARE = 0.03


def scenario_seconds(effort: Effort) -> float:
    """Return how long a server must be idle until no payment of the default scenario changes any more.

    It is a little more than the longest pause between two changes, on a real clock. A quick run does not wait for them.
    """
    if not effort.judged:
        return _LOOK_SECONDS
    scenario = shipped(Settings().scenario)
    assert scenario is not None
    pauses = [step.after for step in scenario.lifecycle.pay_in or () if isinstance(step, PayInStep)]
    return max(pauses) / 1000 + _MARGIN_SECONDS


def in_turn(servers: Sequence[Running], rounds: int, requests: int, *, idle_seconds: float = 0.0) -> list[list[float]]:
    """Return for each server the processor seconds of a create in each round; the servers take turns.

    With `idle_seconds`, what a create starts and its answer does not wait for belongs to it as well: a round ends when
    all servers have been idle for so long.
    """
    costs: list[list[float]] = [[] for _ in servers]
    for server in servers:
        send_deposits(server.port, min(_WARM_UP, requests))
    await_idle(servers, idle_seconds)
    for _ in range(rounds):
        before = [processor_seconds(server.pid) for server in servers]
        for server in servers:
            send_deposits(server.port, requests)
        await_idle(servers, idle_seconds)
        for server, own, start in zip(servers, costs, before, strict=True):
            end = processor_seconds(server.pid)
            if start is not None and end is not None:
                own.append((end - start) / requests)
    return costs


def processor_time_of(server: Running, job: Callable[[], object]) -> float | None:
    """Return the processor seconds that a server uses for a job, or None where the system does not tell."""
    before = processor_seconds(server.pid)
    job()
    after = processor_seconds(server.pid)
    return None if before is None or after is None else after - before


def await_idle(servers: Sequence[Running], seconds: float = _LOOK_SECONDS) -> None:
    """Wait until servers have been idle for so long, since they have finished what their requests have started."""
    deadline = time.perf_counter() + PATIENCE_SECONDS
    idle = 0.0
    before = _spent(servers)
    while before is not None and idle < seconds and time.perf_counter() < deadline:
        time.sleep(_LOOK_SECONDS)
        after = _spent(servers)
        if after is None:
            return
        idle = idle + _LOOK_SECONDS if after - before < _LOOK_SECONDS * _IDLE_SHARE else 0.0
        before = after


def _spent(servers: Sequence[Running]) -> float | None:
    """Return the processor seconds of servers together, or None where the system does not tell."""
    spent = [processor_seconds(server.pid) for server in servers]
    return None if None in spent else sum(each or 0.0 for each in spent)
