"""How resources live on by themselves: the timers that a new state sets, and what happens when one goes off.

A scenario's script is a chain: only the next step is ever on the clock. A script whose next step has become illegal
(the merchant cancelled, money was refunded) ends there, and a forced transition ends it too: whoever takes the wheel
keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from paydouble.config import Settings
from paydouble.core.durations import parse_duration
from paydouble.core.errors import IllegalTransition
from paydouble.core.timers import Timers
from paydouble.payments.ledger import Ledger
from paydouble.payments.lifecycle import is_final
from paydouble.payments.resources import Dispute, Failure, Living, PayIn, Payout, Refund
from paydouble.sandbox.commands import Command, DecideDispute, ExpirePayIn, MissEvidence, PlayStep
from paydouble.scenarios.model import FailureSpec, PayoutStep, RefundStep, Scenario, Step

# Lives that the contract does not show: short enough to watch, long enough to see each state.
REFUND_STEPS: Final = (
    RefundStep.model_construct(after=parse_duration("1s"), to="processing"),
    RefundStep.model_construct(after=parse_duration("2s"), to="succeeded"),
)
PAYOUT_STEPS: Final = (
    PayoutStep.model_construct(after=parse_duration("1s"), to="processing"),
    PayoutStep.model_construct(after=parse_duration("2s"), to="succeeded"),
)


class Life:
    """The timers of one sandbox's resources."""

    __slots__ = ("_ledger", "_timers", "settings")

    def __init__(self, ledger: Ledger, timers: Timers[Command], settings: Settings) -> None:
        """Work on a sandbox's ledger and timers."""
        self._ledger = ledger
        self._timers = timers
        self.settings = settings

    def begin_pay_in(self, pay_in: PayIn, scenario: Scenario, now: int) -> None:
        """Set the expiry and the first step."""
        self._timers.schedule(pay_in.expires_at, ExpirePayIn(pay_in.id), pay_in.id)
        self._next_step(pay_in.id, scenario.lifecycle.pay_in, 0, now)

    def begin_refund(self, refund: Refund, scenario: Scenario, now: int) -> None:
        """Set the first step."""
        script = scenario.lifecycle.refund
        self._next_step(refund.id, REFUND_STEPS if script is None else script, 0, now)

    def begin_payout(self, payout: Payout, now: int) -> None:
        """Set the first step."""
        self._next_step(payout.id, PAYOUT_STEPS, 0, now)

    def begin_dispute(self, dispute: Dispute, scenario: Scenario, now: int) -> None:
        """Set the first step, or the day on which a dispute without evidence is lost."""
        script = scenario.lifecycle.dispute
        if script:
            self._next_step(dispute.id, script, 0, now)
        else:
            self._timers.schedule(dispute.evidence_due_by, MissEvidence(dispute.id), dispute.id)

    def review(self, dispute: Dispute, now: int) -> None:
        """Set the decision on evidence that was just handed in, unless a script decides."""
        if not any(isinstance(timer.command, PlayStep) for timer in self._timers.of(dispute.id)):
            self._timers.cancel_subject(dispute.id)
            self._timers.schedule(now + self.settings.disputes.review, DecideDispute(dispute.id), dispute.id)

    def move(self, resource: Living, to: str, now: int, *, failure: Failure | None = None, force: bool = False) -> None:
        """Apply a transition that a caller asked for, and end the script: `IllegalTransition` changes nothing."""
        self._ledger.transition(resource, to, now, failure=failure, force=force)
        for timer in self._timers.of(resource.id):
            if not isinstance(timer.command, ExpirePayIn):
                self._timers.cancel(timer)
        self._tidy(resource, now)
        self._watch_again(resource, now)

    def fire(self, command: Command, now: int) -> None:
        """Do what a timer of a resource holds."""
        match command:
            case PlayStep(object_id, steps, index):
                self._play(object_id, steps, index, now)
            case ExpirePayIn(object_id):
                self._step(object_id, "cancelled", now)
            case MissEvidence(object_id):
                self._step(object_id, "lost", now)
            case DecideDispute(object_id):
                self._step(object_id, self.settings.disputes.decision, now)

    def _play(self, object_id: str, steps: Sequence[Step], index: int, now: int) -> None:
        step = steps[index]
        spec: FailureSpec | None = getattr(step, "failure", None)
        failure = Failure(spec.code, spec.message) if spec else None
        if self._step(object_id, step.to, now, failure=failure, force=step.force):
            self._next_step(object_id, steps, index + 1, now)

    def _step(self, object_id: str, to: str, now: int, *, failure: Failure | None = None, force: bool = False) -> bool:
        resource = self._ledger.find(object_id)
        if not isinstance(resource, Living):
            return False
        try:
            self._ledger.transition(resource, to, now, failure=failure, force=force)
        except IllegalTransition:
            return False
        self._tidy(resource, now)
        return True

    def _next_step(self, object_id: str, steps: Sequence[Step], index: int, now: int) -> None:
        if index < len(steps):
            self._timers.schedule(now + steps[index].after, PlayStep(object_id, tuple(steps), index), object_id)

    def _tidy(self, resource: Living, now: int) -> None:
        # Money that is being verified cannot expire any more, and nothing happens to what is final, unless its script
        # forces it: late money on an expired pay-in.
        final = is_final(resource.TABLE, resource.status)
        paid = isinstance(resource, PayIn) and resource.status == "processing"
        for timer in self._timers.of(resource.id):
            command = timer.command
            forced = isinstance(command, PlayStep) and command.steps[command.place].force
            if (final and not forced) or (paid and isinstance(command, ExpirePayIn)):
                self._timers.cancel(timer)
        # A pay-in that was reopened in time expires like any other.
        if isinstance(resource, PayIn) and resource.status in ("created", "pending") and resource.expires_at > now:
            expiries = [timer for timer in self._timers.of(resource.id) if isinstance(timer.command, ExpirePayIn)]
            if not expiries:
                self._timers.schedule(resource.expires_at, ExpirePayIn(resource.id), resource.id)

    def _watch_again(self, resource: Living, now: int) -> None:
        # A dispute that a test moved or reopened still comes to an end.
        match resource:
            case Dispute(status="under_review"):
                self._timers.schedule(now + self.settings.disputes.review, DecideDispute(resource.id), resource.id)
            case Dispute(status="needs_response"):
                due = resource.evidence_due_by
                if due <= now:  # reopened late: without a window of its own it would be lost before anybody saw it
                    due = now + self.settings.disputes.response_window
                self._timers.schedule(due, MissEvidence(resource.id), resource.id)
