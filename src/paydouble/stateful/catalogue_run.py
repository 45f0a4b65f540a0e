"""Runs the catalogue on one merchant: what can show nothing new is left out, and what fails is shortened."""

from __future__ import annotations

import re
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

from paydouble.stateful.acknowledged import Shows, ShowsEach
from paydouble.stateful.catalogue import catalogue
from paydouble.stateful.coverage import Coverage, Tried
from paydouble.stateful.equivalence import Equivalence, PlaySeen
from paydouble.stateful.merchant import Merchant
from paydouble.stateful.play import Play
from paydouble.stateful.progress import shortening, time_left
from paydouble.stateful.steps import CataloguePlay
from paydouble.stateful.verdicts import MerchantBug


class CatalogueRun(NamedTuple):
    """What the plays of a catalogue are run with."""

    merchant: type[Merchant]
    seed: int = 0
    patience_seconds: float = 10.0
    shows: Shows | ShowsEach = ""
    """When the merchant shows what a webhook said; see `Play`."""
    progress: Callable[[str], object] = str
    """Called with what is done so far, before each play."""

    def all(self, coverage: Coverage, seconds: float | None = None) -> None:
        """Run each play that the adapter allows and that can show something new.

        `MerchantBug` with the report of the first failure, shortened. After so many `seconds` of real time the rest is
        left out, and counted. The first play is always run, since a shop that no play has met is not shown to work.
        """
        plays, known = [], Equivalence()
        until = None if seconds is None else monotonic() + seconds
        for play in catalogue():
            missing = play.missing(self.merchant)
            if missing is None:
                plays.append(play)
            else:
                coverage.skip(play.entries(), missing)
        for number, play in enumerate(plays):
            self.progress(_done(number, len(plays)) + time_left(until))
            if until is not None and coverage.plays and monotonic() >= until:
                for left in plays[number:]:
                    coverage.leave_out(left.entries())
                return
            try:
                same = known.reason(play)
                if same is not None:
                    coverage.same[same] += 1
                    continue
                coverage.played |= play.entries()
                coverage.add(self.one(play, known))
            except MerchantBug as bug:
                raise self.shortest(play, bug) from None
            coverage.plays += 1
        self.progress(_done(len(plays), len(plays)))

    def one(self, play: CataloguePlay, known: Equivalence | None = None) -> Tried:
        """Run one play; returns what it has tried. `MerchantBug` when a rule was broken.

        `known` takes what the play has shown.
        """
        patience, shows = self.patience_seconds, self.shows
        running = Play(self.merchant, dialect=play.dialect, seed=self.seed, patience_seconds=patience, shows=shows)
        try:
            seen = PlaySeen(running)
            for each in play.steps:
                each.take(running)
                seen.note()
            running.end()
            seen.note()
        finally:
            running.close()
        if known is not None:
            known.learn(play, seen)
        return running.tried

    def shortest(self, play: CataloguePlay, bug: MerchantBug) -> MerchantBug:
        """Return the report of the shortest play that fails with the same verdict, found by leaving things out.

        The one that was given when the play itself does not fail again.
        """
        shorter = True
        tried = 0
        while shorter:
            shorter = False
            for candidate in play.shorter():
                self.progress(shortening(tried, bug.verdict))
                tried += 1
                try:
                    self.one(candidate)
                except MerchantBug as found:
                    if found.rule == bug.rule and _gist(found) == _gist(bug):
                        play, bug, shorter = candidate, found, True
                        break
        return bug


def _done(number: int, of: int) -> str:
    return f"{number:,} of {of:,} plays of the catalogue"


def _gist(bug: MerchantBug) -> str:
    # Amounts, times and keys differ between a play and a shorter one.
    return re.sub(r"[\d.]+|\(.*\)", "", bug.verdict)
