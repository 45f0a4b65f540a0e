"""When a server runs full garbage collections: after deletes, once for many, and when it delays no request."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest
from bounds import AT_MOST_SECONDS

from paydouble.runtime import collecting
from paydouble.runtime.collecting import Collector
from paydouble.runtime.host import Host, HostOptions, SandboxSpec


class Ring:
    """An object in a reference cycle."""

    def __init__(self) -> None:
        self.self = self


async def until_collected(collector: Collector, times: int = 1) -> None:
    """Wait until a collector has run so often."""
    async with asyncio.timeout(AT_MOST_SECONDS):
        while collector.collections < times:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.001)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "QUIET_SECONDS", 0.001)
    monkeypatch.setattr(collecting, "REST", 0)


async def test_what_holds_itself_goes_after_a_delete() -> None:
    """A delete requests a collection."""
    host = Host(HostOptions())
    collector = Collector(lambda: 0)
    host.on_delete = collector.request
    ring = weakref.ref(Ring())
    gc.disable()
    try:
        await host.delete(host.create(SandboxSpec()))
        await until_collected(collector)
    finally:
        gc.enable()

    assert ring() is None
    await host.close()


async def test_many_deletes_share_one_collection() -> None:
    """However often it is requested, it runs once."""
    collector = Collector(lambda: 0)
    for _ in range(100):
        collector.request()
    await until_collected(collector)
    collector.request()
    await until_collected(collector, 2)

    assert collector.collections == 2


async def test_a_busy_server_is_left_alone() -> None:
    """As long as requests come, it waits."""
    seen = iter(range(1_000_000))
    looks = 0

    def requests() -> int:
        nonlocal looks
        looks += 1
        return 5 if looks > 20 else next(seen)

    collector = Collector(requests)
    collector.request()
    await until_collected(collector)

    assert looks > 20


async def test_a_server_that_is_never_quiet_is_collected_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not wait longer than the limit."""
    monkeypatch.setattr(collecting, "LATEST_SECONDS", 0.0)
    seen = iter(range(1_000_000))
    collector = Collector(lambda: next(seen))
    collector.request()

    await until_collected(collector)


async def test_a_closed_collector_collects_no_more() -> None:
    """The requested collection is cancelled; without one nothing happens."""
    collector = Collector(lambda: 0)
    collector.close()
    collector.request()
    collector.close()
    await asyncio.get_running_loop().run_in_executor(None, lambda: None)
    collector.request()
    await until_collected(collector)

    assert collector.collections == 1


async def test_collections_take_a_small_part_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a long one the next has to wait many times as long."""
    monkeypatch.setattr(collecting, "REST", 1e9)
    collector = Collector(lambda: 0)
    collector.request()
    await until_collected(collector)
    collector.request()

    assert collector.due_at is not None
    assert collector.due_at > asyncio.get_running_loop().time() + 3600
    collector.close()
    assert collector.due_at is None
