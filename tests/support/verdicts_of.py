"""What plays of the catalogue find in a merchant."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from paydouble.stateful import Merchant, MerchantBug
from paydouble.stateful.calibration import when_it_shows
from paydouble.stateful.catalogue import catalogue
from paydouble.stateful.catalogue_run import CatalogueRun
from paydouble.stateful.steps import CataloguePlay


def verdicts_of(merchant: type[Merchant], wanted: Callable[[CataloguePlay], bool]) -> Iterator[str]:
    """Run the plays that are wanted and that the adapter allows; yield the verdict of each that fails."""
    plays = [play for play in catalogue() if wanted(play) and play.missing(merchant) is None]
    assert plays
    run = CatalogueRun(merchant, shows=when_it_shows(merchant))
    for play in plays:
        try:
            run.one(play)
        except MerchantBug as bug:
            yield bug.verdict
