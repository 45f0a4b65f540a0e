"""The steps of a script: transitions, what begins by itself, branches and repetition.

Each kind of step is known by one key of its mapping. A script is a tuple of steps; what is left of it is a tuple too,
so that a timer can hold it (`expand`). Branches and repetitions hold scripts of their own:

    to          TransitionStep   one class a resource, since each has statuses of its own
    dispute     OpenDispute
    refund      OpenRefund
    when        BranchStep       then, otherwise
    repeat      RepeatStep       steps

Code that needs every step of a script uses `walk`. Code that treats the kinds differently matches on the classes above
and ends with `assert_never`, so that the type checker names each place that a new kind has to be added to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Final, Self, assert_never

from pydantic import Discriminator, Field, Tag, model_validator

from paydouble.config import Duration, Flag, Whole
from paydouble.payments.lifecycle import PAID, DisputeState, PayInState, PayoutState, RefundState
from paydouble.scenarios.base import FileModel
from paydouble.scenarios.conditions import When
from paydouble.scenarios.portions import Portion

# Steps that a script has with all its repetitions written out: enough for any life, and it ends.
MOST_STEPS: Final = 1_000


class FailureSpec(FileModel):
    """What the API shows of a failed pay-in or refund."""

    code: str = Field("declined", min_length=1, max_length=64)
    message: str = Field("The payment was declined.", min_length=1, max_length=500)


class TransitionStep(FileModel):
    """Base of the steps that change a status."""

    after: Duration
    """Time since the step before it."""
    force: Flag = False
    """Go there although the lifecycle has no such arrow."""
    to: str
    """The status that it takes."""


class _Failing(TransitionStep):
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

    to: PayInState
    """The status that it takes."""
    amount: Portion | None = None
    """What is paid in the end, when that differs; with `to: succeeded`."""

    @model_validator(mode="after")
    def _drifts(self) -> Self:
        if self.amount is not None and self.to != PAID:
            message = f"an amount goes with to: succeeded, not with to: {self.to}"
            raise ValueError(message)
        return self


class RefundStep(_Failing):
    """One transition of a refund."""

    to: RefundState
    """The status that it takes."""


class DisputeStep(TransitionStep):
    """One transition of a dispute; to the status that it has it is an update."""

    to: DisputeState
    """The status that it takes."""


class PayoutStep(_Failing):
    """One transition of a payout; no file scripts these."""

    to: PayoutState


class DisputeSpec(FileModel):
    """A chargeback that arrives by itself; it plays the scenario's `dispute` life."""

    amount: Portion | None = None
    """Disputed amount; what no dispute is about yet when absent, and never more."""
    reason: str = Field("fraudulent", min_length=1, max_length=128)


class RefundSpec(FileModel):
    """A refund that the provider makes; it plays the scenario's `refund` life."""

    amount: Portion | None = None
    """Amount to give back; what is left when absent, and never more. What is disputed is not left."""
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


class BranchStep(FileModel):
    """Base of the steps that ask what the merchant has done, and go on with `then` or with `otherwise`."""

    after: Duration = 0
    """Time since the step before it; then it asks."""
    when: When
    """What the merchant has done by then."""


class RepeatStep(FileModel):
    """Base of the steps that take others again and again; it takes no time of its own."""

    after: ClassVar[int] = 0
    repeat: Whole = Field(ge=1, le=MOST_STEPS)
    """How often the steps are taken."""


PAY_IN_KEYS: Final = ("to", "dispute", "refund", "when", "repeat")
"""The keys by which the kinds of step of a pay-in's script are known; each is the tag of one model."""
OTHER_KEYS: Final = ("to", "when", "repeat")
"""Those of the scripts of refunds and disputes."""


def _key(step: Any) -> str | None:  # noqa: ANN401 - whatever a file holds
    """Return the key that a step is known by."""
    return next((key for key in PAY_IN_KEYS if (key in step if isinstance(step, dict) else hasattr(step, key))), None)


