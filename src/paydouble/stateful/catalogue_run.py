"""Runs the catalogue on one merchant: what can show nothing new is left out, and what fails is shortened.

The order of the plays is fixed for an adapter, so a run can go on at the play with which an earlier one ended, and
several runs can have a part each. A run knows nothing of the plays of others, and leaves out fewer of its own.

A run may go on after a finding. Many plays fail for one mistake, so a play whose verdict, apart from numbers, was in an
earlier report already is counted, and is neither shortened nor reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Final, NamedTuple

from paydouble.core.errors import UsageError
from paydouble.stateful.catalogue import catalogue
from paydouble.stateful.coverage import ELSEWHERE, ENDED, Coverage, Tried
from paydouble.stateful.equivalence import Equivalence, PlaySeen
from paydouble.stateful.findings import Rule
from paydouble.stateful.held_to import Shows
from paydouble.stateful.merchant import Merchant
from paydouble.stateful.play import Play
from paydouble.stateful.progress import shortening, time_left
from paydouble.stateful.shortening import shortest
from paydouble.stateful.steps import CataloguePlay, Hold
from paydouble.stateful.verdicts import MerchantBug, Place

_NO_HOLD: Final = "no time was found at which the merchant gives an order up"
_ANY_HOLD: Final = Hold(kept=1, over=2)
_BEFORE: Final = "its plays come before the first that was asked for"


class Part(NamedTuple):
    """A part of a catalogue, of several of one size that are run apart: every so many plays."""

    number: int = 1
    """From 1 on."""
    of: int = 1

    def has(self, play: int) -> bool:
        """Return whether the play of this number, from 1 on, is in this part."""
        return (play - self.number) % self.of == 0


class Extent(NamedTuple):
    """How much of a catalogue is run."""

    seconds: float | None = None
    """Real time after which the rest is left out; None for no limit."""
    first: int = 1
    """The number of the play to begin with, of those that the adapter allows."""
    findings: int = 1
    """After how many different findings the run ends."""
    part: Part = Part()


_WHOLE: Final = Extent()


def first_of(merchant: type[Merchant], number: int, named: str) -> int:
    """Return the number of a play to begin with; `UsageError` about the setting `named` when there is no such play."""
    # How long orders are kept, by which some plays may be left out, is not known before the run.
    plays = len(CatalogueRun(merchant, hold=_ANY_HOLD).plays())
    if not 1 <= number <= plays:
        message = f"there is no play {number:,}; this adapter allows {plays:,}, so give a number from 1 to {plays}"
        raise UsageError(message, member=named)
    return number


def part_of(number: int, of: int, named: str) -> Part:
    """Return a part of the catalogue; `UsageError` about the setting `named` when there is no such part."""
    if not 1 <= number <= of:
        raise UsageError(f"there is no part {number} of {of}; the first is 1, and the last is {of}", member=named)
    return Part(number, of)


class CatalogueRun(NamedTuple):
    """What the plays of a catalogue are run with."""

    merchant: type[Merchant]
    seed: int = 0
    patience_seconds: float = 10.0
    shows: Shows = ""
    """When the merchant shows what a webhook said; see `Play`."""
    progress: Callable[[str], object] = str
    """Called with what is done so far, before each play."""
    hold: Hold | None = None
    """When the merchant gives an order up that nobody has paid, where that is known."""

    def all(self, coverage: Coverage, found: list[MerchantBug], extent: Extent = _WHOLE) -> None:
        """Run each play that the adapter allows and that can show something new, as far as `extent` says.

        `found` takes the report of each finding, shortened. What there was no time for is counted. One play is always
        run, since a shop that no play has met is not shown to work.
        """
        plays, known = self.plays(coverage), Equivalence()
        told: set[str] = set()
        until = None if extent.seconds is None else monotonic() + extent.seconds
        own = _numbered(plays, extent, coverage)
        for place, (number, play) in enumerate(own):
            self.progress(_done(number - 1, len(plays), len(found)) + time_left(until))
            coverage.next = number
            if until is not None and coverage.plays and monotonic() >= until:
                for _, left in own[place:]:
                    coverage.leave_out(left.entries())
                return
            coverage.played |= play.entries()
            same = known.reason(play)
            if same is not None:
                coverage.same[same] += 1
                continue
            coverage.plays += 1
            try:
                coverage.add(self.one(play, known))
            except MerchantBug as bug:
                coverage.failed += 1
                if _kind(bug.rule, bug.verdict) in told:
                    continue
                bug.place = Place(number, len(plays))
                # A run that is interrupted during the search tells it as it was found.
                found.append(bug)
                found[-1] = report = self.shortest(play, bug)
                report.place = bug.place
                told |= {_kind(each.rule, each.verdict) for each in (bug, report)}
                told |= {_kind(rule, text) for rule, text in report.others}
                if len(found) >= extent.findings:
                    coverage.next = None
                    for _, left in own[place + 1 :]:
                        coverage.pass_over(left.entries(), ENDED)
                    return
        coverage.next = None
        self.progress(_done(len(plays), len(plays), len(found)))

    def plays(self, coverage: Coverage | None = None) -> list[CataloguePlay]:
        """Return the plays that the adapter allows; `coverage` takes why the others are left out."""
        plays = []
        for play in catalogue():
            missing = play.missing(self.merchant)
            if missing is None and play.depends_on_hold and self.hold is None:
                missing = _NO_HOLD
            if missing is None:
                plays.append(play.with_times_of(self.hold) if self.hold is not None and play.depends_on_hold else play)
            elif coverage is not None:
                coverage.skip(play.entries(), missing)
        return plays

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
        tried = 0

        def attempt(candidate: CataloguePlay) -> MerchantBug | None:
            nonlocal tried
            self.progress(shortening(tried, bug.verdict))
            tried += 1
            try:
                self.one(candidate)
            except MerchantBug as again:
                return again if again.rule == bug.rule and _gist(again.verdict) == _gist(bug.verdict) else None
            return None

        return shortest(play, bug, attempt)[1]


def _numbered(plays: Sequence[CataloguePlay], extent: Extent, coverage: Coverage) -> list[tuple[int, CataloguePlay]]:
    """Return the plays of an extent with their numbers; `coverage` takes why the others are left out.

    `UsageError` for a part that has none.
    """
    own: list[tuple[int, CataloguePlay]] = []
    for number, play in enumerate(plays, 1):
        if number < extent.first:
            coverage.pass_over(play.entries(), _BEFORE)
        elif extent.part.has(number):
            own.append((number, play))
        else:
            coverage.pass_over(play.entries(), ELSEWHERE)
    if extent.first > max(1, len(plays)):
        message = f"there is no play {extent.first:,}; in this run there are {len(plays):,}, so begin with one of these"
        raise UsageError(message)
    if not own and extent.part.of > 1:
        part = f"part {extent.part.number} of {extent.part.of} has no play"
        raise UsageError(f"{part}, of {len(plays):,}, from number {extent.first:,} on; make fewer parts")
    coverage.first, coverage.parts, coverage.of_parts = extent.first, [extent.part.number], extent.part.of
    return own


def _done(number: int, of: int, findings: int) -> str:
    found = f", {findings} finding{'s' * (findings != 1)}" if findings else ""
    return f"{number:,} of {of:,} plays of the catalogue{found}"


def _gist(verdict: str) -> str:
    # Amounts, times and keys differ between a play and a shorter one.
    return re.sub(r"[\d.]+|\(.*\)", "", verdict)


def _kind(rule: Rule, verdict: str) -> str:
    # What is wrong with a forged webhook follows a colon. One mistake lets many of them in.
    gist = _gist(verdict)
    return gist.partition(":")[0] if rule in {Rule.FORGED, Rule.ANSWER} else gist
