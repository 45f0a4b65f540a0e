"""Settings: every assumption that a real deployment could contradict is a field here (principle P3).

`Settings` belong to one sandbox and can be changed at any time. They are frozen pydantic models: the reference page is
made from their schema and the docstrings of their members, and a bad value is refused with its place.
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
        message = "is not more than 0; send a duration of at least 1ms"
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


# Numbers and flags in JSON bodies: true is not 1, and "1" is a text.
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


# Headers that the POST of a webhook already has, and those that change how HTTP parses a message or keeps a connection
# (RFC 9110, sections 7.6.1, 8.4, 8.6, 10.1.1; RFC 9112, section 6). A signature in one of them breaks the request.
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
    # Deferred: a server with default settings validates nothing, and building validators takes a tenth of a start.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class RateLimit(_Model):
    """A quota for the business in fixed windows on the sandbox's clock (assumptions, "Rate limits")."""

    limit: int = Field(ge=0, le=1_000_000_000)
    """Requests per window."""
    window: SomeDuration = parse_duration("60s")
    """Length of a window, which begins with its first request."""
    reset_unit: Literal["epoch_seconds", "delta_seconds", "epoch_milliseconds"] = "epoch_seconds"
    """Unit of `X-RateLimit-Reset`; the contract does not say."""
    clock: Literal["wall_clock", "sandbox_clock"] = "wall_clock"
    """Clock of the epoch units, for clients that sleep by that clock; windows are always on the sandbox's clock."""
    headers: Literal["on_429", "always"] = "on_429"
    """Whether the three headers are only on 429, as documented, or on every answer."""


class WebhookSettings(_Model):
    """How events are sent."""

    schedule: tuple[Duration, ...] = Field(
        tuple(map(parse_duration, ("0s", "1m", "5m", "30m", "2h", "8h", "24h"))), min_length=1, max_length=100
    )
    """Delay of each attempt after the due time of the previous one; of the first, after the event."""
    repeat_last: bool = True
    """Whether the last delay is repeated until the window ends."""
    window: Duration = parse_duration("72h")
    """The last time for an attempt to be due, after the first attempt."""
    timeout: SomeDuration = parse_duration("10s")
    """Real time in which the headers of a receiver's answer must arrive."""
    signature_header: HeaderName = "X-Service-Signature"
    """Name of the signature header; names that HTTP or the body needs are refused."""
    sign_with: Literal["wall_clock", "sandbox_clock"] = "wall_clock"
    """Clock of the signature's `t`."""
    require_https: bool = False
    """Refuse `http://` targets, as production does."""
    allow_public_targets: bool = False
    """Allow targets outside loopback and private networks."""
    response_limit: int = Field(16_384, ge=0, le=1_048_576)
    """Bytes of a receiver's answer that are read and kept."""
    in_flight: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Most attempts in flight per endpoint; null is 8 on a real clock, and 1 on a manual or auto clock."""

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if self.repeat_last and not self.schedule[-1]:
            message = "the last delay is repeated, so it cannot be 0s; set repeat_last: false or a longer delay"
            raise ValueError(message)
        if len(self.offsets) > 10_000:  # noqa: PLR2004 - a longer schedule is a mistake, not a test
            message = "this schedule makes more than 10 000 attempts"
            raise ValueError(message)
        return self

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Return the due time of each attempt, in milliseconds after the event (contract section 6, rule 3)."""
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
    # Written out, a large exponent would need any amount of memory; as it is, it does not match the pattern.
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


LARGEST_PAGE: Final = 100
"""The most that `limit` of a list can ask for."""
EVERY_CURRENCY: Final = "*"
LimitOf = Annotated[str, AfterValidator(_limited)]
CurrencyCode = Annotated[str, AfterValidator(_currency), WithJsonSchema({"type": "string", "pattern": "^[A-Z]{3}$"})]


def _country(value: object) -> object:
    if value is False:
        message = "YAML reads NO as false; write the country in quotes, as 'NO'"
        raise ValueError(message)
    return value


CountryCode = Annotated[str, BeforeValidator(_country), AfterValidator(partial(_capitals, example="NO"))]
MethodName = Annotated[str, Field(min_length=1, max_length=64)]


class CurrencySettings(_Model):
    """A currency of the catalogue; defaults are the shipped values, or 2 digits and a rate of 1 for a new one."""

    digits: int | None = Field(None, ge=0, le=8)
    """Its number of minor digits."""
    per_us_dollar: Exact | None = None
    """Its units for one US dollar."""

    @field_validator("per_us_dollar")
    @classmethod
    def _positive(cls, rate: Decimal | None) -> Decimal | None:
        if rate == 0:
            message = "is more than 0"
            raise ValueError(message)
        return rate


