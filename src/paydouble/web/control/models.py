"""The bodies of control calls. Unknown members are refused with the path of the member."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from paydouble.api.schemas import WebUrl
from paydouble.config import Duration
from paydouble.core.instants import parse_instant

Instant = Annotated[int, BeforeValidator(parse_instant), WithJsonSchema({"type": "string", "format": "date-time"})]


def _no_text(value: object) -> object:
    if isinstance(value, str):
        message = "is a number, not a text"
        raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError, not TypeError, into a located error
    return value


class Body(BaseModel):
    """Base of control bodies."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ClockBody(Body):
    """How a clock runs."""

    mode: Literal["real", "manual", "auto"]
    start: Instant | None = None
    rate: float | None = Field(None, gt=0, le=1_000_000, allow_inf_nan=False)


ClockChoice = Literal["real", "manual", "auto"] | ClockBody
SandboxId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
Credential = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[\x21-\x39\x3b-\x7e]+$")]
Secret = Annotated[str, Field(min_length=1, max_length=256)]


class CreateSandbox(Body):
    """A new, isolated business."""

    id: SandboxId | None = None
    seed: int | None = Field(None, ge=-(2**63), lt=2**63)
    clock: ClockChoice | None = None
    notification_url: WebUrl | None = None
    scenario: str | None = None
    settings: dict[str, Any] | None = None
    business_key: Credential | None = None
    business_secret: Credential | None = None
    webhook_secret: Secret | None = None


class ChangeSandbox(Body):
    """What changes on a living sandbox; settings are laid over the present ones, member by member."""

    notification_url: WebUrl | None = None
    scenario: str | None = None
    settings: dict[str, Any] | None = None


class Reset(Body):
    """What to forget; everything when absent."""

    scope: tuple[Literal["state", "faults", "requests", "deliveries", "clock", "scenarios"], ...] | None = None


class Advance(Body):
    """How far to move the clock: exactly one of the three."""

    by: Duration | None = None
    to: Instant | None = None
    until_idle: Literal[True] | None = None
    limit: int = Field(1_000_000, ge=1, le=100_000_000)


class ChangeWebhook(Body):
    """Where events go, and the secret that signs them."""

    notification_url: WebUrl | None = None
    secret: Secret | None = None


class RotateSecret(Body):
    """For how long the old secret signs along."""

    grace: Duration = 0


class FailureBody(Body):
    """What the API then shows as `failure`."""

    code: str = Field(min_length=1, max_length=64)
    message: str = Field(min_length=1, max_length=500)


class Transition(Body):
    """The state to force, now."""

    to: str = Field(min_length=1, max_length=32)
    failure: FailureBody | None = None
    force: bool = False


class OpenDispute(Body):
    """A dispute that arrives from the provider; about the whole amount when none is given."""

    amount: Annotated[Decimal, BeforeValidator(_no_text), Field(gt=0)] | None = None
    reason: str = Field("fraudulent", min_length=1, max_length=500)
