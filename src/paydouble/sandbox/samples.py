"""Objects for test webhooks: they are in no ledger, so nothing can be asked or done about them."""

from __future__ import annotations

from paydouble.core.ids import Ids
from paydouble.payments.resources import Customer, Dispute, Failure, PayIn, PaymentMethod, Refund

_DISPUTE_STATES = {"created": "needs_response", "updated": "under_review", "closed": "won"}


def sample(kind: str, ids: Ids, number: int, now: int, response_window: int) -> PayIn | Refund | Dispute:
    """Return an object in the state that an event type tells of.

    `number` tells its id from those of other samples; `response_window` is a dispute's, in milliseconds.
    """
    family, _, state = kind.partition(".")
    pay_in = PayIn(
        id=ids.derive("payin", "sample", number),
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
            id=ids.derive("refund", "sample", number),
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
            id=ids.derive("dispute", "sample", number),
            sequence=0,
            payin_id=pay_in.id,
            reference="DSP-TEST-TEST",
            amount=pay_in.amount,
            currency=pay_in.currency,
            reason="fraudulent",
            evidence_due_by=now + response_window,
            created_at=now,
            updated_at=now,
            status=_DISPUTE_STATES[state],
        )
    return pay_in
