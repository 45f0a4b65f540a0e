"""Settings: every assumption that a real deployment could contradict is a field here (principle P3).

`Settings` belong to one sandbox and can be changed while it lives; `ServerSettings` belong to the process. Both are
frozen pydantic models, so their schema is also the reference page's, and a bad value is refused with its place.
"""

from __future__ import annotations

from decimal import Decimal
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated, Any, Final, Literal, Self, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from paydouble.core.durations import format_duration, parse_duration
from paydouble.core.errors import UsageError

Duration = Annotated[
    int,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema({"type": "string", "examples": ["250ms", "2s", "5m", "1h30m", "3d"]}),
]


def _real(value: object) -> object:
    if isinstance(value, bool | str):
        message = "is a number"
        raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError, not TypeError, into a located error
    return float(value) if isinstance(value, Decimal) else value


# Numbers and flags of JSON bodies: true is not 1 there, and "1" is a text.
Whole = Annotated[int, Field(strict=True)]
Real = Annotated[float, BeforeValidator(_real)]
Flag = Annotated[bool, Field(strict=True)]


def _network(value: object) -> str:
    try:
        return str(ip_network(str(value), strict=False))
    except ValueError:
        message = f"{value!r} is neither an address nor a network such as 10.0.0.0/8"
        raise ValueError(message) from None


def _token(value: str) -> str:
    if not value or not all(char.isascii() and (char.isalnum() or char in "!#$%&'*+-.^_`|~") for char in value):
        message = f"{value!r} is not a header name"
        raise ValueError(message)
    return value


Network = Annotated[str, BeforeValidator(_network)]
HeaderName = Annotated[str, AfterValidator(_token)]


class _Model(BaseModel):
    # Deferred: a server that keeps the defaults validates nothing, and building validators is a tenth of a start.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class RateLimit(_Model):
    """A fixed window for the whole business, on the sandbox's clock (assumptions, "Rate limits")."""

    limit: int = Field(ge=0, le=1_000_000_000)
    """Requests that one window takes."""
    window: Duration = Field(parse_duration("60s"), ge=1)
    """Length of a window."""
    reset_unit: Literal["epoch_seconds", "delta_seconds", "epoch_milliseconds"] = "epoch_seconds"
    """What `X-RateLimit-Reset` counts; the contract does not say."""
    headers: Literal["on_429", "always"] = "on_429"
    """Whether the three headers come with 429 alone, as documented, or with every answer."""


class WebhookSettings(_Model):
    """How events are sent."""

    schedule: tuple[Duration, ...] = Field(
        tuple(map(parse_duration, ("0s", "1m", "5m", "30m", "2h", "8h", "24h"))), min_length=1, max_length=100
    )
    """Delay of each attempt after the previous one's due time, of the first after the event."""
    repeat_last: bool = True
    """Whether the last delay is repeated while the window lasts."""
    window: Duration = parse_duration("72h")
    """No attempt is due later than this after the first."""
    timeout: Duration = Field(parse_duration("10s"), ge=1)
    """Real time within which a receiver's headers must have arrived."""
    signature_header: HeaderName = "X-Service-Signature"
    """Name of the signature header."""
    sign_with: Literal["wall_clock", "sandbox_clock"] = "wall_clock"
    """Which clock gives the signature's `t`."""
    require_https: bool = False
    """Refuse `http://` targets, as production does."""
    allow_public_targets: bool = False
    """Permit targets outside loopback and private networks."""
    response_limit: int = Field(16_384, ge=0, le=1_048_576)
    """Bytes of a receiver's answer that are read and kept."""

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if self.repeat_last and not self.schedule[-1]:
            message = "the last delay is repeated, so it cannot be 0s; set repeat_last: false or a longer delay"
            raise ValueError(message)
        if len(self.offsets) > 10_000:  # noqa: PLR2004 - a ladder of more steps is a mistake, not a test
            message = "this schedule makes more than 10 000 attempts"
            raise ValueError(message)
        return self

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Return when each attempt is due, in milliseconds after the event (contract section 6, rule 3)."""
        due = first = self.schedule[0]
        last = first + self.window
        offsets = [first]
        for delay in self.schedule[1:]:
            due += delay
            if due <= last:
                offsets.append(due)
        while self.repeat_last and due + self.schedule[-1] <= last and len(offsets) <= 10_000:  # noqa: PLR2004
            due += self.schedule[-1]
            offsets.append(due)
        return tuple(offsets)


class DisputeSettings(_Model):
    """The default life of a dispute, which the contract does not show."""

    response_window: Duration = Field(parse_duration("7d"), ge=1)
    """From the dispute's arrival to `evidence_due_by`; without evidence it is then lost."""
    review: Duration = parse_duration("3d")
    """From the evidence to the decision."""
    decision: Literal["won", "lost"] = "won"
    """What the review ends with."""