class MethodSettings(_Model):
    """A payment method of the catalogue; defaults are the shipped values, or no restriction for a new one."""

    name: str | None = Field(None, min_length=1, max_length=100)
    """Name shown to payers."""
    countries: tuple[CountryCode, ...] | None = None
    """Countries in which it is offered; empty for all."""
    limits: dict[LimitOf, tuple[Exact, Exact] | None] = Field(default_factory=dict)
    """Smallest and largest amount by currency; `*` is for all others, in US dollars, and null removes one."""


class CatalogueSettings(_Model):
    """The currencies and payment methods of a deployment, merged over the shipped ones, member by member."""

    shipped: bool = True
    """Whether the shipped payment methods are offered too, or only those of this catalogue."""
    currencies: dict[CurrencyCode, CurrencySettings | None] = Field(default_factory=dict)
    """Currencies with their `digits` and their rate `per_us_dollar`; null removes one."""
    payment_methods: dict[MethodName, dict[MethodName, MethodSettings | None] | None] = Field(default_factory=dict)
    """Methods by `type`, then by `code`, with `name`, `countries` and `limits`; null removes one."""

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
        """Return the minor digits of each known currency."""
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
    """What happens to a dispute without a script, which the contract does not show."""

    response_window: SomeDuration = parse_duration("7d")
    """Time from the dispute's arrival to `evidence_due_by`; without evidence it is then lost."""
    review: Duration = parse_duration("3d")
    """Time from the evidence to the decision."""
    decision: Literal["won", "lost"] = "won"
    """The decision of the review."""


class RefundSettings(_Model):
    """Rules for refunds."""

    while_disputed: Literal["refuse", "allow"] = "refuse"
    """Whether an amount that is disputed, or was charged back, can be refunded too."""


class Settings(_Model):
    """The settings of one sandbox."""

    scenario: str = "happy-path"
    """Scenario of new pay-ins for which no other is chosen."""
    api_version: str = Field("v1", min_length=1, max_length=64)
    """`api_version` of events (I4)."""
    livemode: bool = False
    """`livemode` of events (I5)."""
    timestamps: Literal["milliseconds", "seconds"] = "milliseconds"
    """Precision of times; with `seconds` several events can have the same time (I3)."""
    event_request_id: Literal["null", "omit", "object"] = "null"
    """`request_id` of events that no request caused; `object` is that of the latest request about the same object."""
    envelope: Literal["by_layer", "A", "B", "alternate"] = "by_layer"
    """Which of the two error envelopes is used."""
    docs_url: str = Field("https://docs.example.test/errors", max_length=2048)
    """`error.docs` of envelope A."""
    unknown_fields: Literal["ignore", "refuse"] = "ignore"
    """What happens with unknown members of a request body."""
    optional_members: tuple[Literal["payment_method", "customer"], ...] = ()
    """Members that a deposit may lack; the catalogue's first method and a made-up customer stand in."""
    created_status: Literal[200, 201] = 200
    """Status of a POST that creates something; the contract only shows the envelope."""
    fingerprint: Literal["parsed", "raw"] = "parsed"
    """Whether two bodies are compared by their parsed content, or byte by byte."""
    in_flight: Literal["join", "conflict"] = "join"
    """What a request with the key of one in flight gets: the same answer, or 409."""
    idempotency_validity: SomeDuration = parse_duration("24h")
    """How long an idempotency key is valid."""
    processing_time: RealDuration = parse_duration("0s")
    """Real time that a POST stays in flight before it is executed."""
    body_limit: int = Field(1_048_576, ge=1, le=67_108_864)
    """Largest request body in bytes."""
    permissions: tuple[str, ...] | None = None
    """Operations that the business may call (`*` matches any characters); null allows all."""
    allowed_addresses: tuple[Network, ...] | None = None
    """Addresses and networks that the business may call from; null allows all."""
    rate_limit: RateLimit | None = None
    """The quota of the business; null is none."""
    retry_after: bool = False
    """Opt-in extra: `Retry-After` on 429."""
    idempotent_replayed: bool = False
    """Opt-in extra: `Idempotent-Replayed: true` on a replay."""
    webhooks: WebhookSettings = WebhookSettings.model_construct()
    """How events are sent."""
    disputes: DisputeSettings = DisputeSettings.model_construct()
    """What happens to a dispute without a script."""
    auto_patience: RealDuration = parse_duration("5s")
    """Real time that an auto clock waits for a retry after a reply that was lost, or changed by a fault."""
    refunds: RefundSettings = RefundSettings.model_construct()
    """Rules for refunds."""
    catalogue: CatalogueSettings = CatalogueSettings.model_construct()
    """The currencies and payment methods of the deployment."""
    pay_in_expires_in: Duration = Field(parse_duration("24h"), ge=60_000, le=parse_duration("30d"))
    """Time until an unpaid pay-in expires, if its deposit has no `expires_in`."""
    page_limit: int = Field(LARGEST_PAGE, ge=1, le=LARGEST_PAGE)
    """The most items of a page of the API's lists, whatever `limit` asks for."""
    list_order: Literal["newest_first", "oldest_first"] = "newest_first"
    """Order of the API's lists."""
    duplicate_external_identifier: Literal["allow", "refuse"] = "allow"
    """Whether an `external_identifier` may be used again; otherwise a second pay-in, refund, … with it is 422."""
    journal_limit: int = Field(10_000, ge=1, le=1_000_000)
    """Requests that the journals keep, and as many deliveries."""
    journal_bytes: int = Field(67_108_864, ge=65_536, le=1_099_511_627_776)
    """Bytes of requests, events, deliveries and their answers that the journals keep in total."""

    @cached_property
    def networks(self) -> tuple[IPv4Network | IPv6Network, ...] | None:
        """Return the parsed allow-list of addresses."""
        return None if self.allowed_addresses is None else tuple(ip_network(each) for each in self.allowed_addresses)


