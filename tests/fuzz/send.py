"""`python tests/fuzz/send.py` sends many fuzzed requests, and says how to repeat the first failure.

A play is 250 requests: nineteen of twenty plays are in this process, one is over sockets with malformed HTTP.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

sys.path.append(str(Path(__file__).parents[1] / "support"))
from many_seeds import add_options, how_far, play_all
from requestfuzz import business, sockets

# A play with this remainder is over sockets.
_EACH: Final = 20
# Plays that a process is given at a time.
_BATCH: Final = 20


def main() -> int:
    """Play, and end with status 1 when something does not hold."""
    parser = argparse.ArgumentParser(prog="python tests/fuzz/send.py", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--requests", type=int, default=1_000_000, help="how many (default 1000000)")
    parser.add_argument("--seed", type=int, default=0, help="of the first play (default 0)")
    add_options(parser)
    options = parser.parse_args()
    seeds = range(options.seed, options.seed - (-options.requests // business.REQUESTS))
    played = play_all(play, seeds, options, batch=_BATCH, unit=business.REQUESTS, what="requests")
    if played.failure is not None:
        seed, failure = played.failure
        print(f"play {seed}:\n{failure}", end="")
        print(f"Repeat it with: python tests/fuzz/send.py --seed {seed} --requests {business.REQUESTS}")
        print(f"fuzz: play {seed} fails")
        return 1
    done = played.count * business.REQUESTS
    size = how_far(done, options.requests, "requests")
    print(f"fuzz: {size}, one in {_EACH} over sockets, {done / played.seconds:,.0f} a second; nothing wrong")
    return 0


def play(seed: int) -> None:
    """Play a seed."""
    (sockets.play if seed % _EACH == _EACH - 1 else business.play)(seed)


if __name__ == "__main__":
    sys.exit(main())
