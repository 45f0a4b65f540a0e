"""Request and response models of `/api/v1`, each member marked `documented` or `assumed` (rule P1).

Requests are validated with these; responses are rendered by hand for speed (`payments.resources`), and tests hold them
against these models. Numbers arrive as `Number`s, exact; a text is never taken for a number nor a number for a text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import SchemaValidator, core_schema

from paydouble.core.money import MOST_DIGITS
from paydouble.payments.lifecycle import DisputeState, PayInState, PayoutState, RefundState

PROVENANCE = "x-provenance"


def documented(default: Any = ..., **options: Any) -> Any:  # noqa: ANN401 - as pydantic's Field
    """Return a Field that the contract documents."""
    return Field(default, json_schema_extra={PROVENANCE: "documented"}, **options)


def assumed(default: Any = ..., **options: Any) -> Any:  # noqa: ANN401 - as pydantic's Field
    """Return a Field that the contract does not document."""
    return Field(default, json_schema_extra={PROVENANCE: "assumed"}, **options)


def _exact(value: object) -> object:
    return Decimal(value) if type(value) is int else value  # not for a bool


def _whole(value: object) -> object:
    if type(value) is int:
        return value
    if (
        isinstance(value, Decimal)
        and value.is_finite()
        and value.adjusted() < MOST_DIGITS
        and value == value.to_integral_value()
    ):
        return int(value)
    return value


# Matches the usual URL; any other is parsed.
_PLAIN_URL = re.compile(r"https?://[A-Za-z0-9.-]+(:[1-9][0-9]{0,3})?(/[!-~]*)?")


def _url(value: str) -> str:
    if _PLAIN_URL.fullmatch(value):
        return value
    try:
        parts = urlsplit(value)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or not value.isascii() or any(char <= " " or char == "\x7f" for char in value):
        message = "is not an http:// or https:// URL"
        raise ValueError(message)
    return value


# A month at most. The limits come ahead of the validator, or they would be checked in Python.
Seconds = Annotated[int, Field(ge=60, le=2_592_000), BeforeValidator(_whole)]
Amount = Annotated[
    Decimal,
    Field(gt=0),  # ahead of the validator, or it would be checked in Python
    BeforeValidator(_exact),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "examples": [49.95]}),
]
CurrencyCode = Annotated[str, Field(pattern=r"^[A-Z]{3}$", examples=["EUR"])]
Country = Annotated[str, Field(pattern=r"^[A-Z]{2}$", examples=["DE"])]
WebUrl = Annotated[
    str,
    Field(max_length=2048),
    AfterValidator(_url),
    WithJsonSchema({"type": "string", "format": "uri", "maxLength": 2048}),
]
Identifier = Annotated[str, Field(min_length=1, max_length=128)]
ResourceId = Annotated[str, Field(min_length=1, max_length=128, examples=["payin_7Q4mZ0aBcDeFgHiJkLmNoPqR"])]


class Personal:
    """Marks a type whose values may say something about a person; files that leave this computer do not have them."""


PERSONAL = Personal()
Name = Annotated[str, Field(min_length=1, max_length=100), PERSONAL]
Text = Annotated[str, Field(min_length=1, max_length=500), PERSONAL]
# Without \s, which is a different set of characters in each dialect of regular expressions.
Email = Annotated[
    str,
    Field(max_length=254, pattern=r"^[^@\u0000-\u0020]+@[^@\u0000-\u0020]+$", examples=["ada@example.test"]),
    PERSONAL,
]
Timestamp = Annotated[datetime, WithJsonSchema({"type": "string", "format": "date-time"})]
MoneyOut = Annotated[
    Decimal, WithJsonSchema({"type": "number", "description": "Exact, with its currency's minor digits."})
]


class Payload(BaseModel):
    """Base of request bodies. Unknown members are ignored unless the setting `unknown_fields` refuses them."""

    # Built when first used, so that a server starts without building all models.
    model_config = ConfigDict(strict=True, extra="ignore", defer_build=True)

    @classmethod
    def validated(cls, parsed: object, extra: Literal["forbid"] | None) -> Any:  # noqa: ANN401 - see `DepositRequest`
        """Return a parsed body as an instance; `ValidationError` when it is none.

        With `extra="forbid"` unknown members are refused.
        """
        return cls.__pydantic_validator__.validate_python(parsed, extra=extra)


class Answer(BaseModel):
    """Base of response objects. Other members are refused, so that a test finds what a renderer adds or forgets."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


