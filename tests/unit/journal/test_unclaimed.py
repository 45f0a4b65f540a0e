"""Requests that belong to no sandbox: few are kept, and no credentials of theirs."""

from __future__ import annotations

import pytest
from multidict import CIMultiDict

from paydouble.api.values import Request
from paydouble.guards.credentials import basic_header
from paydouble.inprocess import START_MS, InProcess
from paydouble.journal import MOST_UNCLAIMED, Unclaimed, UnclaimedEntry

DEPOSITS = "/api/v1/pay-in/deposit-creation"
OURS = basic_header("sandbox_key", "sandbox_secret")


def _ask(double: InProcess, target: str = DEPOSITS, body: bytes = b"", **headers: str) -> int:
    raw = tuple((name.encode(), value.encode()) for name, value in headers.items())
    return double.handle(Request("POST", target, CIMultiDict(headers), body, raw, "127.0.0.1")).status


@pytest.mark.parametrize(
    ("authorization", "key"),
    [
        ({}, None),
        ({"Authorization": "Bearer x"}, None),
        ({"Authorization": basic_header("live_key", "live_secret")}, "live_key"),
        ({"Authorization": basic_header("k" * 500, "s")}, "k" * 128),
    ],
    ids=["none", "another scheme", "unknown", "long"],
)
def test_a_request_of_no_business_is_kept(authorization: dict[str, str], key: str | None) -> None:
    """As it arrived and was answered, with its business key, but without its credentials."""
    double = InProcess()

    status = _ask(double, DEPOSITS + "?a=b", b"{}", **authorization, Cookie="session=1", Host="shop.test")

    (entry,) = double.unclaimed.log.entries
    assert status == entry.status == 401
    assert (entry.at, entry.sequence, entry.method, entry.target) == (START_MS, 1, "POST", DEPOSITS + "?a=b")
    assert (entry.business_key, entry.body, entry.operation) == (key, b"{}", None)
    assert b'"unauthorized"' in entry.response_body
    assert dict(entry.headers)[b"Host"] == b"shop.test"
    assert {value for name, value in entry.headers if name in {b"Authorization", b"Cookie"}} == {b"(not kept)"}


def test_what_a_sandbox_has_claimed_is_in_its_own_journal() -> None:
    """Its key is enough for that, also with a wrong secret; at an unknown address the secret must be right."""
    double = InProcess()
    wrong = basic_header("sandbox_key", "wrong")

    statuses = [
        _ask(double, Authorization=OURS),
        _ask(double, Authorization=wrong),
        _ask(double, "/nowhere", Authorization=OURS),
        _ask(double, "/nowhere", Authorization=wrong),
    ]

    assert statuses == [400, 401, 404, 404]
    assert len(double.sandbox.journal.requests.entries) == 3
    assert [(entry.target, entry.business_key) for entry in double.unclaimed.log.entries] == [
        ("/nowhere", "sandbox_key")
    ]


def test_only_the_newest_are_kept_and_little_of_each() -> None:
    """A client without a key must not be able to fill the memory."""
    double = InProcess()
    for number in range(MOST_UNCLAIMED + 2):
        _ask(double, f"/api/v1/{number}", b"x" * 10_000, Long="y" * 8_000, Longer="z" * 8_000, Last="w" * 1_000)

    log = double.unclaimed.log
    assert (len(log.entries), log.evicted, log.entries[0].target, log.entries[-1].sequence) == (
        100,
        2,
        "/api/v1/2",
        102,
    )
    assert {len(entry.body) for entry in log.entries} == {4096}
    assert {tuple(name for name, _ in entry.headers) for entry in log.entries} == {(b"Long", b"Longer")}


def test_a_failure_of_our_own_is_nobodys_request() -> None:
    """Nobody has sent it."""
    double = InProcess()
    double.pipeline.internal_error()

    assert not double.unclaimed.log.entries


def test_bytes_that_are_no_request_are_noted() -> None:
    """Without a method and a target, but with the answer that says what is wrong."""
    double = InProcess()
    double.pipeline.unreadable("No request.")
    (entry,) = double.unclaimed.log.entries

    assert (entry.method, entry.target, entry.status, entry.business_key) == ("", "", 400, None)
    assert b"No request." in entry.response_body


def test_each_is_told_of() -> None:
    """The listener, such as a log, is called."""
    told: list[UnclaimedEntry] = []
    unclaimed = Unclaimed(lambda: 5, told.append)
    entry = UnclaimedEntry("req_1", 0, "GET", "/", None, b"", b"")
    unclaimed.add(entry)

    assert told == [entry]
    assert entry.at == 5
