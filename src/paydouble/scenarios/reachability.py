"""Finds steps that can never happen: follows a script through its lifecycle table, with the possible states so far.

All sides of a branch or of a wait for the payer are followed, and a repetition twice: a step that is impossible in the
second round is impossible in each later one. The merchant's actions are ignored, because none of them makes a
transition possible that would not be possible without it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, assert_never

from paydouble.payments.lifecycle import PAID, TABLES, first, is_final
from paydouble.scenarios.steps import (
    AwaitPayer,
    Branch,
    BranchStep,
    OpenDispute,
    OpenRefund,
    RepeatStep,
    Step,
    TransitionStep,
)
from paydouble.yamlfile.diagnostics import Diagnostic, listed
from paydouble.yamlfile.places import Place

_FORCE: Final = "force: true makes the transition anyway"


@dataclass(slots=True)
class Reach:
    """What one script can reach, filled in by `along`."""

    kind: str
    """Kind of resource: a key of `TABLES`."""
    name: str
    """Kind of resource, for messages."""
    seen: set[str] = field(default_factory=set)
    """Statuses that can be reached."""
    opens_dispute: bool = False
    opens_refund: bool = False
    awaits_payer: bool = False
    diagnostics: dict[Place, Diagnostic] = field(default_factory=dict)

    def along(self, steps: tuple[Step, ...], place: Place, states: frozenset[str]) -> frozenset[str]:
        """Follow some steps from the possible states before them; return the possible states after them."""
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
            case AwaitPayer():
                self.awaits_payer = True
                return frozenset[str]().union(*(self._side(step, name, place, states) for name in step.sides))
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

    def _side(self, step: AwaitPayer, name: str, place: Place, states: frozenset[str]) -> frozenset[str]:
        if name in step.model_fields_set:
            return self.along(step.sides[name], (*place, name), states)
        default = Reach(self.kind, self.name)
        after = default.along(step.sides[name], (), states)
        if default.diagnostics:
            message = f"the default steps of {name} do not fit a pay-in that is {listed(sorted(states))}"
            advice = f"give {name} steps of its own"
            if states == {first(TABLES[self.kind])}:
                advice += ", or add a step with to: pending before it"
            self._report(Diagnostic((*place, "await"), message, advice=advice, of_key=True))
        self.seen |= default.seen
        return after

    def _open(self, key: str, place: Place, states: frozenset[str]) -> frozenset[str]:
        if PAID not in states:
            message = f"there can be no {key} of a pay-in that is {listed(sorted(states))}"
            self._report(
                Diagnostic((*place, key), message, advice="add a step with to: succeeded before it", of_key=True)
            )
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
