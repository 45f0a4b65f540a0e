"""The bodies of control calls. Unknown members are refused with the path of the member."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)

from paydouble.api.schemas import WebUrl
from paydouble.config import Duration, Flag, Real, RealDuration, SomeDuration, Whole
from paydouble.core.clock import ClockMode
from paydouble.core.instants import parse_instant
from paydouble.core.refusals import sentence
from paydouble.core.seeded_random import SEEDS
from paydouble.faults.names import EventTypePattern, OperationPattern
from paydouble.payments.events import EVENT_TYPES
from paydouble.webhooks.deliveries import DeliveryStatus

Instant = Annotated[int, BeforeValidator(parse_instant), WithJsonSchema({"type": "string", "format": "date-time"})]


def _no_text(value: object) -> object:
    if isinstance(value, str):
        message = sentence("decimal_type", value, {}, "")
        raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError, not TypeError, into a located error
    return value


def _documented(value: str) -> str:
    if value not in EVENT_TYPES:
        message = f"{value!r} is not a documented event type; there are: {', '.join(EVENT_TYPES)}"
        raise ValueError(message)
    return value


DocumentedType = Annotated[str, AfterValidator(_documented)]


class Body(BaseModel):
    """Base of control bodies."""

    # Built when first used, so that a server starts without them.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class ClockBody(Body):
    """How a clock runs."""

    mode: ClockMode
    start: Instant | None = None
    rate: Real | None = Field(None, gt=0, le=1_000_000, allow_inf_nan=False)


ClockChoice = ClockMode | ClockBody
Amount = Annotated[
    Decimal,
    Field(gt=0),  # before the other, so that the schema has it too
    BeforeValidator(_no_text),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0}),
]
SandboxId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
Credential = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[\x21-\x39\x3b-\x7e]+$")]
# The pattern: nothing can be signed with a blank secret.
Secret = Annotated[str, Field(min_length=1, max_length=256, pattern=r"\S")]


class CreateSandbox(Body):
    """A new, isolated business."""

    id: SandboxId | None = None
    seed: Whole | None = Field(None, ge=SEEDS.start, lt=SEEDS.stop)
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
    """What to forget; everything when absent. Ids go on as new ones, unless the same ones are asked for."""

    scope: tuple[Literal["state", "faults", "requests", "deliveries", "clock", "scenarios"], ...] | None = None
    same_ids: Flag = False


class Advance(Body):
    """How far to move the clock: exactly one of the three."""

    by: Duration | None = None
    to: Instant | None = None
    until_idle: Literal[True] | None = None
    limit: Whole = Field(1_000_000, ge=1, le=100_000_000)


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
    force: Flag = False


class NewDispute(Body):
    """A dispute that arrives from the provider; about what no dispute is about yet when no amount is given."""

    amount: Amount | None = None
    reason: str = Field("fraudulent", min_length=1, max_length=500)
    force: Flag = False


class Quota(Body):
    """A real quota."""

    limit: Whole = Field(ge=0, le=1_000_000_000)
    window: SomeDuration = 60_000
    reset_unit: Literal["epoch_seconds", "delta_seconds", "epoch_milliseconds"] | None = None
    clock: Literal["wall_clock", "sandbox_clock"] | None = None
    headers: Literal["on_429", "always"] | None = None


class RequestMatch(Body):
    """Which requests: all that is given must hold; texts take `*`, `headers` and `body` are partial."""

    operation: OperationPattern | None = None
    method: str | None = None
    path: str | None = None
    status: Whole | None = None
    external_identifier: str | None = None
    object_id: str | None = None
    idempotency_key: str | None = None
    verdict: Literal["new", "replay", "joined", "conflict", "none"] | None = None
    headers: dict[str, str] | None = None
    body: dict[str, Any] | None = None


class DeliveryMatch(Body):
    """Which deliveries: all that is given must hold; texts take `*`."""

    # Events call it `type`, deliveries `event_type`; nobody should have to remember which.
    event_type: Annotated[EventTypePattern | None, Field(validation_alias=AliasChoices("event_type", "type"))] = None
    object_id: str | None = None
    external_identifier: str | None = None
    status: DeliveryStatus | None = None
    attempt_count: Whole | None = Field(None, ge=0)


class _Question(Body):
    """How many are expected (at least one when nothing is said), and for `wait` how long in real time."""

    count: Whole | None = Field(None, ge=0)
    at_least: Whole | None = Field(None, ge=0)
    at_most: Whole | None = Field(None, ge=0)
    timeout: RealDuration = 5000

    @field_validator("at_least", "at_most")
    @classmethod
    def _agree(cls, value: int | None, info: ValidationInfo) -> int | None:
        if value is not None and info.data.get("count") is not None:
            message = "contradicts count; give the one or the other"
            raise ValueError(message)
        if value is not None and info.field_name == "at_most" and value < (info.data.get("at_least") or 0):
            message = "is below at_least"
            raise ValueError(message)
        return value


def _alone(value: object, info: ValidationInfo) -> object:
    others = [name for name in ("match", "count", "at_least", "at_most") if _says_something(info.data.get(name))]
    if value is not None and others:
        message = f"stands alone, without {' and '.join(others)}"
        raise ValueError(message)
    return value


def _says_something(member: object) -> bool:
    return bool(member.model_fields_set) if isinstance(member, BaseModel) else member is not None


class RequestQuestion(_Question):
    """What the request journal should hold."""

    match: RequestMatch = RequestMatch()
    sequence: Annotated[
        Annotated[tuple[RequestMatch, ...], Field(min_length=1, max_length=1000)] | None, AfterValidator(_alone)
    ] = None


class DeliveryQuestion(_Question):
    """What the deliveries should be."""

    match: DeliveryMatch = DeliveryMatch()
    sequence: Annotated[
        Annotated[tuple[DeliveryMatch, ...], Field(min_length=1, max_length=1000)] | None, AfterValidator(_alone)
    ] = None


class EmitEvent(Body):
    """A documented event for an object that exists, with the object as it is now."""

    type: DocumentedType
    object_id: str = Field(min_length=1, max_length=128)


class TestWebhook(Body):
    """Which sample event to send."""

    type: DocumentedType = "pay-in.succeeded"


class Redeliver(Body):
    """What to send again: every exhausted delivery, or those that failed since an instant."""

    since: Instant | None = None
