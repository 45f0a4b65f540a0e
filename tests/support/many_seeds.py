"""Many plays on all cores, for the programs of the long runs; each play follows a seed."""

from __future__ import annotations

import argparse
import gc
import os
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

# Lines of progress in a whole run.
_LINES: Final = 50


@dataclass(frozen=True)
class Played:
    """How far a run came, and what failed."""

    count: int
    """Plays without a failure."""
    seconds: float
    failure: tuple[int, str] | None = None
    """The seed of the first play that failed, and what it printed."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of every such program."""
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default one a processor)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many minutes")


def play_all(
    play: Callable[[int], object], seeds: range, options: argparse.Namespace, *, batch: int, unit: int, what: str
) -> Played:
    """Play seeds in processes until one fails or the time is over; prints the progress.

    `play` must be a function of a module. A process is given `batch` seeds at a time. `unit` and `what` say how many of
    what a play counts for.
    """
    batches = [seeds[start : start + batch] for start in range(0, len(seeds), batch)]
    began, done, shown = time.monotonic(), 0, 0
    with ProcessPoolExecutor(options.jobs) as pool:
        tasks = {pool.submit(_play_batch, play, each): len(each) for each in batches}
        for task in as_completed(tasks):
            failure = task.result()
            seconds = time.monotonic() - began
            if failure is not None:
                pool.shutdown(cancel_futures=True)
                return Played(done, seconds, failure)
            done += tasks[task]
            if seconds > options.minutes * 60:
                pool.shutdown(cancel_futures=True)
                break
            if (done - shown) * _LINES >= len(seeds):
                shown = done
                print(f"{done * unit:,} of {len(seeds) * unit:,} {what}, {seconds:.0f} s", flush=True)
    return Played(done, time.monotonic() - began)


def how_far(done: int, wanted: int, what: str) -> str:
    """Return the size of a run in words."""
    of = "" if done >= wanted else f" of {wanted:,}, for want of time"
    return f"{done:,} {what}{of}"


@contextmanager
def little_to_collect() -> Iterator[None]:
    """Keep loaded modules out of the collections of a play."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def _play_batch(play: Callable[[int], object], seeds: range) -> tuple[int, str] | None:
    """Play some seeds; returns the first that failed, and why."""
    with little_to_collect():
        for seed in seeds:
            try:
                play(seed)
            except BaseException:  # noqa: BLE001 - told to the parent, which cannot be sent every exception
                return seed, traceback.format_exc()
    return None
