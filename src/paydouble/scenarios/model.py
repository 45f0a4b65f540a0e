"""The model of one scenario file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, Self

from pydantic import Field, PlainSerializer, PlainValidator, ValidationError

from paydouble.core.errors import UsageError
from paydouble.core.refusals import sentence
from paydouble.scenarios.matching import Match
from paydouble.scenarios.play import Action, Answer, Case, Deposit, Expected
from paydouble.scenarios.steps import BranchStep, Lifecycle, Moment, PayInStep, Step, walk
from paydouble.yamlfile.places import FileModel, PlacedError, PlacedErrors

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from paydouble.faults.model import Fault

# Settings that a scenario cannot change -> why.
NOT_FOR_SCENARIOS: Final = {
    "scenario": "a scenario cannot name the scenario of new pay-ins",
    "catalogue": "the catalogue can only be set for the server or the sandbox",
}
NAME_PATTERN = r"^[a-z0-9]+(-[a-z0-9]+)*$"


def _settings(value: object) -> dict[str, Any]:
    """Return the settings that a scenario changes, as plain data; each member is checked."""
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
    """Return the faults of a scenario; `PlacedErrors` has an error for each that is wrong."""
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
            # Only an error that comes from a model has a kind and limits.
            details = (error.kind, error.limits) if isinstance(error, FaultError) else ()
            errors.append(PlacedError((number, *place), error.message, *details))
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
    """What a pay-in needs of its scenario when it starts. Kept, because the members of a model are slow to read."""

    scenario: str
    steps: tuple[Step, ...]
    first_after: int | None
    """Milliseconds until the pay-in's first step; None when that is not a transition, or the script is empty."""
    asks_when: bool
    """Whether a branch depends on when a refund was requested, so that the order of events must be kept."""
    prepares: bool
    """Whether it has settings or faults of its own."""


class Scenario(FileModel):
    """One scenario file."""

    name: str = Field(pattern=NAME_PATTERN, max_length=64)
    """The name; the file has the same name, with `.yaml`."""
    summary: str = Field(min_length=1, max_length=300)
    """One or two sentences: what happens, and which mistake of a merchant it exposes."""
    match: Match | None = None
    """Which new pay-ins play it; without it only those for which it is chosen by name."""
    settings: Annotated[dict[str, Any], PlainValidator(_settings)] | None = None
    """Settings of the sandbox that it changes, as soon as it is chosen."""
    deposit: Deposit | None = None
    """The deposit that `check --play` and `trigger` make."""
    lifecycle: Lifecycle = Lifecycle.model_construct()
    """The scripts of the pay-in, its refunds and its disputes."""
    faults: Annotated[tuple[Any, ...], PlainValidator(_faults), PlainSerializer(_written)] = ()
    """Faults, written as in the control API; each pay-in that plays the scenario has its own, with their own counts."""
    merchant: tuple[Action, ...] = ()
    """What the merchant does when it is played."""
    answers: tuple[Answer, ...] | None = None
    """The answers that the merchant's calls get, in order, including repeated calls."""
    expect: tuple[Expected, ...] = ()
    """The events that a receiver that always answers 200 gets, in order."""
    cases: tuple[Case, ...] = ()
    """Alternative plays, for instance one for each branch."""

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a changed copy, without this one's cached start plan."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("start_plan", None)
        return copied

    @cached_property
    def start_plan(self) -> StartPlan:
        """Return what a pay-in needs to start."""
        scripts = self.lifecycle
        first = scripts.pay_in[0] if scripts.pay_in else None
        first_after = first.after if isinstance(first, PayInStep) else None
        asks_when = any(_asks_when(script or ()) for script in (scripts.pay_in, scripts.refund, scripts.dispute))
        prepares = bool(self.faults) or self.settings is not None
        return StartPlan(self.name, scripts.pay_in, first_after, asks_when, prepares)


def _asks_when(steps: Sequence[Step]) -> bool:
    return any(isinstance(step, BranchStep) and isinstance(step.when.refund, Moment) for step in walk(steps))
