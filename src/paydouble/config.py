"""Settings: every assumption that a real deployment could contradict is a field here (principle P3).

`Settings` belong to one sandbox and can be changed while it lives; `ServerSettings` belong to the process. Both are
frozen pydantic models, so their schema is also the reference page's, and a bad value is refused with its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property, partial
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated, Any, Final, Literal, NamedTuple, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from paydouble.core.durations import format_duration, parse_duration
from paydouble.core.errors import UsageError
from paydouble.core.likeness import hint, nearest
from paydouble.core.money import MINOR_DIGITS, MOST_DIGITS, to_minor
from paydouble.core.refusals import sentence

Duration = Annotated[
    int,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema({"type": "string", "examples": ["250ms", "2s", "5m", "1h30m", "3d"]}),
]


def _some(value: int) -> int:
    if value < 1:
        message = "is no time at all; send a duration of at least 1ms"
        raise ValueError(message)
    return value


def _short(value: int) -> int:
    if value > _LONGEST_REAL_MS:
        message = "is too long for real time; send a duration of at most 10m"
        raise ValueError(message)
    return value


_LONGEST_REAL_MS: Final = parse_duration("10m")
SomeDuration = Annotated[Duration, AfterValidator(_some)]
RealDuration = Annotated[Duration, AfterValidator(_short)]


def _real(value: object) -> object:
    if isinstance(value, bool | str):
        message = sentence("float_type", value, {}, "")
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


# Names that a webhook's POST has already, and those that decide how HTTP reads a message or keeps a connection
# (RFC 9110, sections 7.6.1, 8.4, 8.6, 10.1.1; RFC 9112, section 6). A signature under one of them breaks the request.
TAKEN_HEADERS: Final = frozenset(
    (
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)


def _free_header(value: str) -> str:
    if _token(value).lower() in TAKEN_HEADERS:
        message = (
            f"{value!r} is a header that HTTP or the webhook's own body needs; choose another, such as X-Signature"
        )
        raise ValueError(message)
    return value


Network = Annotated[str, BeforeValidator(_network)]
HeaderName = Annotated[str, AfterValidator(_free_header)]


class _Model(BaseModel):
    # Deferred: a server that keeps the defaults validates nothing, and building validators is a tenth of a start.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class RateLimit(_Model):
    """A fixed window for the whole business, on the sandbox's clock (assumptions, "Rate limits")."""

    limit: int = Field(ge=0, le=1_000_000_000)
    """Requests that one window takes."""
    window: SomeDuration = parse_duration("60s")
    """Length of a window."""
    reset_unit: Literal["epoch_seconds", "delta_seconds", "epoch_milliseconds"] = "epoch_seconds"
    """What `X-RateLimit-Reset` counts; the contract does not say."""
    clock: Literal["wall_clock", "sandbox_clock"] = "wall_clock"
    """Which clock the epoch units count on; windows are on the sandbox's in any case. A client sleeps by the wall's."""
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
    timeout: SomeDuration = parse_duration("10s")
    """Real time within which a receiver's headers must have arrived."""
    signature_header: HeaderName = "X-Service-Signature"
    """Name of the signature header; none that HTTP or the body needs."""
    sign_with: Literal["wall_clock", "sandbox_clock"] = "wall_clock"
    """Which clock gives the signature's `t`."""
    require_https: bool = False
    """Refuse `http://` targets, as production does."""
    allow_public_targets: bool = False
    """Permit targets outside loopback and private networks."""
    response_limit: int = Field(16_384, ge=0, le=1_048_576)
    """Bytes of a receiver's answer that are read and kept."""
    in_flight: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Attempts that one endpoint has in flight; null is 8 on a real clock, and 1 on a manual or auto clock."""

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


def _exact(value: object) -> Decimal:
    if isinstance(value, float):
        message = f"{value} is a binary float, which is not exact; write it as a text, such as '{value}'"
        raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError, not TypeError, into a located error
    is_number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    # Written out, a large exponent could fill any memory; as it came it does not fit the pattern.
    is_short = isinstance(value, Decimal) and abs(value.adjusted()) <= MOST_DIGITS
    text = format(value, "f") if is_short else str(value)
    if not (is_number or isinstance(value, str)) or not _PLAIN_NUMBER.fullmatch(text):
        message = f"{text[:40]!r} is not a plain number such as '49.90'"
        raise ValueError(message)
    return Decimal(text)


_PLAIN_NUMBER: Final = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})?")
Exact = Annotated[
    Decimal,
    BeforeValidator(_exact),
    PlainSerializer(lambda number: format(number, "f"), return_type=str),
    WithJsonSchema({"type": ["string", "number"]}),
]
"""A number that is never a binary float."""


def _capitals(value: str, example: str) -> str:
    if not (len(value) == len(example) and value.isascii() and value.isalpha() and value.isupper()):
        message = f"{value[:40]!r} is not a {'currency' if example == 'NOK' else 'country'} code such as {example}"
        raise ValueError(message)
    return value


def _currency(value: str) -> str:
    return _capitals(value, "NOK")


def _limited(value: str) -> str:
    return value if value == EVERY_CURRENCY else _currency(value)


EVERY_CURRENCY: Final = "*"
LimitOf = Annotated[str, AfterValidator(_limited)]
CurrencyCode = Annotated[str, AfterValidator(_currency)]


def _country(value: object) -> object:
    if value is False:
        message = "YAML reads NO as false; write the country in quotes, as 'NO'"
        raise ValueError(message)
    return value


CountryCode = Annotated[str, BeforeValidator(_country), AfterValidator(partial(_capitals, example="NO"))]
MethodName = Annotated[str, Field(min_length=1, max_length=64)]


class CurrencySettings(_Model):
    """A currency of the catalogue; what is left out is as shipped, or 2 digits and 1 for a new one."""

    digits: int | None = Field(None, ge=0, le=8)
    """Its minor digits."""
    per_us_dollar: Exact | None = None
    """Units of it for one US dollar."""

    @field_validator("per_us_dollar")
    @classmethod
    def _positive(cls, rate: Decimal | None) -> Decimal | None:
        if rate == 0:
            message = "is more than 0"
            raise ValueError(message)
        return rate


class MethodSettings(_Model):
    """A payment method of the catalogue; what is left out is as shipped, or for a new one everything goes."""

    name: str | None = Field(None, min_length=1, max_length=100)
    """What payers read."""
    countries: tuple[CountryCode, ...] | None = None
    """Where it is offered; empty for everywhere."""
    limits: dict[LimitOf, tuple[Exact, Exact] | None] = Field(default_factory=dict)
    """Smallest and largest amount by currency; `*` stands for all others, in US dollars, and null takes one away."""


class CatalogueSettings(_Model):
    """What a deployment offers, merged over what is shipped, member by member."""

    shipped: bool = True
    """Whether the shipped payment methods are offered too; without them those of this catalogue alone."""
    currencies: dict[CurrencyCode, CurrencySettings | None] = Field(default_factory=dict)
    """Currencies with their `digits` and their rate `per_us_dollar`; null takes one away."""
    payment_methods: dict[MethodName, dict[MethodName, MethodSettings | None] | None] = Field(default_factory=dict)
    """Methods by `type`, then by `code`, with `name`, `countries` and `limits`; null takes one away."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        digits = self.digits
        for kind, methods in self.payment_methods.items():
            for code, method in (methods or {}).items():
                for currency, limits in (method.limits if method is not None else {}).items():
                    place = f"payment_methods.{kind}.{code}.limits.{currency}"
                    if currency != EVERY_CURRENCY and currency not in digits:
                        message = f"{place}: this currency is not known; add it under currencies"
                        raise ValueError(message)
                    if limits is not None:
                        _check_limits(limits, place, digits.get(currency))
        return self

    @property
    def digits(self) -> dict[str, int]:
        """Return the minor digits of each currency that the service knows."""
        known = dict(MINOR_DIGITS)
        for code, currency in self.currencies.items():
            if currency is None:
                known.pop(code, None)
            elif currency.digits is not None:
                known[code] = currency.digits
            else:
                known.setdefault(code, 2)
        return known


