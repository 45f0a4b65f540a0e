"""Disputes (assumed operations)."""

from __future__ import annotations

from paydouble.api.calls import Call
from paydouble.api.handlers import page
from paydouble.api.schemas import EvidenceRequest
from paydouble.payments.resources import Dispute, Document


def retrieve(call: Call) -> Document:
    """Return one dispute."""
    return call.sandbox.ledger.get(Dispute, call.params["id"]).document(call.sandbox.ledger.stamp)


def list_disputes(call: Call) -> Document:
    """Return a page of disputes."""
    return page(call, Dispute, ("payin_id",))


def submit_evidence(call: Call) -> Document:
    """Submit evidence; emits dispute.updated."""
    wanted: EvidenceRequest = call.payload
    dispute = call.sandbox.ledger.get(Dispute, call.params["id"])
    call.sandbox.submit_evidence(dispute, wanted.evidence)
    return dispute.document(call.sandbox.ledger.stamp)


def accept(call: Call) -> Document:
    """Accept a dispute; emits dispute.closed."""
    dispute = call.sandbox.ledger.get(Dispute, call.params["id"])
    call.sandbox.accept_dispute(dispute)
    return dispute.document(call.sandbox.ledger.stamp)
