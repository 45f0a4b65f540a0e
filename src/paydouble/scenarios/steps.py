"""The steps of a script: transitions, new disputes and refunds, branches, repetitions, and waiting for the payer.

A script is a tuple of steps. Each kind of step has one key of its own, which tells it from the others; the last three
kinds contain scripts:

    to          TransitionStep   one class per resource, because each resource has its own statuses
    dispute     OpenDispute
    refund      OpenRefund
    when        BranchStep       then, otherwise
    repeat      RepeatStep       steps
    await       AwaitPayer       pay, decline, abandon, timeout

A running script is not a generator but data: a timer holds the tuple of the remaining steps. `expand` unrolls the next
round of a repetition only when it is due.

Code that needs every step of a script uses `walk`. Code that treats the kinds differently matches on the classes above
and ends with `assert_never`, or passes the rest on as a `Leaf`, so the type checker finds each place that a new kind
of step has to be added to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Literal, Self, assert_never

from pydantic import Discriminator, Field, Tag, model_validator

from paydouble.config import Duration, Flag, Whole
from paydouble.core.durations import parse_duration
from paydouble.payments.lifecycle import PAID, DisputeState, PayInState, PayoutState, RefundState
from paydouble.scenarios.event_types import EventType
from paydouble.scenarios.portions import Portion
from paydouble.yamlfile.places import FileModel

# Limit for the steps of a script with all its repetitions written out, so that every script ends.
MOST_STEPS: Final = 1_000


class FailureSpec(FileModel):
    """The failure that the API shows for a failed pay-in or refund."""

    code: str = Field("declined", min_length=1, max_length=64)
    message: str = Field("The payment was declined.", min_length=1, max_length=500)


class TransitionStep(FileModel):
    """Base of the steps that change a status."""

    after: Duration
    """Time since the previous step."""
    force: Flag = False
    """Make the transition even when the lifecycle does not have it."""
    to: str
    """The new status."""


class _Failing(TransitionStep):
    failure: FailureSpec | None = None
    """The reason; only with `to: failed`."""

    @model_validator(mode="after")
    def _fails(self) -> Self:
        if self.failure is not None and self.to != "failed":
            message = f"a failure goes with to: failed, not with to: {self.to}"
            raise ValueError(message)
        return self


class PayInStep(_Failing):
    """One transition of a pay-in."""

    to: PayInState
    """The new status."""
    amount: Portion | None = None
    """The amount actually paid, when it differs; only with `to: succeeded`."""

    @model_validator(mode="after")
    def _pays(self) -> Self:
        if self.amount is not None and self.to != PAID:
            message = f"an amount goes with to: succeeded, not with to: {self.to}"
            raise ValueError(message)
        return self


class RefundStep(_Failing):
    """One transition of a refund."""

    to: RefundState
    """The new status."""


class DisputeStep(TransitionStep):
    """One transition of a dispute; with its present status it is an update."""

    to: DisputeState
    """The new status."""


class PayoutStep(_Failing):
    """One transition of a payout; scenario files cannot script payouts."""

    to: PayoutState


class DisputeSpec(FileModel):
    """A chargeback; it plays the scenario's `dispute` script."""

    amount: Portion | None = None
    """Disputed amount; by default, and at most, the amount that is not disputed yet."""
    reason: str = Field("fraudulent", min_length=1, max_length=128)


class RefundSpec(FileModel):
    """A refund by the provider; it plays the scenario's `refund` script."""

    amount: Portion | None = None
    """Amount to refund; by default, and at most, what is neither refunded nor disputed yet."""
    reason: str | None = Field(None, min_length=1, max_length=500)


class OpenDispute(FileModel):
    """A dispute arrives, if the pay-in has succeeded; otherwise the script ends here."""

    after: Duration
    """Time since the previous step."""
    dispute: DisputeSpec


class OpenRefund(FileModel):
    """The provider makes a refund, if any amount is left to refund; otherwise the script ends here."""

    after: Duration
    """Time since the previous step."""
    refund: RefundSpec


class Moment(FileModel):
    """When a refund was requested: before or after an event of the pay-in or of its disputes."""

    before: EventType | None = None
    after: EventType | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.before is None) == (self.after is None):
            message = "give before or after, and not both, with an event type"
            raise ValueError(message)
        return self


