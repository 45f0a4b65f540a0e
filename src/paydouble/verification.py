"""Whether a journal holds what a test expects, and if not, what came closest.

A criterion knows how to read one member of a record and what it should be. `verify` counts the records that meet all
criteria; when that is not what was expected it explains the nearest misses, criterion by criterion. Costly criteria
(parsed bodies) are only looked at in records that meet the cheap ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import repeat
from operator import itemgetter, ne
from typing import Any, Generic, TypeVar

from paydouble.core.globs import fits

T = TypeVar("T")
Difference = tuple[str, Any, Any]
"""A member with its path, what was wanted of it, and what it was."""
NEAREST = 3


@dataclass(slots=True, frozen=True)
class Criterion(Generic[T]):
    """One member of a match."""

    member: str
    wanted: Any
    read: Callable[[T], Any]
    costly: bool = False

    def met_by(self, record: T) -> bool:
        """Return whether a record meets the criterion."""
        return agrees(self.wanted, self.read(record))

    def missed_by(self, records: Sequence[T]) -> list[bool]:
        """Return for each record whether it fails the criterion; plain texts have a fast path for long journals."""
        if isinstance(self.wanted, str) and "*" not in self.wanted:
            return list(map(ne, map(self.read, records), repeat(self.wanted)))
        return [not agrees(self.wanted, got) for got in map(self.read, records)]


@dataclass(slots=True, frozen=True)
class Expectation:
    """How many records should match: at least one unless a number is given."""

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

    def text(self) -> str:
        """Return the expectation as text, such as `at least 1`."""
        parts = [
            f"{name} {value}"
            for name, value in (("exactly", self.count), ("at least", self.at_least), ("at most", self.at_most))
            if value is not None
        ]
        return " and ".join(parts) or "at least 1"


@dataclass(slots=True, frozen=True)
class Miss(Generic[T]):
    """A record that nearly matched, and the members in which it differs."""

    record: T
    differences: tuple[Difference, ...]


@dataclass(slots=True, frozen=True)
class Verdict(Generic[T]):
    """The answer to one question."""

    passed: bool
    count: int
    expected: str
    closest: list[Miss[T]] = field(default_factory=list)


def agrees(wanted: Any, got: Any) -> bool:  # noqa: ANN401 - JSON is any
    """Return whether a value is as wanted. In texts `*` matches any characters; objects may have more members."""
    if isinstance(wanted, dict):
        return isinstance(got, dict) and all(name in got and agrees(each, got[name]) for name, each in wanted.items())
    if isinstance(wanted, str) and "*" in wanted:
        return isinstance(got, str) and fits(got, wanted)
    if isinstance(wanted, list):
        return isinstance(got, list) and len(got) == len(wanted) and all(map(agrees, wanted, got))
    if isinstance(wanted, bool) or isinstance(got, bool):
        return wanted is got  # to Python, True is 1
    return bool(wanted == got)


def verify(records: Iterable[T], criteria: Sequence[Criterion[T]], expectation: Expectation) -> Verdict[T]:
    """Return whether as many records match as expected, with the nearest misses if not."""
    everything = list(records)
    costly = [each for each in criteria if each.costly]
    missing: list[tuple[int, T]] = []
    for missed, record in zip(_distances(everything, criteria), everything, strict=True):
        if missed or not all(each.met_by(record) for each in costly):
            missing.append((missed, record))
    matching = len(everything) - len(missing)
    passed = expectation.met(matching)
    closest = [] if passed else _closest(missing, criteria)
    return Verdict(passed, matching, expectation.text(), closest)


def verify_sequence(records: Iterable[T], steps: Sequence[Sequence[Criterion[T]]]) -> Verdict[T]:
    """Return whether records meet the steps in their order, others in between allowed; `count` is the steps met."""
    everything = list(records)
    place = 0
    for done, criteria in enumerate(steps):
        ordered = sorted(criteria, key=lambda criterion: criterion.costly)
        found = next(
            (at for at in range(place, len(everything)) if all(each.met_by(everything[at]) for each in ordered)), None
        )
        if found is None:
            rest = nearest(everything[place:], criteria)
            return Verdict(False, done, f"{len(steps)} in this order; number {done + 1} is missing", rest)  # noqa: FBT003
        place = found + 1
    return Verdict(True, len(steps), f"{len(steps)} in this order")  # noqa: FBT003


def nearest(records: Sequence[T], criteria: Sequence[Criterion[T]]) -> list[Miss[T]]:
    """Return the records that differ in the fewest members, of records that do not match; the latest first."""
    return _closest(list(zip(_distances(records, criteria), records, strict=True)), criteria)


def _distances(records: Sequence[T], criteria: Sequence[Criterion[T]]) -> list[int]:
    # How many of the cheap criteria each record fails. Criterion by criterion is faster than record by record.
    columns = [each.missed_by(records) for each in criteria if not each.costly]
    return list(map(sum, zip(*columns, strict=True))) if columns else [0] * len(records)


def _closest(missing: Sequence[tuple[int, T]], criteria: Sequence[Criterion[T]]) -> list[Miss[T]]:
    # Twice as many as are shown, since the costly criteria may change their order.
    candidates = nsmallest(NEAREST * 2, reversed(missing), key=itemgetter(0))
    misses = [Miss(record, _differences(record, criteria)) for _, record in candidates]
    return sorted(misses, key=lambda miss: len(miss.differences))[:NEAREST]


def _differences(record: T, criteria: Sequence[Criterion[T]]) -> tuple[Difference, ...]:
    return tuple(found for each in criteria for found in _apart(each.member, each.wanted, each.read(record)))


def _apart(member: str, wanted: Any, got: Any) -> Iterator[Difference]:  # noqa: ANN401 - JSON is any
    """Yield the differences of a value from what is wanted, each with its full path: `body.customer.email`."""
    if agrees(wanted, got):
        return
    if isinstance(wanted, dict) and isinstance(got, dict):
        for name, each in wanted.items():
            yield from (
                _apart(f"{member}.{name}", each, got[name]) if name in got else [(f"{member}.{name}", each, None)]
            )
    elif isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        for place, (each, other) in enumerate(zip(wanted, got, strict=True)):
            yield from _apart(f"{member}.{place}", each, other)
    else:
        yield member, wanted, got
