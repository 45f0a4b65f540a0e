"""Creating a deposit (contract section 4): what it answers, what it emits and what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from drive import DEPOSITS, Business, data, deposit_body, error_code

from paydouble.api import schemas

RATES = f"{DEPOSITS}/exchange-rates"
CUSTOMER = deposit_body()["customer"]


def test_a_deposit_is_answered_with_its_pay_in() -> None:
    """A new pay-in has the documented members and the assumed ones, and nothing besides."""
    business = Business()

    created = data(business.post(DEPOSITS, deposit_body(return_url="https://shop.test/back", metadata={"cart": "7"})))

    pay_in_id, reference = created.pop("id"), created.pop("reference")
    expected = {
        "object": "payin",
        "external_identifier": "order-1",
        "amount": 49.9,
        "currency": "EUR",
        "status": "created",
        "payment_method": {"type": "CREDIT_CARD", "code": "card", "name": "Credit card"},
        "customer": CUSTOMER,
        "created_at": "2026-01-01T00:00:00.000Z",
        "updated_at": "2026-01-01T00:00:00.000Z",
        "payment_url": f"/_paydouble/checkout/{pay_in_id}",
        "expires_at": "2026-01-02T00:00:00.000Z",
        "return_url": "https://shop.test/back",
        "metadata": {"cart": "7"},
    }
    assert expected == created
    assert len(pay_in_id) == len("payin_") + 24
    assert len(reference) == len("PAY-7Q4M-2KXD")


# Each member of a deposit, with a value that nothing else would give it.
WANTED: dict[str, Any] = {
    "amount": 12.34,
    "currency": "USD",
    "external_identifier": "order-77",
    "payment_method": {"type": "CREDIT_CARD", "code": "card"},
    "customer": {"first_name": "Grace", "last_name": "Hopper", "email": "grace@example.test"},
    "country": "DE",
    "notification_url": "http://127.0.0.1:9/own",
    "return_url": "https://shop.test/thanks",
    "expires_in": 7_200,
    "metadata": {"cart": "77"},
}
# Not shown under these names: a country chooses the method, a URL is for deliveries, a time becomes `expires_at`.
NOT_SHOWN = {"country", "notification_url", "expires_in"}


def test_a_deposit_shows_what_was_asked_for() -> None:
    """Every member of a request reaches the pay-in; one that is dropped on the way would be null without a word."""
    assert set(WANTED) == set(schemas.DepositRequest.model_fields), "a member of deposits is missing in WANTED"

    created = data(Business().post(DEPOSITS, WANTED))

    created["payment_method"].pop("name")
    assert {name: created.get(name) for name in WANTED if name not in NOT_SHOWN} == {
        name: value for name, value in WANTED.items() if name not in NOT_SHOWN
    }
    assert created["expires_at"] == "2026-01-01T02:00:00.000Z"


def test_the_event_of_a_deposit_has_the_documented_members_alone() -> None:
    """`data.object` of a pay-in event has the members of contract section 2.2 and no assumed one (principle P1)."""
    business = Business()
    created = data(business.post(DEPOSITS, deposit_body(metadata={"cart": "7"}, return_url="https://shop.test/back")))

    (event,) = business.events()

    documented = set(schemas.PayInObject.model_fields)
    assert {name: value for name, value in created.items() if name in documented} == event["data"]["object"]
    assert {
        "id", "object", "type", "api_version", "created_at", "data", "request_id", "livemode"
    } == set(event)  # fmt: skip
    assert (event["type"], event["api_version"], event["livemode"], event["data"]["previous_attributes"]) == (
        "pay-in.created",
        "v1",
        False,
        {},
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"amount": ...},
        {"currency": ...},
        {"external_identifier": ...},
        {"payment_method": ...},
        {"customer": ...},
        {"external_identifier": ""},
        {"external_identifier": "x" * 129},
        {"external_identifier": 17},
        {"external_identifier": None},
        {"payment_method": "CREDIT_CARD"},
        {"payment_method": {}},
        {"payment_method": {"type": ""}},
        {"payment_method": {"type": "CREDIT_CARD", "code": ""}},
        {"customer": {**CUSTOMER, "email": "nobody"}},
        {"customer": {**CUSTOMER, "email": "a@b c"}},
        {"customer": {**CUSTOMER, "email": "a@" + "b" * 254}},
        {"customer": {**CUSTOMER, "first_name": ""}},
        {"customer": {**CUSTOMER, "last_name": "x" * 101}},
        {"customer": {"first_name": "Ada", "last_name": "Byron"}},
        {"country": "Germany"},
        {"country": "de"},
        {"notification_url": "shop.test/hooks"},
        {"notification_url": "ftp://shop.test/hooks"},
        {"notification_url": "https://shop.test/a b"},
        {"notification_url": "https://shop.test:99999/"},
        {"notification_url": "https://" + "x" * 2048},
        {"return_url": "javascript:alert(1)"},
        {"expires_in": 59},
        {"expires_in": 2_592_001},
        {"expires_in": 60.5},
        {"expires_in": "60"},
        {"expires_in": True},
        {"metadata": {"a": 1}},
        {"metadata": {"": "x"}},
        {"metadata": {"x" * 65: "x"}},
        {"metadata": {"x": "x" * 501}},
        {"metadata": {str(n): "x" for n in range(51)}},
        {"metadata": []},
    ],
)
def test_a_deposit_of_the_wrong_shape_is_malformed(changes: dict[str, Any]) -> None:
    """A missing or malformed member is 400, the message begins with it, and nothing is created."""
    business = Business()

    reply = business.post(DEPOSITS, deposit_body(**changes))

    assert (reply.status, error_code(reply)) == (400, "INVALID_INPUT")
    assert json.loads(reply.body)["error"]["message"].startswith(next(iter(changes)))
    assert business.events() == []


@pytest.mark.parametrize(
    "changes",
    [
        {"external_identifier": "x"},
        {"external_identifier": "é" * 128},
        {"payment_method": {"type": "CREDIT_CARD", "code": None}},
        {"country": None, "return_url": None, "notification_url": None, "metadata": None},
        {"country": "DE"},
        {"expires_in": 60},
        {"expires_in": 2_592_000},
        {"expires_in": 60.0},
        {"metadata": {}},
        {"metadata": {str(n): "" for n in range(50)}},
        {"notification_url": "http://[::1]:8080/hooks?a=b#c"},
        {"payment_method": {"type": "BANK_TRANSFER"}, "country": "DE"},
    ],
)
def test_a_deposit_at_the_edge_of_its_shape_is_taken(changes: dict[str, Any]) -> None:
    """The smallest and largest of each member are fine, and an optional one may be null."""
    assert Business().post(DEPOSITS, deposit_body(**changes)).status == 200


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"currency": "ZZZ"}, "currency"),
        ({"currency": "XAU"}, "currency"),
        ({"amount": 250_000.01}, "from 0.01 to 250000.00 EUR"),
        ({"payment_method": {"type": "CASH"}}, "there is no CASH"),
        ({"payment_method": {"type": "CREDIT_CARD", "code": "pix"}}, "there is no CREDIT_CARD pix"),
        ({"payment_method": {"type": "PIX"}}, "Pix does not take EUR"),
        ({"payment_method": {"type": "BANK_TRANSFER"}, "country": "BR"}, "not available in BR"),
        ({"payment_method": {"type": "BANK_TRANSFER"}, "amount": 0.5}, "from 1.00 to"),
        ({"customer": {**CUSTOMER, "email": "no-such-life@scenario.test"}}, "no-such-life"),
    ],
)
def test_a_deposit_against_a_rule_is_refused(changes: dict[str, Any], word: str) -> None:
    """A rule of the business is 422, the message says which, and nothing is created."""
    business = Business()

    reply = business.post(DEPOSITS, deposit_body(**changes))

    assert (reply.status, error_code(reply)) == (422, "VALIDATION_ERROR")
    assert word in json.loads(reply.body)["error"]["message"]
    assert business.events() == []


@pytest.mark.parametrize("status", [200, 201])
def test_the_status_of_what_is_created_is_a_setting(status: int) -> None:
    """`created_status` is that of every POST that creates, on a replay too, and of no other."""
    business = Business(created_status=status)
    key = "00000000-0000-4000-8000-000000000001"

    created = [business.post(DEPOSITS, deposit_body(), key=key).status for _ in range(2)]
    cancelled = business.post(f"/pay-in/{business.deposit()}/cancellation").status
    quoted = business.post(RATES, {"source_currency": "EUR"}).status

    assert [status, status, 200, 200] == [*created, cancelled, quoted]


@pytest.mark.parametrize(
    ("members", "expires_at"),
    [
        ({}, "2026-01-01T01:00:00.000Z"),
        ({"expires_in": None}, "2026-01-01T01:00:00.000Z"),
        ({"expires_in": 60}, "2026-01-01T00:01:00.000Z"),
    ],
)
def test_how_long_a_deposit_can_be_paid_is_a_setting(members: dict[str, Any], expires_at: str) -> None:
    """A deposit may say otherwise for itself."""
    business = Business(pay_in_expires_in="1h", scenario="abandoned")

    reply = business.post(DEPOSITS, deposit_body(**members))

    assert data(reply)["expires_at"] == expires_at
    business.until_idle()
    assert business.pay_in(data(reply)["id"]).status == "cancelled"
