"""Event bodies: the documented members, exact amounts, the exact difference, and bytes that never change."""

import json
from types import SimpleNamespace
from typing import Any, cast

import orjson
import pytest
from benches import SECOND, START, advance, bench, bodies, deposit, paid
from hypothesis import given
from hypothesis import strategies as st

from paydouble.core.money import json_amount
from paydouble.journal import RequestEntry
from paydouble.openapi.components import EVENTS
from paydouble.payments.events import EVENT_TYPES, FAMILIES, changes, event_type
from paydouble.payments.lifecycle import first
from paydouble.payments.resources import Failure
from paydouble.sandbox import Sandbox

# Contract sections 2.1 and 2.2, by hand.
EVENT = {"id", "object", "type", "api_version", "created_at", "data", "request_id", "livemode"}
PAY_IN = {
    "id",
    "object",
    "reference",
    "external_identifier",
    "amount",
    "currency",
    "status",
    "payment_method",
    "customer",
    "created_at",
    "updated_at",
}
REFUND = {"id", "object", "payin_id", "reference", "amount", "currency", "status", "created_at", "updated_at"}
DISPUTE = REFUND | {"reason", "evidence_due_by", "evidence"}


def everything(box: Sandbox) -> None:
    """Make each of the thirteen events happen."""
    pay_in = paid(box, metadata={"a": "b"}, return_url="http://shop.test/thanks")
    one = box.create_refund(pay_in, amount=1, reason=None, external_identifier=None)
    advance(box, 3 * SECOND)
    other = box.create_refund(pay_in, amount=1, reason="broken", external_identifier="r-1")
    box.force_transition(other, "failed")
    assert one.status == "succeeded"
    dispute = box.open_dispute(pay_in)
    box.submit_evidence(dispute, {"receipt": "r"})
    box.accept_dispute(dispute)
    box.force_transition(deposit(box), "failed", failure=Failure("lost", "Lost."))
    box.cancel_pay_in(deposit(box))


def test_there_are_the_thirteen_types_of_the_contract() -> None:
    """A business sees every type of contract section 6 and no other."""
    box = bench()

    everything(box)

    seen = {body["type"] for body in bodies(box)}
    assert seen == set(EVENT_TYPES)
    assert len(seen) == 13


@pytest.mark.parametrize("family", FAMILIES)
def test_every_state_has_an_event_and_every_event_a_state(family: str) -> None:
    """A state without a documented type could not be told, and a type without a state would never be sent."""
    kind = FAMILIES[family]

    def type_in(state: str, *, opened: bool = False) -> str | None:
        return event_type(cast("Any", SimpleNamespace(OBJECT=kind.OBJECT, status=state)), opened=opened)

    types = {type_in(first(kind.TABLE), opened=True), *map(type_in, kind.TABLE)}

    assert types == {each for each in EVENT_TYPES if each.startswith(f"{family}.")}


def test_every_type_is_of_a_family() -> None:
    """What has a type has an object, whose model the documents show."""
    assert {each.partition(".")[0] for each in EVENT_TYPES} == set(FAMILIES) == set(EVENTS)


def test_an_event_has_the_documented_members_alone() -> None:
    """Nothing undocumented is in an event, nor in the pay-in that it carries (principle P1)."""
    box = bench()

    everything(box)

    for body in bodies(box):
        assert set(body) == EVENT
        assert set(body["data"]) == {"object", "previous_attributes"}
        resource = body["data"]["object"]
        match resource["object"]:
            case "payin":
                assert set(resource) == PAY_IN
                assert set(resource["payment_method"]) == {"type", "code", "name"}
                assert set(resource["customer"]) == {"first_name", "last_name", "email"}
            case "refund":
                assert set(resource) - {"external_identifier", "reason", "failure"} == REFUND
            case _:
                assert set(resource) == DISPUTE


def test_previous_attributes_are_exactly_the_difference() -> None:
    """What an update carries, laid over the new object, gives the object of the event before."""
    box = bench()
    latest: dict[str, dict[str, Any]] = {}

    everything(box)

    for body in bodies(box):
        now, previous = body["data"]["object"], body["data"]["previous_attributes"]
        before = latest.get(now["id"])
        if before is None:
            assert previous == {}
        else:
            assert previous == {name: value for name, value in before.items() if now.get(name) != value}
        latest[now["id"]] = now


def test_a_change_of_state_shows_the_prior_one() -> None:
    """The contract's example: `previous_attributes` holds the prior status."""
    box = bench()
    deposit(box)

    advance(box, 2 * SECOND)

    expected = {"status": "created", "updated_at": "2026-01-01T00:00:00.000Z"}
    assert bodies(box)[-1]["data"]["previous_attributes"] == expected


