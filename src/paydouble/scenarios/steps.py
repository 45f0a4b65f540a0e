"""The steps of a life: transitions, what begins by itself, branches and repetition.

Each kind of step is known by one key: `to`, `dispute`, `refund`, `when` or `repeat`. A script is a tuple of steps; what
is left of it is a tuple too, so that a timer can hold it (`expand`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from paydouble.config import Duration, Flag, Whole
from paydouble.scenarios.base import FileModel
from paydouble.scenarios.conditions import When
from paydouble.scenarios.portions import Portion

# Steps that a script has with all its repetitions written out: enough for any life, and it ends.
MOST_STEPS: Final = 1_000


class FailureSpec(FileModel):
    """What the API shows of a failed pay-in or refund."""

    code: str = Field("declined", min_length=1, max_length=64)
    message: str = Field("The payment was declined.", min_length=1, max_length=500)


class _Transition(FileModel):
    after: Duration
    """Time since the step before it."""
    force: Flag = False
    """Go there although the lifecycle has no such arrow."""


class _Failing(_Transition):
    to: str
    failure: FailureSpec | None = None
    """Why, when it fails."""

    @model_validator(mode="after")
    def _fails(self) -> Self:
        if self.failure is not None and self.to != "failed":
            message = f"a failure goes with to: failed, not with to: {self.to}"
            raise ValueError(message)
        return self


class PayInStep(_Failing):
    """One transition of a pay-in."""

    to: Literal["created", "pending", "processing", "succeeded", "failed", "cancelled"]
    """The status that it takes."""
    amount: Portion | None = None
    """What is paid in the end, when that differs; with `to: succeeded`."""

    @model_validator(mode="after")
    def _drifts(self) -> Self:
        if self.amount is not None and self.to != "succeeded":
            message = f"an amount goes with to: succeeded, not with to: {self.to}"
            raise ValueError(message)
        return self


class RefundStep(_Failing):
    """One transition of a refund."""

    to: Literal["created", "processing", "succeeded", "failed"]
    """The status that it takes."""


class DisputeStep(_Transition):
    """One transition of a dispute; to the status that it has it is an update."""

    to: Literal["needs_response", "under_review", "won", "lost", "accepted"]
    """The status that it takes."""


class PayoutStep(_Failing):
    """One transition of a payout; no file scripts these."""

    to: Literal["created", "processing", "succeeded", "failed", "returned"]


class DisputeSpec(FileModel):
    """A chargeback that arrives by itself; it plays the scenario's `dispute` life."""

    amount: Portion | None = None
    """Disputed amount; the whole when absent, and never more."""
    reason: str = Field("fraudulent", min_length=1, max_length=128)


class RefundSpec(FileModel):
    """A refund that the provider makes; it plays the scenario's `refund` life."""

    amount: Portion | None = None
    """Amount to give back; what is left when absent, and never more."""
    reason: str | None = Field(None, min_length=1, max_length=500)


class OpenDispute(FileModel):
    """A dispute arrives, if the pay-in has succeeded; else the script ends here."""

    after: Duration
    """Time since the step before it."""
    dispute: DisputeSpec


class OpenRefund(FileModel):
    """A refund begins by itself, if anything is left to give back; else the script ends here."""

    after: Duration
    """Time since the step before it."""
    refund: RefundSpec


class _Branch(FileModel):
    after: Duration = 0
    """Time since the step before it; then it asks."""
    when: When
    """What the merchant has done by then."""


class _Repeat(FileModel):
    repeat: Whole = Field(ge=1, le=MOST_STEPS)
    """How often the steps are taken."""


def _kind(step: Any) -> str | None:  # noqa: ANN401 - whatever a file holds
    """Return the key that a step is known by."""
    for key in ("to", "when", "repeat", "dispute", "refund"):
        if key in step if isinstance(step, dict) else hasattr(step, key):
            return key
    return None


_PAY_IN_KINDS = Discriminator(
    _kind,
    custom_error_type="step_kind",
    custom_error_message="a step of a pay-in has one of the keys to, dispute, refund, when or repeat",
)
_OTHER_KINDS = Discriminator(
    _kind,
    custom_error_type="step_kind",
    custom_error_message="a step of a refund or a dispute has one of the keys to, when or repeat",
)


