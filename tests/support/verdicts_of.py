"""What plays of the catalogue find in a merchant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from paydouble.stateful import Merchant, MerchantBug
from paydouble.stateful.calibration import when_it_shows
from paydouble.stateful.catalogue_run import CatalogueRun, Part
from paydouble.stateful.equivalence import Equivalence
from paydouble.stateful.holds import hold_of
from paydouble.stateful.steps import CataloguePlay

WHOLE: Final = Part()


def verdicts_of(merchant: type[Merchant], wanted: Callable[[CataloguePlay], bool], part: Part = WHOLE) -> Iterator[str]:
    """Run the plays that are wanted, that the adapter allows, and that can show something new, as the machine does.

    Of these plays a part is run. Yield the verdict of each that fails.
    """
    run, known = CatalogueRun(merchant, shows=when_it_shows(merchant), hold=hold_of(merchant)), Equivalence()
    plays = [play for number, play in enumerate(filter(wanted, run.plays()), 1) if part.has(number)]
    assert plays
    for play in plays:
        if known.reason(play) is not None:
            continue
        try:
            run.one(play, known)
        except MerchantBug as bug:
            yield bug.verdict
