"""The resources: what they hold, and how they are written as JSON objects.

They have slots, since a test creates many thousands of them. Only `ledger.py` changes them.
`event_object` returns what the contract documents for an event's `data.object` (principle P1), `document` what the API
answers with, assumed members included. Amounts are minor units, instants are milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from paydouble.core.money import json_amount
from paydouble.payments import lifecycle

Stamp = Callable[[int], str]
Document = dict[str, Any]


class Failure(NamedTuple):
    """Why a pay-in or a refund failed."""

    code: str = "declined"
    message: str = "The payment was declined."

    def document(self) -> Document:
        """Return the JSON object."""
        return {"code": self.code, "message": self.message}


class PaymentMethod(NamedTuple):
    """How the payer pays (contract section 2.2)."""

    type: str
    code: str
    name: str


class Customer(NamedTuple):
    """Who pays (contract section 2.2)."""

    first_name: str
    last_name: str
    email: str


class Currency(NamedTuple):
    """A currency, and how many minor digits it has."""

    code: str
    digits: int


@dataclass(slots=True, eq=False)
class Order:
    """What a merchant asks for with a deposit; the amount in minor units.

    No member has a default, so the type checker reports code that forgets one.
    """

    expires_in_ms: int
    external_identifier: str
    amount: int
    currency: str
    digits: int
    payment_method: PaymentMethod
    customer: Customer
    return_url: str | None
    notification_url: str | None
    metadata: dict[str, str] | None


@dataclass(slots=True, eq=False)
class PayIn:
    """A deposit (contract section 2.2)."""

    OBJECT: ClassVar = "payin"
    TABLE: ClassVar = lifecycle.PAY_IN

    id: str
    sequence: int
    reference: str
    created_at: int
    updated_at: int
    expires_at: int
    checkout_base: str
    """The URL of its payer's page, without its id at the end."""
    external_identifier: str
    amount: int
    currency: str
    digits: int
    """Minor digits of its currency, as they were when it was created."""
    payment_method: PaymentMethod
    customer: Customer
    return_url: str | None = None
    notification_url: str | None = None
    metadata: dict[str, str] | None = None
    status: str = "created"
    failure: Failure | None = None
    scenario: str = ""
    refund_reserved: int = 0
    settles_at: int | None = None
    """The amount that will be paid, when that or its currency differs from what was asked for."""
    settles_in: Currency | None = None
    """The currency in which it will be paid, when it differs from `currency`."""
    previous: Document | None = None
    """The documented members that the latest change replaced, with their earlier values."""

    def settle(self) -> None:
        """Take on the amount and the currency that are paid."""
        if self.settles_at is not None:
            self.amount = self.settles_at
        if self.settles_in is not None:
            self.currency, self.digits = self.settles_in

    def event_object(self, stamp: Stamp) -> Document:
        """Return the documented members alone."""
        method = self.payment_method
        customer = self.customer
        created_at = stamp(self.created_at)
        return {
            "id": self.id,
            "object": "payin",
            "reference": self.reference,
            "external_identifier": self.external_identifier,
            "amount": json_amount(self.amount, self.digits),
            "currency": self.currency,
            "status": self.status,
            "payment_method": {"type": method.type, "code": method.code, "name": method.name},
            "customer": {
                "first_name": customer.first_name,
                "last_name": customer.last_name,
                "email": customer.email,
            },
            "created_at": created_at,
            "updated_at": created_at if self.updated_at == self.created_at else stamp(self.updated_at),
        }

    def document(self, stamp: Stamp) -> Document:
        """Return the API's view."""
        return self.extended(self.event_object(stamp), stamp)

    def extended(self, document: Document, stamp: Stamp) -> Document:
        """Add the assumed members to a document of the documented ones, and return it."""
        document["payment_url"] = self.checkout_base + self.id
        document["expires_at"] = stamp(self.expires_at)
        document["return_url"] = self.return_url
        document["metadata"] = self.metadata or {}
        if self.failure is not None:
            document["failure"] = self.failure.document()
        return document


