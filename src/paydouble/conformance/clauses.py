"""The clauses: numbered statements about a shop, each with the way to test it.

A clause is tied to a section of the contract and has a level. Its function plays a short story with the shop and
reports each problem that it sees; one that returns without a problem is kept. What cannot be tested with a merchant
file is *not tested*, with the reason, and never kept.

The tables are in `webhook_clauses.py` (W: a consumer of webhooks) and `client_clauses.py` (C: a client of the API).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from paydouble.conformance.case import Case
from paydouble.conformance.levels import Level, Need
from paydouble.core.errors import UsageError
from paydouble.core.likeness import nearest


@dataclass(frozen=True, slots=True)
class Clause:
    """One statement about a shop."""

    id: str
    """Such as `W3.1`."""
    section: str
    """The section of the contract that it comes from; empty when it follows from money and goods alone."""
    level: Level
    title: str
    """What holds for a shop that keeps it."""
    costs: str
    """What it costs to break it."""
    fix: str
    """How to repair it."""
    needs: tuple[Need, ...]
    play: Callable[[Case], None]
    """Plays it; `Broken` and `NotTested` of `case.py` end it early."""

    @property
    def family(self) -> str:
        """Return the family that it belongs to."""
        return self.id.partition(".")[0]

    @property
    def stimulus(self) -> str:
        """Return what is done with the shop, in a sentence."""
        return (self.play.__doc__ or "").strip()


class ClauseTable:
    """Clauses in the order of their definition."""

    def __init__(self) -> None:
        """Begin without clauses."""
        self._clauses: dict[str, Clause] = {}

    def __iter__(self) -> Iterator[Clause]:
        """Iterate over the clauses."""
        return iter(self._clauses.values())

    def clause(  # noqa: PLR0913 - what a clause consists of
        self, name: str, section: str, level: Level, title: str, *, costs: str, fix: str, needs: tuple[Need, ...] = ()
    ) -> Callable[[Callable[[Case], None]], Callable[[Case], None]]:
        """Return a decorator that makes a clause of the function that plays it."""

        def add(play: Callable[[Case], None]) -> Callable[[Case], None]:
            if name in self._clauses:
                message = f"the clause {name} is defined twice"
                raise ValueError(message)
            self._clauses[name] = Clause(name, section, level, title, costs, fix, needs, play)
            return play

        return add


def selected(clauses: Mapping[str, Clause], names: str | None) -> list[Clause]:
    """Return the clauses of a list such as `W1,C2.2`; a name selects itself and those below it.

    `UsageError` for a name that selects nothing. None selects all.
    """
    if names is None:
        return list(clauses.values())
    chosen: dict[str, Clause] = {}
    for name in (part.strip() for part in names.split(",")):
        found = {each: clause for each, clause in clauses.items() if each == name or each.startswith(_prefix(name))}
        if not name or not found:
            near = nearest(name, clauses)
            meant = f"did you mean {near}?" if near else f"the clauses are {', '.join(clauses)}"
            raise UsageError(f"{name!r} is not a clause; {meant}", member="--only")
        chosen |= found
    return [clause for each, clause in clauses.items() if each in chosen]


def _prefix(name: str) -> str:
    """Return how the ids below a name begin: `W` selects W1.1, `W1` selects W1.1 and not W10.1."""
    return name if name in {"W", "C"} else f"{name}."
