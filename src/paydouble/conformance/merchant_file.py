"""`merchant.yaml`: how to reach a shop that is written in any language.

The calls of `driver` are those of `Merchant` in `paydouble.stateful`. Each is an HTTP request, or a command whose
standard output may be JSON. What a file leaves out cannot be tested, and is reported as not tested.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from paydouble.api.operations import MOVABLE, operations
from paydouble.config import Duration, load_settings
from paydouble.conformance.placeholders import MONEY, ORDER, REFUND, RUN, SERVICE, TIME, places_of, problems
from paydouble.core.durations import parse_duration
from paydouble.core.errors import UsageError
from paydouble.core.likeness import nearest
from paydouble.core.money import MINOR_DIGITS
from paydouble.sandbox.identity import Secrets
from paydouble.scenarios.model import NAME_PATTERN
from paydouble.stateful.merchant import STATUSES
from paydouble.stateful.policies import POLICIES
from paydouble.yamlfile import schema as schemas
from paydouble.yamlfile.explaining import FileKind
from paydouble.yamlfile.outline import Outline
from paydouble.yamlfile.places import FileModel, PlacedError, PlacedErrors
from paydouble.yamlfile.reading import first_of, read_file

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
SCHEMA: Final = Path(__file__).with_name("merchant.schema.json")

Url = Annotated[str, Field(pattern=r"^https?://[\x21-\x7e]+$", examples=["http://127.0.0.1:3000/webhooks/payments"])]
Pointer = Annotated[str, Field(pattern=r"^(/[^/]*)*$", examples=["/order/status"])]


def _one_of(names: Collection[str], what: str) -> tuple[AfterValidator, WithJsonSchema]:
    def checked(value: str) -> str:
        if value not in names:
            message = f"{value!r} is not a {what}; there are: {', '.join(names)}"
            raise ValueError(message)
        return value

    return AfterValidator(checked), WithJsonSchema({"type": "string", "enum": list(names)})


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"this is no regular expression: {error}; see the syntax of Python's re") from None
    return text


def _has_group(text: str) -> str:
    if not re.compile(text).groups:
        raise ValueError("this has no group for the order's id; write for example (.+)-[0-9]+")
    return text


def _currency(code: str) -> str:
    if code not in MINOR_DIGITS:
        near = nearest(code, MINOR_DIGITS)
        raise ValueError(f"{code!r} is no currency" + (f"; did you mean {near}?" if near else "; write EUR or USD"))
    return code


Currency = Annotated[str, AfterValidator(_currency)]
Pattern = Annotated[str, AfterValidator(_pattern)]
OrderPattern = Annotated[Pattern, AfterValidator(_has_group)]
Status = Annotated[str, *_one_of(STATUSES, "status")]
Policy = Annotated[str, *_one_of(POLICIES, "policy")]
Words = tuple[str, ...]


def contains(*tables: Mapping[str, str]) -> BeforeValidator:
    """Return a validator of plain data whose placeholders are those of `SERVICE`, of `RUN` and of other tables."""
    return contains_only(*tables, SERVICE, RUN)


def contains_only(*tables: Mapping[str, str]) -> BeforeValidator:
    """Return a validator of plain data whose placeholders are those of some tables."""
    known = [name for table in tables for name in table]

    def check(value: object) -> object:
        errors = list(problems(value, known))
        if errors:
            raise PlacedErrors(errors)
        return value

    return BeforeValidator(check)


def _as_mapping(value: object) -> object:
    """Return a call as a mapping; a list is the short form of a command."""
    return {"command": value} if isinstance(value, list) else value


class AnyCall(FileModel):
    """A request to the shop, or a command."""

    GET: Url | None = None
    """The URL of a GET request."""
    POST: Url | None = None
    """The URL of a POST request."""
    PUT: Url | None = None
    """The URL of a PUT request."""
    PATCH: Url | None = None
    """The URL of a PATCH request."""
    DELETE: Url | None = None
    """The URL of a DELETE request."""
    command: Words | None = Field(None, min_length=1)
    """A program and its arguments, run without a shell in the folder of the file."""
    json_body: Any = Field(None, alias="json")
    """The JSON body of the request."""
    form: dict[str, str] | None = None
    """The form of the request, instead of a JSON body."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Headers of the request."""
    timeout: Duration = parse_duration("30s")
    """How long to wait for the answer, in real time."""

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        given = [name for name in (*METHODS, "command") if getattr(self, name) is not None]
        if len(given) != 1:
            what = f"{' and '.join(given)} exclude each other" if given else "it says neither a request nor a command"
            message = f"{what}; write for example {{POST: 'http://127.0.0.1:3000/…'}} or {{command: [./script]}}"
            raise ValueError(message)
        if self.command is not None and (self.json_body is not None or self.form is not None or self.headers):
            message = "json, form and headers belong to a request, not to a command"
            raise ValueError(message)
        if self.json_body is not None and self.form is not None:
            message = "json and form exclude each other"
            raise ValueError(message)
        return self

    @property
    def method(self) -> str:
        """Return the HTTP method, or an empty text for a command."""
        return next((name for name in METHODS if getattr(self, name) is not None), "")

    @property
    def url(self) -> str:
        """Return the URL of the request."""
        url: str = getattr(self, self.method)
        return url