def guards(settings: Settings) -> bool:
    """Return whether an authenticated request can be refused: by address, permission or quota."""
    return not (settings.allowed_addresses is None and settings.permissions is None and settings.rate_limit is None)


class Explained(NamedTuple):
    """The first error in some data: its place and message, and pydantic's error type and context."""

    place: tuple[int | str, ...]
    text: str
    kind: str
    limits: Mapping[str, Any]


def explain(error: ValidationError, model: type[BaseModel] | None = None) -> tuple[str, str]:
    """Return the path and the message of a validation's first error; see `explained`."""
    found = explained(error, model)
    return ".".join(map(str, found.place)), found.text


def explained(error: ValidationError, model: type[BaseModel] | None = None) -> Explained:
    """Return the first error of a validation.

    With `model`, the validated model, the message about an unknown member suggests a known one.
    """
    first, *others = error.errors(include_url=False)
    place = first["loc"]
    # A member that is a word or an object has an error for both; the one with the longer path fits what was given.
    word = next((at for at, part in enumerate(place) if str(part).startswith("literal[")), None)
    if word is not None:
        found = [each for each in others if each["loc"][:word] == place[:word] and len(each["loc"]) > word + 1]
        first = found[0] if found else first
        place = (*place[:word], *first["loc"][word + 1 :])
    if first["type"] == "missing":
        # A misspelt required member is also reported as missing.
        *above, name = first["loc"]
        beside = [each for each in others if each["type"] == "extra_forbidden" and [*each["loc"][:-1]] == above]
        first = next((each for each in beside if nearest(each["loc"][-1], [str(name)])), first)
        place = (*place[:-1], first["loc"][-1])
    limits = first.get("ctx", {})
    if first["type"] == "extra_forbidden" and place[-1] == "":
        return Explained(place[:-1], "a member with an empty name is not known", first["type"], limits)
    text = sentence(first["type"], first["input"], limits, first["msg"])
    if first["type"] == "extra_forbidden" and model is not None:
        text += _meant(place, model)
    if place and place[-1] == "[key]":
        place = place[:-1]
    # A message about the catalogue as a whole begins with its place in the catalogue.
    below, colon, rest = text.partition(": ")
    if place == ("catalogue",) and first["type"] == "value_error" and colon:
        place, text = (*place, *below.split(".")), rest
    return Explained(place, text, first["type"], limits)


def _meant(place: tuple[int | str, ...], model: type[BaseModel]) -> str:
    """Return the suggestion for an unknown member: a sibling, or a member of one of the enclosing objects."""
    *above, name = map(str, place)
    *outer, (inner, beside) = _members_around(model, above)
    if near := hint(name, beside):
        return near
    outside = nearest(name, [each for _, members in outer for each in members])
    return f"; did you mean {outside!r}, outside of {inner}?" if outside else ""


def _members_around(model: type[BaseModel], above: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
    """Return the objects on a path, the outermost first: the name of each, and its members with their types."""
    models = {model}
    around = [("", _members(models))]
    for part in above:
        inner, members = around[-1]
        if part in members:
            models = set(_models_in(members[part]))
            around.append((part, _members(models)))
        elif chosen := {each for each in models if part in {each.__name__, _tag(each)}}:
            models = chosen  # a part of pydantic's path that names the member of a union
            around[-1] = (inner, _members(chosen))
    return around


def _members(models: Iterable[type[BaseModel]]) -> dict[str, Any]:
    # Sorted, so that of two equally similar names always the same one is suggested.
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
    """Return settings from a plain mapping, merged over `base` member by member; `UsageError` names a bad member."""
    merged = overlay(base.model_dump(mode="json"), data) if base is not None and isinstance(data, dict) else data
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        member, message = explain(error, Settings)
        raise UsageError(message, member=f"settings.{member}" if member else "settings") from None


def overlay(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """Return settings with some of them changed, member by member."""
    merged = dict(base)
    for name, value in change.items():
        below = merged.get(name)
        merged[name] = overlay(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged
