"""A scenario as a value: one file, from its name to what is expected of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, Self

from pydantic import Field, PlainSerializer, PlainValidator, ValidationError

from paydouble.core.errors import UsageError
from paydouble.core.refusals import sentence
from paydouble.scenarios.base import FileModel, PlacedError, PlacedErrors
from paydouble.scenarios.conditions import Moment
from paydouble.scenarios.matching import Match
from paydouble.scenarios.play import Action, Answer, Case, Deposit, Expected
from paydouble.scenarios.steps import BranchStep, Lifecycle, PayInStep, Step, walk

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from paydouble.faults.model import Fault

# Settings that no scenario can change -> why.
NOT_FOR_SCENARIOS: Final = {
    "scenario": "a scenario cannot name the scenario of new pay-ins",
    "catalogue": "what is on offer is for the server or the sandbox to say",
}
NAME_PATTERN = r"^[a-z0-9]+(-[a-z0-9]+)*$"


def _settings(value: object) -> dict[str, Any]:
    """Return what a scenario changes of the settings, as plain data; each member is checked."""
    if not isinstance(value, dict):
        message = "is a mapping of settings, such as {envelope: alternate}"
        raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError, not TypeError, into a located error
    from paydouble.config import Settings  # noqa: PLC0415 - most scenarios change none

    for name, why in NOT_FOR_SCENARIOS.items():
        if name in value:
            raise PlacedErrors([PlacedError((name,), why)])
    try:
        Settings.model_validate(value)
    except ValidationError as error:
        raise PlacedErrors([_placed(each) for each in error.errors(include_url=False)]) from None
    return dict(value)


def _faults(value: object) -> tuple[Fault, ...]:
    """Return the faults of a scenario; `PlacedErrors` names each that is wrong."""
    if not isinstance(value, list | tuple):
        message = "is a list of faults, as the control API takes them"
        raise ValueError(message)  # noqa: TRY004 - as above
    from paydouble.faults.model import ApiFault, FaultError, WebhookFault, parse_fault  # noqa: PLC0415 - most scenarios have none

    faults: list[Fault] = []
    errors: list[PlacedError] = []
    for number, each in enumerate(value):
        try:
            faults.append(each if isinstance(each, ApiFault | WebhookFault) else parse_fault(each))
        except UsageError as error:
            place = tuple(int(part) if part.isdigit() else part for part in error.member.split(".") if part)
            # Only a fault that a model has refused has more to tell than a sentence.
            told = (error.kind, error.limits) if isinstance(error, FaultError) else ()
            errors.append(PlacedError((number, *place), error.message, *told))
    if errors:
        raise PlacedErrors(errors)
    return tuple(faults)


def _placed(error: ErrorDetails) -> PlacedError:
    limits = error.get("ctx", {})
    return PlacedError(
        error["loc"], sentence(error["type"], error["input"], limits, error["msg"]), error["type"], limits
    )


def _written(faults: tuple[Fault, ...]) -> list[dict[str, Any]]:
    from paydouble.faults.model import document  # noqa: PLC0415 - most scenarios have none

    return [document(fault) for fault in faults]


class StartPlan(NamedTuple):
    """What a scenario means for a pay-in that begins to play it. At hand, since a model's members are slow to read."""

    scenario: str
    steps: tuple[Step, ...]
    first_after: int | None
    """Milliseconds until the pay-in's first transition; None when its script begins otherwise, or is empty."""
    asks_when: bool
    prepares: bool
    """Whether it brings settings or faults of its own."""


class Scenario(FileModel):
    """One file."""

    name: str = Field(pattern=NAME_PATTERN, max_length=64)
    """What it is called by; the file has the same name, with `.yaml`."""
    summary: str = Field(min_length=1, max_length=300)
    """One or two sentences: what happens, and which mistake of a merchant it exposes."""
    match: Match | None = None
    """Which new pay-ins play it; without it only those for which it was chosen."""
    settings: Annotated[dict[str, Any], PlainValidator(_settings)] | None = None
    """Settings of the sandbox that it needs, laid over those that there are once it is chosen."""
    deposit: Deposit | None = None
    """The deposit with which it is tried out."""
    lifecycle: Lifecycle = Lifecycle.model_construct()
    """What happens to the pay-in, to its refunds and to its disputes."""
    faults: Annotated[tuple[Any, ...], PlainValidator(_faults), PlainSerializer(_written)] = ()
    """Faults as the control API takes them; each pay-in that plays the scenario has its own, with their own counts."""
    merchant: tuple[Action, ...] = ()
    """What the merchant does while it is tried out."""
    answers: tuple[Answer, ...] | None = None
    """What the merchant's calls get when it is tried out, in order, repeated calls included."""
    expect: tuple[Expected, ...] = ()
    """What a receiver that always answers 200 gets, in order."""
    cases: tuple[Case, ...] = ()
    """Other ways to try it out, one for each branch that it has."""

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a changed copy. What was worked out of this one is not the copy's."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("start_plan", None)
        return copied

    @cached_property
    def start_plan(self) -> StartPlan:
        """Return how a pay-in begins to play it."""
        life = self.lifecycle
        first = life.pay_in[0] if life.pay_in else None
        first_after = first.after if isinstance(first, PayInStep) else None
        asks_when = any(_asks_when(script or ()) for script in (life.pay_in, life.refund, life.dispute))
        return StartPlan(self.name, life.pay_in, first_after, asks_when, bool(self.faults) or self.settings is not None)


def _asks_when(steps: Sequence[Step]) -> bool:
    return any(isinstance(step, BranchStep) and isinstance(step.when.refund, Moment) for step in walk(steps))
