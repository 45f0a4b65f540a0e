"""Answers in place of the operation's own: errors, 429s, pages, redirects."""

from __future__ import annotations

from typing import Any

import pytest
from drive import DEPOSITS, START
from servers import Client
from wires import Caller, caller


@pytest.mark.parametrize(
    ("attributes", "status", "error"),
    [
        ({"status": 400}, 400, {"code": "INVALID_INPUT"}),
        ({"status": 404}, 404, {"code": "NOT_FOUND"}),
        ({"status": 422}, 422, {"code": "VALIDATION_ERROR"}),
        ({"status": 418}, 418, {"code": "INVALID_INPUT", "message": "A fault answers 418."}),
        ({"status": 401}, 401, {"code": "unauthorized", "status": 401}),
        ({"status": 429}, 429, {"code": "rate_limited", "status": 429}),
        ({"status": 500}, 500, {"code": "internal_error", "status": 500}),
        ({"status": 599}, 599, {"code": "internal_error", "status": 599}),
        ({"status": 500, "envelope": "B"}, 500, {"code": "INTERNAL_ERROR"}),
        (
            {"status": 400, "envelope": "A"},
            400,
            {"code": "invalid_request", "docs": "https://docs.example.test/errors"},
        ),
        ({"status": 400, "code": "Odd", "envelope": "A"}, 400, {"code": "odd"}),
        ({"status": 400, "code": "Odd", "message": "No."}, 400, {"code": "Odd", "message": "No."}),
        ({"status": 422, "details": {"a": [1.5, 2**70]}}, 422, {"details": {"a": [1.5, 2**70]}}),
    ],
    ids=str,
)
async def test_any_error_in_either_envelope(
    shop: Caller, attributes: dict[str, Any], status: int, error: dict[str, Any]
) -> None:
    """`error` answers any status with any code, message and details, in the layer's envelope or the one it names."""
    shop.arm({"type": "error", **attributes})

    seen = await shop.deposit()

    assert (seen.status, seen.document["error"]) == (status, seen.document["error"] | error)
    assert ("success" in seen.document) == ("docs" not in seen.document["error"])


async def test_errors_count_for_alternating_envelopes(client: Client) -> None:
    """With `envelope: alternate` an injected error counts like any other."""
    shop = await caller(client, settings={"envelope": "alternate"})
    shop.arm({"type": "error", "status": 500})

    answers = [(await shop.deposit()).document for _ in range(3)]

    assert ["success" in answer for answer in answers] == [False, True, False]


async def test_a_code_nobody_knows(shop: Caller) -> None:
    """`unknown_code` answers with a code that is in no catalogue."""
    shop.arm({"type": "unknown_code", "code": "NEW_CODE", "status": 409})

    seen = await shop.deposit()

    assert (seen.status, seen.document["error"]["code"]) == (409, "NEW_CODE")


@pytest.mark.parametrize("status", [502, 504, 499])
async def test_a_proxys_page(shop: Caller, status: int) -> None:
    """`html_error` is HTML, and says so."""
    shop.arm({"type": "html_error", "status": status})

    seen = await shop.deposit()

    assert (seen.status, seen.headers["Content-Type"]) == (status, "text/html")
    assert seen.body.startswith(b"<html>")


async def test_a_page_over_a_kept_connection(shop: Caller) -> None:
    """Its content type does not depend on how the answer is written."""
    shop.arm("html_error")
    url = f"http://127.0.0.1:{shop.port}/api/v1/pay-in"

    async with shop.box.client.session.get(url, headers=shop.box.credentials) as response:
        told = (response.status, response.headers["Content-Type"], (await response.text())[:6])

    assert told == (502, "text/html", "<html>")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_leads_elsewhere(shop: Caller, status: int) -> None:
    """`redirect` answers with another host, and an empty body."""
    shop.arm({"type": "redirect", "to": "http://other.test/path?x=1", "status": status})

    seen = await shop.deposit()

    assert (seen.status, seen.headers["Location"], seen.body) == (status, "http://other.test/path?x=1", b"")


