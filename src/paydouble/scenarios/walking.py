"""Walks a script along its lifecycle's table, with the states in which the resource can be before each step.

A branch is walked on both sides, a repetition twice: what cannot happen the second time round never can. Whatever the
merchant does meanwhile opens no way that would be closed without it, so it need not be known here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from paydouble.payments.lifecycle import TABLES, is_final
from paydouble.scenarios.base import Place
from paydouble.scenarios.complaints import Complaint
from paydouble.scenarios.findings import listed
from paydouble.scenarios.steps import BRANCHES, REPEATS, OpenDispute, OpenRefund, Step

_FORCE: Final = "force: true goes there all the same"
_PAID: Final = "succeeded"


@dataclass(slots=True)
class Walk:
    """What is known of a script once it has been walked."""

    kind: str
    """As in `TABLES`."""
    name: str
    """As a person says it."""
    seen: set[str] = field(default_factory=set)
    """Statuses that are reached."""
    opens_dispute: bool = False
    opens_refund: bool = False
    complaints: dict[Place, Complaint] = field(default_factory=dict)

    def along(self, steps: tuple[Step, ...], place: Place, states: frozenset[str]) -> frozenset[str]:
        """Return the states behind some steps, of those before them."""
        for number, step in enumerate(steps):
            states = self._step(step, (*place, number), states)
            self.seen |= states
        return states

    def _step(self, step: Step, place: Place, states: frozenset[str]) -> frozenset[str]:
        if isinstance(step, REPEATS):
            for _ in range(min(step.repeat, 2)):
                states = self.along(step.steps, (*place, "steps"), states)
            return states
        if isinstance(step, BRANCHES):
            if not step.then and not step.otherwise:
                self._complain(
                    Complaint((*place, "when"), "this branch does nothing", advice="give it then or else", warning=True)
                )
            sides = ((step.then, "then"), (step.otherwise, "else"))
            then, otherwise = (self.along(side, (*place, name), states) for side, name in sides)
            return then | otherwise
        if isinstance(step, OpenDispute | OpenRefund):
            return self._open(step, place, states)
        if not step.force and not any(step.to in TABLES[self.kind][state] for state in states):
            self._complain(self._impossible((*place, "to"), step.to, states))
        return frozenset({step.to})

    def _open(self, step: OpenDispute | OpenRefund, place: Place, states: frozenset[str]) -> frozenset[str]:
        key = "dispute" if isinstance(step, OpenDispute) else "refund"
        self.opens_dispute |= key == "dispute"
        self.opens_refund |= key == "refund"
        if _PAID not in states:
            message = f"there is no {key} of a pay-in that is {listed(sorted(states))}"
            self._complain(Complaint((*place, key), message, advice="let it succeed first", of_key=True))
        return frozenset({_PAID})

    def _impossible(self, place: Place, to: str, states: frozenset[str]) -> Complaint:
        table = TABLES[self.kind]
        message = f"a {self.name} that is {listed(sorted(states))} cannot become {to}"
        if all(is_final(table, state) for state in states):
            final = f"{listed(sorted(states))} is the end of a {self.name}, so this never happens"
            return Complaint(place, message, advice=f"{final}; {_FORCE}")
        following = sorted({each for state in states for each in table[state]})
        return Complaint(place, message, listed(following), advice=_FORCE)

    def _complain(self, complaint: Complaint) -> None:
        self.complaints.setdefault(complaint.place, complaint)
