"""Refunds (assumed operations)."""

from __future__ import annotations

from paydouble.api.calls import Call
from paydouble.api.handlers import minor_units, page, refuse_duplicate
from paydouble.api.schemas import RefundRequest
from paydouble.core.errors import ApiError
from paydouble.payments.resources import Document, PayIn, Refund


def create(call: Call) -> Document:
    """Start a refund of a succeeded pay-in; emits refund.created."""
    wanted: RefundRequest = call.payload
    pay_in = call.sandbox.ledger.get(PayIn, wanted.payin_id)
    if wanted.currency is not None and wanted.currency != pay_in.currency:
        reason = f"currency: pay-in {pay_in.id} is in {pay_in.currency}, and the refund in {wanted.currency}."
        raise ApiError("VALIDATION_ERROR", reason)
    amount = None if wanted.amount is None else minor_units(wanted.amount, pay_in.currency, pay_in.digits)
    refuse_duplicate(call.sandbox, Refund, wanted.external_identifier)
    refund = call.sandbox.create_refund(
        pay_in, amount=amount, reason=wanted.reason, external_identifier=wanted.external_identifier
    )
    return refund.document(call.sandbox.ledger.stamp)


def retrieve(call: Call) -> Document:
    """Return one refund."""
    return call.sandbox.ledger.get(Refund, call.params["id"]).document(call.sandbox.ledger.stamp)


def list_refunds(call: Call) -> Document:
    """Return a page of refunds."""
    return page(call, Refund, ("payin_id",))
