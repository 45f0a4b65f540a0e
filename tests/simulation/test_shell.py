"""The shell on six hundred seeds; `make simulate` plays a hundred thousand."""

from __future__ import annotations

import asyncio
import gc
import re
from collections.abc import Iterator

import pytest
from many_seeds import little_to_collect
from shellsim import world
from shellsim.world import Violation, run

from paydouble.core.clock import Clock
from paydouble.runtime import host, wall
from paydouble.runtime.connections import Link
from paydouble.runtime.pump import Pump
from paydouble.webhooks.deliveries import Outbox

PARTS, SEEDS = 24, 25  # parts so small that none is long on a busy machine


@pytest.fixture(autouse=True)
def _little_to_collect() -> Iterator[None]:
    """Keep loaded modules out of the collections of a play."""
    with little_to_collect():
        yield


@pytest.mark.parametrize("part", range(PARTS))
def test_no_play_breaks_what_must_hold(part: int) -> None:
    """Whatever receivers, clocks, faults and tests do: nothing is lost, every record is right, nothing leaks."""
    for seed in range(part * SEEDS, (part + 1) * SEEDS):
        run(seed)


@pytest.mark.parametrize("seed", [3384, 8810])
def test_what_a_long_run_has_found_stays_repaired(seed: int) -> None:
    """3384: a reset was carried out after the delete that had overtaken it.

    8810: an advance that began while a reset waited was said to turn a clock back.
    """
    run(seed)


def test_a_play_repeats_to_the_byte() -> None:
    """A seed gives the same calls, ids, attempts, signatures and outcomes again."""
    for seed in range(20):
        assert run(seed).record() == run(seed).record()


def test_memory_returns_to_its_start() -> None:
    """After some plays, further ones leave no more objects than before."""

    def objects_after(seeds: range) -> int:
        for seed in seeds:
            run(seed)
        gc.collect()
        return len(gc.get_objects())

    objects_after(range(30))  # what is loaded late, and caches
    before = objects_after(range(30))

    assert objects_after(range(30)) - before <= 30


def _first_violation(seeds: int = 400) -> str:
    for seed in range(seeds):
        try:
            run(seed)
        except Violation as violation:
            return f"{violation} {violation.__notes__[0]}"
    return "nothing was found"


def test_a_stray_answer_that_is_believed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """When bytes on an idle connection are passed on, records contain answers that receivers have not given."""

    def believe(link: Link, data: bytes) -> None:
        link._inner.data_received(data)  # noqa: SLF001 - what it would be without the link

    monkeypatch.setattr(Link, "data_received", believe)
    monkeypatch.setattr(Link, "usable", True)
    monkeypatch.setattr(Link, "release", lambda link, *_, **__: setattr(link, "idle", True))

    assert _first_violation() != "nothing was found"


def test_a_clock_that_follows_the_wall_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a real clock follows the wall clock, it stops after a step back."""
    make = host.ClockSpec.make

    def on_the_wall(spec: host.ClockSpec) -> Clock:
        steady = make(spec)
        return Clock(wall.wall_ms, start=steady.now(), mode=spec.mode, rate=spec.rate)

    monkeypatch.setattr(host.ClockSpec, "make", on_the_wall)
    monkeypatch.setattr(world, "WALL_STEPS_MS", (-3_600_000,))

    assert "its clock is" in _first_violation()


def test_a_lost_delivery_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a failed attempt sets no timer, a delivery waits forever."""
    settle = Outbox.settle
    monkeypatch.setattr(Outbox, "settle", lambda *args, **options: settle(*args, **options) and None)

    found = _first_violation()
    assert "nothing will send it" in found
    assert re.search(r"Repeat it with: python tests/simulation/play.py --first \d+ --seeds 1$", found)


def test_a_worker_that_outlives_its_sandbox_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the attempts of a deleted sandbox are not cancelled, they are seen to go on."""

    async def close(pump: Pump) -> None:
        pump._closed = True  # noqa: SLF001 - all that it does here
        await asyncio.sleep(0)

    monkeypatch.setattr(Pump, "close", close)

    assert "go on after its end" in _first_violation()
