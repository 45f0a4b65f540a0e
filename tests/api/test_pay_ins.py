"""Pay-ins after their creation: retrieved, cancelled, expired, and where their events go."""

from __future__ import annotations

import json
from datetime import datetime

import pytest
from drive import DAY, DEPOSITS, MINUTE, SECOND, Business, data, deposit_body, error_code

CUSTOMER = deposit_body()["customer"]


def test_retrieval_shows_how_a_pay_in_stands() -> None:
    """Status and time move on, and a failed pay-in says why."""
    business = Business(scenario="card-declined")
    pay_in_id = business.deposit()

    seen = []
    for _ in range(3):
        business.advance(2 * SECOND)
        shown = data(business.get(f"/pay-in/{pay_in_id}"))
        seen.append((shown["status"], shown["updated_at"], shown.get("failure")))

    expected = [
        ("pending", "2026-01-01T00:00:02.000Z", None),
        ("processing", "2026-01-01T00:00:03.000Z", None),
        ("failed", "2026-01-01T00:00:06.000Z", {"code": "card_declined", "message": "The issuer declined the card"}),
    ]
    assert expected == seen


@pytest.mark.parametrize("kind", ["pay-in", "refund", "dispute", "payout", "transaction"])
@pytest.mark.parametrize("name", ["none", "payin_", "%00", "é", "payin_" + "x" * 500])
def test_an_unknown_resource_is_not_found(kind: str, name: str) -> None:
    """404 in envelope B."""
    reply = Business().get(f"/{kind}/{name}")

    assert (reply.status, error_code(reply)) == (404, "NOT_FOUND")
    assert json.loads(reply.body)["success"] is False


def test_one_kind_is_not_found_as_another() -> None:
    """A pay-in's id names no refund."""
    business = Business()

    assert business.get(f"/refund/{business.deposit()}").status == 404


@pytest.mark.parametrize("state", ["created", "pending"])
def test_a_pay_in_that_is_not_paid_can_be_cancelled(state: str) -> None:
    """Cancellation answers with the cancelled pay-in and emits pay-in.cancelled on behalf of the request."""
    business = Business()
    pay_in_id = business.deposit()
    if state != "created":
        business.sandbox.force_transition(business.pay_in(pay_in_id), state)

    reply = business.post(f"/pay-in/{pay_in_id}/cancellation")

    last = business.events()[-1]
    assert data(reply)["status"] == "cancelled"
    assert ("pay-in.cancelled", reply.request_id) == (last["type"], last["request_id"])
    assert last["data"]["previous_attributes"]["status"] == state


@pytest.mark.parametrize(
    "states", [["pending", "processing"], ["pending", "processing", "succeeded"], ["failed"], ["cancelled"]]
)
def test_a_pay_in_that_is_paid_or_over_cannot_be_cancelled(states: list[str]) -> None:
    """422, and nothing changes."""
    business = Business()
    pay_in_id = business.deposit()
    for state in states:
        business.sandbox.force_transition(business.pay_in(pay_in_id), state)
    before = business.events()

    reply = business.post(f"/pay-in/{pay_in_id}/cancellation")

    assert (reply.status, error_code(reply)) == (422, "VALIDATION_ERROR")
    assert before == business.events()


def test_cancelling_what_is_not_there_is_not_found() -> None:
    """404."""
    assert Business().post("/pay-in/none/cancellation").status == 404


def test_a_pay_in_that_nobody_pays_expires() -> None:
    """At `expires_at`, and not a millisecond before, the clock cancels it."""
    business = Business(scenario="abandoned")
    pay_in_id = business.deposit(expires_in=60)

    business.advance(MINUTE - 1)
    before = data(business.get(f"/pay-in/{pay_in_id}"))["status"]
    business.advance(1)

    assert [before, data(business.get(f"/pay-in/{pay_in_id}"))["status"]] == ["created", "cancelled"]


def test_an_email_chooses_a_life() -> None:
    """`card-declined@scenario.test` is declined, whatever the business's scenario."""
    business = Business()
    business.deposit(customer={**CUSTOMER, "email": "card-declined@scenario.test"})

    business.until_idle()

    assert business.events()[-1]["type"] == "pay-in.failed"


@pytest.mark.parametrize("spelled", ["\\u0040scenario.test", "@\\u0073cenario.test", "@scenario.te\\u0073t"])
def test_however_it_is_spelled(spelled: str) -> None:
    """An e-mail that its client wrote with escapes is the same, for the life and for the faults that go with it."""
    business = Business()
    body = json.dumps(deposit_body(customer={**CUSTOMER, "email": "EMAIL"})).replace("EMAIL", f"lost-reply{spelled}")

    reply = business.post(DEPOSITS, body.encode())

    entry = business.sandbox.journal.requests.entries[-1]
    assert business.pay_in(entry.object_id or "").scenario == "lost-reply"
    assert (reply.wire is None, entry.faults) == (False, ("lost-reply-1.1",))


def test_a_deposits_own_url_wins() -> None:
    """Events of a deposit with a notification_url go there, those of another to the business's."""
    business = Business()
    own = business.deposit(notification_url="http://127.0.0.1:1/own")
    business.deposit()

    business.until_idle()

    targets = {json.loads(each.body)["data"]["object"]["id"] == own: each.url for each in business.received}
    assert targets == {True: "http://127.0.0.1:1/own", False: "http://127.0.0.1:9/hooks"}
    assert len(business.received) == 8


def test_timestamps_can_be_whole_seconds() -> None:
    """`timestamps: seconds` cuts the milliseconds off."""
    business = Business(timestamps="seconds")
    business.advance(1_999)

    created = data(business.post(DEPOSITS, deposit_body()))

    assert created["created_at"] == "2026-01-01T00:00:01Z"


def test_times_are_the_sandboxs() -> None:
    """Answers after a jump are stamped with the sandbox's time."""
    business = Business()
    business.advance(400 * DAY)

    created = data(business.post(DEPOSITS, deposit_body()))

    assert datetime.fromisoformat(created["created_at"]).isoformat() == "2027-02-05T00:00:00+00:00"
