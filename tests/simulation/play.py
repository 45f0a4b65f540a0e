"""`python tests/simulation/play.py` plays many seeds of a simulation, and says how to repeat the first failure.

There are two: of the shell (`shellsim`), and of a business without sockets (`tests/support/random_runs.py`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

sys.path.append(str(Path(__file__).parents[1] / "support"))
from many_seeds import add_options, how_far, play_all

# Seeds that a process is given at a time.
_BATCH: Final = 200
LENGTH: Final = 30
"""How many commands a play of a business has."""


def main() -> int:
    """Play seeds, and end with status 1 when one of them breaks."""
    parser = argparse.ArgumentParser(prog="python tests/simulation/play.py", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--of", choices=SIMULATIONS, default="shell", help="which simulation (default shell)")
    parser.add_argument("--seeds", type=int, default=100_000, help="how many (default 100000)")
    parser.add_argument("--first", type=int, default=0, help="the first of them (default 0)")
    add_options(parser)
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    played = play_all(SIMULATIONS[options.of], seeds, options, batch=_BATCH, unit=1, what="seeds")
    if played.failure is not None:
        seed, failure = played.failure
        print(f"seed {seed}:\n{failure}")
        print(f"simulation of the {options.of}: seed {seed} breaks what must hold")
        return 1
    print(f"simulation of the {options.of}: {how_far(played.count, options.seeds, 'seeds')}, all hold")
    return 0


def play_shell(seed: int) -> None:
    """Play a seed of the shell."""
    # Either simulation is imported only where it is played.
    from shellsim.world import run

    run(seed)


def play_business(seed: int) -> None:
    """Play a seed of a business."""
    from scripts import draw, failure, reproduction

    script = draw(Random(seed), LENGTH)
    if failure(script, seed) is not None:
        raise AssertionError(f"\n{reproduction(script, seed)}")


SIMULATIONS: Final[dict[str, Callable[[int], object]]] = {"shell": play_shell, "business": play_business}


if __name__ == "__main__":
    sys.exit(main())
