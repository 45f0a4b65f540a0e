"""The bodies of the scenario calls."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, Field

from paydouble.api.schemas import (
    Amount,
    CurrencyCode,
    CustomerInput,
    DepositRequest,
    Email,
    Identifier,
    Name,
    PaymentMethodChoice,
)
from paydouble.core.refusals import sentence
from paydouble.web.control.models import Body


def _exact(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        message = sentence("decimal_type", value, {}, "")
        raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError, not TypeError, into a located error
    # Control bodies have whole numbers as int, and a strict Decimal takes none.
    return Decimal(value) if isinstance(value, int) else value


class ScenarioText(Body):
    """A scenario as the text of its YAML file; one document, without aliases, at most 1 MiB."""

    yaml: str


class ActiveScenario(Body):
    """Which scenario every new pay-in plays."""

    name: str = Field(min_length=1, max_length=64)


class PlayedCustomer(CustomerInput):
    """Who pays."""

    model_config = ConfigDict(strict=True, extra="forbid")

    first_name: Name = "Ada"
    last_name: Name = "Lovelace"
    email: Email = "ada@example.test"


class PlayedMethod(PaymentMethodChoice):
    """How the payer pays."""

    model_config = ConfigDict(strict=True, extra="forbid")

    type: str = Field("CREDIT_CARD", min_length=1, max_length=64)


class PlayedDeposit(DepositRequest):
    """The members of a deposit, each with a default; `external_identifier` then is `scenario-NAME-N`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    amount: Annotated[Amount, BeforeValidator(_exact)] = Field(Decimal("49.90"), json_schema_extra={"default": 49.9})
    currency: CurrencyCode = "EUR"
    external_identifier: Identifier = Field(default_factory=str)
    payment_method: PlayedMethod = Field(default_factory=PlayedMethod)
    customer: PlayedCustomer = Field(default_factory=PlayedCustomer)


class PlayScenario(Body):
    """The pay-in that plays a scenario."""

    deposit: PlayedDeposit = Field(default_factory=PlayedDeposit)