class When(FileModel):
    """The condition of a branch; every key that is given must hold."""

    refund: Literal["none", "requested", "succeeded", "failed"] | Moment | None = Field(
        None, union_mode="left_to_right"
    )
    """Refunds of the pay-in: `none` requested, any `requested`, `succeeded` or `failed`; or when it was requested."""
    evidence: Literal["none", "submitted"] | None = None
    """Whether the merchant has submitted evidence against a dispute of the pay-in."""
    dispute: Literal["none", "open", "won", "lost", "accepted"] | None = None
    """The latest dispute of the pay-in; `open` until it is decided."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_fields_set:
            message = "has no condition; give refund, evidence or dispute"
            raise ValueError(message)
        return self


class BranchStep(FileModel):
    """Base of the steps that continue with `then` or `otherwise`, depending on what the merchant has done."""

    after: Duration = 0
    """Time since the previous step, after which the condition is evaluated."""
    when: When
    """The condition: what the merchant has done by then."""


class RepeatStep(FileModel):
    """Base of the steps that repeat others; a repetition itself takes no time."""

    after: ClassVar[int] = 0
    repeat: Whole = Field(ge=1, le=MOST_STEPS)
    """Number of rounds."""


PAY_IN_KEYS: Final = ("to", "dispute", "refund", "when", "repeat", "await")
"""The key of each kind of step in a pay-in's script; each is the tag of one model."""
OTHER_KEYS: Final = ("to", "when", "repeat")
"""The same for the scripts of refunds and disputes."""


def _key(step: Any) -> str | None:  # noqa: ANN401 - whatever a file holds
    """Return the key that tells which kind a step is."""
    if isinstance(step, AwaitPayer):
        return "await"  # a word of Python, so no attribute has this name
    return next((key for key in PAY_IN_KEYS if (key in step if isinstance(step, dict) else hasattr(step, key))), None)


def _by_key(whose: str, keys: Sequence[str]) -> Discriminator:
    return Discriminator(
        _key,
        custom_error_type="step_kind",
        custom_error_message=f"a step of a {whose} has one of the keys {', '.join(keys[:-1])} or {keys[-1]}",
    )


class PayInBranch(BranchStep):
    """Continues with `then` or `else`; the steps after the branch follow in both cases."""

    then: tuple[AnyPayInStep, ...] = ()
    otherwise: tuple[AnyPayInStep, ...] = Field((), alias="else")


class PayInRepeat(RepeatStep):
    """Repeats its steps."""

    steps: tuple[AnyPayInStep, ...] = Field(min_length=1)


PayerChoice = Literal["pay", "decline", "abandon"]
"""What a payer can do."""


class AwaitPayer(FileModel):
    """Waits for the payer, and continues with what the payer does; the steps after it follow in each case.

    Nothing else happens meanwhile. Without `within` the wait ends when the pay-in expires.
    """

    after: ClassVar[int] = 0
    await_: Literal["payer"] = Field(alias="await")
    """Wait for the payer's page, or for a control call that acts as the payer."""
    prompt: str | None = Field(None, min_length=1, max_length=200)
    """What the payer's page says above its buttons."""
    within: Duration | None = None
    """How long it waits, at most until the pay-in expires."""
    pay: tuple[AnyPayInStep, ...] | None = None
    """Steps to take when the payer pays; by default it is processing after 1s and succeeded 2s later."""
    decline: tuple[AnyPayInStep, ...] | None = None
    """Steps to take when the payment is declined; by default it fails, with the code that was chosen."""
    abandon: tuple[AnyPayInStep, ...] | None = None
    """Steps to take when the payer gives up; by default it is cancelled."""
    timeout: tuple[AnyPayInStep, ...] | None = None
    """Steps to take when the time has passed; by default it is cancelled."""

    @property
    def sides(self) -> Mapping[str, tuple[AnyPayInStep, ...]]:
        """Return the steps of each side by its key, with the default where none are given."""
        given = {"pay": self.pay, "decline": self.decline, "abandon": self.abandon, "timeout": self.timeout}
        return {name: _PAYER_SIDES[name] if steps is None else steps for name, steps in given.items()}


class RefundBranch(BranchStep):
    """Continues with `then` or `else`; the steps after the branch follow in both cases."""

    then: tuple[AnyRefundStep, ...] = ()
    otherwise: tuple[AnyRefundStep, ...] = Field((), alias="else")


class RefundRepeat(RepeatStep):
    """Repeats its steps."""

    steps: tuple[AnyRefundStep, ...] = Field(min_length=1)


