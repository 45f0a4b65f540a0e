"""The faults of one sandbox, and which of them fire.

The table is consulted at four *injection points*:

    request ── before ── operation ── after ──► reply
                            │
                         event ──► delivery ── attempt ── attempt … ──► receiver

At each point `fire` takes every candidate through the same steps, in the order in which the faults were added:

    active? ── matches? ── can act? ── counted ── past `skip`? ── `probability`? ──► fires

A match counts only when the effect has something to act on, so `skip` and `times` count what a test can see. After a
fault has fired, the faults behind it are neither tried nor counted, unless it has `compose`. The random values of a
firing depend on the seed, the fault's id and the number of the match, so other faults in the table do not change them.

A request must not become slower by faults that do not match it. Callers skip a point that is not in `active_points`.
Each point has an index, in which a fault is filed under one exact value of its `match`, the most selective one
(`_INDEXED`): a hundred faults about other orders cost a few dictionary look-ups. A fault that has only patterns is
filed under one of them, and a pattern is tried only when a value begins with its fixed beginning. The whole `match` is
checked for the candidates that remain, and a context looks up a member only when a fault needs it. Faults of scenarios
are kept by order (`order_faults.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from paydouble.core.errors import UnknownThing, UsageError
from paydouble.core.globs import beginning
from paydouble.core.seeded_random import SeededRandom
from paydouble.faults.armed import Armed, tests_of
from paydouble.faults.order_faults import OrderFaults
from paydouble.faults.seeded_values import SeededValues

if TYPE_CHECKING:
    from paydouble.faults.base import Effect
    from paydouble.faults.model import Fault

# The most selective first: an index by operation alone would hold every fault of a suite in one bucket.
_INDEXED = (
    "external_identifier",
    "idempotency_key",
    "object_id",
    "path",
    "event_type",
    "attempt",
    "operation",
    "scenario",
    "method",
)
MOST_FAULTS = 10_000


class Context(Protocol):
    """A request, an event or an attempt, as faults see it; a member is looked up only when a fault needs it."""

    def value(self, member: str) -> str | int | None:
        """Return the value of a member of `match`, or None when there is none."""

    def relevant(self, effect: Effect) -> bool:
        """Return whether an effect has something to act on here."""


class _Patterns:
    # Most patterns begin with a fixed text. A value begins with few of these texts, so one check rules out nearly all.

    __slots__ = ("_beginnings", "_pairs")

    def __init__(self) -> None:
        self._pairs: list[tuple[str, Callable[[str], bool], Armed]] = []
        self._beginnings: tuple[str, ...] = ()

    def add(self, pattern: str, matcher: Callable[[str], bool], armed: Armed) -> None:
        self._pairs.append((beginning(pattern), matcher, armed))

    def found(self, value: str) -> list[Armed]:
        if len(self._beginnings) != len(self._pairs):
            self._beginnings = tuple(begins for begins, _, _ in self._pairs)
        if not value.startswith(self._beginnings):
            return []
        return [armed for begins, matcher, armed in self._pairs if value.startswith(begins) and matcher(value)]


@dataclass(slots=True)
class _Index:
    exact: dict[str, dict[str | int, list[Armed]]] = field(default_factory=dict)
    patterns: dict[str, _Patterns] = field(default_factory=dict)
    rest: list[Armed] = field(default_factory=list)


class FaultTable:
    """The faults of one sandbox."""

    __slots__ = ("_armed", "_points", "_random", "active_points", "made", "order_faults")

    def __init__(self, randomness: SeededRandom) -> None:
        """Start without faults; `randomness` gives the random values of those that fire."""
        self._random = randomness
        self._armed: dict[str, Armed] = {}
        self._points: dict[str, _Index] = {}
        self.made = 0
        """How many faults there have been; the next one without an id is called after it."""
        self.order_faults = OrderFaults()
        """The faults of scenarios, by order."""
        self.active_points: frozenset[str] = frozenset()
        """The injection points that have a fault, so that a sandbox without faults can skip the look-up."""

    def __iter__(self) -> Iterator[Armed]:
        """Iterate over the faults in the order in which they were added; those of scenarios come last."""
        return iter((*self._armed.values(), *self.order_faults))

    def __len__(self) -> int:
        """Return the number of faults, those of scenarios included."""
        return len(self._armed) + len(self.order_faults)

    def get(self, fault_id: str) -> Armed:
        """Return a fault by id; `UnknownThing` when there is none."""
        armed = self._armed.get(fault_id) or self.order_faults.get(fault_id)
        if armed is None:
            raise UnknownThing(f"There is no fault {fault_id[:64]!r}.")
        return armed

    def add(self, fault: Fault, now: int, sequence: int = 0) -> Armed:
        """Add a fault and return it; `UsageError` when its id is taken or the table is full.

        `now` is the sandbox's time in milliseconds, `sequence` the fault's number from `Journal.next`.
        """
        if fault.id is not None and (fault.id in self._armed or self.order_faults.get(fault.id)):
            raise UsageError(f"there already is a fault {fault.id!r}", member="id")
        if len(self._armed) >= MOST_FAULTS:
            raise UsageError(f"there are {MOST_FAULTS} faults already; delete some")
        self.made += 1
        fault_id = fault.id or self._free_id()
        armed = Armed(fault, fault_id, self.made, now, tests_of(fault), armed_at=sequence)
        self._armed[fault_id] = armed
        self._index(armed)
        self._renew_active_points()
        return armed

    def change(self, fault_id: str, fault: Fault) -> Armed:
        """Replace the declaration of a fault, and return it; its counts and its place in the order stay."""
        armed = self.get(fault_id)
        if armed.order is not None:
            self.order_faults.change(armed, fault)
            self._renew_active_points()
            return armed
        armed.fault = fault
        armed.tests = tests_of(fault)
        self._rebuild()
        return armed

    def arm_order(self, identifier: str, scenario: str, faults: Sequence[Fault], now: int, sequence: int = 0) -> None:
        """Add a scenario's faults for the order with an external identifier; a second call changes nothing."""
        self.made += self.order_faults.arm((identifier, scenario), faults, now, self.made, sequence)
        self._renew_active_points()

    def remove(self, fault_id: str) -> None:
        """Remove a fault; `UnknownThing` when there is none."""
        armed = self.get(fault_id)
        if armed.order is not None:
            self.order_faults.remove(armed)
            self._renew_active_points()
            return
        del self._armed[armed.id]
        self._rebuild()

    def clear(self) -> int:
        """Remove all faults; returns how many there were."""
        count = len(self._armed) + self.order_faults.clear()
        self._armed.clear()
        self._points.clear()
        self._renew_active_points()
        return count

    def forget_orders(self) -> None:
        """Remove the faults of scenarios, and forget which orders had some."""
        self.order_faults.forget()
        self._renew_active_points()

    def fire(self, point: str, context: Context, now: int) -> list[tuple[Armed, SeededValues]]:
        """Return the faults that fire for a context, in order, with the random values of each; updates their counts."""
        fired: list[tuple[Armed, SeededValues]] = []
        for armed in self._candidates(point, context):
            fault = armed.fault
            if not armed.is_active(now) or not _matches(armed, context.value) or not context.relevant(fault.effect):
                continue
            armed.matched += 1
            if armed.matched <= fault.skip:
                continue
            seeded = SeededValues(self._random, armed.id, armed.matched, armed.random_subject)
            if fault.probability < 1 and seeded.unit("probability") >= fault.probability:
                continue
            armed.fired += 1
            fired.append((armed, seeded))
            if not fault.compose:
                break
        return fired

    def _candidates(self, point: str, context: Context) -> list[Armed]:
        found: list[Armed] = []
        if point in self.order_faults.points:
            identifier = context.value("external_identifier")
            found += self.order_faults.candidates(point, str(identifier)) if identifier is not None else ()
        index = self._points.get(point)
        if index is None:
            return found
        found += index.rest
        for member, by_value in index.exact.items():
            value = context.value(member)
            if value is not None and value in by_value:
                found += by_value[value]
        for member, patterns in index.patterns.items():
            value = context.value(member)
            if isinstance(value, str):
                found += patterns.found(value)
        if len(found) > 1:
            found.sort(key=lambda armed: armed.sequence)
        return found

    def _index(self, armed: Armed) -> None:
        index = self._points.setdefault(armed.fault.point, _Index())
        # Exact values first, then the most selective member.
        tests = sorted(armed.tests, key=lambda test: (test[2] is not None, _INDEXED.index(test[0])))
        if not tests:
            index.rest.append(armed)
            return
        member, wanted, matcher = tests[0]
        if matcher is not None:
            index.patterns.setdefault(member, _Patterns()).add(str(wanted), matcher, armed)
        else:
            index.exact.setdefault(member, {}).setdefault(wanted, []).append(armed)

    def _rebuild(self) -> None:
        self._points.clear()
        for armed in self._armed.values():
            self._index(armed)
        self._renew_active_points()

    def _renew_active_points(self) -> None:
        self.active_points = frozenset((*self._points, *self.order_faults.points))

    def _free_id(self) -> str:
        number = self.made
        while f"fault-{number}" in self._armed:
            number += 1
        return f"fault-{number}"


def _matches(armed: Armed, value_of: Callable[[str], str | int | None]) -> bool:
    for member, wanted, matcher in armed.tests:
        value = value_of(member)
        if value is None:
            return False
        if matcher is not None:
            if not matcher(str(value)):
                return False
        elif value != wanted:
            return False
    return True
