"""The testing kit: a deposit without sockets beside a bare validation of its body, and a test's own fresh sandbox."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

from benchmarks.load import DEPOSIT
from benchmarks.machine import on_server_core
from benchmarks.rows import Benchmark, Effort, Row, Target, micros, ratios, write
from paydouble.api.schemas import DepositRequest
from paydouble.core import json_text
from paydouble.testing import Paydouble, Sandbox

SOCKETLESS = "create a deposit without sockets"
AGAINST_BARE = "create a deposit without sockets, time against a bare validation"
FIXTURE = "a test's fresh sandbox over HTTP (create and delete)"
_PATH = "/pay-in/deposit-creation"


def measure(effort: Effort) -> Iterator[Row]:
    """Yield deposits a minute, what one costs in bare validations, and the fixture's time."""
    ours, bare = [], []
    with on_server_core():
        for _ in range(effort.rounds):
            ours.append(_deposits(effort.requests))
            bare.append(_validations(effort.requests))
        millis = _fixtures(effort)
    rates = [60 / seconds for seconds in ours]
    yield Row(
        SOCKETLESS,
        write(median(rates), "/min"),
        write(median(60 / seconds for seconds in bare), "/min"),
        rates,
        "/min",
        Target(20_000.0, at_least=True),
    )
    yield Row(AGAINST_BARE, micros(ours), micros(bare), ratios(ours, bare), "×")
    yield Row(FIXTURE, write(median(millis), "ms"), "–", millis, "ms", Target(3.0, at_least=False))


def _deposits(count: int) -> float:
    """Return the seconds of one deposit, in a business with empty books."""
    box = Sandbox()
    box.handle("POST", _PATH, body=DEPOSIT)
    start = time.perf_counter()
    for _ in range(count):
        box.handle("POST", _PATH, body=DEPOSIT)
    return (time.perf_counter() - start) / count


def _validations(count: int) -> float:
    """Return the seconds in which pydantic checks the same body, parsed already."""
    parsed = json_text.loads(DEPOSIT)
    DepositRequest.model_validate(parsed)
    start = time.perf_counter()
    for _ in range(count):
        DepositRequest.model_validate(parsed)
    return (time.perf_counter() - start) / count


def _fixtures(effort: Effort) -> list[float]:
    millis: list[float] = []
    with Paydouble.start() as server:
        for _ in range(effort.rounds):
            start = time.perf_counter()
            for _ in range(effort.sandboxes):
                with server.sandbox(clock="manual", seed=0):
                    pass
            millis.append((time.perf_counter() - start) / effort.sandboxes * 1e3)
    return millis


BENCHMARK = Benchmark((SOCKETLESS, AGAINST_BARE, FIXTURE), measure)
