"""How `check --play` and `trigger` play a scenario: the deposit, the merchant's actions, and the expected events."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, ValidationInfo, WithJsonSchema, field_validator, model_validator

from paydouble.config import Duration, Flag, Whole
from paydouble.payments.declines import DECLINES
from paydouble.scenarios.event_types import EventType
from paydouble.scenarios.matching import Exact
from paydouble.scenarios.steps import FailureSpec, PayerChoice
from paydouble.yamlfile.places import FileModel

ACTIONS: Final = ("deposit", "retrieve", "cancel", "refund", "evidence", "accept", "payer")
Text = Annotated[str, Field(min_length=1, max_length=500)]


class DepositMethod(FileModel):
    """How the payer pays."""

    type: Text = "CREDIT_CARD"
    code: Text | None = None


class DepositCustomer(FileModel):
    """The payer."""

    first_name: Text = "Ada"
    last_name: Text = "Lovelace"
    email: Text = "ada@example.test"


class Deposit(FileModel):
    """The members of the deposit request; each has a default that works."""

    amount: Exact | None = None
    """Default 49.90, which fits currencies with at least one minor digit; for others it must be given."""
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")] = "EUR"
    country: Annotated[str, Field(pattern="^[A-Z]{2}$")] | None = None
    external_identifier: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    payment_method: DepositMethod | None = None
    customer: DepositCustomer | None = None
    expires_in: Whole | None = Field(None, ge=60, le=2_592_000)
    metadata: dict[str, str] | None = None


class RefundWish(FileModel):
    """A refund request of the merchant; without an amount, of the rest."""

    amount: Exact | None = None
    reason: Text | None = None


class PayerAction(FileModel):
    """What the payer does while the script waits for the payer."""

    action: PayerChoice
    """`pay`, `decline` (the payment is declined) or `abandon` (the payer gives up)."""
    code: str | None = Field(None, min_length=1, max_length=64)
    """The code of the failure; only with `action: decline`."""

    @field_validator("code")
    @classmethod
    def _declines(cls, code: str | None, found: ValidationInfo) -> str | None:
        action = found.data.get("action", "decline")
        if code is not None and action != "decline":
            message = f"a code goes with action: decline, not with action: {action}"
            raise ValueError(message)
        return code

    @property
    def failure(self) -> FailureSpec | None:
        """Return the failure that the payer has chosen; None when the script decides."""
        if self.code is None:
            return None
        return FailureSpec(code=self.code, message=DECLINES.get(self.code, "The payment was declined."))


class Action(FileModel):
    """One action of the merchant or the payer, some time after the end of the previous action, or of the deposit.

    A call that fails (no answer, 5xx, 429) is repeated with the same key a second later, at most five times.
    """

    after: Duration
    """Time since the end of the previous action, including its repeated calls."""
    deposit: Deposit | None = None
    """Makes another deposit; members that are left out are the first deposit's."""
    retrieve: Flag | None = None
    """Retrieves the pay-in."""
    cancel: Flag | None = None
    """Cancels the pay-in."""
    refund: RefundWish | None = None
    """Requests a refund."""
    evidence: dict[str, str] | None = None
    """Submits evidence against the latest dispute."""
    accept: Flag | None = None
    """Accepts the latest dispute."""
    payer: PayerAction | None = None
    """Not the merchant: the payer acts, while the script waits for the payer."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = self._given()
        if len(given) != 1:
            what = " and ".join(given) or "nothing"
            message = f"an action has exactly one of {', '.join(ACTIONS)}, not {what}"
            raise ValueError(message)
        return self

    def _given(self) -> list[str]:
        return [name for name in ACTIONS if getattr(self, name) is not None and getattr(self, name) is not False]

    @property
    def kind(self) -> str:
        """Return the name of the action."""
        return self._given()[0]


class ExpectedEvent(FileModel):
    """An event type together with members of the event's object."""

    event: EventType
    object: dict[str, Any] = Field(min_length=1)
    """Members that the event's object must have, with their values."""


Expected = Annotated[EventType | ExpectedEvent, Field(union_mode="left_to_right")]
Answer = Annotated[
    Annotated[Whole, Field(ge=100, le=599)] | Literal["lost"],
    Field(union_mode="left_to_right"),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 100, "maximum": 599}, {"const": "lost"}]}),
]
"""The status that a call of the merchant gets; `lost` when no answer arrives, or it cannot be parsed."""


class Case(FileModel):
    """An alternative set of merchant actions, with the events expected for them."""

    name: Text
    deposit: Deposit | None = None
    """Default: the scenario's deposit."""
    merchant: tuple[Action, ...] = ()
    answers: tuple[Answer, ...] | None = None
    expect: tuple[Expected, ...]
