"""The failing runs of the zoo as files: replayed in a fresh process, told to their merchant again, and shortened."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from hypothesis import seed as seeded
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from bugzoo import catches
from bugzoo.adapter import ZooMerchant
from bugzoo.hunt import SETTINGS
from bugzoo.registry import Variant
from bugzoo.steady import steady
from bugzoo.stories import STORIES
from paydouble.runfile.files import Run, write_run
from paydouble.runfile.redaction import redacted
from paydouble.stateful import MerchantBug, MerchantMachine, Play
from paydouble.stateful.calibration import when_it_shows
from paydouble.stateful.catalogue_run import CatalogueRun
from paydouble.stateful.run_files import shrunk, story_of, tell

EXAMPLES = 60
_REPLAY = """
import sys
from pathlib import Path
from paydouble.runfile.files import read_run
from paydouble.runfile.replaying import replay
for path in sorted(Path(sys.argv[1]).iterdir()):
    found = replay(read_run(path))
    if found is not None:
        print(path.name, found)
"""


def failing_run(variant: Variant) -> Run:
    """Return the run in which a variant is caught: by its story, or by the play of the catalogue that catches it."""
    if variant.test is not None:
        told = Play(variant.merchant)
        try:
            STORIES[variant.test](told)
        except AssertionError:
            taped = told.taped()
            assert taped is not None
            return taped.run()
        finally:
            told.close()
        raise LookupError(variant.name)
    known = catches.load().get(variant.name)
    play = catches.find(variant.merchant).play if known is None else known.play
    try:
        CatalogueRun(variant.merchant, shows=when_it_shows(variant.merchant)).one(play)
    except MerchantBug as bug:
        return _run_of(bug)
    raise LookupError(variant.name)


def hunted_run(merchant: type[ZooMerchant], seed: int) -> Run | None:
    """Return the run of the first random play in which a merchant is caught, as it was drawn; None without one."""

    class Machine(MerchantMachine):
        pass

    Machine.merchant = merchant
    seeded(seed)(Machine)
    try:
        with steady():
            run_state_machine_as_test(Machine, settings=settings(SETTINGS, max_examples=EXAMPLES))
    except MerchantBug as bug:
        return _run_of(bug)
    return None


def _run_of(bug: MerchantBug) -> Run:
    assert bug.taped is not None
    return bug.taped.run()


def replayed_elsewhere(folder: Path) -> list[str]:
    """Replay all files of a folder in a fresh process with another hash seed; returns a line for each that differs."""
    done = subprocess.run(
        [sys.executable, "-c", _REPLAY, str(folder)],
        env={"PYTHONHASHSEED": "4711"},
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    return done.stdout.splitlines()


def try_runs(variants: list[Variant]) -> int:
    """Try the runs of variants, and print the figures."""
    different: list[str] = []
    again = told = 0
    shares: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        for variant in variants:
            run = failing_run(variant)
            write_run(run, Path(name) / f"{variant.name}.paydouble")
            write_run(redacted(run), Path(name) / f"{variant.name}-redacted.paydouble")
            if variant.test is None:
                told += 1
                result = tell(run, variant.merchant)
                again += result.verdict == "FAILED" and result.difference is None
                if result.verdict != "FAILED" or result.difference is not None:
                    print(f"{variant.name}: told again: {result.verdict} {result.difference}", flush=True)
            long = hunted_run(variant.merchant, 1) if variant.test is None else None
            if long is not None:
                steps = len(story_of(long).play.steps)
                short = len(story_of(shrunk(long, variant.merchant)).play.steps)
                shares.append(short / steps)
                print(f"{variant.name}: {steps} steps became {short}", flush=True)
        sizes = [path.stat().st_size for path in Path(name).iterdir()]
        different += replayed_elsewhere(Path(name))
    for line in different:
        print(line)
    replays = 2 * len(variants)
    print(f"{replays - sum('line ' in line for line in different)} of {replays} files replay byte for byte elsewhere")
    print(f"{again} of {told} stories fail alike when they are told again")
    print(f"the median file has {statistics.median(sizes):.0f} bytes, the largest {max(sizes)}")
    if shares:
        print(f"a shrunk story has a median of {statistics.median(shares):.0%} of the steps ({len(shares)} stories)")
    return bool(different) or again < told