documents = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 2) | st.sampled_from(["x", "y"]))


@given(documents, documents)
def test_changes_are_what_differs(before: dict[str, Any], after: dict[str, Any]) -> None:
    """A member is among the changes exactly when it is gone or has another value now."""
    found = changes(before, after)

    assert found == {name: value for name, value in before.items() if (name, value) not in after.items()}


def test_an_amount_changes_when_its_digits_do() -> None:
    """Two amounts are the same when the same bytes would be sent."""
    before = {"amount": json_amount(4990, 2)}

    same = changes(before, {"amount": json_amount(4990, 2)})
    other = changes(before, {"amount": json_amount(4991, 2)})

    assert (same, orjson.dumps(other)) == ({}, b'{"amount":49.90}')


@pytest.mark.parametrize(
    ("minor", "currency", "written"), [(4990, "EUR", b"49.90"), (1500, "JPY", b"1500"), (1250, "KWD", b"1.250")]
)
def test_an_event_keeps_an_amounts_digits(minor: int, currency: str, written: bytes) -> None:
    """The bytes that are sent hold the amount as a JSON number with its currency's digits (principle P4)."""
    box = bench()

    deposit(box, minor, currency)

    assert b'"amount":' + written + b"," in box.journal.events.entries[0].body


def test_frozen_bytes_never_change() -> None:
    """What becomes of the pay-in and of the settings leaves the event of its creation as it was."""
    box = bench()
    deposit(box)
    event = box.journal.events.entries[0]
    before = bytes(event.body)

    box.apply(bench(livemode=True, api_version="v9", timestamps="seconds").settings)
    advance(box, 10 * SECOND)

    assert event.body == before


def test_the_settings_show_in_an_event() -> None:
    """Version, livemode and the precision of times are settings (assumptions I3 to I5)."""
    box = bench(livemode=True, api_version="v9", timestamps="seconds")

    deposit(box)

    body = bodies(box)[0]
    shown = (body["livemode"], body["api_version"], body["created_at"], body["data"]["object"]["created_at"])
    assert shown == (True, "v9", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z")


@pytest.mark.parametrize(("setting", "there"), [("null", True), ("omit", False)])
def test_an_event_that_no_request_caused(setting: str, there: bool) -> None:
    """Its `request_id` is null, or left out when the setting says so."""
    box = bench(event_request_id=setting)
    deposit(box)

    body = bodies(box)[0]

    assert ("request_id" in body, body.get("request_id")) == (there, None)


def test_an_event_names_the_request_that_caused_it() -> None:
    """The event bears the request's id, and the journal's entry of the request the event's."""
    box = bench()
    box.publisher.cause = entry = RequestEntry("req_1", box.now, "POST", "/", None, b"", b"")

    deposit(box)

    (event,) = box.journal.events.entries
    assert (bodies(box)[0]["request_id"], event.request_id, entry.events) == ("req_1", "req_1", (event.id,))


def test_an_event_can_name_the_latest_request_about_its_object() -> None:
    """Where the setting says so: that of the creation, until another one changes the object."""
    box = bench(event_request_id="object")
    box.publisher.cause = RequestEntry("req_1", box.now, "POST", "/", None, b"", b"")
    pay_in = deposit(box)
    for request, state in ((None, "pending"), ("req_2", "processing"), (None, "succeeded")):
        box.publisher.cause = RequestEntry(request, box.now, "POST", "/", None, b"", b"") if request else None
        box.force_transition(pay_in, state)
    box.open_dispute(pay_in)

    assert [each["request_id"] for each in bodies(box)] == ["req_1", "req_1", "req_2", "req_2", None]


def test_what_was_said_is_what_is_sent() -> None:
    """The event of a creation, whole."""
    box = bench()
    pay_in = deposit(box)

    event = box.journal.events.entries[0]

    at = "2026-01-01T00:00:00.000Z"
    expected = {
        "id": event.id,
        "object": "event",
        "type": "pay-in.created",
        "api_version": "v1",
        "created_at": at,
        "data": {
            "object": {
                "id": pay_in.id,
                "object": "payin",
                "reference": pay_in.reference,
                "external_identifier": "order-1",
                "amount": 49.9,
                "currency": "EUR",
                "status": "created",
                "payment_method": {"type": "CREDIT_CARD", "code": "card", "name": "Credit card"},
                "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@shop.test"},
                "created_at": at,
                "updated_at": at,
            },
            "previous_attributes": {},
        },
        "request_id": None,
        "livemode": False,
    }
    assert (json.loads(event.body), event.created_at) == (expected, START)
