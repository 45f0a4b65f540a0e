"""`python tests/fuzz/send.py` sends many fuzzed requests, and says how to repeat the first failure.

A play is 250 requests: nineteen of twenty plays are in this process, one is over sockets with malformed HTTP.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Final

from requestfuzz import business, sockets

# A play with this remainder is over sockets.
_EACH: Final = 20
# Plays that a process is given at a time.
_BATCH: Final = 20
# Lines of progress in a whole run.
_LINES: Final = 50


def main() -> int:
    """Play, and end with status 1 when something does not hold."""
    parser = argparse.ArgumentParser(prog="python tests/fuzz/send.py", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--requests", type=int, default=1_000_000, help="how many (default 1000000)")
    parser.add_argument("--seed", type=int, default=0, help="of the first play (default 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default one a processor)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many minutes")
    options = parser.parse_args()
    end = options.seed - (-options.requests // business.REQUESTS)
    batches = [range(start, min(start + _BATCH, end)) for start in range(options.seed, end, _BATCH)]
    began, done, shown = time.monotonic(), 0, 0
    with ProcessPoolExecutor(options.jobs) as pool:
        tasks = {pool.submit(play, batch): batch for batch in batches}
        for task in as_completed(tasks):
            failure = task.result()
            if failure is not None:
                pool.shutdown(cancel_futures=True)
                print(failure)
                print(f"fuzz: {failure.partition(':')[0]} fails")
                return 1
            done += len(tasks[task]) * business.REQUESTS
            if time.monotonic() - began > options.minutes * 60:
                pool.shutdown(cancel_futures=True)
                break
            if (done - shown) * _LINES >= options.requests:
                shown = done
                print(f"{done:,} of {options.requests:,} requests, {time.monotonic() - began:.0f} s", flush=True)
    seconds = time.monotonic() - began
    of = "" if done >= options.requests else f" of {options.requests:,}, for want of time"
    print(f"fuzz: {done:,} requests{of}, one in {_EACH} over sockets, {done / seconds:,.0f} a second; nothing wrong")
    return 0


def play(seeds: range) -> str | None:
    """Play some seeds; returns what failed, and how to repeat it."""
    gc.freeze()  # what is loaded is not looked at again by each collection
    for seed in seeds:
        try:
            (sockets.play if seed % _EACH == _EACH - 1 else business.play)(seed)
        except BaseException:  # noqa: BLE001 - told to the parent, which cannot be sent every exception
            repeat = f"Repeat it with: python tests/fuzz/send.py --seed {seed} --requests {business.REQUESTS}"
            return f"play {seed}:\n{traceback.format_exc()}{repeat}"
    return None


if __name__ == "__main__":
    sys.exit(main())
