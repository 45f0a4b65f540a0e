"""Objects for test webhooks: they are in no ledger, so nothing can be asked or done about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paydouble.payments.resources import Customer, Dispute, Failure, PayIn, PaymentMethod, Refund

if TYPE_CHECKING:
    from paydouble.sandbox.business import Sandbox

_DISPUTE_STATES = {"created": "needs_response", "updated": "under_review", "closed": "won"}


def sample(box: Sandbox, kind: str) -> PayIn | Refund | Dispute:
    """Return an object in the state that an event type tells of."""
    family, _, state = kind.partition(".")
    now = box.now
    number = box.journal.events.total
    pay_in = PayIn(
        id=box.ids.derive("payin", "sample", number),
        sequence=0,
        reference="PAY-TEST-TEST",
        external_identifier="test-webhook",
        amount=4990,
        currency="EUR",
        payment_method=PaymentMethod("CREDIT_CARD", "card", "Credit card"),
        customer=Customer("Ada", "Lovelace", "ada@example.test"),
        created_at=now,
        updated_at=now,
        expires_at=now + 86_400_000,
        checkout_base="",
        status=state if family == "pay-in" else "succeeded",
    )
    if family == "refund":
        return Refund(
            id=box.ids.derive("refund", "sample", number),
            sequence=0,
            payin_id=pay_in.id,
            reference="REF-TEST-TEST",
            external_identifier=None,
            amount=pay_in.amount,
            currency=pay_in.currency,
            reason=None,
            created_at=now,
            updated_at=now,
            status=state,
            failure=Failure() if state == "failed" else None,
        )
    if family == "dispute":
        return Dispute(
            id=box.ids.derive("dispute", "sample", number),
            sequence=0,
            payin_id=pay_in.id,
            reference="DSP-TEST-TEST",
            amount=pay_in.amount,
            currency=pay_in.currency,
            reason="fraudulent",
            evidence_due_by=now + box.settings.disputes.response_window,
            created_at=now,
            updated_at=now,
            status=_DISPUTE_STATES[state],
        )
    return pay_in
