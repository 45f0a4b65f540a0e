"""Does the journal hold what a test expects, and if not, what came closest?

A criterion knows how to read one member of a record and what it should be. `verify` counts the records that meet all
criteria; when that is not what was expected it explains the nearest misses, criterion by criterion. Costly criteria
(parsed bodies) are only looked at in records that meet the cheap ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Any, Generic, TypeVar

from paydouble.core.globs import fits

T = TypeVar("T")
NEAREST = 3


@dataclass(slots=True, frozen=True)
class Criterion(Generic[T]):
    """One member of a match."""

    member: str
    wanted: Any
    read: Callable[[T], Any]
    costly: bool = False

    def holds(self, record: T) -> bool:
        """Return whether a record meets it."""
        return agrees(self.wanted, self.read(record))


@dataclass(slots=True, frozen=True)
class Expectation:
    """How many records should match; at least one when nothing is said."""

    count: int | None = None
    at_least: int | None = None
    at_most: int | None = None

    def met(self, count: int) -> bool:
        """Return whether a number of matches is as expected."""
        if self.count is None and self.at_least is None and self.at_most is None:
            return count >= 1
        return (
            (self.count is None or count == self.count)
            and (self.at_least is None or count >= self.at_least)
            and (self.at_most is None or count <= self.at_most)
        )

    def words(self) -> str:
        """Return the expectation in words."""
        parts = [
            f"{name} {value}"
            for name, value in (("exactly", self.count), ("at least", self.at_least), ("at most", self.at_most))
            if value is not None
        ]
        return " and ".join(parts) or "at least 1"


@dataclass(slots=True, frozen=True)
class Miss(Generic[T]):
    """A record that came close: which members were not as wanted, and what they were."""

    record: T
    differences: tuple[tuple[str, Any, Any], ...]
    """Member, wanted, got."""


@dataclass(slots=True, frozen=True)
class Verdict(Generic[T]):
    """The answer to one question."""

    passed: bool
    count: int
    expected: str
    closest: list[Miss[T]] = field(default_factory=list)


def agrees(wanted: Any, got: Any) -> bool:  # noqa: ANN401 - JSON is any
    """Return whether a value is as wanted: texts take `*`, objects need only have the wanted members."""
    if isinstance(wanted, dict):
        return isinstance(got, dict) and all(name in got and agrees(each, got[name]) for name, each in wanted.items())
    if isinstance(wanted, str) and "*" in wanted:
        return isinstance(got, str) and fits(got, wanted)
    if isinstance(wanted, list):
        return isinstance(got, list) and len(got) == len(wanted) and all(map(agrees, wanted, got))
    return type(wanted) is type(got) and wanted == got if isinstance(wanted, bool) else bool(wanted == got)


def verify(records: Iterable[T], criteria: Sequence[Criterion[T]], expectation: Expectation) -> Verdict[T]:
    """Return whether as many records match as expected; with the nearest misses when not."""
    cheap = [criterion for criterion in criteria if not criterion.costly]
    costly = [criterion for criterion in criteria if criterion.costly]
    everything = list(records)
    matching = sum(
        1
        for record in everything
        if all(agrees(each.wanted, each.read(record)) for each in cheap) and all(each.holds(record) for each in costly)
    )
    passed = expectation.met(matching)
    closest = [] if passed else nearest(everything, cheap, costly)
    return Verdict(passed, matching, expectation.words(), closest)


def verify_sequence(records: Iterable[T], steps: Sequence[Sequence[Criterion[T]]]) -> Verdict[T]:
    """Return whether the steps are met in their order, others in between allowed; `count` is how far that went."""
    everything = list(records)
    place = 0
    for done, criteria in enumerate(steps):
        found = next(
            (at for at in range(place, len(everything)) if all(c.holds(everything[at]) for c in criteria)), None
        )
        if found is None:
            cheap = [criterion for criterion in criteria if not criterion.costly]
            costly = [criterion for criterion in criteria if criterion.costly]
            rest = nearest(everything[place:], cheap, costly)
            return Verdict(False, done, f"{len(steps)} in this order; number {done + 1} is missing", rest)  # noqa: FBT003
        place = found + 1
    return Verdict(True, len(steps), f"{len(steps)} in this order")  # noqa: FBT003


def nearest(records: Sequence[T], cheap: Sequence[Criterion[T]], costly: Sequence[Criterion[T]]) -> list[Miss[T]]:
    """Return the records that miss by the fewest members, the latest first among equals."""
    reads = [(each.wanted, each.read) for each in cheap]

    def distance(at: int) -> tuple[int, int]:
        record = records[at]
        return sum(not agrees(wanted, read(record)) for wanted, read in reads), -at

    # Twice as many as are shown, so that those which only fail a costly criterion can move to the front.
    candidates = nsmallest(NEAREST * 2, range(len(records)), key=distance)
    misses = [Miss(records[at], _differences(records[at], (*cheap, *costly))) for at in candidates]
    return sorted((miss for miss in misses if miss.differences), key=lambda miss: len(miss.differences))[:NEAREST]


def _differences(record: T, criteria: Sequence[Criterion[T]]) -> tuple[tuple[str, Any, Any], ...]:
    return tuple((each.member, each.wanted, each.read(record)) for each in criteria if not each.holds(record))
