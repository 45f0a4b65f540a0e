"""`python tests/simulation/play.py` plays the shell on many seeds, and says how to repeat the first failure."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor, as_completed

from shellsim.world import run

# Seeds that a process is given at a time.
_BATCH = 200


def main() -> int:
    """Play seeds, and end with status 1 when one of them breaks."""
    parser = argparse.ArgumentParser(prog="python tests/simulation/play.py", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100_000, help="how many (default 100000)")
    parser.add_argument("--first", type=int, default=0, help="the first of them (default 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default one a processor)")
    options = parser.parse_args()
    end = options.first + options.seeds
    batches = [range(start, min(start + _BATCH, end)) for start in range(options.first, end, _BATCH)]
    began, done = time.monotonic(), 0
    with ProcessPoolExecutor(options.jobs) as pool:
        tasks = {pool.submit(play, batch): batch for batch in batches}
        for task in as_completed(tasks):
            failure = task.result()
            if failure is not None:
                pool.shutdown(cancel_futures=True)
                print(failure)
                return 1
            done += len(tasks[task])
            print(f"{done} of {options.seeds} seeds hold, {time.monotonic() - began:.0f} s", flush=True)
    return 0


def play(seeds: range) -> str | None:
    """Play some seeds; returns what failed, and how to repeat it."""
    gc.freeze()  # what is loaded is not looked at again by each collection
    for seed in seeds:
        try:
            run(seed)
        except BaseException:  # noqa: BLE001 - told to the parent, which cannot be sent every exception
            return f"seed {seed}:\n{traceback.format_exc()}"
    return None


if __name__ == "__main__":
    sys.exit(main())