def _as_dictionary(schema: Any) -> Any:  # noqa: ANN401 - one of pydantic's sixty kinds of schema
    """Return the core schema of a model, or of a member, with a dictionary in place of each instance."""
    if schema["type"] != "model":
        return schema
    members = schema["schema"]["fields"].items()
    return core_schema.typed_dict_schema(
        {name: core_schema.typed_dict_field(_as_dictionary(member["schema"])) for name, member in members},
        config=schema["config"],
    )


@cache
def _dictionaries(model: type[Payload]) -> SchemaValidator:
    """Return a validator with the schema of a model that makes dictionaries; built when first used, as models are."""
    model.model_rebuild()
    return SchemaValidator(_as_dictionary(model.__pydantic_core_schema__))


# Requests


class PaymentMethodChoice(Payload):
    """How the payer pays."""

    type: str = assumed(min_length=1, max_length=64, examples=["CREDIT_CARD"])
    code: str | None = assumed(None, min_length=1, max_length=64)


class CustomerInput(Payload):
    """Who pays."""

    first_name: Name = assumed()
    last_name: Name = assumed()
    email: Email = assumed()


STAND_IN_CUSTOMER: Final[Mapping[str, str]] = MappingProxyType(
    {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"}
)
"""The customer of a deposit whose request need not name one."""


class DepositRequest(Payload):
    """A deposit to create."""

    amount: Amount = assumed()
    currency: CurrencyCode = assumed()
    external_identifier: Identifier = assumed(examples=["order-17"])
    payment_method: PaymentMethodChoice = assumed()
    customer: CustomerInput = assumed()
    country: Country | None = assumed(None)
    notification_url: WebUrl | None = assumed(None, description="Wins over the business's own for this deposit.")
    return_url: WebUrl | None = assumed(None)
    expires_in: Seconds | None = assumed(
        None,
        description="Seconds until an unpaid deposit is cancelled; as the setting `pay_in_expires_in` when absent.",
    )
    metadata: (
        dict[Annotated[str, Field(min_length=1, max_length=64)], Annotated[str, Field(max_length=500), PERSONAL]] | None
    ) = assumed(None, max_length=50)

    @classmethod
    def validated(cls, parsed: object, extra: Literal["forbid"] | None) -> dict[str, Any]:
        """Return a parsed body as a dictionary, as `model_dump` does of an instance; see `Payload`.

        This is the most frequent operation, and pydantic takes half as long again to make instances.
        """
        members: dict[str, Any] = _dictionaries(cls).validate_python(parsed, extra=extra)
        return members


class RatesRequest(Payload):
    """Which exchange rates to quote."""

    source_currency: CurrencyCode = assumed()
    target_currency: CurrencyCode | None = assumed(None, description="All currencies when absent.")
    amount: Amount | None = assumed(None, description="In the source currency.")


class MethodsRequest(Payload):
    """For what to list payment methods."""

    currency: CurrencyCode = assumed()
    country: Country | None = assumed(None)
    amount: Amount | None = assumed(None)


class Empty(Payload):
    """A body without members; no body at all is the same."""


class RefundRequest(Payload):
    """A refund to start."""

    payin_id: ResourceId = assumed()
    amount: Amount | None = assumed(None, description="The rest when absent.")
    currency: CurrencyCode | None = assumed(None, description="That of the pay-in; 422 for another one.")
    reason: Text | None = assumed(None)
    external_identifier: Identifier | None = assumed(None)


class EvidenceRequest(Payload):
    """Evidence against a dispute."""

    evidence: dict[
        Annotated[str, Field(min_length=1, max_length=64)], Annotated[str, Field(max_length=20_000), PERSONAL]
    ] = assumed(min_length=1, max_length=50)


class Beneficiary(Payload):
    """Who is paid out."""

    name: Name = assumed()
    account: Annotated[str, Field(min_length=1, max_length=64), PERSONAL] = assumed(examples=["DE02120300000000202051"])


class PayoutRequest(Payload):
    """A payout to initiate."""

    amount: Amount = assumed()
    currency: CurrencyCode = assumed()
    external_identifier: Identifier = assumed()
    beneficiary: Beneficiary = assumed()


class TransactionRequest(Payload):
    """A transaction to book."""

    type: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,63}$")] = assumed(examples=["ADJUSTMENT"])
    amount: Amount = assumed()
    currency: CurrencyCode = assumed()
    external_identifier: Identifier = assumed()
    description: Text | None = assumed(None)


