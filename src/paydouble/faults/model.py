"""A fault as a test declares it: what it matches, how often it fires, and its effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from paydouble.config import Flag, Real, SomeDuration, Whole, explained
from paydouble.core.errors import UsageError
from paydouble.core.likeness import nearest
from paydouble.core.refusals import UNKNOWN_MEMBER
from paydouble.faults import api_effects, webhook_effects
from paydouble.faults.api_effects import ApiEffect, OperationEffect, Phase
from paydouble.faults.base import Effect
from paydouble.faults.names import EventTypePattern, OperationPattern, Pattern
from paydouble.faults.webhook_effects import WebhookEffect


def _by_type(union: object) -> Any:  # noqa: ANN401 - the members of either union
    return {kind.model_fields["type"].default: kind for kind in get_args(get_args(union)[0])}


API_EFFECTS: Final[dict[str, type[ApiEffect]]] = _by_type(api_effects.AnyApiEffect)
WEBHOOK_EFFECTS: Final[dict[str, type[WebhookEffect]]] = _by_type(webhook_effects.AnyWebhookEffect)


class Match(BaseModel):
    """What a fault matches: all members that are given must hold; `*` in a text matches any run of characters."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    external_identifier: Pattern | None = None
    object_id: Pattern | None = None
    scenario: Pattern | None = None


class ApiMatch(Match):
    """Which requests."""

    operation: OperationPattern | None = None
    method: Pattern | None = None
    path: Pattern | None = None
    idempotency_key: Annotated[Pattern, AfterValidator(str.lower)] | None = None


class WebhookMatch(Match):
    """Which events and attempts."""

    event_type: EventTypePattern | None = None
    attempt: Whole | None = Field(None, ge=1, le=10_000)


