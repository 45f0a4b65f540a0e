"""100,000 pending deliveries to a receiver that refuses connections, over 72 hours of a manual clock.

The comparison is the same with 1,000 deliveries.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from benchmarks.control import DEFAULT, Control, controlling
from benchmarks.load import send_deposits
from benchmarks.machine import free_port, resident_bytes
from benchmarks.rows import Benchmark, Effort, Row, micros, ratios, write
from benchmarks.servers import QUIET, running
from benchmarks.turns import processor_time_of

_COST: Final = "an attempt at a receiver that is down, 100,000 pending deliveries against 1,000 (processor time)"
_MEMORY: Final = "resident memory for each of 100,000 pending deliveries, after seven attempts each"
_MANY, _FEW = 100_000, 1_000
# Those of the scenario of a deposit that is paid.
_EVENTS_OF_A_DEPOSIT: Final = 4
_MOST_AT_ONCE: Final = 10_000
# Seven attempts are due before, the eighth and last one after.
_PENDING: Final = "50h"
_REST: Final = "30h"
_WHOLE: Final = "80h"
_PATIENCE_SECONDS: Final = 3_600.0


class _Outage(NamedTuple):
    seconds_per_attempt: float
    bytes_per_delivery: float


def measure(effort: Effort) -> Iterator[Row]:
    """Yield the cost of an attempt, and the memory of a delivery."""
    few = _outage(_FEW // effort.scale)
    many = _outage(_MANY // effort.scale)
    if few is None or many is None:
        yield Row(_COST, "–", "–", (), "×")
        yield Row(_MEMORY, "–", "–", (), "KB")
        return
    ours, other = [many.seconds_per_attempt], [few.seconds_per_attempt]
    yield Row(_COST, micros(ours), micros(other), ratios(ours, other), "×")
    size, size_of_few = many.bytes_per_delivery / 1e3, few.bytes_per_delivery / 1e3
    yield Row(_MEMORY, write(size, "KB"), write(size_of_few, "KB"), [size], "KB")


def _outage(deliveries: int) -> _Outage | None:
    """Return what an outage costs, or None where the system does not tell."""
    # Nobody listens there.
    options = [*QUIET, "--notification-url", f"http://127.0.0.1:{free_port()}/"]
    with (
        running("paydouble", options=options) as server,
        controlling(server.port, _PATIENCE_SECONDS) as control,
    ):
        send_deposits(server.port, 1)  # loads what the first attempt loads
        _advance(control, _WHOLE)
        before = resident_bytes(server.pid)
        attempts: list[int] = []

        def fail() -> None:
            wanted = -(-deliveries // _EVENTS_OF_A_DEPOSIT)
            while wanted > 0:
                send_deposits(server.port, min(wanted, _MOST_AT_ONCE))
                wanted -= _MOST_AT_ONCE
            attempts.append(_advance(control, _PENDING))

        pending = processor_time_of(server, fail)
        after = resident_bytes(server.pid)
        rest = processor_time_of(server, lambda: attempts.append(_advance(control, _REST)))
        if pending is None or rest is None or before is None or after is None:
            return None
        return _Outage((pending + rest) / sum(attempts), (after - before) / deliveries)


def _advance(control: Control, by: str) -> int:
    """Move the clock; return the number of attempts."""
    return int(control.post(f"{DEFAULT}/clock/advance", {"by": by})["attempts"])


BENCHMARK = Benchmark([_COST, _MEMORY], measure, takes_minutes=True)
