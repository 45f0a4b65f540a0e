"""A create with the delivery of its signed event, against the leanest server that signs and posts.

Each receiver belongs to a sandbox of its own. The real clock is so slow that nothing else happens to a payment.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import cycle, islice
from typing import Final

from benchmarks.control import controlling
from benchmarks.load import DEPOSIT, PATH, deposit_request, send
from benchmarks.machine import free_port
from benchmarks.receiver import Receiver, receiving
from benchmarks.rows import Benchmark, Effort, Row, Target, ratios, write
from benchmarks.servers import Running, running, started
from benchmarks.turns import processor_time_of
from paydouble import Sandbox

_RECEIVERS: Final = {
    1: "create and deliver one signed event, 1 receiver (processor time)",
    8: "create and deliver one signed event, 8 receivers (processor time)",
    64: "create and deliver one signed event, 64 receivers (processor time)",
}
_BASE: Final = ("--quiet", "--rate", "0.001")


def measure(effort: Effort) -> Iterator[Row]:
    """Yield a row for each number of receivers."""
    body = _event()
    for count, name in _RECEIVERS.items():
        ours: list[float] = []
        bare: list[float] = []
        port = free_port()
        with receiving(count, 200) as receiver, receiving(count, 200) as other:
            lean = [sys.executable, "-m", "benchmarks.forwarder", str(port), body, *other.urls]
            with running("paydouble", options=_BASE) as double, started(lean, port, "/") as forwarder:
                businesses = _businesses(double, receiver)
                _delivered(double, receiver, businesses, count)
                _delivered(forwarder, other, businesses, count)
                for _ in range(effort.turns):
                    ours += _delivered(double, receiver, businesses, effort.requests // 2)
                    bare += _delivered(forwarder, other, businesses, effort.requests // 2)
        target = Target(1.3, at_least=False) if count == 1 else None
        yield Row(name, _rate(ours), _rate(bare), ratios(ours, bare), "×", target)


def _event() -> str:
    """Return the body of the event of a create."""
    box = Sandbox()
    box.handle("POST", PATH.removeprefix("/api/v1"), body=DEPOSIT)
    return box.core.sandbox.journal.events.entries[0].body.decode()


def _businesses(server: Running, receiver: Receiver) -> list[tuple[str, str]]:
    """Make a sandbox for each receiver; return their credentials."""
    with controlling(server.port) as control:
        made = [control.post("/sandboxes", {"notification_url": url}) for url in receiver.urls]
    return [(each["business_key"], each["business_secret"]) for each in made]


def _delivered(server: Running, receiver: Receiver, businesses: list[tuple[str, str]], count: int) -> list[float]:
    """Return the processor seconds of one create with its delivery; an empty list where the system does not tell."""
    requests = [deposit_request(*business) for business in islice(cycle(businesses), count)]
    wanted = receiver.received() + count

    def job() -> None:
        send(server.port, requests)
        receiver.await_posts(wanted)

    spent = processor_time_of(server, job)
    return [] if spent is None else [spent / count]


def _rate(seconds: list[float]) -> str:
    return write(1 / sorted(seconds)[len(seconds) // 2], "/s of processor time") if seconds else "–"


BENCHMARK = Benchmark([*_RECEIVERS.values()], measure)
