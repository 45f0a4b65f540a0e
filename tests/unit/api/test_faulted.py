"""Faults in the pipeline, held still: what is matched, what is asked when, and what stays behind."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from drive import DAY, DEPOSITS, Business, data, deposit_body, key, settled

from paydouble import Sandbox
from paydouble.api import faulted
from paydouble.api.calls import Call
from paydouble.api.execution import Delayed, Joined
from paydouble.api.operations import operations
from paydouble.faults.armed import Armed
from paydouble.faults.model import parse_fault


def _arm(business: Business, kind: str, *, phase: str | None = None, **attributes: Any) -> Armed:  # noqa: ANN401 - JSON is any
    fault = {"on": "api", "effect": {"type": kind, **attributes}} | ({"phase": phase} if phase else {})
    return business.sandbox.faults.add(parse_fault(fault), business.sandbox.now)


def _match(business: Business, **match: Any) -> Armed:  # noqa: ANN401 - JSON is any
    fault = parse_fault({"effect": {"type": "error", "status": 503}, "match": match})
    return business.sandbox.faults.add(fault, business.sandbox.now)


@pytest.mark.parametrize(
    ("match", "fires"),
    [
        ({"operation": "deposit-creation"}, True),
        ({"operation": "deposit-creation*"}, True),
        ({"method": "POST", "path": "/api/v1/pay-in/*"}, True),
        ({"method": "GET"}, False),
        ({"path": "/api/v1/pay-in/deposit-creation"}, True),
        ({"idempotency_key": key(1).upper()}, True),
        ({"idempotency_key": "0000*"}, True),
        ({"idempotency_key": key(2)}, False),
        ({"external_identifier": "order-1"}, True),
        ({"external_identifier": "ORDER-1"}, False),
        ({"scenario": "*"}, False),
        ({"object_id": "*"}, False),
    ],
    ids=str,
)
def test_a_deposit_is_matched(match: dict[str, str], *, fires: bool) -> None:
    """Before it exists a deposit has its request's members, and neither an id nor a scenario."""
    business = Business()
    _match(business, **match)

    reply = business.post(DEPOSITS, deposit_body(), key=key(1), headers=())

    assert reply.status == (503 if fires else 200)


@pytest.mark.parametrize("body", [b"", b"[1]", b"nonsense", b'{"external_identifier": 7}'], ids=repr)
def test_a_body_that_is_none_has_no_members(body: bytes) -> None:
    """What cannot be read, or is something else, matches nothing and gets its own refusal."""
    business = Business()
    _match(business, external_identifier="*")
    _match(business, object_id="*")

    assert business.post(DEPOSITS, body).status == 400


def test_a_query_is_no_part_of_the_path() -> None:
    """A list matches by its path, however it is asked for."""
    business = Business()
    _match(business, path="/api/v1/pay-in")

    assert business.get("/pay-in?limit=3").status == 503


def test_a_get_without_a_key_has_none() -> None:
    """A pattern that takes any key takes no request without one."""
    business = Business()
    _match(business, idempotency_key="*")

    assert business.get("/pay-in").status == 200


def test_a_refund_is_about_its_pay_ins_order() -> None:
    """Its creation matches by the pay-in that its body names: id, order and scenario."""
    business = Business()
    pay_in = business.paid()
    armed = _match(business, object_id=pay_in, external_identifier="order-1", scenario="happy-path")

    reply = business.post("/refund/refund-creation", {"payin_id": pay_in, "external_identifier": "back-1"})

    assert (reply.status, armed.fired) == (503, 1)


def test_after_the_commit_a_deposit_has_an_id_and_a_scenario() -> None:
    """What it has made counts there."""
    business = Business()
    fault = {"effect": {"type": "error", "status": 502}, "phase": "after_commit", "match": {"scenario": "happy-path"}}
    business.sandbox.faults.add(parse_fault(fault), business.sandbox.now)

    reply = business.post(DEPOSITS, deposit_body())

    assert (reply.status, len(business.events())) == (502, 1)


def test_a_fault_comes_before_every_check() -> None:
    """Before the commit it answers in place of address, permission, quota, key and body checks."""
    business = Business(permissions=[], rate_limit={"limit": 0})
    armed = _arm(business, "error", status=503)

    faulted = business.post(DEPOSITS, b"nonsense", keys=["no-uuid"])
    business.sandbox.faults.remove(armed.id)
    plain = business.post(DEPOSITS, deposit_body())

    assert (faulted.status, plain.status) == (503, 403)


def test_an_abandoned_slow_request_leaves_nothing() -> None:
    """When the shell is torn down while it is slow, nothing has happened, and a retry is new."""
    business = Business()
    _arm(business, "latency", fixed="3s")
    step = business.begin(DEPOSITS, deposit_body(), key=key(1))
    assert isinstance(step, Delayed)

    business.pipeline.abandon(step.call)

    assert (step.seconds, len(business.sandbox.keys), business.events()) == (3.0, 0, [])


