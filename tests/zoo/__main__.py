"""`python tests/zoo` prints the table of the bug zoo; `--correct N` tries the correct merchant on N seeds.

Then `--correct` plays the whole catalogue with each correct shop of an unusual kind.

`--write` notes for the tests which play catches each variant.
`--changed` changes each merchant at one place of its run, and compares the line that is named.
`--runs` writes the run file of each variant, and replays it, tells it to the variant again, and shrinks it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "support"))

from bugzoo import catches as written
from bugzoo.adapter import ZooMerchant
from bugzoo.changing import try_changes
from bugzoo.hunt import caught_by_story, hunt
from bugzoo.runs import try_runs
from bugzoo.table import VARIANTS
from bugzoo.unusual_shops import UNUSUAL_SHOPS, play_a_part

from paydouble.stateful import MerchantBug


def main() -> int:
    """Hunt every variant, and print who was caught, how, and after how much."""
    parser = argparse.ArgumentParser(prog="python tests/zoo", description=main.__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="hunts a variant (default 3)")
    parser.add_argument(
        "--examples", type=int, default=1000, help="examples after which a hunt gives up (default 1000)"
    )
    parser.add_argument(
        "--correct", type=int, default=0, metavar="N", help="seeds for the correct merchant (default none)"
    )
    parser.add_argument("--each", type=int, default=20, help="examples a seed of the correct merchant (default 20)")
    parser.add_argument("--runs", action="store_true", help="write, replay, tell and shrink the run of each variant")
    parser.add_argument("--changed", action="store_true", help="change each merchant at one place of its run")
    parser.add_argument("names", nargs="*", help="variants to hunt (default all)")
    parser.add_argument("--write", action="store_true", help=f"write {written.FILE.name}, which the tests read")
    options = parser.parse_args()
    if options.write:
        written.write(each for each in VARIANTS if each.test is None)
        return 0
    if options.correct:
        return try_correct(options.correct, options.each)
    free = 0
    chosen = [each for each in VARIANTS if not options.names or each.name in options.names]
    if options.changed:
        return try_changes(chosen)
    if options.runs:
        return try_runs(chosen)
    print(f"{'row':>3}  {'variant':<26} {'caught by':<28} {'caught':>6} {'examples':>8} {'seconds':>7}")
    for variant in chosen:
        if variant.test is not None:
            catches = [caught_by_story(variant)]
        else:
            catches = [hunt(variant.merchant, seed, options.examples) for seed in range(1, options.seeds + 1)]
        caught = sum(each.verdict is not None for each in catches)
        free += caught < len(catches)
        examples = statistics.median(each.examples for each in catches)
        seconds = statistics.median(each.seconds for each in catches)
        score = f"{caught}/{len(catches)}"
        by = variant.test or "machine"
        line = f"{variant.row:>3}  {variant.name:<26} {by:<28} {score:>6} {examples:>8g} {seconds:>7.2f}"
        print(line, flush=True)
    print(f"{len(chosen) - free} of {len(chosen)} variants are always caught")
    return free > 0


def try_correct(seeds: int, each: int) -> int:
    """Run the machine over the correct merchant, and the catalogue over the correct shops of an unusual kind."""
    for seed in range(seeds):
        found = hunt(ZooMerchant, seed, each, catalogue=seed == 0)
        if found.verdict is not None:
            print(f"seed {seed}: {found.verdict}")
            return 1
    print(f"the correct merchant passes {each} examples on each of {seeds} seeds")
    for shop in UNUSUAL_SHOPS:
        try:
            play_a_part(shop, parts=1)
        except MerchantBug as bug:
            print(f"{shop.__name__}: {bug}")
            return 1
        print(f"{shop.__name__} passes the catalogue", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
