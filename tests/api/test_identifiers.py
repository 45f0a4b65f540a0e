"""Whether an external identifier may come again, by the setting `duplicate_external_identifier`."""

import json
from typing import Any

import pytest
from drive import DEPOSITS, Business, deposit_body, settings

ORDER = {"amount": 1, "currency": "EUR", "external_identifier": "order-1"}
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "payin": (DEPOSITS, deposit_body()),
    "refund": ("/refund/refund-creation", {"amount": 1, "external_identifier": "order-1"}),
    "payout": ("/payout/payout-initiation", {**ORDER, "beneficiary": {"name": "Ada", "account": "DE02"}}),
    "txn": ("/transaction/transaction-creation", {**ORDER, "type": "FEE"}),
}


def _twice(kind: str, business: Business, **second: Any) -> list[tuple[int, Any]]:  # noqa: ANN401 - JSON is any
    """Make two of a kind, the second with other members; returns each status with the id or the message."""
    path, body = CALLS[kind]
    if kind == "refund":
        body = {**body, "payin_id": business.paid(external_identifier="paid")}
    answers = [business.post(path, each) for each in (body, {**body, **second})]
    bodies = [json.loads(each.body) for each in answers]
    return [
        (answer.status, each["data"]["id"] if each["success"] else each["error"]["message"])
        for answer, each in zip(answers, bodies, strict=True)
    ]


@pytest.mark.parametrize("kind", CALLS)
def test_an_identifier_may_come_again(kind: str) -> None:
    """A shop that tries again with a new key makes two: that is for its test to find."""
    (first, one), (second, two) = _twice(kind, Business())

    assert (first, second, one == two) == (200, 200, False)


@pytest.mark.parametrize("kind", CALLS)
def test_an_identifier_may_not_come_again_where_the_setting_says_so(kind: str) -> None:
    """The answer is 422 and names the first; another identifier is fine, and so is the same on another kind."""
    business = Business(duplicate_external_identifier="refuse")
    (first, one), second = _twice(kind, business)
    path, body = CALLS[kind]
    other = {**body, "external_identifier": "order-2"}
    if kind == "refund":
        other = {**other, "payin_id": business.paid(external_identifier="another"), "external_identifier": ...}
        del other["external_identifier"]

    assert (first, one[: len(kind)]) == (200, kind)
    assert second == (422, f"external_identifier: 'order-1' is {one}'s already.")
    assert [business.post(path, other).status for _ in range(2 if kind == "refund" else 1)][-1] == 200
    assert business.post(CALLS["payin"][0], deposit_body(external_identifier="elsewhere")).status == 200


def test_an_identifier_is_refused_whatever_became_of_its_pay_in() -> None:
    """A cancelled pay-in keeps its identifier."""
    business = Business(duplicate_external_identifier="refuse")
    pay_in = business.deposit()
    business.post(f"/pay-in/{pay_in}/cancellation", {})

    assert business.post(DEPOSITS, deposit_body()).status == 422


def test_an_identifier_that_repeated_before_belongs_to_the_first() -> None:
    """The setting may come later than the orders."""
    business = Business()
    first, _ = business.deposit(), business.deposit()
    business.sandbox.apply(settings(duplicate_external_identifier="refuse"))
    business.deposit(external_identifier="order-2")

    for identifier, holder in (("order-1", first), ("order-2", "payin_")):
        answer = business.post(DEPOSITS, deposit_body(external_identifier=identifier))
        assert (answer.status, holder.encode() in answer.body) == (422, True)


def test_refunds_without_an_identifier_are_never_the_same() -> None:
    """A refund need not have one; one that has is looked for among those that do."""
    business = Business(duplicate_external_identifier="refuse")
    path, named = CALLS["refund"]
    pay_in = business.paid()
    bodies = [{"payin_id": pay_in, "amount": 1, **members} for members in ({}, {}, named, named)]

    assert [business.post(path, body).status for body in bodies] == [200, 200, 200, 422]
