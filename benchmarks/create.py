"""Creating a deposit with everything on, against a bare handler.

On are authentication, idempotency, validation, the event and the journal.

Both servers live side by side on one core and take turns, so that whatever else the machine does meets both alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from benchmarks.load import Burst, send_deposits
from benchmarks.machine import has_uvloop
from benchmarks.rows import Benchmark, Effort, Row, Target, micros, percentile, ratios, write
from benchmarks.servers import Loop, Running, running
from benchmarks.turns import processor_time_of

_LOOPS: tuple[Loop, ...] = ("asyncio", "uvloop")
_WARM_UP = 500


def _names(loop: Loop) -> tuple[str, str, str]:
    return (
        f"create a deposit, throughput ({loop})",
        f"create a deposit, processor time ({loop})",
        f"create a deposit, p99 within p50 ({loop})",
    )


def measure(effort: Effort) -> Iterator[Row]:
    """Yield throughput, processor time and latencies, on each event loop."""
    for loop in _LOOPS:
        if loop == "uvloop" and not has_uvloop():
            yield from (Row(name, "–", "–", (), "×") for name in _names(loop))
        else:
            yield from _compare(loop, effort)


def _compare(loop: Loop, effort: Effort) -> Iterator[Row]:
    ours: list[Burst] = []
    bare: list[Burst] = []
    ours_cpu: list[float] = []
    bare_cpu: list[float] = []
    with running("paydouble", loop) as double, running("bare", loop) as handler:
        send_deposits(double.port, min(_WARM_UP, effort.requests))
        send_deposits(handler.port, min(_WARM_UP, effort.requests))
        for _ in range(effort.rounds):
            ours.append(_burst(double, effort.requests, ours_cpu))
            bare.append(_burst(handler, effort.requests, bare_cpu))
    rate, cpu, tail = _names(loop)
    kept = ratios([burst.rate for burst in ours], [burst.rate for burst in bare])
    yield Row(rate, _rate(ours, ours_cpu), _rate(bare, bare_cpu), kept, "×", Target(0.55, at_least=True, aim=0.75))
    yield Row(cpu, micros(ours_cpu), micros(bare_cpu), ratios(ours_cpu, bare_cpu), "×")
    spans = [percentile(each.latencies, 0.99) / percentile(each.latencies, 0.5) for each in ours]
    yield Row(tail, _latency(ours), _latency(bare), spans, "×", Target(3.0, at_least=False))


def _burst(server: Running, count: int, cpu: list[float]) -> Burst:
    bursts: list[Burst] = []
    spent = processor_time_of(server, lambda: bursts.append(send_deposits(server.port, count)))
    if spent is not None:
        cpu.append(spent / count)
    return bursts[0]


def _rate(bursts: list[Burst], cpu: list[float]) -> str:
    # A server that was not busy throughout was held up by the load or by other programs, and could have done more.
    rate = median(burst.rate for burst in bursts)
    busy = median(cost * burst.rate for cost, burst in zip(cpu, bursts, strict=True)) if cpu else None
    return write(rate, "/s") + ("" if busy is None else f", core {min(busy, 1):.0%} busy")


def _latency(bursts: list[Burst]) -> str:
    middle, tail = (median(percentile(burst.latencies, share) for burst in bursts) * 1e3 for share in (0.5, 0.99))
    return f"p50 {write(middle, 'ms')}, p99 {write(tail, 'ms')}"


BENCHMARK = Benchmark([name for loop in _LOOPS for name in _names(loop)], measure)
