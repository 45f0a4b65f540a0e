"""What a file expects against what came: the first difference, both lists, and why."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from rehearsals import PAID, PAID_EVENTS, REFUND_EVENTS, fault, scenario

from paydouble.core.json_text import Number
from paydouble.rehearsal import Difference, compare, rehearse
from paydouble.rehearsal.comparing import NOTHING
from paydouble.scenarios.model import Scenario


def compared(life: Scenario) -> list[Difference]:
    """Rehearse a scenario, and compare."""
    return compare(life, rehearse(life))


def only(life: Scenario) -> Difference:
    """Return the one difference that there is."""
    (difference,) = compared(life)
    return difference


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"expect": PAID_EVENTS},
        {"expect": PAID_EVENTS, "answers": [200]},
        {"faults": [fault("connection_reset", times=2)], "answers": ["lost", "lost", 200]},
    ],
)
def test_what_comes_as_expected_is_no_difference(members: dict[str, Any]) -> None:
    """Events and answers in order; what a file does not speak of is not compared."""
    assert compared(scenario(**members)) == []


def test_a_case_is_compared_with_its_own_words() -> None:
    """Its `expect` and `answers` count, and its name is part of the place."""
    life = scenario(
        expect=PAID_EVENTS,
        cases=[
            {"name": "all back", "merchant": [{"after": "1h", "refund": {}}], "expect": [], "answers": [200, 422]},
            {"name": "as it is", "expect": PAID_EVENTS},
        ],
    )

    found = [[each.member for each in compare(life, rehearse(life, case=case), case)] for case in life.cases]

    assert found == [["cases.all back.expect", "cases.all back.answers"], []]


def test_both_lists_stand_side_by_side() -> None:
    """What is in both shares a row, whatever is missing or too much before it."""
    expect = ["pay-in.created", "refund.created", "pay-in.processing", "pay-in.succeeded", "dispute.created"]

    difference = only(scenario(expect=expect))

    assert difference.member == "expect"
    assert difference.message == "number 2 is expected to be refund.created; the receiver got pay-in.pending"
    assert [(pair.expected, pair.got, pair.same) for pair in difference.pairs] == [
        ("pay-in.created", "pay-in.created  +0s", True),
        ("refund.created", "pay-in.pending  +2s", False),
        ("pay-in.processing", "pay-in.processing  +3s", True),
        ("pay-in.succeeded", "pay-in.succeeded  +6s", True),
        ("dispute.created", NOTHING, False),
    ]


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        (PAID_EVENTS[:3], "the receiver got pay-in.succeeded as number 4, which is not expected"),
        ([*PAID_EVENTS, "refund.created"], "number 5, refund.created, is missing"),
        (PAID_EVENTS[1:], "the receiver got pay-in.created as number 1, which is not expected"),
    ],
)
def test_the_first_difference_is_a_sentence(expect: list[str], message: str) -> None:
    """Too much, and too little."""
    assert only(scenario(expect=expect)).message == message


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([201], "number 1 is expected to be 201; the merchant's calls got 200"),
        ([200, 200], "number 2, 200, is missing"),
        ([], "the merchant's calls got 200 as number 1, which is not expected"),
    ],
)
def test_answers_are_compared_like_events(answers: list[int], message: str) -> None:
    """Each call of the merchant counts, in order."""
    difference = only(scenario(answers=answers))

    assert (difference.member, difference.message) == ("answers", message)
    assert difference.pairs[0].got.startswith("200  deposit-creation")


def test_members_of_the_object_are_compared_to_the_digit() -> None:
    """A number is a number however it is spelt, and a text is none."""
    good = {"amount": Decimal("49.9"), "currency": "EUR", "payment_method": {"type": "CREDIT_CARD"}}

    assert compared(scenario(expect=[{"event": "pay-in.created", "object": good}, *PAID_EVENTS[1:]])) == []


@pytest.mark.parametrize(
    ("members", "remark"),
    [
        ({"amount": Number("49.91")}, "object.amount is 49.90, not 49.91"),
        ({"amount": 49.91}, "object.amount is 49.90, not 49.91"),
        ({"amount": Decimal("5.10")}, "object.amount is 49.90, not 5.10"),
        ({"amount": "49.90"}, 'object.amount is 49.90, not "49.90"'),
        ({"amount": True}, "object.amount is 49.90, not true"),
        ({"currency": "EUR", "status": "paid"}, 'object.status is "created", not "paid"'),
        ({"customer": {"email": "a@b"}}, 'object.customer.email is "ada@example.test", not "a@b"'),
        ({"status": {"now": 1}}, 'object.status is "created", not {"now":1}'),
        ({"paid": None}, "object.paid is missing"),
    ],
)
def test_the_first_member_that_differs_is_named(members: dict[str, Any], remark: str) -> None:
    """With its place, what it is and what it should be."""
    difference = only(scenario(expect=[{"event": "pay-in.created", "object": members}, *PAID_EVENTS[1:]]))

    assert difference.message == f"number 1, pay-in.created: {remark}"
    assert [pair.remark for pair in difference.pairs] == [remark, "", "", ""]


@pytest.mark.parametrize(
    ("spoil", "remark"),
    [
        ({"kind": "payload", "mode": "invalid_json"}, "its body is no JSON ("),
        ({"kind": "payload", "mode": "empty"}, "its body is no JSON ("),
        ({"kind": "tamper", "path": "data", "value": 5}, 'object is null, not {"currency":"EUR"}'),
        ({"kind": "tamper", "path": "data.object", "value": [5]}, 'object is [5], not {"currency":"EUR"}'),
    ],
)
def test_a_body_that_holds_no_object_is_told(spoil: dict[str, Any], remark: str) -> None:
    """A fault may spoil what the file wants to look at."""
    spoilt = fault(on="webhooks", match={"event_type": "pay-in.created"}, **spoil)
    expect = [{"event": "pay-in.created", "object": {"currency": "EUR"}}, *PAID_EVENTS[1:]]

    difference = only(scenario(faults=[spoilt], expect=expect))

    assert remark in difference.message


def test_an_event_of_another_type_is_not_looked_into() -> None:
    """That it is another one is all there is to say."""
    expect = [{"event": "refund.created", "object": {"amount": 1}}, *PAID_EVENTS[1:]]

    assert only(scenario(expect=expect)).pairs[0].remark == ""


def test_yes_is_not_one() -> None:
    """Python's equality is not JSON's."""
    life = scenario(deposit={"amount": 1}, expect=[{"event": "pay-in.created", "object": {"amount": True}}])

    assert only(life).pairs[0].remark == "object.amount is 1.00, not true"


def test_a_life_that_never_ends_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its file expects."""
    monkeypatch.setattr("paydouble.rehearsal.rehearsing.MOST_TIMERS", 2)

    difference = only(scenario())

    assert difference == Difference("lifecycle", "the life has not come to its end after 3s")