class Call(AnyCall):
    """A call of the driver."""


class PlaceOrderCall(AnyCall):
    """The call that places an order."""

    id: Pointer | None = None
    """Where the id of the order is in the answer, for a shop that makes it itself, as a JSON pointer: `/order/id`. Then
    `{order}` in the other calls is this id, and so is what `order_of_deposit` tells."""


class PayCall(AnyCall):
    """A click on the pay button."""

    declined: list[Annotated[int, Field(ge=400, le=499)]] = Field(default_factory=list, examples=[[409]])
    """The HTTP statuses by which the shop declines, so that nothing was done and nothing will be: `[409]` when all is
    sold. Any other one is a page for the customer, except a 500, which is reported as a crash."""

    @model_validator(mode="after")
    def _has_a_status(self) -> Self:
        if self.declined and self.command is not None:
            raise ValueError("declined belongs to a request, not to a command, which has no HTTP status")
        return self


class OrderCall(AnyCall):
    """The call that reads an order from the shop's books, and where its answer says what."""

    status: Pointer
    """Where the status of the order is, as a JSON pointer."""
    shipments: Pointer | None = None
    """Where the number of times is that the order was fulfilled, such as `/shipped`."""
    balance: Pointer | None = None
    """Where the money left of an order is: paid, minus refunds and lost disputes, in units of the currency: `49.90`.

    `null` there says that the shop keeps no balance of this order now, such as while a person looks at it.
    """
    effects: dict[str, Pointer] = Field(default_factory=dict)
    """The names of what may happen once an order → where the number of times is: `{mails: /mails, stock: /stock}`."""
    needed_effects: list[str] = Field(default_factory=list)
    """Those of `effects` that have to happen for each order that is paid, such as `[mails]`."""
    request_id: Pointer | None = None
    """Where the request_id of the service's latest error about the order is."""
    words: dict[str, Status] = Field(default_factory=dict)
    """The shop's words for a status → ours."""

    @model_validator(mode="after")
    def _has_what_is_needed(self) -> Self:
        unknown = [name for name in self.needed_effects if name not in self.effects]
        if unknown:
            known = f"there are: {', '.join(self.effects)}" if self.effects else "effects is empty"
            message = f"needed_effects has {unknown[0]!r}, which is none of effects; {known}"
            raise ValueError(message)
        return self


class RulesCall(AnyCall):
    """The call that reads which of the shop's own rules do not hold."""

    texts: Pointer = ""
    """Where the list of texts is, as a JSON pointer; when it is missing, the answer is the list."""


DriverCall = Annotated[Call, BeforeValidator(_as_mapping, json_schema_input_type=Words | Call)]
Placing = Annotated[PlaceOrderCall, BeforeValidator(_as_mapping, json_schema_input_type=Words | PlaceOrderCall)]
Click = Annotated[PayCall, BeforeValidator(_as_mapping, json_schema_input_type=Words | PayCall)]
Rules = Annotated[RulesCall, BeforeValidator(_as_mapping, json_schema_input_type=Words | RulesCall)]