class _Fault(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")] | None = None
    name: Annotated[str, Field(max_length=200)] | None = None
    enabled: Flag = True
    skip: Whole = Field(0, ge=0, le=1_000_000_000)
    """How many matches are passed over before it begins to fire."""
    times: Whole | None = Field(None, ge=1, le=1_000_000_000)
    """How often it fires; without a limit when absent."""
    probability: Real = Field(1.0, ge=0, le=1, allow_inf_nan=False)
    """Share of the matches that fire, decided by the sandbox's seed."""
    ttl: SomeDuration | None = None
    """How long it is active, on the sandbox's clock."""
    compose: Flag = False
    """Whether the next fault that matches may act too."""


class ApiFault(_Fault):
    """A fault on the API."""

    on: Literal["api"] = "api"
    match: ApiMatch = ApiMatch()
    phase: Phase | None = None
    """`before_commit` (nothing happened) or `after_commit` (it happened, the caller does not learn it).

    Without it: before, except that what distorts an answer's body (`truncate`, `wrong_content_length`, `slow_body`)
    distorts the true answer. With `before_commit` those distort a 500.
    """
    effect: api_effects.AnyApiEffect

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.phase is not None and isinstance(self.effect, OperationEffect):
            message = f"{self.effect.type} changes the operation itself; leave phase out"
            raise ValueError(message)
        return self

    @property
    def point(self) -> str:
        """Return the injection point, `before` or `after`."""
        return self.effect.point(self.phase)


class WebhookFault(_Fault):
    """A fault on webhooks."""

    on: Literal["webhooks"] = "webhooks"
    match: WebhookMatch = WebhookMatch()
    effect: webhook_effects.AnyWebhookEffect

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.match.attempt is not None and isinstance(self.effect, webhook_effects.EventEffect):
            message = f"{self.effect.type} acts once, when the event is made; match no attempt"
            raise ValueError(message)
        return self

    @property
    def point(self) -> str:
        """Return the injection point, `event` or `attempt`."""
        return self.effect.point


Fault = ApiFault | WebhookFault


def parse_fault(data: object) -> Fault:
    """Return a fault from a plain mapping; `UsageError` names the member that is wrong and says what is allowed.

    Without `on`, an effect that exists on one side only selects that side; one that exists on both is on the API.
    """
    if not isinstance(data, Mapping):
        raise UsageError("a fault is an object with an effect")
    effect = data.get("effect")
    kind = effect.get("type") if isinstance(effect, Mapping) else None
    if kind is not None and not isinstance(kind, str):
        raise UsageError("is the name of an effect, a text", member="effect.type")
    side = data.get("on", "webhooks" if kind in WEBHOOK_EFFECTS and kind not in API_EFFECTS else "api")
    if not isinstance(side, str) or side not in {"api", "webhooks"}:
        raise UsageError(f"{side!r} is neither api nor webhooks", member="on")
    known: Mapping[str, type[Effect]] = API_EFFECTS if side == "api" else WEBHOOK_EFFECTS
    if kind is None or kind not in known:
        raise UsageError(_no_effect(kind, side if "on" in data else None), member="effect.type")
    model: type[Fault] = ApiFault if side == "api" else WebhookFault
    try:
        return model.model_validate({**data, "on": side})
    except ValidationError as error:
        raise _located(error, kind, model) from None


def _no_effect(kind: str | None, side: str | None) -> str:
    sides: dict[str, Mapping[str, type[Effect]]] = {"api": API_EFFECTS, "webhooks": WEBHOOK_EFFECTS}
    asked = {name: effects for name, effects in sides.items() if side in {name, None}}
    if kind is not None:
        elsewhere = next((name for name, effects in sides.items() if kind in effects), None)
        near = nearest(kind, [effect for effects in asked.values() for effect in effects])
        if elsewhere is not None:
            return f"{kind!r} is an effect on {elsewhere}, not on {side}"
        if near:
            return f"{kind!r} is not known; did you mean {near!r}?"
    there_are = "; ".join(f"on {name} there are: {', '.join(effects)}" for name, effects in asked.items())
    return f"{'is missing' if kind is None else f'{kind!r} is not known'}; {there_are}"


class FaultError(UsageError):
    """A member of a fault is wrong. `kind` and `limits` are the type and the context of pydantic's error."""

    def __init__(self, message: str, *, member: str, kind: str, limits: Mapping[str, Any]) -> None:
        """Take the message, the path of the member, and the error that the message was made from."""
        super().__init__(message, member=member)
        self.kind = kind
        self.limits = limits


def _located(error: ValidationError, kind: str, model: type[Fault]) -> FaultError:
    found = explained(error, model)
    place = [str(part) for part in found.place]
    if place[:2] == ["effect", kind]:
        del place[1]  # the discriminator is no member of the document
    text = found.text
    if found.kind == "extra_forbidden" and not place:
        return FaultError(f"The body: {text}", member="", kind=found.kind, limits=found.limits)
    if found.kind == "extra_forbidden":
        text = _other_side(place, kind, model) or text
    if not place:
        place = ["phase"] if "phase" in text else ["match"]
    return FaultError(text, member=".".join(place), kind=found.kind, limits=found.limits)


def _other_side(place: list[str], kind: str, model: type[Fault]) -> str:
    """Return the message for a member that belongs to the other side, or elsewhere in a fault; empty for any other."""
    here, there = ("api", "webhooks") if model is ApiFault else ("webhooks", "api")
    matches: dict[str, type[Match]] = {"api": ApiMatch, "webhooks": WebhookMatch}
    name = place[-1]
    if place[0] == "effect":
        near = nearest(name, matches[here].model_fields)
        return f"{UNKNOWN_MEMBER}; did you mean {near!r}, of match?" if near else ""
    faults: dict[str, type[BaseModel]] = {"api": ApiFault, "webhooks": WebhookFault}
    if name not in (matches if place[0] == "match" else faults)[there].model_fields:
        return ""
    both = kind in API_EFFECTS and kind in WEBHOOK_EFFECTS
    return f"{UNKNOWN_MEMBER} on {here}" + (f'; say "on": "{there}"' if both else "")


def document(fault: Fault) -> dict[str, Any]:
    """Return the fault's declaration as JSON members."""
    made: dict[str, Any] = fault.model_dump(mode="json", by_alias=True, exclude_none=True)
    for name in ("value", "details", "members"):
        if name in fault.effect.model_fields_set:  # any JSON: as it came, with exact numbers and with nulls
            made["effect"][name] = getattr(fault.effect, name)
    return made