def _by_key(whose: str, keys: Sequence[str]) -> Discriminator:
    return Discriminator(
        _key,
        custom_error_type="step_kind",
        custom_error_message=f"a step of a {whose} has one of the keys {', '.join(keys[:-1])} or {keys[-1]}",
    )


class PayInBranch(BranchStep):
    """Goes on with `then` or with `else`; the steps behind it follow either way."""

    then: tuple[AnyPayInStep, ...] = ()
    otherwise: tuple[AnyPayInStep, ...] = Field((), alias="else")


class PayInRepeat(RepeatStep):
    """Takes some steps again and again."""

    steps: tuple[AnyPayInStep, ...] = Field(min_length=1)


class RefundBranch(BranchStep):
    """Goes on with `then` or with `else`; the steps behind it follow either way."""

    then: tuple[AnyRefundStep, ...] = ()
    otherwise: tuple[AnyRefundStep, ...] = Field((), alias="else")


class RefundRepeat(RepeatStep):
    """Takes some steps again and again."""

    steps: tuple[AnyRefundStep, ...] = Field(min_length=1)


class DisputeBranch(BranchStep):
    """Goes on with `then` or with `else`; the steps behind it follow either way."""

    then: tuple[AnyDisputeStep, ...] = ()
    otherwise: tuple[AnyDisputeStep, ...] = Field((), alias="else")


class DisputeRepeat(RepeatStep):
    """Takes some steps again and again."""

    steps: tuple[AnyDisputeStep, ...] = Field(min_length=1)


AnyPayInStep = Annotated[
    Annotated[PayInStep, Tag("to")]
    | Annotated[OpenDispute, Tag("dispute")]
    | Annotated[OpenRefund, Tag("refund")]
    | Annotated[PayInBranch, Tag("when")]
    | Annotated[PayInRepeat, Tag("repeat")],
    _by_key("pay-in", PAY_IN_KEYS),
]
AnyRefundStep = Annotated[
    Annotated[RefundStep, Tag("to")] | Annotated[RefundBranch, Tag("when")] | Annotated[RefundRepeat, Tag("repeat")],
    _by_key("refund or a dispute", OTHER_KEYS),
]
AnyDisputeStep = Annotated[
    Annotated[DisputeStep, Tag("to")] | Annotated[DisputeBranch, Tag("when")] | Annotated[DisputeRepeat, Tag("repeat")],
    _by_key("refund or a dispute", OTHER_KEYS),
]
Transition = PayInStep | RefundStep | DisputeStep | PayoutStep
Branch = PayInBranch | RefundBranch | DisputeBranch
Repeat = PayInRepeat | RefundRepeat | DisputeRepeat
Step = Transition | OpenDispute | OpenRefund | Branch | Repeat


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


def inner(step: Step) -> tuple[tuple[Step, ...], ...]:
    """Return the scripts that a step holds."""
    match step:
        case RepeatStep():
            return (step.steps,)
        case BranchStep():
            return step.then, step.otherwise
        case TransitionStep() | OpenDispute() | OpenRefund():
            return ()
        case _:
            assert_never(step)


def walk(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield every step of a script, each before those that it holds."""
    for step in steps:
        yield step
        for script in inner(step):
            yield from walk(script)


def count_steps(steps: Sequence[Step]) -> int:
    """Count the steps of a script with repetitions written out, of each branch the longer side."""
    total = 0
    for step in steps:
        longest = max(map(count_steps, inner(step)), default=0)
        total += step.repeat * longest if isinstance(step, RepeatStep) else 1 + longest
    return total


def expand(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return a script whose first step is none that repeats."""
    while steps and isinstance(steps[0], RepeatStep):
        first, rest = steps[0], steps[1:]
        again = (first.model_copy(update={"repeat": first.repeat - 1}),) if first.repeat > 1 else ()
        steps = (*first.steps, *again, *rest)
    return steps