def _check_limits(limits: tuple[Decimal, Decimal], place: str, digits: int | None) -> None:
    for number, limit in enumerate(limits):
        try:
            if digits is not None:
                to_minor(limit, digits)
        except ValueError as error:
            message = f"{place}.{number}: {limit} {error}"
            raise ValueError(message) from None
    if not limits[1]:
        message = f"{place}.1: the largest amount is more than 0"
        raise ValueError(message)
    if limits[0] > limits[1]:
        message = f"{place}: the smallest amount, {limits[0]}, is larger than the largest, {limits[1]}"
        raise ValueError(message)


class DisputeSettings(_Model):
    """The default life of a dispute, which the contract does not show."""

    response_window: SomeDuration = parse_duration("7d")
    """From the dispute's arrival to `evidence_due_by`; without evidence it is then lost."""
    review: Duration = parse_duration("3d")
    """From the evidence to the decision."""
    decision: Literal["won", "lost"] = "won"
    """What the review ends with."""


class RefundSettings(_Model):
    """What can be refunded."""

    while_disputed: Literal["refuse", "allow"] = "refuse"
    """Whether money that is under an open dispute, or was charged back, can be refunded all the same."""


class Settings(_Model):
    """One sandbox: a business and the service it meets."""

    scenario: str = "happy-path"
    """Scenario of a new pay-in that nothing else chooses for."""
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
    idempotency_validity: SomeDuration = parse_duration("24h")
    """How long a key is remembered."""
    processing_time: RealDuration = parse_duration("0s")
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
    auto_patience: RealDuration = parse_duration("5s")
    """Real time that an auto clock waits for a retry after a reply that a fault has changed, or that was lost."""
    refunds: RefundSettings = RefundSettings.model_construct()
    """What can be refunded."""
    catalogue: CatalogueSettings = CatalogueSettings.model_construct()
    """What the deployment offers."""
    pay_in_expires_in: Duration = Field(parse_duration("24h"), ge=60_000, le=parse_duration("30d"))
    """How long a pay-in can be paid whose deposit has no `expires_in`."""
    list_order: Literal["newest_first", "oldest_first"] = "newest_first"
    """Order of the API's lists."""
    duplicate_external_identifier: Literal["allow", "refuse"] = "allow"
    """Whether an `external_identifier` may come again; else a second pay-in, refund, … with it is refused with 422."""
    journal_limit: int = Field(10_000, ge=1, le=1_000_000)
    """Requests, and as many deliveries, that the journals keep."""
    journal_bytes: int = Field(67_108_864, ge=65_536, le=1_099_511_627_776)
    """Bytes of requests, events and deliveries, with their answers, that the journals keep together."""

    @cached_property
    def networks(self) -> tuple[IPv4Network | IPv6Network, ...] | None:
        """Return the address allow-list, parsed."""
        return None if self.allowed_addresses is None else tuple(ip_network(each) for each in self.allowed_addresses)