# The instant is a whole second, so that each unit says the same.
_LATER, _EARLIER = START + 30_000, START - 30_000


@pytest.mark.parametrize(
    ("attributes", "limits"),
    [
        ({}, ("100", "0", str(_LATER // 1000))),
        ({"limit": 7, "remaining": 3}, ("7", "3", str(_LATER // 1000))),
        ({"reset": "1h"}, ("100", "0", str(START // 1000 + 3600))),
        ({"reset_unit": "epoch_seconds"}, ("100", "0", str(_LATER // 1000))),
        ({"reset_unit": "delta_seconds"}, ("100", "0", "30")),
        ({"reset_unit": "epoch_milliseconds"}, ("100", "0", str(_LATER))),
        ({"headers": "missing"}, (None, None, None)),
        ({"headers": "malformed"}, ("many", "-1", "soon")),
        ({"headers": "past"}, ("100", "0", str(_EARLIER // 1000))),
        ({"headers": "past", "reset_unit": "delta_seconds"}, ("100", "0", "-30")),
        ({"headers": "past", "reset_unit": "epoch_milliseconds"}, ("100", "0", str(_EARLIER))),
    ],
    ids=str,
)
async def test_a_429_with_any_headers(
    client: Client, attributes: dict[str, Any], limits: tuple[str | None, ...]
) -> None:
    """`rate_limit` answers one 429 with the documented headers, none, malformed ones, or a reset in the past."""
    shop = await caller(client, settings={"rate_limit": {"limit": 100, "clock": "sandbox_clock"}})
    shop.arm({"type": "rate_limit", **attributes}, times=1)

    seen, after = await shop.deposit(), await shop.deposit()

    names = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
    assert (seen.status, tuple(seen.headers.get(name) for name in names)) == (429, limits)
    assert seen.document["error"]["code"] == "rate_limited"
    assert after.status == 200


@pytest.mark.parametrize(("unit", "reset"), [("delta_seconds", "30"), ("epoch_milliseconds", str(_LATER))])
async def test_the_sandboxs_own_unit_holds(client: Client, unit: str, reset: str) -> None:
    """Without `reset_unit` an injected 429 uses the unit of the sandbox's own quota."""
    shop = await caller(client, settings={"rate_limit": {"limit": 100, "reset_unit": unit, "clock": "sandbox_clock"}})
    shop.arm("rate_limit")

    seen = await shop.deposit()

    assert seen.headers["X-RateLimit-Reset"] == reset


@pytest.mark.parametrize(("headers", "after"), [("full", "2"), ("past", None), ("missing", None), ("malformed", None)])
async def test_an_injected_429_says_when_to_come_back(client: Client, headers: str, after: str | None) -> None:
    """With the setting `retry_after` it has that header too, rounded up."""
    shop = await caller(client, settings={"retry_after": True})
    shop.arm({"type": "rate_limit", "reset": "1001ms", "headers": headers})

    seen = await shop.deposit()

    assert seen.headers.get("Retry-After") == after


async def test_an_injected_error_takes_nothing_of_the_quota(client: Client) -> None:
    """A request that a fault answers before the commit does not count towards the quota."""
    shop = await caller(client, settings={"rate_limit": {"limit": 1}})
    shop.arm({"type": "error", "status": 503}, times=3)

    statuses = [(await shop.ask("GET", "/pay-in")).status for _ in range(5)]

    assert statuses == [503, 503, 503, 200, 429]


async def test_a_stranger_meets_no_fault(shop: Caller) -> None:
    """Faults belong to a business: a request without its key, or for no operation, gets the plain error."""
    shop.arm({"type": "error", "status": 503})
    shop.box.document["business_secret"] = "wrong"

    stranger = await shop.ask("POST", DEPOSITS, {})

    assert (stranger.status, shop.entries[0].faults) == (401, ())