def test_an_abandoned_slow_read_leaves_nothing() -> None:
    """A GET that is slow holds no key; letting it go changes nothing."""
    business = Business()
    _arm(business, "latency", fixed="3s")
    step = business.request("GET", "/pay-in")
    assert isinstance(step, Delayed)

    business.pipeline.abandon(step.call)

    assert (step.call.claim, len(business.sandbox.keys)) == (None, 0)


def test_a_failure_of_ours_leaves_nothing_behind() -> None:
    """When an operation breaks while its request is slow, no later event is laid at that request's door."""

    def broken(_: Call) -> Any:  # noqa: ANN401 - it returns nothing
        raise ZeroDivisionError

    business = Business()
    _arm(business, "latency", fixed="3s")
    step = business.request("GET", "/pay-in")
    assert isinstance(step, Delayed)
    step.call.operation = replace(step.call.operation, handler=broken)

    with pytest.raises(ZeroDivisionError):
        business.go_on(step)

    assert business.sandbox.publisher.cause is None


def test_a_joiner_is_judged_by_who_holds_the_key_now() -> None:
    """When the slow request is abandoned and another one takes the key, each one that waited gets the conflict."""
    business = Business(processing_time="1s")
    first = business.begin(DEPOSITS, deposit_body(), key=key(1))
    joiner = business.begin(DEPOSITS, deposit_body(), key=key(1))
    assert isinstance(first, Delayed)
    business.pipeline.abandon(first.call)
    business.begin(DEPOSITS, deposit_body(amount=1), key=key(1))

    reply = settled(business.go_on(joiner))

    assert reply.status == 409


def test_latency_adds_to_the_processing_time() -> None:
    """Both are time in which the request is in flight; neither is waited for twice."""
    business = Business(processing_time="2s")
    _arm(business, "latency", fixed="3s")

    step = business.begin(DEPOSITS, deposit_body(), key=key(1))
    reply = settled(business.go_on(step))

    assert isinstance(step, Delayed)
    assert (step.seconds, reply.delay_ms) == (5.0, 0)


def test_what_is_not_in_flight_is_kept_back() -> None:
    """A replay and a refusal are slow in their reply alone; a joiner waits for both."""
    business = Business()
    business.post(DEPOSITS, deposit_body(), key=key(1))
    _arm(business, "latency", fixed="3s")

    replay = business.post(DEPOSITS, deposit_body(), key=key(1))
    refusal = business.post(DEPOSITS, deposit_body(amount=1), key=key(1))

    assert (replay.delay_ms, refusal.delay_ms) == (3000, 3000)


@pytest.mark.parametrize("phase", ["before_commit", "after_commit"])
def test_a_stored_error_is_made_once(phase: str) -> None:
    """A request that joins, retries or conflicts gets what the key holds; the effect counts only what it stores."""
    business = Business(processing_time="1s")
    armed = _arm(business, "sticky_5xx", phase=phase)

    first = settled(business.go_on(business.begin(DEPOSITS, deposit_body(), key=key(1))))
    retry = settled(business.begin(DEPOSITS, deposit_body(), key=key(1)))

    assert (first.status, first.body == retry.body, armed.fired) == (500, True, 1)


def test_a_joiner_gets_the_error_that_is_stored() -> None:
    """A request that joined one whose true answer was hidden gets what was stored in its place."""
    business = Business(processing_time="1s")
    _arm(business, "sticky_5xx", phase="after_commit")
    first = business.begin(DEPOSITS, deposit_body(), key=key(1))
    joiner = business.begin(DEPOSITS, deposit_body(), key=key(1))
    assert isinstance(joiner, Joined)

    replies = [settled(business.go_on(first)), settled(business.go_on(joiner))]

    assert [reply.status for reply in replies] == [500, 500]
    assert replies[0].body == replies[1].body


def test_a_late_joiner_has_nothing_to_store() -> None:
    """When the key has expired by the time that it is answered, an error that is to be stored has no place."""
    business = Business(processing_time="3s")
    first = business.begin(DEPOSITS, deposit_body(), key=key(1))
    joiner = business.begin(DEPOSITS, deposit_body(), key=key(1))
    business.advance(2 * DAY)
    settled(business.go_on(first))
    _arm(business, "sticky_5xx", phase="after_commit")

    reply = settled(business.go_on(joiner))
    fresh = settled(business.go_on(business.begin(DEPOSITS, deposit_body(), key=key(1))))

    assert (reply.status, fresh.status) == (500, 500)
    assert len(business.events()) == 2


def test_an_error_of_the_operations_own_input_stores_nothing() -> None:
    """A 400 that only execution finds is not kept, so a stored error after the commit has nothing to replace."""
    business = Business()
    armed = _arm(business, "sticky_5xx", phase="after_commit")

    reply = business.post(DEPOSITS, deposit_body(amount=1.234), key=key(1))

    assert (reply.status, armed.fired, len(business.sandbox.keys)) == (400, 0, 0)


