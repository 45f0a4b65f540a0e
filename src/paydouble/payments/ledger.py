"""Every resource of one business, and the only code that changes one.

A command checks its rules first and changes everything or nothing. Whoever made the ledger is told of each event
through `emit`, in the order in which they happened.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, TypeVar

from paydouble.core.errors import ApiError, IllegalTransition
from paydouble.core.ids import Ids
from paydouble.core.money import write_amount
from paydouble.payments import events, lifecycle
from paydouble.payments.resources import (
    Dispute,
    Document,
    Failure,
    Living,
    Order,
    PayIn,
    Payout,
    Refund,
    Resource,
    Stamp,
    Transaction,
)

R = TypeVar("R", bound=Resource)


class Emit(Protocol):
    """What the ledger tells of: an event type, the resource with its documented members, and what they were."""

    def __call__(self, kind: str, resource: Living, document: Document, previous: Document, now: int) -> object:
        """Record the event."""


class Ledger:
    """The books of one business."""

    __slots__ = ("_emit", "_ids", "_order", "_resources", "stamp")

    def __init__(self, ids: Ids, stamp: Stamp, emit: Emit) -> None:
        """Start with empty books."""
        self._ids = ids
        self.stamp = stamp
        self._emit = emit
        self._resources: dict[str, Resource] = {}
        self._order: dict[type, list[Any]] = {kind: [] for kind in (PayIn, Refund, Dispute, Payout, Transaction)}

    # Queries

    def get(self, kind: type[R], resource_id: str) -> R:
        """Return a resource, or raise NOT_FOUND."""
        found = self._resources.get(resource_id)
        if not isinstance(found, kind):
            raise ApiError("NOT_FOUND", f"There is no {kind.OBJECT} {resource_id[:64]!r}.")
        return found

    def find(self, resource_id: str) -> Resource | None:
        """Return a resource of any kind, or None."""
        return self._resources.get(resource_id)

    def newest_first(self, kind: type[R], before: int | None = None) -> Iterator[R]:
        """Iterate over the resources of a kind; `before` is the sequence number to start below."""
        order: list[R] = self._order[kind]
        start = len(order) if before is None else min(before - 1, len(order))
        return (order[index] for index in range(start - 1, -1, -1))

    def count(self, kind: type[Resource]) -> int:
        """Count the resources of a kind."""
        return len(self._order[kind])

    # Commands

    def create_pay_in(
        self, now: int, order: Order, *, checkout_base: str, scenario: str = ""
    ) -> tuple[PayIn, Document]:
        """Open a deposit, `created`; returns it with its documented members as they stand in its first event."""
        identifier, amount, currency, method, customer, expires_in_ms, return_url, notification_url, metadata = order
        # By place: names, for a class with as many members, make this the dearest line of a deposit.
        pay_in = PayIn(
            self._ids.make("payin"),
            len(self._order[PayIn]) + 1,
            self._ids.reference("PAY"),
            identifier,
            amount,
            currency,
            method,
            customer,
            now,
            now,
            now + expires_in_ms,
            checkout_base,
            return_url,
            notification_url,
            metadata,
        )
        pay_in.scenario = scenario
        return pay_in, self._open(pay_in, now)

    def create_refund(
        self, now: int, pay_in: PayIn, *, amount: int | None, reason: str | None, external_identifier: str | None
    ) -> Refund:
        """Give back an amount in minor units, or the rest; never more than the rest, pending refunds counted."""
        if pay_in.status != "succeeded":
            message = f"Pay-in {pay_in.id} is {pay_in.status}; only a succeeded pay-in can be refunded."
            raise ApiError("VALIDATION_ERROR", message)
        rest = pay_in.amount - pay_in.refund_reserved
        wanted = rest if amount is None else amount
        if wanted <= 0 or wanted > rest:
            asked = write_amount(wanted, pay_in.currency)
            left = write_amount(rest, pay_in.currency)
            message = f"A refund of {asked} {pay_in.currency} is more than the {left} that is left of {pay_in.id}."
            if not rest:
                message = f"Nothing is left to refund of {pay_in.id}; pending refunds count."
            raise ApiError("VALIDATION_ERROR", message)
        refund = Refund(
            id=self._ids.make("refund"),
            sequence=len(self._order[Refund]) + 1,
            payin_id=pay_in.id,
            reference=self._ids.reference("REF"),
            external_identifier=external_identifier,
            amount=wanted,
            currency=pay_in.currency,
            reason=reason,
            created_at=now,
            updated_at=now,
        )
        pay_in.refund_reserved += wanted
        self._open(refund, now)
        return refund

    def open_dispute(self, now: int, pay_in: PayIn, *, amount: int | None, reason: str, window_ms: int) -> Dispute:
        """Record a chargeback of an amount in minor units, or of the whole pay-in."""
        if pay_in.status != "succeeded":
            message = f"Pay-in {pay_in.id} is {pay_in.status}; only a succeeded pay-in can be disputed."
            raise ApiError("VALIDATION_ERROR", message)
        disputed = pay_in.amount if amount is None else amount
        if not 0 < disputed <= pay_in.amount:
            message = f"A dispute is about more than nothing and at most the amount of {pay_in.id}."
            raise ApiError("VALIDATION_ERROR", message)
        dispute = Dispute(
            id=self._ids.make("dispute"),
            sequence=len(self._order[Dispute]) + 1,
            payin_id=pay_in.id,
            reference=self._ids.reference("DSP"),
            amount=disputed,
            currency=pay_in.currency,
            reason=reason,
            evidence_due_by=now + window_ms,
            created_at=now,
            updated_at=now,
        )
        self._open(dispute, now)
        return dispute

    def create_payout(  # noqa: PLR0913 - a payout has this many members
        self,
        now: int,
        *,
        external_identifier: str,
        amount: int,
        currency: str,
        beneficiary_name: str,
        beneficiary_account: str,
    ) -> Payout:
        """Start a payout."""
        payout = Payout(
            id=self._ids.make("payout"),
            sequence=len(self._order[Payout]) + 1,
            reference=self._ids.reference("PYO"),
            external_identifier=external_identifier,
            amount=amount,
            currency=currency,
            beneficiary_name=beneficiary_name,
            beneficiary_account=beneficiary_account,
            created_at=now,
            updated_at=now,
        )
        self._open(payout, now)
        return payout

    def create_transaction(  # noqa: PLR0913 - a transaction has this many members
        self, now: int, *, kind: str, external_identifier: str, amount: int, currency: str, description: str | None
    ) -> Transaction:
        """Book a transaction."""
        transaction = Transaction(
            id=self._ids.make("txn"),
            sequence=len(self._order[Transaction]) + 1,
            type=kind,
            reference=self._ids.reference("TXN"),
            external_identifier=external_identifier,
            amount=amount,
            currency=currency,
            description=description,
            created_at=now,
            updated_at=now,
        )
        self._keep(transaction)
        return transaction

    def transition(
        self, resource: Living, to: str, now: int, *, failure: Failure | None = None, force: bool = False
    ) -> None:
        """Move a resource along its table and emit what that means; `IllegalTransition` changes nothing."""
        lifecycle.check(
            resource.TABLE, kind=resource.OBJECT, subject=resource.id, state=resource.status, to=to, force=force
        )
        before = resource.event_object(self.stamp)
        if isinstance(resource, Refund):
            self._reserve_again(resource, to)
        if not isinstance(resource, Dispute):
            resource.failure = (failure or Failure()) if to == "failed" else None
        if isinstance(resource, PayIn) and to == "succeeded" and resource.settles_at is not None:
            resource.amount = resource.settles_at
        resource.status = to
        self._touched(resource, before, now)

    def add_evidence(self, dispute: Dispute, evidence: dict[str, str], now: int) -> None:
        """Take the merchant's evidence; the dispute goes, or stays, under review."""
        lifecycle.check(dispute.TABLE, kind=dispute.OBJECT, subject=dispute.id, state=dispute.status, to="under_review")
        before = dispute.event_object(self.stamp)
        dispute.evidence = {**dispute.evidence, **evidence}
        dispute.status = "under_review"
        self._touched(dispute, before, now)

    def _reserve_again(self, refund: Refund, to: str) -> None:
        # A failed refund gives its amount back to the rest; one that is forced out of `failed` takes it again.
        pay_in = self.get(PayIn, refund.payin_id)
        held = refund.status != "failed"
        holds = to != "failed"
        if holds > held and pay_in.refund_reserved + refund.amount > pay_in.amount:
            because = f"{pay_in.id} has too little left to refund; not even force gives back more than was paid"
            raise IllegalTransition(refund.OBJECT, refund.id, refund.status, to, (), because=because)
        pay_in.refund_reserved += (holds - held) * refund.amount

    def _open(self, resource: Living, now: int) -> Document:
        self._keep(resource)
        document = resource.event_object(self.stamp)
        kind = events.event_type(resource, opened=True)
        if kind:
            self._emit(kind, resource, document, {}, now)
        return document

    def _keep(self, resource: Resource) -> None:
        self._resources[resource.id] = resource
        self._order[type(resource)].append(resource)

    def _touched(self, resource: Living, before: Document, now: int) -> None:
        resource.updated_at = now
        after = resource.event_object(self.stamp)
        resource.previous = previous = events.changes(before, after)
        kind = events.event_type(resource, opened=False)
        if kind:
            self._emit(kind, resource, after, previous, now)
