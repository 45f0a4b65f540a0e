"""Plays the scripts of scenarios: what happens to pay-ins, refunds, disputes and payouts by themselves.

A script is a chain of steps, of which only the next one is on the clock, as a `PlayStep` timer that holds the rest:

    begin ──► timer for step n ──due──► play it ──done──► timer for step n + 1 ──► … ──► end
                     │                      └─ not possible (any more) ──► end
                     └─ a merchant or a test moves the resource: the timer is cancelled ──► end

A step may move its resource, open a dispute or a refund (which then plays a script of its own), choose a branch, or
repeat other steps. A branch is decided when it is due, so it depends on what the merchant has done until then. It is
replaced by the chosen steps. A repetition is replaced by its steps once, followed by itself with one round less. A
branch or a repetition without a delay needs no timer.

A step that waits for the payer is on the clock too: its timer is due when the time for the payer has passed, at the
latest when the pay-in expires. `payer_acts` cancels that timer and goes on with the steps for what the payer does; a
pay-in waits for its payer exactly as long as such a timer exists.

Three other timers act when something does not happen in time: `ExpirePayIn` cancels an unpaid pay-in, `MissEvidence`
loses a dispute without a script, and `DecideDispute` ends the review of submitted evidence, unless a script does. After
every move `_update_timers` cancels the timers that no longer apply: a pay-in in `processing` does not expire, and only
a step with `force` moves a resource out of a final state. A pay-in that is reopened in time can expire again, and a
dispute that a call moves back gets its deadline or its decision again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from paydouble.config import Settings
from paydouble.core.durations import parse_duration
from paydouble.core.errors import ApiError, IllegalTransition
from paydouble.core.timers import Timer, Timers
from paydouble.payments.ledger import Ledger
from paydouble.payments.lifecycle import UNPAID, is_final
from paydouble.payments.resources import Dispute, Failure, PayIn, Payout, Refund, Resource
from paydouble.sandbox.commands import Command, DecideDispute, ExpirePayIn, MissEvidence, PlayStep
from paydouble.sandbox.conditions import holds
from paydouble.sandbox.scenario_selector import ScenarioSelector
from paydouble.scenarios.portions import minor_units_of
from paydouble.scenarios.steps import (
    AwaitPayer,
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
    declined,
    expand,
)

if TYPE_CHECKING:
    from paydouble.scenarios.model import Scenario, StartPlan
    from paydouble.scenarios.play import PayerAction

# Scripts that the contract does not specify: short enough to watch, long enough to see each state.
REFUND_STEPS: Final = (
    RefundStep.model_construct(after=parse_duration("1s"), to="processing"),
    RefundStep.model_construct(after=parse_duration("2s"), to="succeeded"),
)
PAYOUT_STEPS: Final = (
    PayoutStep.model_construct(after=parse_duration("1s"), to="processing"),
    PayoutStep.model_construct(after=parse_duration("2s"), to="succeeded"),
)


class ScriptRunner:
    """Plays the scripts of one sandbox."""

    __slots__ = ("_ledger", "_scenarios", "_timers", "histories", "settings")

    def __init__(
        self,
        ledger: Ledger,
        timers: Timers[Command],
        settings: Settings,
        scenarios: ScenarioSelector,
        histories: dict[str, list[str]],
    ) -> None:
        """Work on a sandbox's ledger and timers; `histories` are the publisher's."""
        self._ledger = ledger
        self._timers = timers
        self._scenarios = scenarios
        self.settings = settings
        self.histories = histories
        """Event types so far, by pay-in. This class begins a history, and the publisher continues it."""

    def begin_pay_in(self, pay_in: PayIn, start_plan: StartPlan, now: int) -> None:
        """Set the timer of the first step; the expiry timer too, unless that step is earlier and will set it."""
        first_after = start_plan.first_after
        if start_plan.asks_when:
            self.histories[pay_in.id] = ["pay-in.created"]
        if first_after is None or now + first_after >= pay_in.expires_at:
            self._timers.schedule(pay_in.expires_at, ExpirePayIn(pay_in.id), pay_in.id)
        if first_after is None:
            self._next_step(pay_in.id, start_plan.steps, 0, now)
        else:
            self._timers.schedule(now + first_after, PlayStep(pay_in.id, start_plan.steps, 0), pay_in.id)

    def begin_refund(self, refund: Refund, scenario: Scenario, now: int) -> None:
        """Begin the refund script of the pay-in's scenario, or the default script."""
        script: tuple[Step, ...] | None = scenario.lifecycle.refund
        self._next_step(refund.id, REFUND_STEPS if script is None else script, 0, now)

    def begin_payout(self, payout: Payout, now: int) -> None:
        """Begin the default script of a payout."""
        self._next_step(payout.id, PAYOUT_STEPS, 0, now)

    def open_dispute(self, pay_in: PayIn, *, amount: int | None, reason: str, now: int, force: bool = False) -> Dispute:
        """Open a dispute about a pay-in and begin its script; `ApiError` when it cannot be disputed."""
        window = self.settings.disputes.response_window
        dispute = self._ledger.open_dispute(now, pay_in, amount=amount, reason=reason, window_ms=window, force=force)
        self.begin_dispute(dispute, self._scenarios.of(pay_in), now)
        return dispute

    def begin_dispute(self, dispute: Dispute, scenario: Scenario, now: int) -> None:
        """Begin the script of a dispute; without a script it is lost unless evidence is submitted in time."""
        script = scenario.lifecycle.dispute
        if script:
            self._next_step(dispute.id, script, 0, now)
        else:
            self._timers.schedule(dispute.evidence_due_by, MissEvidence(dispute.id), dispute.id)

    def review(self, dispute: Dispute, now: int) -> None:
        """Set the timer of the decision on submitted evidence, unless it is set already or a script decides."""
        if not any(isinstance(timer.command, PlayStep | DecideDispute) for timer in self._timers.of(dispute.id)):
            self._timers.cancel_subject(dispute.id)
            self._timers.schedule(now + self.settings.disputes.review, DecideDispute(dispute.id), dispute.id)

    def awaited(self, pay_in: PayIn) -> AwaitPayer | None:
        """Return the step that waits for the payer of a pay-in now; None when its payer cannot act."""
        found = self._waiting(pay_in)
        return None if found is None else found[1]

    def payer_acts(self, pay_in: PayIn, done: PayerAction, now: int) -> None:
        """Go on with the steps for what the payer does; `ApiError` when the script does not wait for the payer."""
        found = self._waiting(pay_in)
        if found is None:
            why = "and its script does not wait for the payer now"
            if is_final(pay_in.TABLE, pay_in.status):
                why = "so the payer can do nothing any more"
            raise ApiError("VALIDATION_ERROR", f"Pay-in {pay_in.id} is {pay_in.status}, {why}.")
        timer, step, rest = found
        self._timers.cancel(timer)
        chosen: tuple[Step, ...] = step.sides[done.action]
        if done.failure is not None:
            chosen = declined(chosen, done.failure)
        self._next_step(pay_in.id, (*chosen, *rest), 0, now)

    def _waiting(self, pay_in: PayIn) -> tuple[Timer[Command], AwaitPayer, tuple[Step, ...]] | None:
        """Return the timer of the wait for a payer, its step, and the steps after it."""
        for timer in self._timers.of(pay_in.id):
            command = timer.command
            if isinstance(command, PlayStep) and not is_final(pay_in.TABLE, pay_in.status):
                step = command.steps[command.place]
                if isinstance(step, AwaitPayer):
                    return timer, step, command.steps[command.place + 1 :]
        return None

    def move(
        self, resource: Resource, to: str, now: int, *, failure: Failure | None = None, force: bool = False
    ) -> None:
        """Make a transition that a merchant or a test asked for, and end the script.

        Raises `IllegalTransition`, and changes nothing, unless the lifecycle allows it or `force` is given.
        """
        window = self.settings.disputes.response_window
        self._ledger.transition(resource, to, now, failure=failure, force=force, window_ms=window)
        # An update of a dispute that is under review does not move its decision.
        kept = (ExpirePayIn, DecideDispute) if to == "under_review" else (ExpirePayIn,)
        for timer in self._timers.of(resource.id):
            if not isinstance(timer.command, kept):
                self._timers.cancel(timer)
        self._update_timers(resource, now)
        self._restart_dispute_timer(resource, now)

    def fire(self, command: Command, now: int) -> None:
        """Carry out the command of a timer that is due."""
        match command:
            case PlayStep(object_id, steps, index):
                self._play(object_id, steps, index, now)
            case ExpirePayIn(object_id):
                self._transition(object_id, "cancelled", now)
            case MissEvidence(object_id):
                self._transition(object_id, "lost", now)
            case DecideDispute(object_id):
                self._transition(object_id, self.settings.disputes.decision, now)

    def _play(self, object_id: str, steps: tuple[Step, ...], place: int, now: int) -> None:
        step = steps[place]
        match step:
            case OpenDispute():
                done = self._play_dispute(object_id, step, now)
            case OpenRefund():
                done = self._play_refund(object_id, step, now)
            case BranchStep() | RepeatStep() | AwaitPayer():
                done = True
                steps, place = self._expand(object_id, step, steps[place + 1 :]), -1
            case TransitionStep():
                done = self._play_transition(object_id, step, now)
            case _:
                assert_never(step)
        if done:
            self._next_step(object_id, steps, place + 1, now)

    def _play_transition(self, object_id: str, step: Transition, now: int) -> bool:
        spec = getattr(step, "failure", None)
        failure = Failure(spec.code, spec.message) if spec else None
        if isinstance(step, PayInStep) and step.amount is not None:
            pay_in = self._ledger.get(PayIn, object_id)
            pay_in.settles_at = minor_units_of(step.amount, pay_in.amount, pay_in.digits)
        return self._transition(object_id, step.to, now, failure=failure, force=step.force)

    def _expand(self, object_id: str, step: Branch | Repeat | AwaitPayer, rest: tuple[Step, ...]) -> tuple[Step, ...]:
        """Return the rest of a script in which a due branch, repetition or wait is replaced by its steps."""
        if isinstance(step, RepeatStep):
            return expand((step, *rest))
        if isinstance(step, AwaitPayer):
            return (*step.sides["timeout"], *rest)
        return (*self._chosen(object_id, step), *rest)

    def _chosen(self, object_id: str, branch: Branch) -> tuple[Step, ...]:
        resource = self._ledger.find(object_id)
        pay_in = self._ledger.get(PayIn, getattr(resource, "payin_id", object_id))
        history = self.histories.get(pay_in.id, [])
        return branch.then if holds(branch.when, pay_in, self._ledger, history) else branch.otherwise

    def _play_dispute(self, pay_in_id: str, step: OpenDispute, now: int) -> bool:
        pay_in = self._ledger.get(PayIn, pay_in_id)
        spec = step.dispute
        rest = pay_in.amount - self._ledger.disputed(pay_in)
        amount = rest if spec.amount is None else min(rest, minor_units_of(spec.amount, pay_in.amount, pay_in.digits))
        try:
            self.open_dispute(pay_in, amount=amount, reason=spec.reason, now=now)
        except ApiError:
            return False
        return True

    def _play_refund(self, pay_in_id: str, step: OpenRefund, now: int) -> bool:
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

    def _transition(
        self, object_id: str, to: str, now: int, *, failure: Failure | None = None, force: bool = False
    ) -> bool:
        resource = self._ledger.find(object_id)
        if not isinstance(resource, Resource):
            return False
        try:
            window = self.settings.disputes.response_window
            self._ledger.transition(resource, to, now, failure=failure, force=force, window_ms=window)
            moved = True
        except IllegalTransition:
            moved = False
        self._update_timers(resource, now)
        return moved

    def _next_step(self, object_id: str, steps: tuple[Step, ...], place: int, now: int) -> None:
        while place < len(steps):
            step = steps[place]
            if isinstance(step, TransitionStep):  # checked first: nearly every step is one
                self._timers.schedule(now + step.after, PlayStep(object_id, steps, place), object_id)
                return
            if isinstance(step, BranchStep | RepeatStep) and not step.after:
                steps, place = self._expand(object_id, step, steps[place + 1 :]), 0
            else:
                due = self._end_of_wait(object_id, step, now) if isinstance(step, AwaitPayer) else now + step.after
                self._timers.schedule(due, PlayStep(object_id, steps, place), object_id)
                return

    def _end_of_wait(self, pay_in_id: str, step: AwaitPayer, now: int) -> int:
        expires_at = self._ledger.get(PayIn, pay_in_id).expires_at
        return max(now, expires_at if step.within is None else min(now + step.within, expires_at))

    def _update_timers(self, resource: Resource, now: int) -> None:
        # A payment that is being verified does not expire. A final state does not change, except by a step with
        # `force`, such as late money for an expired pay-in.
        final = is_final(resource.TABLE, resource.status)
        paid = isinstance(resource, PayIn) and resource.status not in UNPAID
        for timer in self._timers.of(resource.id):
            command = timer.command
            still_plays = isinstance(command, PlayStep) and _plays_after_final(command.steps[command.place])
            if (final and not still_plays) or (paid and isinstance(command, ExpirePayIn)):
                self._timers.cancel(timer)
        # A pay-in that is new, or was reopened in time, can expire.
        if isinstance(resource, PayIn) and resource.status in UNPAID and resource.expires_at > now:
            expiries = [timer for timer in self._timers.of(resource.id) if isinstance(timer.command, ExpirePayIn)]
            if not expiries:
                self._timers.schedule(resource.expires_at, ExpirePayIn(resource.id), resource.id)

    def _restart_dispute_timer(self, resource: Resource, now: int) -> None:
        # A dispute that a test has moved or reopened must still end.
        match resource:
            case Dispute(status="under_review") if not self._timers.of(resource.id):
                self._timers.schedule(now + self.settings.disputes.review, DecideDispute(resource.id), resource.id)
            case Dispute(status="needs_response"):
                self._timers.schedule(resource.evidence_due_by, MissEvidence(resource.id), resource.id)


def _plays_after_final(step: Step) -> bool:
    # A step that is not a transition opens another resource or continues with other steps; it moves nothing.
    return step.force if isinstance(step, TransitionStep) else True