def test_a_stored_error_after_the_commit_can_be_composed() -> None:
    """The last answer is what is said and stored."""
    business = Business()
    business.sandbox.faults.add(
        parse_fault({"effect": {"type": "sticky_5xx"}, "phase": "after_commit", "compose": True, "times": 1}), 0
    )
    business.sandbox.faults.add(
        parse_fault({"effect": {"type": "error", "status": 418}, "phase": "after_commit", "times": 1}), 0
    )

    first = business.post(DEPOSITS, deposit_body(), key=key(1))
    retry = business.post(DEPOSITS, deposit_body(), key=key(1))

    assert (first.status, retry.status, first.body == retry.body) == (418, 418, True)


def test_a_replayed_answer_is_rewritten_anew() -> None:
    """The true bytes are stored, and each answer is changed on its way out."""
    business = Business()
    business.post(DEPOSITS, deposit_body(), key=key(1))
    _arm(business, "unknown_members", members={"x": 1})

    reply = business.post(DEPOSITS, deposit_body(), key=key(1))

    claim = business.sandbox.keys.look_up(key(1), business.sandbox.now, DAY)
    assert json.loads(reply.body)["x"] == 1
    assert claim is not None
    assert b'"x":1' not in claim.body


def test_a_payout_can_be_stale() -> None:
    """Its older state is the one before its latest change."""
    business = Business()
    beneficiary = {"name": "Ada", "account": "DE02"}
    body = {"amount": 1, "currency": "EUR", "external_identifier": "o", "beneficiary": beneficiary}
    made = json.loads(business.post("/payout/payout-initiation", body).body)["data"]
    business.until_idle()
    _arm(business, "stale_read")

    stale = json.loads(business.get(f"/payout/{made['id']}").body)["data"]["status"]
    now = business.sandbox.ledger.find(made["id"])

    assert now is not None
    assert stale != getattr(now, "status", None)


def test_an_error_instead_of_a_replay_is_an_answer_of_its_own() -> None:
    """What a fault says instead of a replay has the retry's id, in the header as in the body."""
    business = Business()
    first = business.post(DEPOSITS, deposit_body(), key=key(1))
    _arm(business, "error", phase="after_commit", status=503)

    again = business.post(DEPOSITS, deposit_body(), key=key(1))

    assert again.request_id == json.loads(again.body)["error"]["request_id"]
    assert again.request_id == business.sandbox.journal.requests.entries[-1].id != first.request_id


def test_a_transaction_that_was_just_made_is_found() -> None:
    """It never changes, so no fault hides it or shows an older state of it."""
    business = Business()
    booking = {"type": "ADJUSTMENT", "amount": 1.25, "currency": "EUR", "external_identifier": "t"}
    transaction_id = data(business.post("/transaction/transaction-creation", booking))["id"]
    hidden, stale = _arm(business, "not_found_yet"), _arm(business, "stale_read")

    reply = business.get(f"/transaction/{transaction_id}")

    assert (reply.status, hidden.fired, stale.fired) == (200, 0, 0)


def test_an_error_after_the_commit_is_not_stored() -> None:
    """A retry replays the true answer; only `sticky_5xx` stores its own."""
    business = Business()
    armed = _arm(business, "error", phase="after_commit", status=503)
    lost = business.post(DEPOSITS, deposit_body(), key=key(1))
    business.sandbox.faults.remove(armed.id)

    replies = [lost, business.post(DEPOSITS, deposit_body(), key=key(1))]

    assert [reply.status for reply in replies] == [503, 200]


def test_each_list_can_be_behind() -> None:
    """A new list of resources is known to the faults that show it as it was; transactions never change."""
    lists = {operation.name for operation in operations() if operation.listed}

    assert lists - {"transaction-list"} == set(faulted._LISTS)  # noqa: SLF001 - the table that would lack it


@pytest.mark.parametrize("faults", ["", "faults:\n  - {effect: {type: latency, fixed: 1s}}\n"])
def test_a_scenario_that_contradicts_the_settings_is_refused(faults: str) -> None:
    """A deposit that chooses it gets an answer that says why, and leaves nothing behind."""
    box = Sandbox(settings={"webhooks": {"schedule": ["0s"], "repeat_last": False}})
    settings = "settings: {webhooks: {repeat_last: true}}\n"
    box.scenarios.upload(f"name: mine\nsummary: Repeats.\n{settings}{faults}lifecycle: {{pay_in: []}}\n")
    customer = {"first_name": "Ada", "last_name": "Lovelace", "email": "mine@scenario.test"}

    answer = box.handle("POST", "/pay-in/deposit-creation", deposit_body(customer=customer))

    error = answer.json()["error"]
    assert (answer.status, error["code"]) == (422, "VALIDATION_ERROR")
    assert "the last delay is repeated" in error["message"]
    assert (box.pay_ins.list(), box.faults.list(), len(box.events.list())) == ([], [], 0)
