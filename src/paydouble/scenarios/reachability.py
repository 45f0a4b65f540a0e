"""Walks a script along its lifecycle's table, with the states in which the resource can be before each step.

A branch is walked on both sides, a repetition twice: what cannot happen the second time round never can. Whatever the
merchant does meanwhile opens no way that would be closed without it, so it need not be known here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, assert_never

from paydouble.payments.lifecycle import PAID, TABLES, is_final
from paydouble.scenarios.base import Place
from paydouble.scenarios.diagnostics import Diagnostic, listed
from paydouble.scenarios.steps import Branch, BranchStep, OpenDispute, OpenRefund, RepeatStep, Step, TransitionStep

_FORCE: Final = "force: true goes there all the same"


@dataclass(slots=True)
class Reach:
    """What is known of a script once it has been walked."""

    kind: str
    """As in `TABLES`."""
    name: str
    """As a person says it."""
    seen: set[str] = field(default_factory=set)
    """Statuses that are reached."""
    opens_dispute: bool = False
    opens_refund: bool = False
    diagnostics: dict[Place, Diagnostic] = field(default_factory=dict)

    def along(self, steps: tuple[Step, ...], place: Place, states: frozenset[str]) -> frozenset[str]:
        """Return the states behind some steps, of those before them."""
        for number, step in enumerate(steps):
            states = self._step(step, (*place, number), states)
            self.seen |= states
        return states

    def _step(self, step: Step, place: Place, states: frozenset[str]) -> frozenset[str]:
        match step:
            case RepeatStep():
                for _ in range(min(step.repeat, 2)):
                    states = self.along(step.steps, (*place, "steps"), states)
                return states
            case BranchStep():
                return self._branch(step, place, states)
            case OpenDispute():
                self.opens_dispute = True
                return self._open("dispute", place, states)
            case OpenRefund():
                self.opens_refund = True
                return self._open("refund", place, states)
            case TransitionStep():
                if not step.force and not any(step.to in TABLES[self.kind][state] for state in states):
                    self._report(self._impossible((*place, "to"), step.to, states))
                return frozenset({step.to})
            case _:
                assert_never(step)

    def _branch(self, step: Branch, place: Place, states: frozenset[str]) -> frozenset[str]:
        if not step.then and not step.otherwise:
            self._report(
                Diagnostic((*place, "when"), "this branch does nothing", advice="give it then or else", warning=True)
            )
        sides = ((step.then, "then"), (step.otherwise, "else"))
        then, otherwise = (self.along(side, (*place, name), states) for side, name in sides)
        return then | otherwise

    def _open(self, key: str, place: Place, states: frozenset[str]) -> frozenset[str]:
        if PAID not in states:
            message = f"there is no {key} of a pay-in that is {listed(sorted(states))}"
            self._report(Diagnostic((*place, key), message, advice="let it succeed first", of_key=True))
        return frozenset({PAID})

    def _impossible(self, place: Place, to: str, states: frozenset[str]) -> Diagnostic:
        table = TABLES[self.kind]
        message = f"a {self.name} that is {listed(sorted(states))} cannot become {to}"
        if all(is_final(table, state) for state in states):
            final = f"{listed(sorted(states))} is the end of a {self.name}, so this never happens"
            return Diagnostic(place, message, advice=f"{final}; {_FORCE}")
        following = sorted({each for state in states for each in table[state]})
        return Diagnostic(place, message, listed(following), advice=_FORCE)

    def _report(self, diagnostic: Diagnostic) -> None:
        self.diagnostics.setdefault(diagnostic.place, diagnostic)