@dataclass(slots=True, eq=False)
class Refund:
    """Money that goes back to the payer (assumed)."""

    OBJECT: ClassVar = "refund"
    TABLE: ClassVar = lifecycle.REFUND

    id: str
    sequence: int
    payin_id: str
    reference: str
    external_identifier: str | None
    amount: int
    currency: str
    reason: str | None
    created_at: int
    updated_at: int
    status: str = "created"
    failure: Failure | None = None
    previous: Document | None = None
    digits: int = 2
    """Minor digits of its currency, as they were when it was created."""

    def event_object(self, stamp: Stamp) -> Document:
        """Return the refund; optional members only when they have a value."""
        document: Document = {
            "id": self.id,
            "object": "refund",
            "payin_id": self.payin_id,
            "reference": self.reference,
            "amount": json_amount(self.amount, self.digits),
            "currency": self.currency,
            "status": self.status,
            "created_at": stamp(self.created_at),
            "updated_at": stamp(self.updated_at),
        }
        if self.external_identifier is not None:
            document["external_identifier"] = self.external_identifier
        if self.reason is not None:
            document["reason"] = self.reason
        if self.failure is not None:
            document["failure"] = self.failure.document()
        return document

    document = event_object


@dataclass(slots=True, eq=False)
class Dispute:
    """A chargeback (assumed)."""

    OBJECT: ClassVar = "dispute"
    TABLE: ClassVar = lifecycle.DISPUTE

    id: str
    sequence: int
    payin_id: str
    reference: str
    amount: int
    currency: str
    reason: str
    evidence_due_by: int
    created_at: int
    updated_at: int
    status: str = "needs_response"
    evidence: dict[str, str] = field(default_factory=dict)
    previous: Document | None = None
    digits: int = 2
    """Minor digits of its currency, as they were when it was created."""

    def event_object(self, stamp: Stamp) -> Document:
        """Return the dispute."""
        return {
            "id": self.id,
            "object": "dispute",
            "payin_id": self.payin_id,
            "reference": self.reference,
            "amount": json_amount(self.amount, self.digits),
            "currency": self.currency,
            "status": self.status,
            "reason": self.reason,
            "evidence_due_by": stamp(self.evidence_due_by),
            "evidence": dict(self.evidence),
            "created_at": stamp(self.created_at),
            "updated_at": stamp(self.updated_at),
        }

    document = event_object


@dataclass(slots=True, eq=False)
class Payout:
    """Money to a beneficiary (assumed)."""

    OBJECT: ClassVar = "payout"
    TABLE: ClassVar = lifecycle.PAYOUT

    id: str
    sequence: int
    reference: str
    external_identifier: str
    amount: int
    currency: str
    beneficiary_name: str
    beneficiary_account: str
    created_at: int
    updated_at: int
    status: str = "created"
    failure: Failure | None = None
    previous: Document | None = None
    digits: int = 2
    """Minor digits of its currency, as they were when it was created."""

    def document(self, stamp: Stamp) -> Document:
        """Return the payout."""
        document: Document = {
            "id": self.id,
            "object": "payout",
            "reference": self.reference,
            "external_identifier": self.external_identifier,
            "amount": json_amount(self.amount, self.digits),
            "currency": self.currency,
            "status": self.status,
            "beneficiary": {"name": self.beneficiary_name, "account": self.beneficiary_account},
            "created_at": stamp(self.created_at),
            "updated_at": stamp(self.updated_at),
        }
        if self.failure is not None:
            document["failure"] = self.failure.document()
        return document

    event_object = document


@dataclass(slots=True, eq=False)
class Transaction:
    """A booking that never changes (assumed). It has no events."""

    OBJECT: ClassVar = "transaction"

    id: str
    sequence: int
    type: str
    reference: str
    external_identifier: str
    amount: int
    currency: str
    description: str | None
    created_at: int
    updated_at: int
    status: str = "created"
    digits: int = 2
    """Minor digits of its currency, as they were when it was created."""

    def document(self, stamp: Stamp) -> Document:
        """Return the transaction."""
        document: Document = {
            "id": self.id,
            "object": "transaction",
            "type": self.type,
            "reference": self.reference,
            "external_identifier": self.external_identifier,
            "amount": json_amount(self.amount, self.digits),
            "currency": self.currency,
            "status": self.status,
            "created_at": stamp(self.created_at),
            "updated_at": stamp(self.updated_at),
        }
        if self.description is not None:
            document["description"] = self.description
        return document


Resource = PayIn | Refund | Dispute | Payout
AnyResource = Resource | Transaction
