"""Every resource of one business, and the only code that changes one.

A command checks its rules first and then changes everything or nothing. Each event is passed to `emit`, in the order in
which they happen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol, TypeVar

from paydouble.core.errors import ApiError, IllegalTransition
from paydouble.core.ids import Ids
from paydouble.core.money import json_amount, write_minor
from paydouble.payments import events, lifecycle
from paydouble.payments.resources import (
    AnyResource,
    Dispute,
    Document,
    Failure,
    Order,
    PayIn,
    Payout,
    Refund,
    Resource,
    Stamp,
    Transaction,
)

R = TypeVar("R", bound=AnyResource)
Named = PayIn | Refund | Payout | Transaction
"""What can have an external identifier."""

_OPEN_REFUND: Final = lifecycle.unfinished(lifecycle.REFUND)
_OPEN_DISPUTE: Final = lifecycle.unfinished(lifecycle.DISPUTE)


class Emit(Protocol):
    """Takes an event: its type, the resource with its documented members, and their earlier values."""

    def __call__(self, kind: str, resource: Resource, document: Document, previous: Document, now: int) -> object:
        """Record the event."""


class Ledger:
    """The ledger of one business."""

    __slots__ = ("_about", "_emit", "_identifiers", "_ids", "_order", "_resources", "stamp")

    def __init__(self, ids: Ids, stamp: Stamp, emit: Emit) -> None:
        """Start empty."""
        self._ids = ids
        self.stamp = stamp
        self._emit = emit
        self._resources: dict[str, AnyResource] = {}
        self._order: dict[type, list[Any]] = {kind: [] for kind in (PayIn, Refund, Dispute, Payout, Transaction)}
        self._about: dict[str, list[Refund | Dispute]] = {}
        """The refunds and disputes of each pay-in, by its id."""
        self._identifiers: dict[type, tuple[int, dict[str, list[str]]]] = {}
        """By kind: how many resources have been indexed, and the holders of each external identifier."""

    # Queries

    def get(self, kind: type[R], resource_id: str) -> R:
        """Return a resource, or raise NOT_FOUND."""
        found = self._resources.get(resource_id)
        if not isinstance(found, kind):
            raise ApiError("NOT_FOUND", f"There is no {kind.OBJECT} {resource_id[:64]!r}.")
        return found

    def find(self, resource_id: str) -> AnyResource | None:
        """Return a resource of any kind, or None."""
        return self._resources.get(resource_id)

    def newest_first(self, kind: type[R], before: int | None = None) -> Iterator[R]:
        """Iterate over the resources of a kind; `before` is the sequence number to start below."""
        order: list[R] = self._order[kind]
        start = len(order) if before is None else min(before - 1, len(order))
        return (order[index] for index in range(start - 1, -1, -1))

    def oldest_first(self, kind: type[R], after: int | None = None) -> Iterator[R]:
        """Iterate over the resources of a kind; `after` is the sequence number to start behind."""
        order: list[R] = self._order[kind]
        return (order[index] for index in range(after or 0, len(order)))

    def count(self, kind: type[AnyResource]) -> int:
        """Count the resources of a kind."""
        return len(self._order[kind])

    def holder(self, kind: type[Named], external_identifier: str) -> str | None:
        """Return the id of the first resource of a kind that has an external identifier."""
        return next(iter(self.holders(kind, external_identifier)), None)

    def holders(self, kind: type[Named], external_identifier: str) -> Sequence[str]:
        """Return the ids of the resources of a kind that have an external identifier, the oldest first."""
        # Indexed here rather than with each creation, since it is needed only with a setting.
        seen, holders = self._identifiers.get(kind, (0, {}))
        order: list[Named] = self._order[kind]
        for resource in order[seen:]:
            if resource.external_identifier is not None:
                holders.setdefault(resource.external_identifier, []).append(resource.id)
        self._identifiers[kind] = len(order), holders
        return holders.get(external_identifier, ())

    def disputed(self, pay_in: PayIn) -> int:
        """Return the money of open, lost and accepted disputes, in minor units."""
        return self._sum(pay_in, Dispute, *_OPEN_DISPUTE, *lifecycle.CHARGED_BACK)

    def refundable(self, pay_in: PayIn, *, disputed_too: bool) -> int:
        """Return the most that a refund can give back, in minor units."""
        held = 0 if disputed_too else self.disputed(pay_in)
        return max(0, pay_in.amount - pay_in.refund_reserved - held)

    def money(self, pay_in: PayIn) -> Document:
        """Return how much of a pay-in is refunded, disputed or charged back; the contract's pay-in does not show it."""
        sums = {
            "refunded_amount": self._sum(pay_in, Refund, lifecycle.REFUNDED),
            "refund_pending_amount": self._sum(pay_in, Refund, *_OPEN_REFUND),
            "disputed_amount": self._sum(pay_in, Dispute, *_OPEN_DISPUTE),
            "charged_back_amount": self._sum(pay_in, Dispute, *lifecycle.CHARGED_BACK),
        }
        return {name: json_amount(amount, pay_in.digits) for name, amount in sums.items()}

    def _sum(self, pay_in: PayIn, kind: type[Refund | Dispute], *states: str) -> int:
        about = self._about.get(pay_in.id, ())
        return sum(each.amount for each in about if isinstance(each, kind) and each.status in states)

    # Commands

    def create_pay_in(
        self, now: int, order: Order, *, checkout_base: str, scenario: str = ""
    ) -> tuple[PayIn, Document]:
        """Open a deposit, `created`; return it with its documented members as its first event has them."""
        # By position; see `api.handlers.pay_ins.open_deposit`.
        pay_in = PayIn(
            self._ids.make("payin"),
            len(self._order[PayIn]) + 1,
            self._ids.reference("PAY"),
            now,
            now,
            now + order.expires_in_ms,
            checkout_base,
            order.external_identifier,
            order.amount,
            order.currency,
            order.digits,
            order.payment_method,
            order.customer,
            order.return_url,
            order.notification_url,
            order.metadata,
        )
        pay_in.scenario = scenario
        return pay_in, self._open(pay_in, now)

    def create_refund(  # noqa: PLR0913 - a refund has this many members
        self,
        now: int,
        pay_in: PayIn,
        *,
        amount: int | None,
        reason: str | None,
        external_identifier: str | None,
        disputed_too: bool = False,
    ) -> Refund:
        """Refund an amount in minor units, or the rest; never more than the rest, from which pending refunds are taken.

        Money that is disputed or charged back is not part of the rest, unless `disputed_too`.
        """
        if pay_in.status != lifecycle.PAID:
            message = f"Pay-in {pay_in.id} is {pay_in.status}; only a succeeded pay-in can be refunded."
            raise ApiError("VALIDATION_ERROR", message)
        rest = self.refundable(pay_in, disputed_too=disputed_too)
        wanted = rest if amount is None else amount
        if wanted <= 0 or wanted > rest:
            asked = write_minor(wanted, pay_in.digits)
            left = write_minor(rest, pay_in.digits)
            disputed = 0 if disputed_too else self.disputed(pay_in)
            message = f"A refund of {asked} {pay_in.currency} is more than the {left} that is left of {pay_in.id}"
            if not rest:
                message = f"Nothing is left to refund of {pay_in.id}; pending refunds count"
            if disputed:
                held = write_minor(disputed, pay_in.digits)
                message += f"; {held} {pay_in.currency} is disputed or charged back"
            raise ApiError("VALIDATION_ERROR", f"{message}.")
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
            digits=pay_in.digits,
        )
        pay_in.refund_reserved += wanted
        self._about.setdefault(pay_in.id, []).append(refund)
        self._open(refund, now)
        return refund

    def open_dispute(  # noqa: PLR0913 - a dispute has this many members
        self, now: int, pay_in: PayIn, *, amount: int | None, reason: str, window_ms: int, force: bool = False
    ) -> Dispute:
        """Open a dispute about an amount in minor units, or about all that is not disputed yet.

        Open, lost and accepted disputes are together about no more than the pay-in's amount. With `force` that is the
        limit of each single one.
        """
        if pay_in.status != lifecycle.PAID:
            message = f"Pay-in {pay_in.id} is {pay_in.status}; only a succeeded pay-in can be disputed."
            raise ApiError("VALIDATION_ERROR", message)
        rest = pay_in.amount if force else max(0, pay_in.amount - self.disputed(pay_in))
        disputed = rest if amount is None else amount
        if (amount is None and not rest) or rest < disputed <= pay_in.amount:
            left = write_minor(rest, pay_in.digits)
            message = (
                f"No more than {left} {pay_in.currency} of {pay_in.id} can be disputed; the rest is disputed or charged"
                " back already. With force: true the dispute is opened all the same."
            )
            raise ApiError("VALIDATION_ERROR", message)
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
            digits=pay_in.digits,
        )
        self._about.setdefault(pay_in.id, []).append(dispute)
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
        digits: int = 2,
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
            digits=digits,
        )
        self._open(payout, now)
        return payout

    def create_transaction(  # noqa: PLR0913 - a transaction has this many members
        self,
        now: int,
        *,
        kind: str,
        external_identifier: str,
        amount: int,
        currency: str,
        description: str | None,
        digits: int = 2,
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
            digits=digits,
        )
        self._keep(transaction)
        return transaction

    def transition(  # noqa: PLR0913 - what a transition can say
        self,
        resource: Resource,
        to: str,
        now: int,
        *,
        failure: Failure | None = None,
        force: bool = False,
        window_ms: int = 0,
    ) -> None:
        """Change the state of a resource and emit the event; `IllegalTransition` changes nothing.

        A dispute that needs a response when its time is over gets `window_ms` more.
        """
        lifecycle.check(
            resource.TABLE, kind=resource.OBJECT, subject=resource.id, state=resource.status, to=to, force=force
        )
        before = resource.event_object(self.stamp)
        if isinstance(resource, Refund):
            self._reserve_again(resource, to)
        if not isinstance(resource, Dispute):
            resource.failure = (failure or Failure()) if to == "failed" else None
        if isinstance(resource, PayIn) and to == lifecycle.PAID:
            resource.settle()
        if isinstance(resource, Dispute) and to == "needs_response" and resource.evidence_due_by <= now:
            resource.evidence_due_by = now + window_ms
        resource.status = to
        self._touched(resource, before, now)

    def add_evidence(self, dispute: Dispute, evidence: dict[str, str], now: int) -> None:
        """Add the merchant's evidence; the dispute is under review then.

        It is refused from `evidence_due_by` on: a dispute without evidence is lost at that instant.
        """
        lifecycle.check(dispute.TABLE, kind=dispute.OBJECT, subject=dispute.id, state=dispute.status, to="under_review")
        if now >= dispute.evidence_due_by:
            due = self.stamp(dispute.evidence_due_by)
            raise ApiError("VALIDATION_ERROR", f"Evidence for {dispute.id} was due by {due}; it comes too late.")
        before = dispute.event_object(self.stamp)
        dispute.evidence = {**dispute.evidence, **evidence}
        dispute.status = "under_review"
        self._touched(dispute, before, now)

    def _reserve_again(self, refund: Refund, to: str) -> None:
        # The amount of a failed refund can be refunded again; one that is forced out of `failed` takes it back.
        pay_in = self.get(PayIn, refund.payin_id)
        held = refund.status != "failed"
        holds = to != "failed"
        if holds > held and pay_in.refund_reserved + refund.amount > pay_in.amount:
            because = f"{pay_in.id} has too little left to refund; not even force gives back more than was paid"
            raise IllegalTransition(refund.OBJECT, refund.id, refund.status, to, (), because=because)
        pay_in.refund_reserved += (holds - held) * refund.amount

    def _open(self, resource: Resource, now: int) -> Document:
        self._keep(resource)
        document = resource.event_object(self.stamp)
        kind = events.event_type(resource, opened=True)
        if kind:
            self._emit(kind, resource, document, {}, now)
        return document

    def _keep(self, resource: AnyResource) -> None:
        self._resources[resource.id] = resource
        self._order[type(resource)].append(resource)

    def _touched(self, resource: Resource, before: Document, now: int) -> None:
        resource.updated_at = now
        after = resource.event_object(self.stamp)
        resource.previous = previous = events.changes(before, after)
        kind = events.event_type(resource, opened=False)
        if kind:
            self._emit(kind, resource, after, previous, now)
