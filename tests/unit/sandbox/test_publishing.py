"""Events made by hand, and which faults act on which event."""

from __future__ import annotations

import json

import pytest
from benches import START, bench, deposit, paid
from openapi_reader import made, problems

from paydouble.core.errors import UsageError
from paydouble.faults.model import parse_fault
from paydouble.payments.events import EVENT_TYPES
from paydouble.payments.resources import Resource
from paydouble.sandbox import Sandbox

KINDS = sorted(EVENT_TYPES)


def _schema(kind: str) -> dict[str, object]:
    schema: dict[str, object] = made()["webhooks"][kind]["post"]["requestBody"]["content"]["application/json"]["schema"]
    return schema


def _resource(box: Sandbox, kind: str) -> Resource:
    pay_in = paid(box)
    match kind.partition(".")[0]:
        case "refund":
            return box.create_refund(pay_in, amount=None, reason=None, external_identifier=None)
        case "dispute":
            return box.open_dispute(pay_in)
        case _:
            return pay_in


@pytest.mark.parametrize("kind", KINDS)
def test_any_documented_event_can_be_published_for_an_object(kind: str) -> None:
    """The body shows the object as it is now, with the requested type, and the object does not change."""
    box = bench()
    resource = _resource(box, kind)
    status = resource.status

    event = box.emit_event(kind, resource)

    body = json.loads(event.body)
    assert (event.type, body["type"], body["data"]["object"]["id"]) == (kind, kind, resource.id)
    assert (resource.status, body["data"]["object"]["status"]) == (status, status)
    assert problems(_schema(kind), body) == []
    assert box.outbox.deliveries[f"dlv_{event.id[4:]}"].status == "waiting"


@pytest.mark.parametrize("kind", KINDS)
def test_a_test_webhook_of_each_type_fits_its_schema(kind: str) -> None:
    """The sample is in the state that the type reports, and in no ledger."""
    box = bench()

    event = box.send_test_webhook(kind)

    body = json.loads(event.body)
    sample = body["data"]["object"]
    assert problems(_schema(kind), body) == []
    assert body["type"] == kind
    assert box.ledger.find(sample["id"]) is None
    state = kind.partition(".")[2]
    told = {"created": "needs_response", "updated": "under_review", "closed": "won"} if "dispute" in kind else {}
    assert sample["status"] == told.get(state, state)


def test_two_test_webhooks_are_about_two_objects() -> None:
    """Their events and objects have different ids."""
    box = bench()
    events = [box.send_test_webhook("refund.failed") for _ in range(2)]

    assert len({each.id for each in events}) == len({each.object_id for each in events}) == 2


@pytest.mark.parametrize("kind", ["pay-in.lost", "payout.paid", "pay-in", ""])
def test_an_unknown_type_is_refused_and_nothing_is_made(kind: str) -> None:
    """The refusal lists the documented types."""
    box = bench()
    pay_in = deposit(box)
    before = len(box.journal.events.entries)

    refusal = r"is no event type; there are: pay-in\.created"
    with pytest.raises(UsageError, match=refusal):
        box.emit_event(kind, pay_in)
    with pytest.raises(UsageError, match=refusal):
        box.send_test_webhook(kind)

    assert len(box.journal.events.entries) == before


def test_an_event_about_another_kind_of_object_is_refused() -> None:
    """A pay-in has no refund events, and a payout has none at all."""
    box = bench()
    pay_in = paid(box)
    payout = box.create_payout(
        external_identifier="o", amount=1, currency="EUR", beneficiary_name="Ada", beneficiary_account="DE02"
    )

    for kind, resource in (("refund.created", pay_in), ("pay-in.created", payout)):
        with pytest.raises(UsageError, match="is not about"):
            box.emit_event(kind, resource)


def test_faults_act_on_a_manually_published_event() -> None:
    """It is dropped and names the fault; no request has caused it, so it overtakes no reply."""
    box = bench()
    pay_in = deposit(box)
    for effect in ({"type": "before_response"}, {"type": "drop"}):
        box.faults.add(parse_fault({"effect": effect, "match": {"event_type": "*.failed"}, "compose": True}), START)
    event = box.emit_event("pay-in.failed", pay_in)

    delivery = box.outbox.deliveries[f"dlv_{event.id[4:]}"]
    assert (delivery.status, delivery.faults) == ("dropped", ("fault-2",))
    assert box.publisher.overtaking == []


def test_a_sample_has_no_order_to_match_by() -> None:
    """Its object is in no ledger, so an order number or a scenario matches nothing."""
    box = bench()
    for match in ({"external_identifier": "*"}, {"scenario": "*"}):
        box.faults.add(parse_fault({"effect": {"type": "drop"}, "match": match}), START)
    event = box.send_test_webhook("pay-in.created")

    assert box.outbox.deliveries[f"dlv_{event.id[4:]}"].status == "waiting"


@pytest.mark.parametrize(("own", "expected"), [(None, "http://127.0.0.1:9/hook"), ("http://127.0.0.1:9/own", None)])
def test_a_foreign_event_has_the_target_of_the_own_event(own: str | None, expected: str | None) -> None:
    """Also to a deposit's own endpoint."""
    box = bench()
    box.faults.add(parse_fault({"effect": {"type": "foreign"}}), START)
    deposit(box, notification_url=own)

    targets = {each.target for each in box.outbox.deliveries.values()}
    assert targets == {expected or own}
    assert len(box.outbox.deliveries) == 2