class Driver(FileModel):
    """How the shop is driven."""

    place_order: Annotated[Placing, contains(ORDER, MONEY)]
    """Place an order that is to be paid."""
    pay: Annotated[Click, contains(ORDER)]
    """Do what the customer's click on the pay button does."""
    order: Annotated[OrderCall, contains(ORDER)]
    """Read an order from the shop's books."""
    retry: Annotated[Click, contains(ORDER)] | None = None
    """Do what the customer's next click does; `pay` when it is missing."""
    refund: Annotated[DriverCall, contains(ORDER, REFUND, MONEY)] | None = None
    """Refund an amount of an order. A 4xx declines it: nothing was done, and nothing will be. A 5xx is reported as a
    crash, unless the service or the database has just failed; the refund may still be made then."""
    cancel: Annotated[DriverCall, contains(ORDER)] | None = None
    """Cancel an order, paid or not, as the customer asks. A 4xx declines it."""
    customer_returns: Annotated[DriverCall, contains(ORDER)] | None = None
    """Show the page to which the payer comes back."""
    tick: Annotated[DriverCall, contains()] | None = None
    """Run the background jobs that are due, now."""
    broken_rules: Annotated[Rules, contains()] | None = None
    """Read which of the shop's own rules do not hold at this moment, each as a text: `["seat 12 has two tickets"]`. An
    empty list says that all hold. It is asked after each step and each webhook."""
    drain: Annotated[DriverCall, contains()] | None = None
    """Answer when nothing is under way any more. It is called after each webhook and each other call, for a shop that
    goes on working after it has answered."""
    reset: Annotated[DriverCall, contains()] | None = None
    """Empty the shop. When it is missing, the shop is started again for each play, with an empty
    `{temporary_folder}`."""
    restart: Annotated[DriverCall, contains()] | None = None
    """Kill the shop's process and start it again. When it is missing and there is `start`, this is done by itself."""
    set_time: Annotated[DriverCall, contains(TIME)] | None = None
    """Set the clock that the shop's own code reads, for signatures, keys, jobs, and the reset of a 429. It goes on from
    there. A shop that takes the time from `{clock_url}` needs none; without either, nothing that takes a day is
    tested."""


def _without_braces(url: str) -> str:
    if "{{" in url or "}}" in url:
        raise ValueError("a URL has no braces; write %7B and %7D")
    return url


class WebhookTarget(FileModel):
    """Where the shop receives webhooks."""

    url: Annotated[Url, contains_only(RUN), AfterValidator(_without_braces)]
    """The URL of the shop's receiver."""


def _taken_by(use: Callable[[Any], object], value: Any) -> Any:  # noqa: ANN401 - as the member's
    """Return a value that a function takes; its `UsageError` names the place below the member."""
    try:
        use(value)
    except UsageError as error:
        place = str(error.member).split(".")[1:]
        raise PlacedErrors([PlacedError(tuple(place), error.message)]) from None
    return value


class Service(FileModel):
    """Fixed values of the payment service, for a shop that knows them."""

    port: int = Field(0, ge=0, le=65535)
    """The port on 127.0.0.1 at which the service listens; 0 takes a free one."""
    business_key: str = Field(Secrets().business_key, min_length=1, max_length=200)
    """The name for HTTP Basic that the shop has."""
    business_secret: str = Field(Secrets().business_secret, min_length=1, max_length=200)
    """The password for HTTP Basic that the shop has."""
    webhook_secret: str = Field(Secrets().webhook_secret, min_length=1, max_length=200)
    """The secret with which the shop verifies webhooks."""
    paths: Annotated[dict[str, str], AfterValidator(partial(_taken_by, operations))] = Field(
        default_factory=dict,
        examples=[{"refund-creation": "/refunds"}],
        json_schema_extra={"propertyNames": {"enum": list(MOVABLE)}},
    )
    """Other paths of operations that the contract does not show, after `/api/v1`, by the operation's name."""
    settings: Annotated[dict[str, Any], AfterValidator(partial(_taken_by, load_settings))] = Field(
        default_factory=dict, examples=[{"optional_members": ["customer"]}]
    )
    """Settings of the service, where the deployment that the shop knows differs from the default."""

    @property
    def secrets(self) -> Secrets:
        """Return the credentials."""
        return Secrets(self.business_key, self.business_secret, self.webhook_secret)


class Start(FileModel):
    """How the shop is started."""

    command: Annotated[Words, contains()] = Field(min_length=1)
    """A program and its arguments, run without a shell in the folder of the file."""
    environment: Annotated[dict[str, str], contains()] = Field(default_factory=dict)
    """Environment variables of the shop, besides those of the caller."""
    ready: Annotated[str, contains_only(RUN), AfterValidator(_without_braces)] = Field(
        pattern=r"^GET https?://[\x21-\x7e]+$", examples=["GET http://127.0.0.1:3000/health"]
    )
    """The request that the shop answers with 2xx once it is ready."""
    within: Duration = parse_duration("60s")
    """How long a start may take, in real time."""


