"""Idempotency of POST, example by example (contract, "Idempotency rules"; assumptions, "Idempotency")."""

from __future__ import annotations

import json
from typing import Any

import pytest
from drive import DEPOSITS, Business, data, deposit_body, error_code, key

KEY = "5f0c9d3e-8a41-4b7e-9c1d-2e6f7a8b9c0d"


def _raw(text: str) -> bytes:
    """Return a deposit's body in which `49.9` is spelt as the text says."""
    return json.dumps(deposit_body()).replace("49.9", text).encode()


def _verdicts(business: Business) -> list[tuple[str, bool]]:
    return [(entry.verdict, entry.bytes_differ) for entry in business.sandbox.journal.requests.entries]


# Keys


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param([], id="none"),
        pytest.param([""], id="empty"),
        pytest.param([f"{{{KEY}}}"], id="braces"),
        pytest.param([f"urn:uuid:{KEY}"], id="urn"),
        pytest.param([KEY.replace("-", "")], id="undashed"),
        pytest.param([KEY.replace("-4b7e", "-1b7e")], id="version 1"),
        pytest.param([KEY.replace("-4b7e", "-7b7e")], id="version 7"),
        pytest.param([KEY.replace("-9c1d", "-7c1d")], id="variant NCS"),
        pytest.param([KEY.replace("-9c1d", "-cc1d")], id="variant Microsoft"),
        pytest.param(["00000000-0000-0000-0000-000000000000"], id="nil"),
        pytest.param([KEY[:-1]], id="too short"),
        pytest.param([KEY + "0"], id="too long"),
        pytest.param([KEY + "\n"], id="newline"),
        pytest.param([" " + KEY], id="blank before"),
        pytest.param([KEY[:-1] + "g"], id="no hexadecimal digit"),
        pytest.param([KEY[:-1] + "٣"], id="another script's digit"),
        pytest.param([KEY, KEY], id="the same twice"),
        pytest.param([KEY, key(1)], id="two"),
        pytest.param([f"{KEY},{key(1)}"], id="two in one"),
        pytest.param([f'"{KEY}"'], id="quoted"),
    ],
)
def test_what_is_no_canonical_version_4_key_is_refused(keys: list[str]) -> None:
    """Anything but exactly one canonical UUID version 4 is 400, and nothing is done."""
    business = Business()

    reply = business.post(DEPOSITS, deposit_body(), keys=keys)

    assert (reply.status, error_code(reply)) == (400, "INVALID_IDEMPOTENCY_KEY")
    assert business.events() == []


@pytest.mark.parametrize("variant", "89abAB")
def test_every_rfc_variant_is_a_key(variant: str) -> None:
    """The four values of the variant, in either case, are taken."""
    assert Business().post(DEPOSITS, deposit_body(), key=KEY.replace("-9c1d", f"-{variant}c1d")).status == 200


def test_a_key_is_the_same_in_either_case() -> None:
    """Capitals name the same key, so the second request is a replay."""
    business = Business()

    replies = [business.post(DEPOSITS, deposit_body(), key=each) for each in (KEY, KEY.upper())]

    assert replies[0].body == replies[1].body
    assert len(business.events()) == 1


def test_a_get_needs_no_key_and_ignores_one() -> None:
    """Keys are for POST."""
    assert Business().get("/pay-in", keys=["nonsense"]).status == 200


# Fingerprints


def test_the_same_request_is_replayed_byte_for_byte() -> None:
    """A retry gets the stored answer, creates nothing and emits nothing."""
    business = Business()

    replies = [business.post(DEPOSITS, deposit_body(), key=KEY) for _ in range(3)]

    assert [(200, replies[0].body)] * 3 == [(each.status, each.body) for each in replies]
    assert len(business.events()) == 1
    assert _verdicts(business) == [("new", False), ("replay", False), ("replay", False)]


def test_a_replay_has_the_request_id_of_the_first_answer() -> None:
    """A replay is the first answer, its header included; the journal and the events keep the ids of the requests."""
    business = Business()
    bodies = [deposit_body(), deposit_body(currency="ZZZ")]

    replies = [business.post(DEPOSITS, body, key=key(at)) for at, body in enumerate(bodies) for _ in range(2)]

    first, again, refused, refused_again = replies
    assert (first.request_id, refused.request_id) == (again.request_id, refused_again.request_id)
    assert json.loads(refused_again.body)["request_id"] == refused_again.request_id
    journal = [entry.id for entry in business.sandbox.journal.requests.entries]
    assert len(set(journal)) == len(journal) == 4
    assert [first.request_id, refused.request_id] == journal[::2]
    assert [first.request_id] == [event["request_id"] for event in business.events()]


def test_a_replay_shows_how_it_was() -> None:
    """The stored answer is not brought up to date."""
    business = Business()
    first = business.post(DEPOSITS, deposit_body(), key=KEY)
    business.until_idle()

    second = business.post(DEPOSITS, deposit_body(), key=KEY)

    assert first.body == second.body
    assert data(business.get(f"/pay-in/{data(first)['id']}"))["status"] == "succeeded"


