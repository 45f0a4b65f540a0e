"""Whatever strangers send is read in time that grows with its length: eight times as much, at most 22 times as long.

What is measured is the processor time of this thread, the least of several runs. Linear work takes eight times as long
and quadratic work 64 times, so that the limit stands a factor of almost three from both: what is larger than the
processor's cache takes up to 2.5 times as long when other programs use the cache as well. A figure that is too high is
measured again, since quadratic work is too slow every time. The measure itself is tested with a counted clock.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from paydouble.cli.options import read_mapping
from paydouble.config import load_settings
from paydouble.core import json_text
from paydouble.core.errors import UsageError
from paydouble.core.globs import fits
from paydouble.core.json_text import JsonTextError
from paydouble.core.seeded_random import SeededRandom
from paydouble.faults.model import parse_fault
from paydouble.faults.table import FaultTable
from paydouble.guards.credentials import parse_basic
from paydouble.inprocess import InProcess
from paydouble.scenarios.reading import parse_scenario, parse_text
from paydouble.web.control.sandboxes import CreateSandbox

Work = Callable[[], object]
Clock = Callable[[], float]
GROWTH = 8
MOST = 22.0
_SMALL = 4  # a quarter of the size, so that the larger work is twice the size
ROUNDS = 8


@pytest.fixture(autouse=True)
def _without_the_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def seconds(work: Work, clock: Clock) -> float:
    """Return the processor time of a piece of work, the least of three."""
    times = []
    for _ in range(3):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def check(work_of: Callable[[int], Work], size: int, clock: Clock = time.thread_time) -> None:
    """Fail when eight times the size takes more than 22 times as long, however often it is tried."""
    small, large = work_of(size // _SMALL), work_of(GROWTH * (size // _SMALL))
    ratios: list[float] = []
    for _ in range(ROUNDS):
        ratios.append(seconds(large, clock) / seconds(small, clock))
        if ratios[-1] <= MOST:
            return
    pytest.fail(f"{GROWTH} times as much took {min(ratios):.1f} times as long, at best")


def refused(parse: Callable[..., object], *given: object) -> Work:
    """Return work that ends with a refusal, as most of what is made to take long does."""

    def work() -> None:
        with pytest.raises((JsonTextError, UsageError, ValueError)):
            parse(*given)

    return work


def members(count: int) -> dict[str, int]:
    """Return an object with so many members that nothing knows."""
    return {f"member-{number}": number for number in range(count)}


def text_of(count: int) -> bytes:
    """Return such an object's JSON, its last member twice."""
    return json_text.dumps(members(count))[:-1] + b',"member-%d":0}' % (count - 1)


class Order:
    """A request as faults see it."""

    def value(self, member: str) -> str | None:
        """Return a member of `match`."""
        return {"external_identifier": "order-1", "path": "/pay-in/deposit-creation"}.get(member)

    def relevant(self, effect: object) -> bool:  # noqa: ARG002 - every effect is
        """Return that any effect could act."""
        return True


def faults(count: int) -> FaultTable:
    """Return a table of faults that match by two patterns each, all of which nearly fit."""
    table = FaultTable(SeededRandom(0))
    effect = {"type": "latency", "fixed": "1s"}
    for number in range(count):
        match = {"external_identifier": "order-*", "path": f"*/deposit-creation*{number}"}
        table.add(parse_fault({"on": "api", "match": match, "effect": effect}), 0)
    return table


def asking(count: int) -> Work:
    """Return the work of asking many faults about one request."""
    table = faults(count)
    return lambda: table.fire("before", Order(), 0)


def sending(count: int) -> Work:
    """Return the work of taking a request with many headers."""
    service = InProcess()
    request = service.request("GET", "/pay-in", headers={f"X-Header-{number}": "v" * 20 for number in range(count)})
    request.raw_headers = [(name.encode(), value.encode()) for name, value in request.headers.items()]
    return lambda: service.handle(request)


WORK: dict[str, tuple[Callable[[int], Work], int]] = {
    "json-members-twice": (lambda size: refused(json_text.loads, text_of(size)), 4_000),
    "json-members-twice-quick": (lambda size: refused(json_text.read, text_of(size)), 4_000),
    "json-members": (lambda size: lambda: json_text.loads(json_text.dumps(members(size))), 4_000),
    "json-depth": (lambda size: lambda: json_text.check_depth(b'["\\"[",{}],' * size, 100), 4_000),
    "json-depth-one-text": (lambda size: lambda: json_text.check_depth(b'"' + b"\\[" * size, 8), 200_000),
    "json-deep": (lambda size: refused(json_text.loads, b'{"a":' * size), 200_000),
    "json-digits": (lambda size: lambda: json_text.loads(b"1" * size), 400_000),
    "json-escapes": (lambda size: lambda: json_text.read(b'"' + b"\\u00e9" * size + b'"'), 100_000),
    "glob-stars": (lambda size: lambda: fits("a" * 2 * size, "a*" * size + "b"), 20_000),
    "glob-parts": (lambda size: lambda: fits("ab" * size + "c", "*a*b" * size), 20_000),
    "glob-nearly": (lambda size: lambda: fits("a" * 2 * size, "*" + "a" * size + "b*"), 200_000),
    "match-patterns": (asking, 3_000),
    "headers": (sending, 4_000),
    "authorization": (lambda size: lambda: parse_basic("Basic " + "QTpC" * size), 200_000),
    "control-body": (lambda size: refused(CreateSandbox.model_validate, members(size)), 4_000),
    "control-settings": (lambda size: refused(load_settings, members(size)), 4_000),
    "control-fault": (lambda size: refused(parse_fault, {"effect": {"type": "latency", **members(size)}}), 4_000),
    "scenario": (lambda size: refused(parse_scenario, {"name": "a", **members(size)}), 1_000),
    "scenario-yaml": (
        lambda size: refused(parse_text, "name: a\n" + "".join(f"k{n}: 1\n" for n in range(size))),
        1_000,
    ),
    "scenario-yaml-steps": (
        lambda size: refused(
            parse_text, "name: a\nlifecycle:\n  pay_in:\n" + "".join(f"  - {{to: s{n}}}\n" for n in range(size))
        ),
        500,
    ),
    "scenario-yaml-line": (lambda size: refused(parse_text, "name: [" + "a, " * size), 1_000),
}


@pytest.mark.parametrize("name", WORK)
def test_eight_times_as_much_takes_at_most_22_times_as_long(name: str) -> None:
    """No parser of what strangers send looks at one part of it again for each other."""
    check(*WORK[name])


def test_a_config_file_takes_time_by_its_length(tmp_path: Path) -> None:
    """So is the file of `--config` read."""

    def reading(count: int) -> Work:
        path = tmp_path / f"{count}.yaml"
        path.write_text("".join(f"k{number}: [1]\n" for number in range(count)), "utf-8")
        return lambda: read_mapping(path)

    check(reading, 300)


@pytest.mark.parametrize(("power", "seen"), [(1, False), (2, True)])
def test_the_measure_sees_quadratic_work(power: int, seen: bool) -> None:
    """Quadratic work fails the measure and linear work does not; the clock counts, so that no machine changes it."""
    now = 0.0

    def counted(count: int) -> Work:
        def work() -> None:
            nonlocal now
            now += count**power

        return work

    with pytest.raises(pytest.fail.Exception, match="took 64") if seen else nullcontext():
        check(counted, 400, lambda: now)
