"""Refunds, disputes, payouts and transactions: assumed operations, held to the assumptions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from drive import DAY, DEPOSITS, SECOND, Business, data, deposit_body, error_code
from pydantic import BaseModel

from paydouble.api.operations import OPERATIONS

REFUNDS = "/refund/refund-creation"
PAYOUTS = "/payout/payout-initiation"
TRANSACTIONS = "/transaction/transaction-creation"
PAYOUT = {
    "amount": 12.3,
    "currency": "EUR",
    "external_identifier": "out-1",
    "beneficiary": {"name": "Ada", "account": "DE02"},
}
TRANSACTION = {"type": "ADJUSTMENT", "amount": 1500, "currency": "JPY", "external_identifier": "t-1"}


def _types(business: Business) -> list[str]:
    return [event["type"] for event in business.events()]


def test_a_refund_of_a_part_leads_its_life() -> None:
    """A refund is answered as created, goes through processing, and succeeds, with an event each time."""
    business = Business()
    pay_in_id = business.paid()

    reply = business.post(
        REFUNDS, {"payin_id": pay_in_id, "amount": 9.9, "reason": "damaged", "external_identifier": "r-1"}
    )
    business.until_idle()

    created = data(reply)
    refund_id, reference = created.pop("id"), created.pop("reference")
    expected = {
        "object": "refund",
        "payin_id": pay_in_id,
        "amount": 9.9,
        "currency": "EUR",
        "status": "created",
        "reason": "damaged",
        "external_identifier": "r-1",
        "created_at": "2026-01-01T00:00:00.000Z",
        "updated_at": "2026-01-01T00:00:00.000Z",
    }
    assert expected == created
    assert reference.startswith("REF-")
    assert _types(business)[-3:] == ["refund.created", "refund.processing", "refund.succeeded"]
    assert data(business.get(f"/refund/{refund_id}"))["status"] == "succeeded"


def test_a_refund_without_an_amount_gives_back_the_rest() -> None:
    """What is left after a partial refund is refunded, to the cent."""
    business = Business()
    pay_in_id = business.paid()
    business.post(REFUNDS, {"payin_id": pay_in_id, "amount": 9.91})

    reply = business.post(REFUNDS, {"payin_id": pay_in_id})

    assert b'"amount":39.99,' in reply.body


def test_refunds_never_exceed_the_pay_in() -> None:
    """Pending refunds count: one cent too much is 422, and so is anything after the whole."""
    business = Business()
    pay_in_id = business.paid()
    business.post(REFUNDS, {"payin_id": pay_in_id, "amount": 40})

    statuses = [
        business.post(REFUNDS, {"payin_id": pay_in_id, **amount}).status
        for amount in ({"amount": 9.91}, {"amount": 9.90}, {"amount": 0.01}, {})
    ]

    assert statuses == [422, 200, 422, 422]


def test_a_refund_names_no_other_currency_than_its_pay_in() -> None:
    """It needs no currency. One that is given must be right: another would give back another amount."""
    business = Business()
    pay_in_id = business.paid()

    refused = business.post(REFUNDS, {"payin_id": pay_in_id, "amount": 1, "currency": "CHF"})
    made = data(business.post(REFUNDS, {"payin_id": pay_in_id, "amount": 1, "currency": "EUR"}))

    assert (refused.status, error_code(refused)) == (422, "VALIDATION_ERROR")
    assert f"pay-in {pay_in_id} is in EUR, and the refund in CHF".encode() in refused.body
    assert made["currency"] == "EUR"


def test_a_failed_refund_can_be_tried_again() -> None:
    """What a failed refund held is free again."""
    business = Business(scenario="refund-fails")
    pay_in_id = business.paid()
    first = data(business.post(REFUNDS, {"payin_id": pay_in_id}))["id"]
    business.until_idle()

    second = business.post(REFUNDS, {"payin_id": pay_in_id})

    shown = data(business.get(f"/refund/{first}"))
    assert (
        shown["status"],
        shown["failure"],
    ) == ("failed", {"code": "account_closed", "message": "The payer's account is closed"})
    assert second.status == 200


@pytest.mark.parametrize("states", [[], ["pending"], ["pending", "processing"], ["failed"], ["cancelled"]])
def test_only_a_succeeded_pay_in_can_be_refunded(states: list[str]) -> None:
    """Any other state is 422."""
    business = Business()
    pay_in_id = business.deposit()
    for state in states:
        business.sandbox.force_transition(business.pay_in(pay_in_id), state)

    reply = business.post(REFUNDS, {"payin_id": pay_in_id})

    assert (reply.status, error_code(reply)) == (422, "VALIDATION_ERROR")


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (REFUNDS, {}, 400),
        (REFUNDS, {"payin_id": ""}, 400),
        (REFUNDS, {"payin_id": 7}, 400),
        (REFUNDS, {"payin_id": "PAID", "amount": 0}, 400),
        (REFUNDS, {"payin_id": "PAID", "amount": -1}, 400),
        (REFUNDS, {"payin_id": "PAID", "amount": 0.001}, 400),
        (REFUNDS, {"payin_id": "PAID", "reason": ""}, 400),
        (REFUNDS, {"payin_id": "PAID", "external_identifier": "x" * 129}, 400),
        (REFUNDS, {"payin_id": "payin_none"}, 404),
        (REFUNDS, {"payin_id": "PAID", "amount": 49.91}, 422),
        ("/dispute/none/evidence-submission", {"evidence": {"a": "b"}}, 404),
        ("/dispute/none/acceptance", {}, 404),
        ("/dispute/none/evidence-submission", {}, 400),
        ("/dispute/none/evidence-submission", {"evidence": {}}, 400),
        ("/dispute/none/evidence-submission", {"evidence": {"a": 1}}, 400),
        (PAYOUTS, {}, 400),
        (PAYOUTS, {**PAYOUT, "beneficiary": {"name": "Ada"}}, 400),
        (PAYOUTS, {**PAYOUT, "amount": 0}, 400),
        (PAYOUTS, {**PAYOUT, "amount": 1.234}, 400),
        (PAYOUTS, {**PAYOUT, "currency": "ZZZ"}, 422),
        (TRANSACTIONS, {}, 400),
        (TRANSACTIONS, {**TRANSACTION, "type": "adjustment"}, 400),
        (TRANSACTIONS, {**TRANSACTION, "amount": 1.5}, 400),
        (TRANSACTIONS, {**TRANSACTION, "description": ""}, 400),
        (TRANSACTIONS, {**TRANSACTION, "currency": "ZZZ"}, 422),
    ],
)
def test_refusals(path: str, body: dict[str, Any], status: int) -> None:
    """400 for a shape, 404 for a resource that is not there, 422 for a rule; no event either way."""
    business = Business()
    pay_in_id = business.paid()
    before = business.events()
    if body.get("payin_id") == "PAID":
        body = {**body, "payin_id": pay_in_id}

    reply = business.post(path, body)

    assert status == reply.status
    assert before == business.events()


def test_a_dispute_without_evidence_is_lost() -> None:
    """A chargeback that nobody answers is closed as lost when the evidence is due."""
    business = Business()
    dispute_id = business.sandbox.open_dispute(business.pay_in(business.paid())).id

    business.advance(7 * DAY - 1)
    before = data(business.get(f"/dispute/{dispute_id}"))
    business.advance(1)
    after = data(business.get(f"/dispute/{dispute_id}"))

    assert [before["status"], after["status"]] == ["needs_response", "lost"]
    assert before["evidence_due_by"] == after["updated_at"] == "2026-01-08T00:00:00.000Z"
    assert _types(business)[-2:] == ["dispute.created", "dispute.closed"]


def test_evidence_is_kept_and_reviewed() -> None:
    """Evidence is put together over several submissions; the review then decides."""
    business = Business()
    dispute_id = business.sandbox.open_dispute(business.pay_in(business.paid())).id
    path = f"/dispute/{dispute_id}/evidence-submission"

    first = data(business.post(path, {"evidence": {"receipt": "a"}}))
    second = data(business.post(path, {"evidence": {"parcel": "b", "receipt": "c"}}))
    business.until_idle()

    assert (first["status"], first["evidence"]) == ("under_review", {"receipt": "a"})
    assert second["evidence"] == {"receipt": "c", "parcel": "b"}
    assert data(business.get(f"/dispute/{dispute_id}"))["status"] == "won"
    assert _types(business)[-4:] == ["dispute.created", "dispute.updated", "dispute.updated", "dispute.closed"]


def test_a_dispute_can_be_accepted_once() -> None:
    """Acceptance closes it; after that neither acceptance nor evidence is taken."""
    business = Business()
    dispute_id = business.sandbox.open_dispute(business.pay_in(business.paid())).id

    replies = [
        business.post(f"/dispute/{dispute_id}/acceptance"),
        business.post(f"/dispute/{dispute_id}/acceptance"),
        business.post(f"/dispute/{dispute_id}/evidence-submission", {"evidence": {"a": "b"}}),
    ]

    assert [reply.status for reply in replies] == [200, 422, 422]
    assert data(replies[0])["status"] == "accepted"
    business.deliver_all()
    assert business.sandbox.idle


def test_a_dispute_that_is_reopened_late_can_still_be_answered() -> None:
    """A dispute reopened after its evidence was due has a new window, and is lost at the end of that one."""
    business = Business()
    dispute = business.sandbox.open_dispute(business.pay_in(business.paid()))
    business.advance(30 * DAY)
    business.sandbox.force_transition(dispute, "needs_response", force=True)

    seen = []
    for wait in (7 * DAY - 1, 1):
        business.advance(wait)
        seen.append(data(business.get(f"/dispute/{dispute.id}"))["status"])

    assert seen == ["needs_response", "lost"]


def test_a_payout_leads_its_life_without_events() -> None:
    """A payout goes from created over processing to succeeded; the contract lists no event for it."""
    business = Business()

    created = data(business.post(PAYOUTS, PAYOUT))
    business.advance(1 * SECOND)
    middle = data(business.get(f"/payout/{created['id']}"))
    business.until_idle()
    end = data(business.get(f"/payout/{created['id']}"))

    assert [each["status"] for each in (created, middle, end)] == ["created", "processing", "succeeded"]
    assert created["beneficiary"] == PAYOUT["beneficiary"]
    assert business.events() == []


def test_a_transaction_is_booked() -> None:
    """A transaction is answered, retrieved and listed, with its currency's digits and without events."""
    business = Business()

    reply = business.post(TRANSACTIONS, {**TRANSACTION, "description": "by hand"})

    created = data(reply)
    assert b'"amount":1500,' in reply.body
    assert tuple(created[name] for name in ("object", "type", "status", "description")) == (
        "transaction",
        "ADJUSTMENT",
        "created",
        "by hand",
    )
    assert [created, [created]] == [
        data(business.get(f"/transaction/{created['id']}")),
        data(business.get("/transaction"))["items"],
    ]
    assert business.events() == []


