"""Which half of the vocabulary an example of the hunt prefers: what was tried least, and some of the rest at random.

With every entry allowed in every example, one entry hides another: a play that dies over a forged webhook never meets a
lost reply. An example that has only half of the entries goes deeper with those (swarm testing).

Hypothesis replays an example while it shrinks it, and it must then be the same. So a preference is a number that
Hypothesis draws, what was tried is looked at when a number is seen for the first time, and the choice is kept. Number 0
prefers nothing, which is where shrinking goes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from paydouble.stateful.coverage import VOCABULARY, Coverage

MOST_PREFERENCES: Final = 9999


class Preferences:
    """The preferences of one hunt."""

    def __init__(self) -> None:
        """Start with none."""
        self._chosen: dict[int, Mapping[str, tuple[str, ...]]] = {}

    def of(self, number: int, coverage: Coverage) -> Callable[[str, str], str]:
        """Return what replaces an entry of a table by a preferred one, the same for the same number."""
        if number not in self._chosen:
            self._chosen[number] = _choose(number, coverage)
        chosen = self._chosen[number]

        def preferred(table: str, name: str) -> str:
            allowed = chosen[table]
            return name if name in allowed else allowed[VOCABULARY[table].index(name) % len(allowed)]

        return preferred


def _choose(number: int, coverage: Coverage) -> Mapping[str, tuple[str, ...]]:
    if number == 0:
        return VOCABULARY
    random = Random(number)  # noqa: S311 - a choice that repeats, not a secret
    counts = coverage.counts()
    chosen = {}
    for table, names in VOCABULARY.items():
        half = max(1, len(names) // 2)
        rarest = sorted(names, key=lambda name, table=table: (counts[table, name], random.random()))[: half // 2]  # type: ignore[misc]
        others = [name for name in names if name not in rarest]
        taken = {*rarest, *random.sample(others, half - len(rarest))}
        chosen[table] = tuple(name for name in names if name in taken)
    return chosen
