"""What the strategies make is what the service itself takes, sends, allows and forbids."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from drive import Business
from hypothesis import given, settings
from hypothesis import strategies as st

from paydouble import strategies
from paydouble.payments.lifecycle import TABLES
from paydouble.payments.resources import PayIn
from paydouble.strategies import DepositBody, History, SentEvent
from paydouble.webhooks import signing

NOW = 1_767_225_600
SECRET = "whsec_test"
BODY = b'{"id":"evt_1"}'
few = settings(max_examples=40, deadline=None)


@few
@given(deposit=strategies.deposits(), key=strategies.keys())
def test_every_deposit_and_key_is_taken(deposit: DepositBody, key: str) -> None:
    """The pipeline accepts each, and keeps its values to the last digit."""
    business = Business()
    reply = business.post("/pay-in/deposit-creation", deposit.body, key=key)

    assert reply.status == 200, reply.body
    made = json.loads(reply.body, parse_float=str, parse_int=str)["data"]
    assert (made["external_identifier"], made["currency"]) == (deposit.external_identifier, deposit.currency)
    assert made["amount"] == deposit.amount


@few
@given(key=strategies.bad_keys())
def test_every_bad_key_is_refused(key: str) -> None:
    """The pipeline answers 400 INVALID_IDEMPOTENCY_KEY."""
    reply = Business().post("/pay-in/deposit-creation", key=key)

    assert (reply.status, json.loads(reply.body)["error"]["code"]) == (400, "INVALID_IDEMPOTENCY_KEY")


@few
@given(history=strategies.legal_histories())
def test_a_legal_history_is_along_the_table(history: History) -> None:
    """Each state may follow the one before it."""
    table = TABLES[history.kind]

    assert all(after in table[before] for before, after in zip(history.states, history.states[1:], strict=False))


@few
@given(history=strategies.illegal_histories())
def test_an_illegal_history_breaks_in_its_last_step(history: History) -> None:
    """Only the last state may not follow."""
    table = TABLES[history.kind]
    steps = list(zip(history.states, history.states[1:], strict=False))

    assert [after in table[before] for before, after in steps] == [True] * (len(steps) - 1) + [False]


def test_a_kind_without_events_has_no_histories() -> None:
    """The error names those that have."""
    with pytest.raises(ValueError, match="dispute, payin, refund"):
        strategies.legal_histories("payout")


@few
@given(sent=strategies.events())
def test_events_are_the_services_own(sent: list[SentEvent]) -> None:
    """They have every documented member of the body, exact amounts, and times that never go back."""
    documents = [json.loads(each.body, parse_float=Decimal) for each in sent]

    assert {tuple(document) for document in documents} == {
        ("id", "object", "type", "api_version", "created_at", "data", "request_id", "livemode")
    }
    assert [document["id"] for document in documents] == [each.id for each in sent]
    assert documents[0]["type"] == "pay-in.created"
    assert all(document["type"] == f"pay-in.{document['data']['object']['status']}" for document in documents)
    times = [document["created_at"] for document in documents]
    assert times == sorted(times)
    assert set(documents[0]["data"]["object"]) == set(_documented())


@few
@given(data=st.data())
def test_events_can_be_those_of_a_given_life(data: st.DataObject) -> None:
    """The events follow the history that is given."""
    sent = data.draw(strategies.events(History("payin", ("created", "cancelled"))))

    assert [each.type for each in sent] == ["pay-in.created", "pay-in.cancelled"]


@few
@given(sent=strategies.deliveries())
def test_deliveries_verify_and_lose_nothing(sent: list[SentEvent]) -> None:
    """Each is validly signed, and a copy has the bytes of its original."""
    for each in sent:
        header = each.headers(SECRET, NOW)[signing.DEFAULT_HEADER_NAME]
        assert signing.verify(each.body, header, SECRET, now=NOW) == NOW
    assert len({each.id for each in sent}) == len({each.body for each in sent})
    assert "pay-in.created" in {each.type for each in sent}


@few
@given(header=strategies.hostile_headers(BODY, SECRET, NOW))
def test_a_hostile_header_is_refused(header: strategies.HostileHeader) -> None:
    """With the status that the contract recommends."""
    with pytest.raises(signing.SignatureError) as refused:
        signing.verify(BODY, header.value, SECRET, now=NOW)

    assert refused.value.recommended_status == header.status


def _documented() -> dict[str, object]:
    business = Business()
    pay_in_id = business.deposit()
    return business.sandbox.ledger.get(PayIn, pay_in_id).event_object(business.sandbox.ledger.stamp)
