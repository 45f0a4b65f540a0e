"""Processor time of a request, of servers that take turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.load import send_deposits
from benchmarks.machine import processor_seconds
from benchmarks.servers import PATIENCE_SECONDS, Running

_LOOK_SECONDS = 0.1
_WARM_UP = 500
# Of its core; a server that only waits uses less, one that still works uses more.
_IDLE_SHARE = 0.03


def in_turn(servers: Sequence[Running], rounds: int, requests: int, *, idle_seconds: float = 0.0) -> list[list[float]]:
    """Return for each server the processor seconds of a create in each round; the servers take turns.

    With `idle_seconds`, what a create starts and its answer does not wait for belongs to it as well: a round ends when
    the server has been idle for so long.
    """
    costs: list[list[float]] = [[] for _ in servers]
    for server in servers:
        send_deposits(server.port, min(_WARM_UP, requests))
        await_idle(server, idle_seconds)
    for _ in range(rounds):
        for server, own in zip(servers, costs, strict=True):
            spent = processor_time_of(server, partial(_burst, server, requests, idle_seconds))
            if spent is not None:
                own.append(spent / requests)
    return costs


def processor_time_of(server: Running, job: Callable[[], object]) -> float | None:
    """Return the processor seconds that a server uses for a job, or None where the system does not tell."""
    before = processor_seconds(server.pid)
    job()
    after = processor_seconds(server.pid)
    return None if before is None or after is None else after - before


def await_idle(server: Running, seconds: float = _LOOK_SECONDS) -> None:
    """Wait until a server has been idle for so long, since it has finished what its requests have started."""
    deadline = time.perf_counter() + PATIENCE_SECONDS
    idle = 0.0
    before = processor_seconds(server.pid)
    while before is not None and idle < seconds and time.perf_counter() < deadline:
        time.sleep(_LOOK_SECONDS)
        after = processor_seconds(server.pid)
        if after is None:
            return
        idle = idle + _LOOK_SECONDS if after - before < _LOOK_SECONDS * _IDLE_SHARE else 0.0
        before = after


def _burst(server: Running, requests: int, idle_seconds: float) -> None:
    send_deposits(server.port, requests)
    await_idle(server, idle_seconds)