@pytest.mark.parametrize(
    "again",
    [
        pytest.param(json.dumps(deposit_body(), indent=2).encode(), id="white space"),
        pytest.param(json.dumps(dict(reversed(deposit_body().items()))).encode(), id="order of members"),
        pytest.param(json.dumps(deposit_body()).replace("Ada", "\\u0041da").encode(), id="escapes"),
    ],
)
def test_a_body_that_parses_alike_is_the_same(again: bytes) -> None:
    """Another spelling of the same members replays, and the journal notes that the bytes differ."""
    business = Business()
    first = business.post(DEPOSITS, deposit_body(), key=KEY)

    second = business.post(DEPOSITS, again, key=KEY)

    assert first.body == second.body
    assert _verdicts(business) == [("new", False), ("replay", True)]


@pytest.mark.parametrize("again", ["49.90", "4.99e1", "49.900", '"49.9"', "50"])
def test_another_spelling_of_a_number_is_another_body(again: str) -> None:
    """Number lexemes are kept, so 49.9 and 49.90 differ: 409."""
    business = Business()
    business.post(DEPOSITS, _raw("49.9"), key=KEY)

    reply = business.post(DEPOSITS, _raw(again), key=KEY)

    assert (reply.status, error_code(reply)) == (409, "IDEMPOTENCY_CONFLICT")
    assert len(business.events()) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"external_identifier": "order-2"},
        {"metadata": {}},
        {"unknown": None},
        {"customer": {**deposit_body()["customer"], "email": "x@y"}},
    ],
)
def test_another_body_is_a_conflict(changes: dict[str, Any]) -> None:
    """Any member more, less or different is 409, one that nobody knows included."""
    business = Business()
    first = business.post(DEPOSITS, deposit_body(), key=KEY)

    reply = business.post(DEPOSITS, deposit_body(**changes), key=KEY)

    error = json.loads(reply.body)["error"]
    assert reply.status == 409
    assert {"original_request_id": first.request_id, "key": KEY} == error["details"]
    assert _verdicts(business) == [("new", False), ("conflict", True)]


@pytest.mark.parametrize(
    "path",
    [
        "/pay-in/deposit-creation/exchange-rates",
        DEPOSITS + "?a=b",
        "/payout/payout-initiation",
        "/pay-in/x/cancellation",
    ],
)
def test_the_same_key_elsewhere_is_a_conflict(path: str) -> None:
    """Path and query belong to the request: the same key and body on another one is 409."""
    business = Business()
    business.post(DEPOSITS, deposit_body(), key=KEY)

    assert business.post(path, deposit_body(), key=KEY).status == 409


def test_the_border_between_path_and_query_counts() -> None:
    """Two empty bodies on a path with and without a question mark are two requests."""
    business = Business()
    pay_in_id = business.deposit()
    business.post(f"/pay-in/{pay_in_id}/cancellation?x", key=KEY)

    assert business.post(f"/pay-in/{pay_in_id}/cancellation?y", key=KEY).status == 409


@pytest.mark.parametrize("broken", [b"{", b"\xff", b'{"a":1,"a":1}', b"[1"])
def test_a_malformed_body_under_a_known_key_is_a_conflict(broken: bytes) -> None:
    """What cannot be parsed is compared by its bytes, which are not those of the first."""
    business = Business()
    business.post(DEPOSITS, deposit_body(), key=KEY)

    assert business.post(DEPOSITS, broken, key=KEY).status == 409


@pytest.mark.parametrize("mode", ["parsed", "raw"])
@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"content_type": "text/plain"}, id="type"),
        pytest.param({"content_type": None}, id="no type"),
        pytest.param({"body_error": "The body did not arrive."}, id="unreadable"),
    ],
)
def test_what_cannot_be_compared_is_no_conflict(options: dict[str, Any], mode: str) -> None:
    """Another Content-Type, or a body that nobody could read, is 400 under a known key as under a new one."""
    business = Business(fingerprint=mode)
    business.post(DEPOSITS, deposit_body(), key=KEY)

    reply = business.post(DEPOSITS, deposit_body(), key=KEY, **options)

    assert (reply.status, error_code(reply)) == (400, "INVALID_INPUT")
    assert _verdicts(business)[-1] == ("none", False)
    assert business.post(DEPOSITS, deposit_body(), key=KEY).status == 200


def test_a_parameter_of_the_type_changes_nothing() -> None:
    """`application/json` with a charset is the same type."""
    business = Business()
    first = business.post(DEPOSITS, deposit_body(), key=KEY)

    assert first.body == business.post(DEPOSITS, deposit_body(), key=KEY, content_type="Application/JSON; a=b").body


def test_bytes_can_be_the_fingerprint() -> None:
    """With `fingerprint: raw` white space is a difference, and the same bytes are the same."""
    business = Business(fingerprint="raw")
    body = json.dumps(deposit_body()).encode()

    statuses = [business.post(DEPOSITS, each, key=KEY).status for each in (body, body, body + b" ")]

    assert statuses == [200, 200, 409]


def test_no_body_and_an_empty_object_are_the_same() -> None:
    """A cancellation may be retried either way."""
    business = Business()
    path = f"/pay-in/{business.deposit()}/cancellation"

    replies = [business.post(path, body, key=KEY) for body in (b"", b"{}", b" { } ")]

    assert [(200, replies[0].body)] * 3 == [(each.status, each.body) for each in replies]


def test_keys_are_the_businesss() -> None:
    """Two businesses may use the same key for different things."""
    one = Business("one")
    other = Business("other", beside=one)

    statuses = [
        one.post(DEPOSITS, deposit_body(), key=KEY).status,
        other.post(DEPOSITS, deposit_body(amount=1), key=KEY).status,
    ]

    assert statuses == [200, 200]