class DisputeBranch(BranchStep):
    """Continues with `then` or `else`; the steps after the branch follow in both cases."""

    then: tuple[AnyDisputeStep, ...] = ()
    otherwise: tuple[AnyDisputeStep, ...] = Field((), alias="else")


class DisputeRepeat(RepeatStep):
    """Repeats its steps."""

    steps: tuple[AnyDisputeStep, ...] = Field(min_length=1)


AnyPayInStep = Annotated[
    Annotated[PayInStep, Tag("to")]
    | Annotated[OpenDispute, Tag("dispute")]
    | Annotated[OpenRefund, Tag("refund")]
    | Annotated[PayInBranch, Tag("when")]
    | Annotated[PayInRepeat, Tag("repeat")]
    | Annotated[AwaitPayer, Tag("await")],
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
Leaf = Transition | OpenDispute | OpenRefund
"""A step that contains no other steps."""
Step = Leaf | Branch | Repeat | AwaitPayer


def _default(after: str, to: PayInState) -> PayInStep:
    return PayInStep.model_construct(after=parse_duration(after), to=to)


_PAYER_SIDES: Final[Mapping[str, tuple[AnyPayInStep, ...]]] = MappingProxyType(
    {
        "pay": (_default("1s", "processing"), _default("2s", "succeeded")),
        "decline": (_default("0s", "failed"),),
        "abandon": (_default("0s", "cancelled"),),
        "timeout": (_default("0s", "cancelled"),),
    }
)


class Lifecycle(FileModel):
    """The scripts of a pay-in, of each of its refunds and of each of its disputes."""

    pay_in: tuple[AnyPayInStep, ...] = ()
    """The script of the pay-in; without a step that pays it, it expires."""
    refund: tuple[AnyRefundStep, ...] | None = None
    """The script of each refund of the pay-in; without it a refund succeeds after three seconds."""
    dispute: tuple[AnyDisputeStep, ...] = ()
    """The script of each dispute of the pay-in; without it the merchant's evidence, or its absence, decides."""

    @model_validator(mode="after")
    def _ends(self) -> Self:
        for name in ("pay_in", "refund", "dispute"):
            if count_steps(getattr(self, name) or ()) > MOST_STEPS:
                message = f"{name} has more than {MOST_STEPS} steps when its repetitions are written out"
                raise ValueError(message)
        return self


def inner(step: Step) -> tuple[tuple[Step, ...], ...]:
    """Return the scripts that a step contains."""
    match step:
        case RepeatStep():
            return (step.steps,)
        case BranchStep():
            return step.then, step.otherwise
        case AwaitPayer():
            return tuple(step.sides.values())
        case TransitionStep() | OpenDispute() | OpenRefund():
            return ()
        case _:
            assert_never(step)


def walk(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield every step of a script in order, including those inside branches and repetitions."""
    for step in steps:
        yield step
        for script in inner(step):
            yield from walk(script)


def count_steps(steps: Sequence[Step]) -> int:
    """Count the steps of a script, with repetitions written out; of several sides only the longest counts."""
    total = 0
    for step in steps:
        longest = max(map(count_steps, inner(step)), default=0)
        total += step.repeat * longest if isinstance(step, RepeatStep) else 1 + longest
    return total


def expand(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the same script with the next round of a leading repetition written out."""
    while steps and isinstance(steps[0], RepeatStep):
        first, rest = steps[0], steps[1:]
        again = (first.model_copy(update={"repeat": first.repeat - 1}),) if first.repeat > 1 else ()
        steps = (*first.steps, *again, *rest)
    return steps


def declined(steps: tuple[Step, ...], failure: FailureSpec) -> tuple[Step, ...]:
    """Return the same script with this failure in each step of a pay-in to `failed` that has none of its own."""
    return tuple(_declined(step, failure) for step in steps)


def _declined(step: Step, failure: FailureSpec) -> Step:
    match step:
        case PayInStep(to="failed", failure=None):
            return step.model_copy(update={"failure": failure})
        case BranchStep():
            sides = {"then": declined(step.then, failure), "otherwise": declined(step.otherwise, failure)}
            return step.model_copy(update=sides)
        case RepeatStep():
            return step.model_copy(update={"steps": declined(step.steps, failure)})
        case _:
            return step  # where the payer is asked again, the next answer decides