class PayInBranch(_Branch):
    """Goes on with `then` or with `else`; the steps behind it follow either way."""

    then: tuple[AnyPayInStep, ...] = ()
    otherwise: tuple[AnyPayInStep, ...] = Field((), alias="else")


class PayInRepeat(_Repeat):
    """Takes some steps again and again."""

    steps: tuple[AnyPayInStep, ...] = Field(min_length=1)


class RefundBranch(_Branch):
    """Goes on with `then` or with `else`; the steps behind it follow either way."""

    then: tuple[AnyRefundStep, ...] = ()
    otherwise: tuple[AnyRefundStep, ...] = Field((), alias="else")


class RefundRepeat(_Repeat):
    """Takes some steps again and again."""

    steps: tuple[AnyRefundStep, ...] = Field(min_length=1)


class DisputeBranch(_Branch):
    """Goes on with `then` or with `else`; the steps behind it follow either way."""

    then: tuple[AnyDisputeStep, ...] = ()
    otherwise: tuple[AnyDisputeStep, ...] = Field((), alias="else")


class DisputeRepeat(_Repeat):
    """Takes some steps again and again."""

    steps: tuple[AnyDisputeStep, ...] = Field(min_length=1)


AnyPayInStep = Annotated[
    Annotated[PayInStep, Tag("to")]
    | Annotated[OpenDispute, Tag("dispute")]
    | Annotated[OpenRefund, Tag("refund")]
    | Annotated[PayInBranch, Tag("when")]
    | Annotated[PayInRepeat, Tag("repeat")],
    _PAY_IN_KINDS,
]
AnyRefundStep = Annotated[
    Annotated[RefundStep, Tag("to")] | Annotated[RefundBranch, Tag("when")] | Annotated[RefundRepeat, Tag("repeat")],
    _OTHER_KINDS,
]
AnyDisputeStep = Annotated[
    Annotated[DisputeStep, Tag("to")] | Annotated[DisputeBranch, Tag("when")] | Annotated[DisputeRepeat, Tag("repeat")],
    _OTHER_KINDS,
]
Transition = PayInStep | RefundStep | DisputeStep | PayoutStep
Branch = PayInBranch | RefundBranch | DisputeBranch
Repeat = PayInRepeat | RefundRepeat | DisputeRepeat
Step = Transition | OpenDispute | OpenRefund | Branch | Repeat
TRANSITIONS: Final = (PayInStep, RefundStep, DisputeStep, PayoutStep)
BRANCHES: Final = (PayInBranch, RefundBranch, DisputeBranch)
REPEATS: Final = (PayInRepeat, RefundRepeat, DisputeRepeat)


class Lifecycle(FileModel):
    """The scripts of a pay-in, of each of its refunds and of each of its disputes."""

    pay_in: tuple[AnyPayInStep, ...] = ()
    """What happens to the pay-in; without a step that pays it, it expires."""
    refund: tuple[AnyRefundStep, ...] | None = None
    """Played by each refund of the pay-in; without it a refund succeeds after three seconds."""
    dispute: tuple[AnyDisputeStep, ...] = ()
    """Played by each dispute of the pay-in; without it the merchant's evidence, or its absence, decides."""

    @model_validator(mode="after")
    def _ends(self) -> Self:
        for name in ("pay_in", "refund", "dispute"):
            if count_steps(getattr(self, name) or ()) > MOST_STEPS:
                message = f"{name} has more than {MOST_STEPS} steps when its repetitions are written out"
                raise ValueError(message)
        return self


def count_steps(steps: Sequence[Step]) -> int:
    """Count the steps of a script with repetitions written out, of each branch the longer side."""
    total = 0
    for step in steps:
        if isinstance(step, REPEATS):
            total += step.repeat * count_steps(step.steps)
        elif isinstance(step, BRANCHES):
            total += 1 + max(count_steps(step.then), count_steps(step.otherwise))
        else:
            total += 1
    return total


def expand(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return a script whose first step is none that repeats."""
    while steps and isinstance(steps[0], REPEATS):
        first, rest = steps[0], steps[1:]
        again = (first.model_copy(update={"repeat": first.repeat - 1}),) if first.repeat > 1 else ()
        steps = (*first.steps, *again, *rest)
    return steps
