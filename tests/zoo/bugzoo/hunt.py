"""How many plays and examples, and how long, the machine needs to find what is wrong with a merchant."""

from __future__ import annotations

import time
from dataclasses import dataclass

from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as seeded
from hypothesis.stateful import run_state_machine_as_test

from bugzoo.adapter import ZooMerchant
from bugzoo.registry import Variant
from bugzoo.steady import steady
from bugzoo.stories import play_story
from paydouble.stateful import MerchantBug, MerchantMachine
from paydouble.stateful.calibration import when_it_shows
from paydouble.stateful.catalogue_run import CatalogueRun
from paydouble.stateful.coverage import Coverage

STEPS = 12
ROUND = 60
SETTINGS = settings(
    stateful_step_count=STEPS,
    phases=[Phase.generate],
    database=None,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)


@dataclass(frozen=True)
class Catch:
    """How it ended: the verdict (None: nothing was found), after how many plays and seconds."""

    verdict: str | None
    examples: int
    seconds: float
    report: str = ""
    """What the catalogue says; empty when it found nothing."""


def hunt(merchant: type[ZooMerchant], seed: int, examples: int, *, catalogue: bool = True) -> Catch:
    """Run the catalogue, unless it is left out, and hunt until something is found or so many examples were tried.

    The hunt shrinks nothing. Every sixty examples it begins again from another seed, as Hypothesis stays near what it
    has seen.
    """
    start = time.perf_counter()
    coverage = Coverage()
    verdict: str | None = None
    report = ""
    found: list[MerchantBug] = []
    if catalogue:
        CatalogueRun(merchant, shows=when_it_shows(merchant)).all(coverage, found)
    if found:
        verdict, report = found[0].verdict, str(found[0])
    tried = coverage.plays
    examples += tried
    while verdict is None and tried < examples:
        verdict, more = _hunt(merchant, 1000 * seed + tried, min(ROUND, examples - tried))
        tried += more
    return Catch(verdict, tried, time.perf_counter() - start, report)


def _hunt(merchant: type[ZooMerchant], seed: int, examples: int) -> tuple[str | None, int]:
    begun = 0

    class Machine(MerchantMachine):
        def __init__(self) -> None:
            nonlocal begun
            begun += 1
            super().__init__()

    Machine.merchant = merchant
    seeded(seed)(Machine)
    try:
        with steady():
            run_state_machine_as_test(Machine, settings=settings(SETTINGS, max_examples=examples))
    except MerchantBug as bug:
        return bug.verdict, begun - 1  # the failing example is run once more to report it
    return None, begun


def caught_by_story(variant: Variant) -> Catch:
    """Play the story of a variant."""
    start = time.perf_counter()
    verdict: str | None = None
    assert variant.test is not None
    try:
        play_story(variant.test, variant.merchant)
    except AssertionError as error:
        verdict = str(error).partition("\n")[0]
    return Catch(verdict, 1, time.perf_counter() - start)
