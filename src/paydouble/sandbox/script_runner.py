"""How resources live on by themselves: the timers that a new state sets, and what happens when one goes off.

A scenario's script is a chain: only the next step is ever on the clock. A script whose next step has become illegal
(the merchant cancelled, money was refunded) ends there, and a forced transition ends it too: whoever takes the wheel
keeps it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from paydouble.config import Settings
from paydouble.core.durations import parse_duration
from paydouble.core.errors import ApiError, IllegalTransition
from paydouble.core.timers import Timers
from paydouble.payments.ledger import Ledger
from paydouble.payments.lifecycle import UNPAID, is_final
from paydouble.payments.resources import Dispute, Failure, PayIn, Payout, Refund, Resource
from paydouble.sandbox.commands import Command, DecideDispute, ExpirePayIn, MissEvidence, PlayStep
from paydouble.sandbox.conditions import holds
from paydouble.sandbox.scenario_selector import ScenarioSelector
from paydouble.scenarios.portions import minor_units_of
from paydouble.scenarios.steps import (
    Branch,
    BranchStep,
    OpenDispute,
    OpenRefund,
    PayInStep,
    PayoutStep,
    RefundStep,
    Repeat,
    RepeatStep,
    Step,
    Transition,
    TransitionStep,
    expand,
)

if TYPE_CHECKING:
    from paydouble.scenarios.model import Scenario, StartPlan

# Lives that the contract does not show: short enough to watch, long enough to see each state.
REFUND_STEPS: Final = (
    RefundStep.model_construct(after=parse_duration("1s"), to="processing"),
    RefundStep.model_construct(after=parse_duration("2s"), to="succeeded"),
)
PAYOUT_STEPS: Final = (
    PayoutStep.model_construct(after=parse_duration("1s"), to="processing"),
    PayoutStep.model_construct(after=parse_duration("2s"), to="succeeded"),
)


class ScriptRunner:
    """The timers of one sandbox's resources."""

    __slots__ = ("_ledger", "_scenarios", "_timers", "settings", "stories")

    def __init__(
        self,
        ledger: Ledger,
        timers: Timers[Command],
        settings: Settings,
        scenarios: ScenarioSelector,
        stories: dict[str, list[str]],
    ) -> None:
        """Work on a sandbox's ledger and timers."""
        self._ledger = ledger
        self._timers = timers
        self._scenarios = scenarios
        self.settings = settings
        self.stories = stories
        """Event types so far, by pay-in; the publisher goes on with those that have begun here."""

    def begin_pay_in(self, pay_in: PayIn, start_plan: StartPlan, now: int) -> None:
        """Set the first step, and the expiry unless the step comes before it and will set it (`_tidy`)."""
        first_after = start_plan.first_after
        if start_plan.asks_when:
            self.stories[pay_in.id] = ["pay-in.created"]
        if first_after is None or now + first_after >= pay_in.expires_at:
            self._timers.schedule(pay_in.expires_at, ExpirePayIn(pay_in.id), pay_in.id)
        if first_after is None:
            self._next_step(pay_in.id, start_plan.steps, 0, now)
        else:
            self._timers.schedule(now + first_after, PlayStep(pay_in.id, start_plan.steps, 0), pay_in.id)

    def begin_refund(self, refund: Refund, scenario: Scenario, now: int) -> None:
        """Set the first step."""
        script: tuple[Step, ...] | None = scenario.lifecycle.refund
        self._next_step(refund.id, REFUND_STEPS if script is None else script, 0, now)

    def begin_payout(self, payout: Payout, now: int) -> None:
        """Set the first step."""
        self._next_step(payout.id, PAYOUT_STEPS, 0, now)

    def open_dispute(self, pay_in: PayIn, *, amount: int | None, reason: str, now: int, force: bool = False) -> Dispute:
        """Let a chargeback arrive; ApiError when the pay-in cannot have one."""
        window = self.settings.disputes.response_window
        dispute = self._ledger.open_dispute(now, pay_in, amount=amount, reason=reason, window_ms=window, force=force)
        self.begin_dispute(dispute, self._scenarios.of(pay_in), now)
        return dispute

    def begin_dispute(self, dispute: Dispute, scenario: Scenario, now: int) -> None:
        """Set the first step, or the day on which a dispute without evidence is lost."""
        script = scenario.lifecycle.dispute
        if script:
            self._next_step(dispute.id, script, 0, now)
        else:
            self._timers.schedule(dispute.evidence_due_by, MissEvidence(dispute.id), dispute.id)

    def review(self, dispute: Dispute, now: int) -> None:
        """Set the decision on evidence that was just handed in, unless a script decides or its time is set already."""
        if not any(isinstance(timer.command, PlayStep | DecideDispute) for timer in self._timers.of(dispute.id)):
            self._timers.cancel_subject(dispute.id)
            self._timers.schedule(now + self.settings.disputes.review, DecideDispute(dispute.id), dispute.id)

    def move(
        self, resource: Resource, to: str, now: int, *, failure: Failure | None = None, force: bool = False
    ) -> None:
        """Apply a transition that a caller asked for, and end the script: `IllegalTransition` changes nothing."""
        window = self.settings.disputes.response_window
        self._ledger.transition(resource, to, now, failure=failure, force=force, window_ms=window)
        # An update of a dispute that is under review does not move its decision.
        kept = (ExpirePayIn, DecideDispute) if to == "under_review" else (ExpirePayIn,)
        for timer in self._timers.of(resource.id):
            if not isinstance(timer.command, kept):
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

    def _play(self, object_id: str, steps: tuple[Step, ...], place: int, now: int) -> None:
        step = steps[place]
        match step:
            case OpenDispute():
                done = self._arrive(object_id, step, now)
            case OpenRefund():
                done = self._give_back(object_id, step, now)
            case BranchStep() | RepeatStep():
                done = True
                steps, place = self._unfold(object_id, step, steps[place + 1 :]), -1
            case TransitionStep():
                done = self._take(object_id, step, now)
            case _:
                assert_never(step)
        if done:
            self._next_step(object_id, steps, place + 1, now)

    def _take(self, object_id: str, step: Transition, now: int) -> bool:
        spec = getattr(step, "failure", None)
        failure = Failure(spec.code, spec.message) if spec else None
        if isinstance(step, PayInStep) and step.amount is not None:
            pay_in = self._ledger.get(PayIn, object_id)
            pay_in.settles_at = minor_units_of(step.amount, pay_in.amount, pay_in.digits)
        return self._step(object_id, step.to, now, failure=failure, force=step.force)

    def _unfold(self, object_id: str, step: Branch | Repeat, rest: tuple[Step, ...]) -> tuple[Step, ...]:
        """Return what is left of a script once a step that holds others has been replaced by them."""
        if isinstance(step, RepeatStep):
            return expand((step, *rest))
        return (*self._decide(object_id, step), *rest)

    def _decide(self, object_id: str, branch: Branch) -> tuple[Step, ...]:
        resource = self._ledger.find(object_id)
        pay_in = self._ledger.get(PayIn, getattr(resource, "payin_id", object_id))
        story = self.stories.get(pay_in.id, [])
        return branch.then if holds(branch.when, pay_in, self._ledger, story) else branch.otherwise

    def _arrive(self, pay_in_id: str, step: OpenDispute, now: int) -> bool:
        pay_in = self._ledger.get(PayIn, pay_in_id)
        spec = step.dispute
        rest = pay_in.amount - self._ledger.disputed(pay_in)
        amount = rest if spec.amount is None else min(rest, minor_units_of(spec.amount, pay_in.amount, pay_in.digits))
        try:
            self.open_dispute(pay_in, amount=amount, reason=spec.reason, now=now)
        except ApiError:
            return False
        return True

    def _give_back(self, pay_in_id: str, step: OpenRefund, now: int) -> bool:
        pay_in = self._ledger.get(PayIn, pay_in_id)
        spec = step.refund
        disputed_too = self.settings.refunds.while_disputed == "allow"
        rest = self._ledger.refundable(pay_in, disputed_too=disputed_too)
        amount = rest if spec.amount is None else min(rest, minor_units_of(spec.amount, pay_in.amount, pay_in.digits))
        try:
            refund = self._ledger.create_refund(
                now,
                pay_in,
                amount=amount,
                reason=spec.reason,
                external_identifier=None,
                disputed_too=disputed_too,
            )
        except ApiError:
            return False
        self.begin_refund(refund, self._scenarios.of(pay_in), now)
        return True

    def _step(self, object_id: str, to: str, now: int, *, failure: Failure | None = None, force: bool = False) -> bool:
        resource = self._ledger.find(object_id)
        if not isinstance(resource, Resource):
            return False
        try:
            window = self.settings.disputes.response_window
            self._ledger.transition(resource, to, now, failure=failure, force=force, window_ms=window)
            moved = True
        except IllegalTransition:
            moved = False
        self._tidy(resource, now)
        return moved

    def _next_step(self, object_id: str, steps: tuple[Step, ...], place: int, now: int) -> None:
        while place < len(steps):
            step = steps[place]
            if isinstance(step, TransitionStep):  # asked first: nearly every step is one
                self._timers.schedule(now + step.after, PlayStep(object_id, steps, place), object_id)
                return
            if isinstance(step, BranchStep | RepeatStep) and not step.after:
                steps, place = self._unfold(object_id, step, steps[place + 1 :]), 0
            else:
                self._timers.schedule(now + step.after, PlayStep(object_id, steps, place), object_id)
                return

    def _tidy(self, resource: Resource, now: int) -> None:
        # Money that is being verified cannot expire any more, and nothing happens to what is final, unless its script
        # forces it: late money on an expired pay-in.
        final = is_final(resource.TABLE, resource.status)
        paid = isinstance(resource, PayIn) and resource.status == "processing"
        for timer in self._timers.of(resource.id):
            command = timer.command
            goes_on = isinstance(command, PlayStep) and _outlives(command.steps[command.place])
            if (final and not goes_on) or (paid and isinstance(command, ExpirePayIn)):
                self._timers.cancel(timer)
        # A pay-in that was reopened in time expires like any other.
        if isinstance(resource, PayIn) and resource.status in UNPAID and resource.expires_at > now:
            expiries = [timer for timer in self._timers.of(resource.id) if isinstance(timer.command, ExpirePayIn)]
            if not expiries:
                self._timers.schedule(resource.expires_at, ExpirePayIn(resource.id), resource.id)

    def _watch_again(self, resource: Resource, now: int) -> None:
        # A dispute that a test moved or reopened still comes to an end.
        match resource:
            case Dispute(status="under_review") if not self._timers.of(resource.id):
                self._timers.schedule(now + self.settings.disputes.review, DecideDispute(resource.id), resource.id)
            case Dispute(status="needs_response"):
                self._timers.schedule(resource.evidence_due_by, MissEvidence(resource.id), resource.id)


def _outlives(step: Step) -> bool:
    # What is not a transition may begin something else; the pay-in itself stays as it is.
    return step.force if isinstance(step, TransitionStep) else True
