"""Which of two faults a request is refused for (assumptions, "Order of checks")."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from drive import DEPOSITS, Business, deposit_body, error_code, key, settings

from paydouble.api import calls
from paydouble.guards.credentials import basic_header

KNOWN = key(1)
# In the documented order: what is wrong, how a request or the settings come to be so, and what it is refused with.
CHECKS: dict[str, tuple[dict[str, Any], tuple[int, str, str]]] = {
    "endpoint": ({"path": "/pay-in/deposit-creations"}, (404, "NOT_FOUND", "There is no POST")),
    "address": ({"settings": {"allowed_addresses": ["10.0.0.0/8"]}}, (403, "FORBIDDEN", "address")),
    "credentials": ({"authorization": basic_header("key_default", "wrong")}, (401, "UNAUTHORIZED", "secret")),
    "permission": ({"settings": {"permissions": ["exchange-rates"]}}, (403, "FORBIDDEN", "permission")),
    "rate limit": ({"settings": {"rate_limit": {"limit": 0}}}, (429, "RATE_LIMITED", "Too many")),
    "key": ({"keys": ["not-a-uuid"]}, (400, "INVALID_IDEMPOTENCY_KEY", "Idempotency-Key")),
    "known key": ({"keys": [KNOWN]}, (409, "IDEMPOTENCY_CONFLICT", "different request")),
    "body": ({"body": {"external_identifier": ...}}, (400, "INVALID_INPUT", "external_identifier")),
    "rule": ({"body": {"currency": "ZZZ"}}, (422, "VALIDATION_ERROR", "currency")),
}


def _refusal(*faults: str) -> tuple[int, str, str]:
    """Send one request with some faults; returns its status, its code and its message."""
    business = Business()
    business.post(DEPOSITS, deposit_body(external_identifier="the first with this key"), key=KNOWN)
    changes: dict[str, Any] = {}
    body: dict[str, Any] = {}
    options: dict[str, Any] = {"keys": []}
    path = DEPOSITS
    for fault in faults:
        how = dict(CHECKS[fault][0])
        changes.update(how.pop("settings", {}))
        body.update(how.pop("body", {}))
        options["keys"] += how.pop("keys", [])
        path = how.pop("path", path)
        options.update(how)
    options["keys"] = options["keys"] or [key(2)]
    business.sandbox.apply(settings(**changes))
    reply = business.post(path, deposit_body(**body), **options)
    return reply.status, error_code(reply), reply.body.decode()


@pytest.mark.parametrize("fault", CHECKS)
def test_each_fault_alone_is_refused_for_what_it_is(fault: str) -> None:
    """A request with one fault gets that fault's status and code."""
    status, code, message = _refusal(fault)

    expected_status, expected_code, word = CHECKS[fault][1]
    assert (expected_status, expected_code) == (status, code)
    assert word in message


@pytest.mark.parametrize(("earlier", "later"), list(combinations(CHECKS, 2)))
def test_of_two_faults_the_one_that_is_checked_first_decides(earlier: str, later: str) -> None:
    """A request with two faults gets the answer of the check that stands first in the documented order."""
    status, code, message = _refusal(earlier, later)

    expected_status, expected_code, word = CHECKS[earlier][1]
    assert (expected_status, expected_code) == (status, code)
    assert word in message


def test_a_malformed_body_under_a_known_key_is_a_conflict() -> None:
    """Bytes that are no JSON differ from the body that the key is known with, so the answer is 409, not 400."""
    business = Business()
    business.post(DEPOSITS, deposit_body(), key=KNOWN)

    reply = business.post(DEPOSITS, b"{", key=KNOWN)

    assert (reply.status, error_code(reply)) == (409, "IDEMPOTENCY_CONFLICT")


def test_a_request_that_the_address_list_stops_uses_up_no_quota() -> None:
    """What is refused before the rate limit is not counted by it."""
    business = Business(rate_limit={"limit": 1}, permissions=["deposit-*"])
    business.get("/pay-in")
    business.request("POST", DEPOSITS, authorization=basic_header("key_default", "wrong"))

    reply = business.post(DEPOSITS, deposit_body())

    assert reply.status == 200


def test_a_request_with_a_bad_key_uses_up_quota() -> None:
    """What is refused after the rate limit was counted by it."""
    business = Business(rate_limit={"limit": 1})
    business.post(DEPOSITS, deposit_body(), key="nonsense")

    reply = business.post(DEPOSITS, deposit_body())

    assert reply.status == 429


@pytest.mark.parametrize(
    ("settings", "status"),
    [({"permissions": []}, 403), ({"rate_limit": {"limit": 0, "window": "60s"}}, 429)],
    ids=["permission", "quota"],
)
def test_a_body_is_not_read_before_it_can_matter(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], status: int
) -> None:
    """A deposit that is refused for other reasons costs no parse, which for a large one is long."""
    read: list[object] = []
    monkeypatch.setattr(calls, "parse", lambda *given: read.append(given))

    reply = Business(**settings).post("/pay-in/deposit-creation", deposit_body())

    assert (reply.status, read) == (status, [])
