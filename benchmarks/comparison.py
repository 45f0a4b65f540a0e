"""paydouble, the bare handler and other mocks under the same load, one after the other: `python -m benchmarks --peers`.

Every server is alone on the server's core while it is measured, also those that would use more cores.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

from benchmarks.load import CONNECTIONS, PATIENCE_SECONDS, Burst, deposit_request, send
from benchmarks.machine import free_port, resident_bytes
from benchmarks.peers import PEERS, CannotInstall, Peer
from benchmarks.rows import Effort, micros, percentile, write
from benchmarks.servers import Running, running, started
from benchmarks.turns import await_idle, processor_time_of, scenario_seconds

HEAD: Final = (
    "What",
    "creates",
    "processor time of a create",
    "p50, p99",
    "cold start",
    "resident memory, start → end",
    "what it does not do",
)
_ROUNDS: Final = 5
_WARM_UP: Final = 500
_REQUESTS: Final = 500


@dataclass(frozen=True, slots=True)
class Entry:
    """A server of the table."""

    title: str
    lacks: str
    start: Callable[[Path], AbstractContextManager[Running]]
    """Starts it, with the folder of the peers. Raises `CannotInstall`."""
    request: Callable[[], bytes] = deposit_request
    prepare: Callable[[], Sequence[bytes]] = tuple
    send: Callable[[int, list[bytes]], Burst] = send


def titles() -> list[str]:
    """Return what the rows are about, in their order."""
    return [entry.title for entry in _entries()]


def _entries() -> list[Entry]:
    """Return every server of the table, in its order."""
    return [
        Entry("paydouble, `serve --quiet`", "–", lambda _: running("paydouble", options=["--quiet"])),
        Entry("paydouble, `serve`", "–", lambda _: running("paydouble", options=(), log=subprocess.DEVNULL)),
        Entry("bare aiohttp handler", "anything but answer", lambda _: running("bare")),
        *map(_entry_of, PEERS),
    ]


def table(cache: Path, effort: Effort) -> str:
    """Install and measure every server that can be; return a Markdown table."""
    lines = [HEAD, ("---",) * len(HEAD)]
    for entry in _entries():
        print(f"measuring: {entry.title}", file=sys.stderr, flush=True)
        try:
            cells = _measured(entry, cache, effort)
        except CannotInstall as error:
            cells = (f"not measured: {error}", *("–",) * 4)
        lines.append((entry.title, *cells, entry.lacks))
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _entry_of(peer: Peer) -> Entry:
    sending = send if peer.keeps_connections else _send_apart
    return Entry(peer.title, peer.lacks, partial(_peer_running, peer), peer.request, peer.prepare, sending)


@contextmanager
def _peer_running(peer: Peer, cache: Path) -> Iterator[Running]:
    folder, port = peer.ensure(cache), free_port()
    with started(peer.start(folder, port), port, None, log=subprocess.DEVNULL) as server:
        yield server


def _measured(entry: Entry, cache: Path, effort: Effort) -> tuple[str, ...]:
    """Return the cells of a server, from its rate to its memory."""
    bursts: list[Burst] = []
    costs: list[float] = []
    with entry.start(cache) as server:
        cold = server.ready - server.started
        before = resident_bytes(server.pid)
        for request in entry.prepare():
            entry.send(server.port, [request])
        entry.send(server.port, [entry.request() for _ in range(min(_WARM_UP, effort.requests))])
        count = min(_REQUESTS, effort.requests)
        idle = scenario_seconds(effort)
        await_idle([server], idle)
        for _ in range(min(_ROUNDS, effort.rounds)):
            requests = [entry.request() for _ in range(count)]

            def burst(requests: list[bytes] = requests) -> None:
                bursts.append(entry.send(server.port, requests))
                await_idle([server], idle)

            spent = processor_time_of(server, burst)
            if spent is not None:
                costs.append(spent / count)
        after = resident_bytes(server.pid)
    middle, tail = (median(percentile(burst.latencies, share) for burst in bursts) * 1e3 for share in (0.5, 0.99))
    memory = "–" if before is None or after is None else f"{write(before / 1e6, '')} → {write(after / 1e6, 'MB')}"
    return (
        write(median(burst.rate for burst in bursts), "/s"),
        micros(costs),
        f"{write(middle, '')}, {write(tail, 'ms')}",
        write(cold * 1e3, "ms"),
        memory,
    )


def _send_apart(port: int, requests: list[bytes]) -> Burst:
    """Send requests to a server that closes each connection after its answer; as many at once as `send` does."""
    return asyncio.run(_send_all_apart(port, requests))


async def _send_all_apart(port: int, requests: list[bytes]) -> Burst:
    latencies: list[float] = []
    waiting = iter(requests)

    async def work() -> None:
        for request in waiting:
            sent_at = perf_counter()
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            answer = await reader.read()
            latencies.append(perf_counter() - sent_at)
            writer.close()
            if not answer.startswith(b"HTTP/1.1 2"):
                raise SystemExit(f"benchmarks: a request was refused:\n{answer.decode(errors='replace')}")

    start = perf_counter()
    async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as workers:
        for _ in range(CONNECTIONS):
            workers.create_task(work())
    return Burst(perf_counter() - start, sorted(latencies))