def why(life: Scenario) -> tuple[str, ...]:
    """Return the reasons of the one difference that there is."""
    return only(life).why


def test_a_refused_call_is_a_reason() -> None:
    """What the merchant was told explains why nothing followed."""
    life = scenario([], merchant=[{"after": "1s", "refund": {}}], expect=["pay-in.created", "pay-in.cancelled"])
    assert compared(life) == []

    (first, *_) = why(life.model_copy(update={"expect": (*life.expect, "refund.created")}))

    assert first.startswith("the merchant's refund-creation was answered 422: ")


def test_a_refusal_that_the_file_foresees_is_no_reason() -> None:
    """Only what surprises explains."""
    life = scenario([], merchant=[{"after": "1s", "refund": {}}], answers=[200, 422], expect=["pay-in.created"])

    assert why(life) == ()


def test_what_the_merchant_could_not_do_is_a_reason() -> None:
    """It says itself what was missing."""
    life = scenario(merchant=[{"after": "1h", "accept": True}], expect=[*PAID_EVENTS, "dispute.closed"])

    assert why(life) == ("there is no dispute to accept", "there was no dispute at all")


def test_a_state_that_cannot_follow_is_a_reason() -> None:
    """The end that a life took is named, and what would have been possible."""
    declined = [*PAID[:2], {"after": "1s", "to": "failed"}]
    cancelled = scenario([PAID[0]], expect=["pay-in.created", "pay-in.pending", "pay-in.succeeded"])

    assert why(scenario(declined, expect=PAID_EVENTS)) == (
        "the pay-in ended as failed; after that comes nothing, and succeeded only with force: true",
    )
    assert why(cancelled)[0].startswith("the pay-in ended as cancelled;")


def test_a_state_that_could_have_followed_has_no_reason() -> None:
    """A refund that was left in mid-air could still have succeeded: nobody knows why it did not."""
    life = scenario(
        refund=[{"after": "1s", "to": "processing"}],
        merchant=[{"after": "1h", "refund": {}}],
        expect=[*PAID_EVENTS, *REFUND_EVENTS],
    )

    assert why(life) == ()


@pytest.mark.parametrize(("effect", "status"), [("drop", "dropped"), ("hold", "held")])
def test_a_webhook_that_never_leaves_is_a_reason(effect: str, status: str) -> None:
    """The event was made, and what became of it is told."""
    kept = fault(effect, on="webhooks", match={"event_type": "pay-in.pending"})

    assert why(scenario(faults=[kept], expect=PAID_EVENTS)) == (
        f"pay-in.pending was made, but its delivery is {status}",
    )


def test_a_webhook_in_another_place_needs_no_reason() -> None:
    """It came; only its place differs."""
    swapped = [PAID_EVENTS[1], PAID_EVENTS[0], *PAID_EVENTS[2:]]

    assert why(scenario(expect=swapped)) == ()