class Settings(_Model):
    """One sandbox: a business and the service it meets."""

    scenario: str = "happy-path"
    """Life of a new pay-in that nothing else chooses for."""
    api_version: str = Field("v1", min_length=1, max_length=64)
    """`api_version` of events (I4)."""
    livemode: bool = False
    """`livemode` of events (I5)."""
    timestamps: Literal["milliseconds", "seconds"] = "milliseconds"
    """Precision of times; seconds make ties (I3)."""
    event_request_id: Literal["null", "omit"] = "null"
    """What an event that no request caused has in `request_id`."""
    envelope: Literal["by_layer", "A", "B", "alternate"] = "by_layer"
    """Which of the two error envelopes an error wears."""
    docs_url: str = Field("https://docs.example.test/errors", max_length=2048)
    """`error.docs` of envelope A."""
    unknown_fields: Literal["ignore", "refuse"] = "ignore"
    """What happens to members of a request body that no model names."""
    created_status: Literal[200, 201] = 200
    """Status of a POST that creates; the contract shows the envelope alone."""
    fingerprint: Literal["parsed", "raw"] = "parsed"
    """Whether two bodies are the same when they parse alike, or only byte for byte."""
    in_flight: Literal["join", "conflict"] = "join"
    """What a second request with the key of a running one gets: its answer, or 409."""
    idempotency_validity: Duration = Field(parse_duration("24h"), ge=1)
    """How long a key is remembered."""
    processing_time: Duration = Field(parse_duration("0s"), le=600_000)
    """Real time that a POST stays in flight before it is executed."""
    body_limit: int = Field(1_048_576, ge=1, le=67_108_864)
    """Largest request body in bytes."""
    permissions: tuple[str, ...] | None = None
    """Operations that the business may call (`*` matches any run of characters); null permits all."""
    allowed_addresses: tuple[Network, ...] | None = None
    """Addresses and networks that the business may call from; null permits all."""
    rate_limit: RateLimit | None = None
    """A quota; none by default."""
    retry_after: bool = False
    """Opt-in extra: `Retry-After` on 429."""
    idempotent_replayed: bool = False
    """Opt-in extra: `Idempotent-Replayed: true` on a replay."""
    webhooks: WebhookSettings = WebhookSettings.model_construct()
    """How events are sent."""
    disputes: DisputeSettings = DisputeSettings.model_construct()
    """The default life of a dispute."""
    journal_limit: int = Field(10_000, ge=1, le=1_000_000)
    """Requests, and as many deliveries, that the journals keep."""

    @cached_property
    def networks(self) -> tuple[IPv4Network | IPv6Network, ...] | None:
        """Return the address allow-list, parsed."""
        return None if self.allowed_addresses is None else tuple(ip_network(each) for each in self.allowed_addresses)


def plain(settings: Settings) -> Settings:
    """Return the same settings for who reads a dozen of them on every request: members of a model are slow to read."""
    webhooks = _PlainInner({**vars(settings.webhooks), "offsets": settings.webhooks.offsets})
    return cast("Settings", _Plain({**vars(settings), "networks": settings.networks, "webhooks": webhooks}))


def guards(settings: Settings) -> bool:
    """Return whether settings keep out a business that knows its secret: addresses, permissions, a quota."""
    return not (settings.allowed_addresses is None and settings.permissions is None and settings.rate_limit is None)


class _Plain:
    def __init__(self, members: dict[str, Any]) -> None:
        for name, value in members.items():
            setattr(self, name, value)


class _PlainInner(_Plain):
    """Apart, since the attributes of a class are quick to read as long as it has no more than thirty."""


UNKNOWN_MEMBER: Final = "this member is not known"
_INNER: Final[dict[str, type[BaseModel]]] = {
    "rate_limit": RateLimit,
    "webhooks": WebhookSettings,
    "disputes": DisputeSettings,
}


_OF_TYPE: Final = {
    "extra_forbidden": UNKNOWN_MEMBER,
    "model_type": "is an object",
    "dict_type": "is an object",
    "tuple_type": "is a list",
    "list_type": "is a list",
}


def explain(error: ValidationError) -> tuple[str, str]:
    """Return the path and the message of a pydantic error's first finding."""
    first, *others = error.errors(include_url=False, include_context=False)
    place = first["loc"]
    # A member that is a word or an object has a finding for each; the one that got further is about what was given.
    word = next((at for at, part in enumerate(place) if str(part).startswith("literal[")), None)
    if word is not None:
        found = [each for each in others if each["loc"][:word] == place[:word] and len(each["loc"]) > word + 1]
        first = found[0] if found else first
        place = (*place[:word], *first["loc"][word + 1 :])
    text = _OF_TYPE.get(first["type"]) or str(first["msg"]).removeprefix("Value error, ")
    return ".".join(map(str, place)), text


def load_settings(data: Any, base: Settings | None = None) -> Settings:  # noqa: ANN401 - whatever a caller sent
    """Return settings from a plain mapping, laid over `base` member by member; `UsageError` names the bad member."""
    merged = _overlay(base.model_dump(mode="json"), data) if base is not None and isinstance(data, dict) else data
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        member, message = explain(error)
        message += _nearest(member) if message == UNKNOWN_MEMBER else ""
        raise UsageError(message, member=f"settings.{member}" if member else "settings") from None


def _nearest(member: str) -> str:
    """Return the hint for a setting that does not exist: the one that may be meant."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for whoever has misspelt one

    *above, name = member.split(".")
    model = _INNER.get(".".join(above), Settings)
    near = get_close_matches(name, model.model_fields, 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _overlay(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for name, value in change.items():
        below = merged.get(name)
        merged[name] = _overlay(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged
