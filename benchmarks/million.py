"""Whether the millionth create costs what the 20,000th does, and how much memory it keeps.

Of an old deposit the journal keeps nothing. The sandbox keeps the payment, so that it can be read and refunded, and the
answer to its idempotency key, which is valid for 24 hours of the sandbox's clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from benchmarks.load import send_deposits
from benchmarks.machine import resident_bytes
from benchmarks.rows import Benchmark, Effort, Row, Target, micros, ratios, write
from benchmarks.servers import running
from benchmarks.turns import in_turn

_BASE: Final = 20_000
_LATER: Final = {
    100_000: "a create after 100,000 others, against one after 20,000 (processor time)",
    1_000_000: "a create after 1,000,000 others, against one after 20,000 (processor time)",
}
_MEMORY: Final = "resident memory for each deposit, from the 20,000th to the 1,000,000th"


def measure(effort: Effort) -> Iterator[Row]:
    """Yield the cost after each number of deposits, and the memory that they take."""
    target = Target(1.10, at_least=False)
    base = _BASE // effort.scale
    after = None
    grown = 0
    with running("paydouble") as server:
        sent = _fill(server.port, 0, base)
        before = resident_bytes(server.pid)
        for deposits, name in _LATER.items():
            sent = _fill(server.port, sent, deposits // effort.scale)
            after = resident_bytes(server.pid)
            grown = sent - base
            # A new server to compare with each time, since it gets as many deposits in the rounds as this one.
            with running("paydouble") as young:
                _fill(young.port, 0, base)
                late, early = in_turn((server, young), effort.turns, effort.requests)
            sent += (effort.turns + 1) * effort.requests
            yield Row(name, micros(late), micros(early), ratios(late, early), "×", target)
    if before is None or after is None:
        yield Row(_MEMORY, "–", "–", (), "KB")
        return
    ours = f"{write(before / 1e6, 'MB')} → {write(after / 1e6, 'MB')}"
    yield Row(_MEMORY, ours, "–", ((after - before) / grown / 1e3,), "KB")


def _fill(port: int, sent: int, wanted: int) -> int:
    """Send deposits until there have been so many; return their number."""
    while sent < wanted:
        count = min(_BASE, wanted - sent)
        send_deposits(port, count)
        sent += count
    return sent


BENCHMARK = Benchmark([*_LATER.values(), _MEMORY], measure, takes_minutes=True)