def test_what_is_answered_is_what_the_models_say() -> None:
    """Every operation of the table answers with exactly the members of its model, after a whole life too."""
    business = Business(scenario="refund-fails")
    pay_in_id = business.paid()
    dispute = business.sandbox.open_dispute(business.pay_in(pay_in_id), amount=1).id
    posts: dict[str, tuple[str, Any]] = {
        "deposit-creation": (DEPOSITS, deposit_body(metadata={"a": "b"})),
        "exchange-rates": (f"{DEPOSITS}/exchange-rates", {"source_currency": "EUR", "amount": 1}),
        "available-payment-methods": (f"{DEPOSITS}/available-payment-methods", {"currency": "EUR"}),
        "pay-in-cancellation": (f"/pay-in/{business.deposit()}/cancellation", {}),
        "refund-creation": (REFUNDS, {"payin_id": pay_in_id, "amount": 1}),
        "dispute-evidence-submission": (f"/dispute/{dispute}/evidence-submission", {"evidence": {"a": "b"}}),
        "dispute-acceptance": (f"/dispute/{dispute}/acceptance", {}),
        "payout-initiation": (PAYOUTS, PAYOUT),
        "transaction-creation": (TRANSACTIONS, TRANSACTION),
    }
    ids: dict[str, str] = {}

    for operation in (each for each in OPERATIONS if each.method == "POST"):
        document = data(business.post(*posts[operation.name]))
        ids[operation.path.split("/")[1]] = document.get("id", pay_in_id)
        _hold_against(operation.answer, [document])
    business.until_idle()
    for operation in (each for each in OPERATIONS if each.method == "GET"):
        kind = operation.path.split("/")[1]
        shown = data(business.get(f"/{kind}" if operation.listed else f"/{kind}/{ids[kind]}"))
        _hold_against(operation.answer, shown["items"] if operation.listed else [shown])


def _hold_against(model: type[BaseModel], documents: list[Any]) -> None:
    assert documents
    for document in documents:
        model.model_validate_json(json.dumps(document))
