"""The status table and the two error envelopes, to the member (contract sections 2.4 and 7)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from drive import DEPOSITS, Business, data, deposit_body, error_code, key

from paydouble.api import envelopes
from paydouble.api.values import Reply
from paydouble.core.errors import STATUS, ApiError
from paydouble.guards.credentials import basic_header

WRONG = basic_header("key_default", "wrong")
# A key whose letters show in which case it was sent.
SPELT = "5F0C9D3E-8A41-4B7E-9C1D-2E6F7A8B9C0D"
EDGE = ["endpoint", "UNAUTHORIZED", "FORBIDDEN", "RATE_LIMITED", "INTERNAL_ERROR"]
OPERATION = [
    "INVALID_INPUT",
    "INVALID_IDEMPOTENCY_KEY",
    "NOT_FOUND",
    "IDEMPOTENCY_CONFLICT",
    "VALIDATION_ERROR",
]
SNAKE = {
    "INVALID_INPUT": "invalid_request",
    "INVALID_IDEMPOTENCY_KEY": "invalid_idempotency_key",
    "UNAUTHORIZED": "unauthorized",
    "FORBIDDEN": "forbidden",
    "NOT_FOUND": "not_found",
    "IDEMPOTENCY_CONFLICT": "idempotency_conflict",
    "VALIDATION_ERROR": "validation_error",
    "RATE_LIMITED": "rate_limited",
    "INTERNAL_ERROR": "internal_error",
}


def _conflict(business: Business) -> Reply:
    business.post(DEPOSITS, deposit_body(), key=key(1))
    return business.post(DEPOSITS, deposit_body(amount=1), key=key(1))


# How each row of the status table is had; `endpoint` is the 404 that no operation gives.
PROVOKE: dict[str, Callable[[Business], Reply]] = {
    "INVALID_INPUT": lambda business: business.post(DEPOSITS, {}),
    "INVALID_IDEMPOTENCY_KEY": lambda business: business.post(DEPOSITS, keys=[]),
    "UNAUTHORIZED": lambda business: business.get("/pay-in", authorization=WRONG),
    "FORBIDDEN": lambda business: business.post("/payout/payout-initiation"),
    "NOT_FOUND": lambda business: business.get("/pay-in/payin_none"),
    "IDEMPOTENCY_CONFLICT": _conflict,
    "VALIDATION_ERROR": lambda business: business.post(DEPOSITS, deposit_body(currency="ZZZ")),
    "RATE_LIMITED": lambda business: business.get("/pay-in"),
    "INTERNAL_ERROR": lambda business: business.pipeline.internal_error(),
    "endpoint": lambda business: business.get("/nowhere"),
}


def provoke(case: str, **changes: Any) -> Reply:  # noqa: ANN401 - JSON is any
    """Return the answer of a row of the status table."""
    if case == "RATE_LIMITED":
        changes["rate_limit"] = {"limit": 0}
    return PROVOKE[case](Business(permissions=["pay-in-*", "deposit-*"], **changes))


@pytest.mark.parametrize("code", STATUS)
def test_every_row_of_the_status_table_can_be_had(code: str) -> None:
    """Each documented code comes with its documented status."""
    reply = provoke(code)

    assert (STATUS[code], code) == (reply.status, error_code(reply))


def test_the_status_table_is_the_contracts() -> None:
    """The table has the contract's nine rows and no other."""
    expected = {
        "INVALID_INPUT": 400,
        "INVALID_IDEMPOTENCY_KEY": 400,
        "UNAUTHORIZED": 401,
        "FORBIDDEN": 403,
        "NOT_FOUND": 404,
        "IDEMPOTENCY_CONFLICT": 409,
        "VALIDATION_ERROR": 422,
        "RATE_LIMITED": 429,
        "INTERNAL_ERROR": 500,
    }

    assert expected == dict(STATUS)


@pytest.mark.parametrize("case", EDGE)
def test_errors_of_the_edge_wear_envelope_a(case: str) -> None:
    """By default what the edge refuses has exactly the members of envelope A."""
    reply = provoke(case)

    code = "NOT_FOUND" if case == "endpoint" else case
    body = json.loads(reply.body)
    message = body["error"].pop("message")
    expected = {
        "error": {
            "code": SNAKE[code],
            "status": STATUS[code],
            "request_id": reply.request_id,
            "docs": "https://docs.example.test/errors",
        }
    }
    assert expected == body
    assert message