def guards(settings: Settings) -> bool:
    """Return whether settings keep out a business that knows its secret: addresses, permissions, a quota."""
    return not (settings.allowed_addresses is None and settings.permissions is None and settings.rate_limit is None)


class Explained(NamedTuple):
    """The first thing that is wrong with some data: where, what to say of it, and what pydantic calls it."""

    place: tuple[int | str, ...]
    text: str
    kind: str
    limits: Mapping[str, Any]


def explain(error: ValidationError, model: type[BaseModel] | None = None) -> tuple[str, str]:
    """Return the path and the message of a pydantic error's first finding; see `explained`."""
    found = explained(error, model)
    return ".".join(map(str, found.place)), found.text


def explained(error: ValidationError, model: type[BaseModel] | None = None) -> Explained:
    """Return a pydantic error's first finding.

    `model` is what was validated, by which the member is found that an unknown one may mean.
    """
    first, *others = error.errors(include_url=False)
    place = first["loc"]
    # A member that is a word or an object has a finding for each; the one that got further is about what was given.
    word = next((at for at, part in enumerate(place) if str(part).startswith("literal[")), None)
    if word is not None:
        found = [each for each in others if each["loc"][:word] == place[:word] and len(each["loc"]) > word + 1]
        first = found[0] if found else first
        place = (*place[:word], *first["loc"][word + 1 :])
    if first["type"] == "missing":
        # A required member that is misspelt is missing as well.
        *above, name = first["loc"]
        beside = [each for each in others if each["type"] == "extra_forbidden" and [*each["loc"][:-1]] == above]
        first = next((each for each in beside if nearest(each["loc"][-1], [str(name)])), first)
        place = (*place[:-1], first["loc"][-1])
    limits = first.get("ctx", {})
    text = sentence(first["type"], first["input"], limits, first["msg"])
    if first["type"] == "extra_forbidden" and model is not None:
        text += _meant(place, model)
    if place and place[-1] == "[key]":
        place = place[:-1]
    # What is found only when a whole catalogue is known begins with its own place in it.
    below, colon, told = text.partition(": ")
    if place == ("catalogue",) and first["type"] == "value_error" and colon:
        place, text = (*place, *below.split(".")), told
    return Explained(place, text, first["type"], limits)


def _meant(place: tuple[int | str, ...], model: type[BaseModel]) -> str:
    """Return the hint for a member that is not known: one beside it, or one of the objects around it."""
    *above, name = map(str, place)
    *outer, (inner, beside) = _members_around(model, above)
    if near := hint(name, beside):
        return near
    outside = nearest(name, [each for _, members in outer for each in members])
    return f"; did you mean {outside!r}, outside of {inner}?" if outside else ""


def _members_around(model: type[BaseModel], above: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
    """Return the objects on a path, the outermost first: the member that holds it, and its members with their types."""
    models = {model}
    around = [("", _members(models))]
    for part in above:
        inner, members = around[-1]
        if part in members:
            models = set(_models_in(members[part]))
            around.append((part, _members(models)))
        elif chosen := {each for each in models if part in {each.__name__, _tag(each)}}:
            models = chosen  # a step of pydantic's own: which member of a union it was
            around[-1] = (inner, _members(chosen))
    return around


def _members(models: Iterable[type[BaseModel]]) -> dict[str, Any]:
    # In order, so that of two names that are equally near always the same one is meant.
    ordered = sorted(models, key=lambda each: each.__name__)
    return {field.alias or name: field.annotation for each in ordered for name, field in each.model_fields.items()}


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:  # noqa: ANN401 - whatever stands there
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from _models_in(each)


def _tag(model: type[BaseModel]) -> str:
    kind = model.model_fields.get("type")
    return str(kind.default) if kind is not None else ""


def load_settings(data: Any, base: Settings | None = None) -> Settings:  # noqa: ANN401 - whatever a caller sent
    """Return settings from a plain mapping, laid over `base` member by member; `UsageError` names the bad member."""
    merged = _overlay(base.model_dump(mode="json"), data) if base is not None and isinstance(data, dict) else data
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        member, message = explain(error, Settings)
        raise UsageError(message, member=f"settings.{member}" if member else "settings") from None


def _overlay(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for name, value in change.items():
        below = merged.get(name)
        merged[name] = _overlay(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged
