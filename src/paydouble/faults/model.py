"""A fault as a test declares it: what it matches, how often it fires, and its effect."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Final, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from paydouble.config import UNKNOWN_MEMBER, Duration, Flag, Real, Whole, explain
from paydouble.core.errors import UsageError
from paydouble.faults import api_effects, webhook_effects
from paydouble.faults.base import Effect
from paydouble.faults.names import EventTypePattern, OperationPattern, Pattern

Phase = Literal["before_commit", "after_commit"]


def _effects(union: object) -> dict[str, type[Effect]]:
    return {kind.model_fields["type"].default: kind for kind in get_args(get_args(union)[0])}


API_EFFECTS: Final = _effects(api_effects.AnyApiEffect)
WEBHOOK_EFFECTS: Final = _effects(webhook_effects.AnyWebhookEffect)
# These change what the operation itself does or says, so there is no moment before or after it at which they act.
PHASELESS: Final = frozenset(
    {
        "lost_record",
        "stale_read",
        "not_found_yet",
        "unknown_members",
        "unknown_status",
        "expire_rate",
        "remove_method",
        "amount_drift",
    }
)


# These distort an answer, so without a phase it is the operation's own that they distort.
DISTORTING: Final = frozenset({"truncate", "wrong_content_length", "slow_body"})


class Match(BaseModel):
    """What a fault is about: all that is given must hold; `*` in a text matches any run of characters."""

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
    """How many matches pass before it begins to fire."""
    times: Whole | None = Field(None, ge=1, le=1_000_000_000)
    """How often it fires; for ever when absent."""
    probability: Real = Field(1.0, ge=0, le=1, allow_inf_nan=False)
    """Share of the matches that fire, drawn from the sandbox's seed."""
    ttl: Annotated[Duration, Field(ge=1)] | None = None
    """How long it lives, on the sandbox's clock."""
    compose: Flag = False
    """Whether the next fault that matches may act as well."""


class ApiFault(_Fault):
    """A fault on the API."""

    on: Literal["api"] = "api"
    match: ApiMatch = ApiMatch()
    phase: Phase | None = None
    """`before_commit` (nothing happened) or `after_commit` (it happened, the caller does not learn it).

    Without it: before, except that what distorts an answer's body (`truncate`, `wrong_content_length`, `slow_body`)
    distorts the true one. With `before_commit` those distort a 500.
    """
    effect: api_effects.AnyApiEffect

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.phase is not None and self.effect.type in PHASELESS:
            message = f"{self.effect.type} changes the operation itself; leave phase out"
            raise ValueError(message)
        return self

    @property
    def lane(self) -> str:
        """Return at which point of a request it is asked."""
        if self.phase is None:
            return "after" if self.effect.type in DISTORTING else "before"
        return "after" if self.phase == "after_commit" else "before"


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
    def lane(self) -> str:
        """Return at which point of a delivery it is asked."""
        return "event" if isinstance(self.effect, webhook_effects.EventEffect) else "attempt"


Fault = ApiFault | WebhookFault


def parse_fault(data: object) -> Fault:
    """Return a fault from a plain mapping; `UsageError` names the member that is wrong and what it could be.

    Without `on` an effect that only one side has chooses that side; one that both have is on the API.
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
    known = API_EFFECTS if side == "api" else WEBHOOK_EFFECTS
    if kind is None or kind not in known:
        raise UsageError(_no_effect(kind, side if "on" in data else None), member="effect.type")
    model: type[Fault] = ApiFault if side == "api" else WebhookFault
    try:
        return model.model_validate({**data, "on": side})
    except ValidationError as error:
        raise _located(error, kind, model) from None


def _no_effect(kind: str | None, side: str | None) -> str:
    sides = {"api": API_EFFECTS, "webhooks": WEBHOOK_EFFECTS}
    asked = {name: effects for name, effects in sides.items() if side in {name, None}}
    if kind is not None:
        elsewhere = next((name for name, effects in sides.items() if kind in effects), None)
        near = get_close_matches(kind, [effect for effects in asked.values() for effect in effects], 1)
        if elsewhere is not None:
            return f"{kind!r} is an effect on {elsewhere}, not on {side}"
        if near:
            return f"{kind!r} is not known; did you mean {near[0]!r}?"
    there_are = "; ".join(f"on {name} there are: {', '.join(effects)}" for name, effects in asked.items())
    return f"{'is missing' if kind is None else f'{kind!r} is not known'}; {there_are}"


def _located(error: ValidationError, kind: str, model: type[Fault]) -> UsageError:
    first = error.errors(include_url=False, include_context=False)[0]
    place = [str(part) for part in first["loc"]]
    if place[:2] == ["effect", kind]:
        del place[1]  # the discriminator is no member of the document
    text = explain(error)[1]
    if text == UNKNOWN_MEMBER:
        text += _other_side(place, kind, model)
    if not place:
        place = ["phase"] if "phase" in text else ["match"]
    return UsageError(text, member=".".join(place))


def _other_side(place: list[str], kind: str, model: type[Fault]) -> str:
    """Return the hint for a member that faults on the other side have, or for one that is misspelt."""
    here, there = ("api", "webhooks") if model is ApiFault else ("webhooks", "api")
    members = {"api": set(ApiFault.model_fields), "webhooks": set(WebhookFault.model_fields)}
    if place[0] == "match":
        members = {"api": set(ApiMatch.model_fields), "webhooks": set(WebhookMatch.model_fields)}
    elif len(place) > 1:
        return ""  # an effect's own
    if place[-1] in members[there]:
        both = kind in API_EFFECTS and kind in WEBHOOK_EFFECTS
        return f" on {here}" + (f'; say "on": "{there}"' if both else "")
    near = get_close_matches(place[-1], sorted(members[here]), 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def document(fault: Fault) -> dict[str, Any]:
    """Return a fault as its declaration would be written."""
    made: dict[str, Any] = fault.model_dump(mode="json", by_alias=True, exclude_none=True)
    for name in ("value", "details", "members"):
        if name in fault.effect.model_fields_set:  # any JSON: as it came, with exact numbers and with nulls
            made["effect"][name] = getattr(fault.effect, name)
    return made