@pytest.mark.parametrize("case", OPERATION)
def test_errors_of_operations_wear_envelope_b(case: str) -> None:
    """By default what an operation refuses has exactly the members of envelope B; only a conflict has details."""
    reply = provoke(case)

    body = json.loads(reply.body)
    message = body["error"].pop("message")
    details = body["error"].pop("details", None)
    expected = {"success": False, "error": {"code": case}, "request_id": reply.request_id}
    assert expected == body
    assert message
    assert (case == "IDEMPOTENCY_CONFLICT") == (details is not None)


@pytest.mark.parametrize("envelope", ["A", "B"])
@pytest.mark.parametrize("sent", [SPELT, SPELT.lower()])
def test_a_conflict_names_the_first_request_and_the_key(sent: str, envelope: str) -> None:
    """The details of a 409 hold the documented two members in both envelopes; the key is as it was sent."""
    business = Business(envelope=envelope)
    first = business.post(DEPOSITS, deposit_body(), key=SPELT.lower())

    reply = business.post(DEPOSITS, deposit_body(amount=1), key=sent)

    expected = {"original_request_id": first.request_id, "key": sent}
    assert expected == json.loads(reply.body)["error"]["details"]


def test_a_conflict_with_what_still_runs_names_the_key_as_it_was_sent() -> None:
    """So does the 409 of `in_flight: conflict`, and the one that a fault makes up."""
    business = Business(in_flight="conflict", processing_time="1s")
    business.begin(DEPOSITS, deposit_body(), key=SPELT.lower())
    running = business.post(DEPOSITS, deposit_body(), key=SPELT)
    business.arm("force_conflict")
    forced = business.post(DEPOSITS, deposit_body(), key=SPELT)

    assert [json.loads(reply.body)["error"]["details"]["key"] for reply in (running, forced)] == [SPELT] * 2


@pytest.mark.parametrize("case", ["endpoint", "FORBIDDEN", "RATE_LIMITED", *OPERATION])
@pytest.mark.parametrize("mode", ["A", "B"])
def test_one_envelope_can_be_forced(mode: str, case: str) -> None:
    """With `envelope: A` or `B` every error of the business wears that one."""
    body = json.loads(provoke(case, envelope=mode).body)

    worn = "B" if "success" in body else "A"
    assert mode == worn


@pytest.mark.parametrize("mode", ["A", "B"])
def test_a_wrong_secret_is_refused_in_the_envelope_of_the_business_it_names(mode: str) -> None:
    """The business key says whose settings decide, even when the secret is wrong."""
    body = json.loads(provoke("UNAUTHORIZED", envelope=mode).body)

    assert ("B" if "success" in body else "A") == mode


def test_envelopes_can_alternate() -> None:
    """With `envelope: alternate` each error of a business wears the other one than the error before it."""
    business = Business(envelope="alternate")

    worn = []
    for path in ("/nowhere", "/pay-in/none", "/nowhere", "/nowhere", "/pay-in/none"):
        worn.append("B" if "success" in json.loads(business.get(path).body) else "A")
        business.get("/pay-in")

    assert worn == ["A", "B", "A", "B", "A"]


def test_the_documentation_url_is_a_setting() -> None:
    """`docs_url` stands in envelope A."""
    body = json.loads(provoke("FORBIDDEN", docs_url="https://example.test/e").body)

    assert body["error"]["docs"] == "https://example.test/e"


def test_success_has_two_members() -> None:
    """A success envelope holds `success` and `data`, and a created resource has an id."""
    business = Business()

    reply = business.post(DEPOSITS, deposit_body())

    assert {"success", "data"} == set(json.loads(reply.body))
    assert data(reply)["id"].startswith("payin_")


def test_a_request_id_ties_answer_journal_and_events_together() -> None:
    """The id of the answer is the journal's, and the `request_id` of the events that the request caused."""
    business = Business()

    reply = business.post(DEPOSITS, deposit_body())
    business.until_idle()

    assert [reply.request_id, None, None, None] == [event["request_id"] for event in business.events()]
    assert [reply.request_id] == [entry.id for entry in business.sandbox.journal.requests.entries]


def test_request_ids_are_never_used_twice() -> None:
    """Each request has its own id, also one whose answer is a replay."""
    business = Business()

    for _ in range(5):
        business.post(DEPOSITS, deposit_body(), key=key(1))

    assert len({entry.id for entry in business.sandbox.journal.requests.entries}) == 5


def test_an_unknown_mode_falls_back_to_the_layers() -> None:
    """`by_layer` is what decides when nothing else does: the same code wears A at the edge and B in an operation."""
    at_the_edge = ApiError("NOT_FOUND", "x", edge=True)
    of_a_resource = ApiError("NOT_FOUND", "x")

    worn = [envelopes.choose("by_layer", error, 1) for error in (at_the_edge, of_a_resource)]

    assert worn == ["A", "B"]
