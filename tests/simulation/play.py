"""`python tests/simulation/play.py` plays many seeds of a simulation, and says how to repeat the first failure.

There are two: of the shell (`shellsim`), and of a business without sockets (`tests/support/random_runs.py`).
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from random import Random
from typing import Final

# Seeds that a process is given at a time.
_BATCH: Final = 200
# Lines of progress in a whole run.
_LINES: Final = 50
LENGTH: Final = 30
"""How many commands a play of a business has."""


def main() -> int:
    """Play seeds, and end with status 1 when one of them breaks."""
    parser = argparse.ArgumentParser(prog="python tests/simulation/play.py", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--of", choices=SIMULATIONS, default="shell", help="which simulation (default shell)")
    parser.add_argument("--seeds", type=int, default=100_000, help="how many (default 100000)")
    parser.add_argument("--first", type=int, default=0, help="the first of them (default 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default one a processor)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many minutes")
    options = parser.parse_args()
    end = options.first + options.seeds
    batches = [range(start, min(start + _BATCH, end)) for start in range(options.first, end, _BATCH)]
    began, done, shown = time.monotonic(), 0, 0
    with ProcessPoolExecutor(options.jobs) as pool:
        tasks = {pool.submit(play, options.of, batch): batch for batch in batches}
        for task in as_completed(tasks):
            failure = task.result()
            if failure is not None:
                pool.shutdown(cancel_futures=True)
                print(failure)
                print(f"simulation of the {options.of}: {failure.partition(':')[0]} breaks what must hold")
                return 1
            done += len(tasks[task])
            if time.monotonic() - began > options.minutes * 60:
                pool.shutdown(cancel_futures=True)
                break
            if (done - shown) * _LINES >= options.seeds:
                shown = done
                print(f"{done} of {options.seeds} seeds hold, {time.monotonic() - began:.0f} s", flush=True)
    of = "" if done >= options.seeds else f" of {options.seeds:,}, for want of time"
    print(f"simulation of the {options.of}: {done:,} seeds{of}, all hold")
    return 0


def play(of: str, seeds: range) -> str | None:
    """Play some seeds; returns what failed, and how to repeat it."""
    run = SIMULATIONS[of]()
    gc.freeze()  # what is loaded is not looked at again by each collection
    for seed in seeds:
        try:
            run(seed)
        except BaseException:  # noqa: BLE001 - told to the parent, which cannot be sent every exception
            return f"seed {seed}:\n{traceback.format_exc()}"
    return None


def _shell() -> Callable[[int], object]:
    from shellsim.world import run

    return run


def _business() -> Callable[[int], object]:
    support = str(Path(__file__).parents[1] / "support")
    if support not in sys.path:
        sys.path.append(support)
    from scripts import draw, failure, reproduction

    def run(seed: int) -> None:
        script = draw(Random(seed), LENGTH)
        if failure(script, seed) is not None:
            raise AssertionError(f"\n{reproduction(script, seed)}")

    return run


SIMULATIONS: Final[dict[str, Callable[[], Callable[[int], object]]]] = {"shell": _shell, "business": _business}


if __name__ == "__main__":
    sys.exit(main())
