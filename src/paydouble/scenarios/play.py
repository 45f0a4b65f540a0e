"""How `check --play` and `trigger` play a scenario: the deposit, what the merchant does, and what is expected then."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, WithJsonSchema, model_validator

from paydouble.config import Duration, Flag, Whole
from paydouble.scenarios.base import EventType, FileModel
from paydouble.scenarios.matching import Exact

ACTIONS: Final = ("deposit", "retrieve", "cancel", "refund", "evidence", "accept")
Text = Annotated[str, Field(min_length=1, max_length=500)]


class DepositMethod(FileModel):
    """How the payer pays."""

    type: Text = "CREDIT_CARD"
    code: Text | None = None


class DepositCustomer(FileModel):
    """Who pays."""

    first_name: Text = "Ada"
    last_name: Text = "Lovelace"
    email: Text = "ada@example.test"


class Deposit(FileModel):
    """The members of the deposit request; what is left out has a value that works."""

    amount: Exact | None = None
    """49.90 when absent; with a currency of its own an amount that fits it must be given."""
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")] = "EUR"
    country: Annotated[str, Field(pattern="^[A-Z]{2}$")] | None = None
    external_identifier: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    payment_method: DepositMethod | None = None
    customer: DepositCustomer | None = None
    expires_in: Whole | None = Field(None, ge=60, le=2_592_000)
    metadata: dict[str, str] | None = None


class RefundWish(FileModel):
    """A refund that the merchant asks for; the rest when no amount is given."""

    amount: Exact | None = None
    reason: Text | None = None


class Action(FileModel):
    """One thing that the merchant does, some time after the end of the one before it; the first after the deposit.

    A call that fails (no answer, 5xx, 429) is made again with the same key a second later, five times at most.
    """

    after: Duration
    """Time since the end of the action before it, its repeated calls included."""
    deposit: Deposit | None = None
    """One more deposit; what it leaves out is as in the first."""
    retrieve: Flag | None = None
    """Asks for the pay-in."""
    cancel: Flag | None = None
    """Cancels the pay-in."""
    refund: RefundWish | None = None
    """Asks for a refund."""
    evidence: dict[str, str] | None = None
    """Hands in evidence against the latest dispute."""
    accept: Flag | None = None
    """Gives in to the latest dispute."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = self._given()
        if len(given) != 1:
            what = " and ".join(given) or "nothing"
            message = f"an action does one thing of {', '.join(ACTIONS)}, not {what}"
            raise ValueError(message)
        return self

    def _given(self) -> list[str]:
        return [name for name in ACTIONS if getattr(self, name) is not None and getattr(self, name) is not False]

    @property
    def kind(self) -> str:
        """Return what is done."""
        return self._given()[0]


class ExpectedEvent(FileModel):
    """An event with some members of its object."""

    event: EventType
    object: dict[str, Any] = Field(min_length=1)
    """Members that the event's object must have, with these values."""


Expected = Annotated[EventType | ExpectedEvent, Field(union_mode="left_to_right")]
Answer = Annotated[
    Annotated[Whole, Field(ge=100, le=599)] | Literal["lost"],
    Field(union_mode="left_to_right"),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 100, "maximum": 599}, {"const": "lost"}]}),
]
"""The status that a call of the merchant gets; `lost` when no answer arrives, or none that can be read."""


class Case(FileModel):
    """Another way in which the merchant may act, and what then comes."""

    name: Text
    deposit: Deposit | None = None
    """The scenario's own when absent."""
    merchant: tuple[Action, ...] = ()
    answers: tuple[Answer, ...] | None = None
    expect: tuple[Expected, ...]