# Answers


class FailureView(Answer):
    """Why it failed."""

    code: str = assumed()
    message: str = assumed()


class PaymentMethodView(Answer):
    """How the payer pays."""

    type: str = documented()
    code: str = documented()
    name: str = documented()


class CustomerView(Answer):
    """Who pays."""

    first_name: str = documented()
    last_name: str = documented()
    email: str = documented()


class PayInObject(Answer):
    """A pay-in as its events carry it (contract section 2.2)."""

    id: str = documented()
    object: Literal["payin"] = documented()
    reference: str = documented()
    external_identifier: str = documented()
    amount: MoneyOut = documented()
    currency: str = documented()
    status: PayInState = documented()
    payment_method: PaymentMethodView = documented()
    customer: CustomerView = documented()
    created_at: Timestamp = documented()
    updated_at: Timestamp = documented()


class PayInView(PayInObject):
    """A pay-in as the API answers with it."""

    payment_url: str = assumed()
    expires_at: Timestamp = assumed()
    return_url: str | None = assumed()
    metadata: dict[str, str] = assumed()
    failure: FailureView | None = assumed(None)


class RefundView(Answer):
    """A refund; the contract shows none of its fields."""

    id: str = assumed()
    object: Literal["refund"] = assumed()
    payin_id: str = assumed()
    reference: str = assumed()
    external_identifier: str | None = assumed(None)
    amount: MoneyOut = assumed()
    currency: str = assumed()
    status: RefundState = assumed()
    reason: str | None = assumed(None)
    failure: FailureView | None = assumed(None)
    created_at: Timestamp = assumed()
    updated_at: Timestamp = assumed()


class DisputeView(Answer):
    """A dispute; the contract shows none of its fields."""

    id: str = assumed()
    object: Literal["dispute"] = assumed()
    payin_id: str = assumed()
    reference: str = assumed()
    amount: MoneyOut = assumed()
    currency: str = assumed()
    status: DisputeState = assumed()
    reason: str = assumed()
    evidence_due_by: Timestamp = assumed()
    evidence: dict[str, str] = assumed()
    created_at: Timestamp = assumed()
    updated_at: Timestamp = assumed()


class BeneficiaryView(Answer):
    """Who is paid out."""

    name: str = assumed()
    account: str = assumed()


class PayoutView(Answer):
    """A payout."""

    id: str = assumed()
    object: Literal["payout"] = assumed()
    reference: str = assumed()
    external_identifier: str = assumed()
    amount: MoneyOut = assumed()
    currency: str = assumed()
    status: PayoutState = assumed()
    beneficiary: BeneficiaryView = assumed()
    failure: FailureView | None = assumed(None)
    created_at: Timestamp = assumed()
    updated_at: Timestamp = assumed()


class TransactionView(Answer):
    """A transaction."""

    id: str = assumed()
    object: Literal["transaction"] = assumed()
    type: str = assumed()
    reference: str = assumed()
    external_identifier: str = assumed()
    amount: MoneyOut = assumed()
    currency: str = assumed()
    status: Literal["created"] = assumed()
    description: str | None = assumed(None)
    created_at: Timestamp = assumed()
    updated_at: Timestamp = assumed()


class RateView(Answer):
    """One rate, good until `expires_at`."""

    source_currency: str = assumed()
    target_currency: str = assumed()
    rate: Annotated[Decimal, WithJsonSchema({"type": "number"})] = assumed()
    source_amount: MoneyOut | None = assumed(None)
    target_amount: MoneyOut | None = assumed(None)
    expires_at: Timestamp = assumed()


class RatesView(Answer):
    """Exchange rates."""

    rates: list[RateView] = assumed()


class MethodView(Answer):
    """One payment method; its limits are in the currency that was asked for."""

    type: str = assumed()
    code: str = assumed()
    name: str = assumed()
    currencies: list[str] = assumed()
    countries: list[str] = assumed(description="An empty list means every country.")
    min_amount: MoneyOut = assumed()
    max_amount: MoneyOut = assumed()


class MethodsView(Answer):
    """Payment methods."""

    payment_methods: list[MethodView] = assumed()
