"""What each measure that makes a create quicker is worth: a create with it, beside one in plain code.

A measure stays only while its row shows at least 3 %. Those inside the pipeline are switched off by a patch; both sides
run in one process and take turns. The fast path has a switch of its own, and two servers take turns.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final
from unittest import mock

from benchmarks.load import deposit
from benchmarks.machine import on_server_core
from benchmarks.profiles import host_with_business
from benchmarks.rows import Benchmark, Effort, Row, Target, micros, ratios
from benchmarks.servers import QUIET, running
from benchmarks.turns import in_turn
from paydouble.api import faulted
from paydouble.core import json_text
from paydouble.core.ids import Ids
from paydouble.webhooks.deliveries import Outbox

Plain = Callable[[], AbstractContextManager[object]]
_WORTH_KEEPING: Final = Target(1.03, at_least=True)
_WARM_UP: Final = 300
_FAST_PATH: Final = "a create over HTTP without the fast path (processor time)"


def _one_digest_for_each_id() -> AbstractContextManager[object]:
    def make(ids: Ids, prefix: str) -> str:
        drawn = ids._drawn  # noqa: SLF001 - the plain code counts where the other one does
        drawn[prefix] = number = drawn.get(prefix, 0) + 1
        return ids.derive(prefix, "", number)

    return mock.patch.object(Ids, "make", make)


def _a_delivery_for_each_event() -> AbstractContextManager[object]:
    def keep_unsent(outbox: Outbox, event: object, due: int) -> object:
        return outbox.create(event, target=None, follows_sandbox=True, now=due)  # type: ignore[arg-type]  # an event

    return mock.patch.object(Outbox, "keep_unsent", keep_unsent)


@contextmanager
def _collector_as_python_sets_it() -> Iterator[None]:
    thresholds = gc.get_threshold()
    gc.unfreeze()
    gc.set_threshold(700, 10, 10)
    yield
    gc.freeze()
    gc.set_threshold(*thresholds)


PLAIN: Final[dict[str, Plain]] = {
    "a create without sockets, bodies not read by jiter": lambda: mock.patch.object(json_text, "read", json_text.loads),
    "a create without sockets, one digest for each id": _one_digest_for_each_id,
    # Every body then seems to name a scenario, so each is searched for one.
    "a create without sockets, its scenario chosen each time": lambda: mock.patch.object(faulted, "_DOMAIN", b""),
    "a create without sockets, a delivery for each event without an endpoint": _a_delivery_for_each_event,
    "a create without sockets, the collector as Python sets it": _collector_as_python_sets_it,
}


def measure(effort: Effort) -> Iterator[Row]:
    """Yield a row for each measure: how much longer a create takes in plain code."""
    with on_server_core(), _collector_of_serve():
        for name, plain in PLAIN.items():
            ours, without = [], []
            for _ in range(effort.rounds):
                ours.append(_creates(effort.requests, nullcontext))
                without.append(_creates(effort.requests, plain))
            yield _row(name, ours, without)
    yield _fast_path(effort)


def _creates(count: int, plain: Plain) -> float:
    """Return the processor seconds of one create through the pipeline of a new host."""
    host = host_with_business()
    requests = [deposit(number) for number in range(_WARM_UP + count)]
    handle = host.pipeline.handle
    with plain():
        for request in requests[:_WARM_UP]:
            handle(request)
        start = time.thread_time()
        for request in requests[_WARM_UP:]:
            handle(request)
        return (time.thread_time() - start) / count


@contextmanager
def _collector_of_serve() -> Iterator[None]:
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(1_000, 50_000, 1_000)
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


def _fast_path(effort: Effort) -> Row:
    with running("paydouble") as quick, running("paydouble", options=[*QUIET, "--no-fast-path"]) as ordinary:
        return _row(_FAST_PATH, *in_turn((quick, ordinary), effort.rounds, effort.requests))


def _row(name: str, ours: list[float], without: list[float]) -> Row:
    return Row(name, micros(ours), micros(without), ratios(without, ours), "×", _WORTH_KEEPING)


BENCHMARK = Benchmark([*PLAIN, _FAST_PATH], measure)