class AcceptedFinding(FileModel):
    """Why a finding is accepted, and in which plays."""

    because: str
    """Why it is accepted."""
    after: Pattern = ""
    """A regular expression that is searched in the steps of the play until then, as a report numbers them under `What
    happened`, one a line: `late.*is disputed`. A `.` matches the end of a line too. All plays when it is missing."""


def _as_reason(value: object) -> object:
    """Return a finding that is accepted as a mapping; a text is the short form of its reason."""
    return {"because": value} if isinstance(value, str) else value


AcceptedWhen = Annotated[AcceptedFinding, BeforeValidator(_as_reason, json_schema_input_type=str | AcceptedFinding)]


class MerchantFile(FileModel):
    """How to reach a shop."""

    name: str = Field(pattern=NAME_PATTERN, max_length=64)
    """The name of the shop in reports."""
    webhook: WebhookTarget
    """Where the shop receives webhooks."""
    start: Start | None = None
    """How the shop is started; when it is missing, the shop is running already."""
    service: Service = Field(default_factory=Service)
    """Fixed values of the payment service, for a shop that knows them."""
    reconciles: bool = True
    """Whether the shop asks the service about payments of which no event came; `false` for one that never asks."""
    currencies: list[Currency] = Field(default_factory=list)
    """The currencies in which the shop sells, the usual one first; all when it is missing."""
    order_of_deposit: OrderPattern | None = None
    """A regular expression that matches a deposit's whole `external_identifier`; its first group is the order's id."""
    rotates_secrets: bool = False
    """Whether the shop accepts a header with two `v1`, as while a secret is rotated; `true` to have it tried."""
    interleaves: bool = True
    """Whether `explore` may send a webhook or a click while a call is running; `false` for a shop with one worker."""
    retries_by_itself: bool = True
    """Whether the shop repeats a lost request without the customer; `false` when `explore` must not wait for that."""
    refunds_can_fail_late: bool = True
    """Whether tests let a refund fail that has succeeded, as when the payer's bank sends the money back."""
    disputes_can_reopen: bool = True
    """Whether tests open a dispute again that was won, as when the payer's bank appeals."""
    accepts: dict[Pattern, AcceptedWhen] = Field(default_factory=dict)
    """Known findings of `explore`: a regular expression that is searched in the sentence → why it is accepted, as a
    text, or as `because` and the steps `after` which it is."""
    demands: list[Policy] = Field(default_factory=list)
    """Policies that the shop promises where the contract is silent, so that `explore` finds where it breaks them."""
    driver: Driver | None = None
    """How the shop is driven. When it is missing, only the answers to webhooks can be tested."""

    @model_validator(mode="after")
    def _starts_what_has_values_of_its_run(self) -> Self:
        if self.start is None:
            parts = self.model_dump(include={"webhook", "driver"}, by_alias=True)
            lacks = "has a value for a shop that is started; add start, or write the one of the shop that is running"
            found = [PlacedError(place, f"{{{name}}} {lacks}") for place, name in places_of(parts, RUN)]
            if found:
                raise PlacedErrors(found)
        return self

    def order_named(self, external_identifier: str) -> str:
        """Return the id of the order that a deposit is for; an identifier of another form is returned as it is."""
        found = None if self.order_of_deposit is None else re.fullmatch(self.order_of_deposit, external_identifier)
        return external_identifier if found is None else str(found[1])


def committed() -> dict[str, Any]:
    """Return the JSON Schema of merchant files from the committed file."""
    return schemas.committed(SCHEMA)


def build() -> dict[str, Any]:
    """Build the JSON Schema from the models."""
    return schemas.document("A merchant", schemas.definitions_of([MerchantFile]), "MerchantFile")


MERCHANT: Final = FileKind("merchant", "'name: my-shop' and 'webhook: {url: …}'", MerchantFile, Outline(committed))
"""Merchant files."""


def read_merchant(path: Path) -> MerchantFile:
    """Return the merchant of a file; `UsageError` has the first error and its position."""
    return first_of(read_file(path, MERCHANT))
