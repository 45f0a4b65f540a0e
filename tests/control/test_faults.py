"""Faults and quotas over HTTP: made, read, changed, removed, and reset."""

from __future__ import annotations

import time
from typing import Any

import pytest
from drive import deposit_body
from servers import Client

LATENCY = {"type": "latency", "fixed": "1ms"}


async def test_a_new_fault_is_shown_with_its_defaults_and_counts(client: Client) -> None:
    """The answer is the whole fault; what was not said has its default."""
    box = await client.sandbox(clock={"mode": "manual", "start": "2026-01-01T00:00:00Z"})

    made = await box.control(
        "POST", "/faults", {"effect": {"type": "connection_reset"}, "match": {"operation": "deposit-*"}, "ttl": "10m"}
    )

    assert made.document == {
        "id": "fault-1",
        "on": "api",
        "enabled": True,
        "skip": 0,
        "probability": 1.0,
        "compose": False,
        "ttl": "10m",
        "match": {"operation": "deposit-*"},
        "effect": {"type": "connection_reset"},
        "times_matched": 0,
        "times_fired": 0,
        "created_at": "2026-01-01T00:00:00.000Z",
        "sequence": 1,
        "order": None,
        "expires_at": "2026-01-01T00:10:00.000Z",
        "active": True,
    }
    assert (await box.get("/faults/fault-1")) == made.document
    assert (await box.get("/faults"))["items"] == [made.document]


async def test_a_fault_fires_and_counts(client: Client) -> None:
    """An armed fault meets the requests that it matches, and no others; reads show how often."""
    box = await client.sandbox()
    fault = {
        "id": "busy",
        "match": {"external_identifier": "order-7"},
        "skip": 1,
        "times": 1,
        "effect": {"type": "error", "status": 503},
    }
    await box.control("POST", "/faults", fault)

    statuses = [
        (await box.api("POST", "/pay-in/deposit-creation", deposit_body(external_identifier=order))).status
        for order in ("order-7", "order-1", "order-7", "order-7")
    ]

    assert statuses == [200, 200, 503, 200]
    shown = await box.get("/faults/busy")
    assert (shown["times_matched"], shown["times_fired"], shown["active"]) == (2, 1, False)
    assert [request["faults"] for request in (await box.get("/requests"))["items"]] == [[], [], ["busy"], []]


async def test_a_change_keeps_the_counts_and_replaces_match_and_effect(client: Client) -> None:
    """PATCH lays members over a fault; null takes one back to its default; exact numbers stay."""
    box = await client.sandbox()
    tamper = {"type": "tamper", "path": "data.object.amount", "value": 1e-7}
    fault = {"id": "f", "on": "webhooks", "times": 5, "match": {"event_type": "pay-in.*"}, "effect": tamper}
    await box.control("POST", "/faults", fault)

    changed = await box.control("PATCH", "/faults/f", {"times": None, "match": {"attempt": 2}, "enabled": False})

    assert "times" not in changed.document
    assert (changed.document["match"], changed.document["enabled"], changed.document["effect"]) == (
        {"attempt": 2},
        False,
        tamper,
    )


async def test_a_null_in_an_effect_survives_a_change(client: Client) -> None:
    """A value of null is a value, and is still there after a change of something else."""
    box = await client.sandbox()
    effect = {"type": "tamper", "path": "data.object.amount", "value": None}
    await box.control("POST", "/faults", {"id": "f", "effect": effect})

    changed = await box.control("PATCH", "/faults/f", {"skip": 2})

    assert (changed.document["effect"], changed.document["skip"]) == (effect, 2)


BAD_FAULTS: list[tuple[Any, str]] = [
    ({}, "effect.type"),
    ({"effect": "latency"}, "effect.type"),
    ({"effect": {}}, "effect.type"),
    ({"effect": {"type": "earthquake"}}, "effect.type"),
    ({"effect": {"type": "hold"}, "on": "api"}, "effect.type"),
    ({"effect": {"type": "truncate"}, "on": "webhooks"}, "effect.type"),
    ({"effect": LATENCY, "on": "both"}, "on"),
    ({"effect": LATENCY, "colour": "red"}, "colour"),
    ({"effect": {**LATENCY, "colour": "red"}}, "effect.colour"),
    ({"effect": {"type": "latency", "fixed": "2"}}, "effect.fixed"),
    ({"effect": {"type": "latency", "fixed": 2}}, "effect.fixed"),
    ({"effect": {"type": "latency", "fixed": "2 fortnights"}}, "effect.fixed"),
    ({"effect": {"type": "latency"}}, "effect"),
    ({"effect": LATENCY, "match": {"attempt": 1}}, "match.attempt"),
    ({"effect": {"type": "signature", "mode": "missing"}, "match": {"attempt": 0}}, "match.attempt"),
    ({"effect": LATENCY, "match": {"operation": ""}}, "match.operation"),
    ({"effect": LATENCY, "match": "x"}, "match"),
    ({"effect": LATENCY, "probability": 1.01}, "probability"),
    ({"effect": LATENCY, "probability": -0.1}, "probability"),
    ({"effect": LATENCY, "probability": 10**400}, "probability"),
    ({"effect": LATENCY, "times": 0}, "times"),
    ({"effect": LATENCY, "skip": -1}, "skip"),
    ({"effect": LATENCY, "ttl": "0s"}, "ttl"),
    ({"effect": LATENCY, "ttl": 60}, "ttl"),
    ({"effect": LATENCY, "phase": "during"}, "phase"),
    ({"effect": {"type": "lost_record"}, "phase": "after_commit"}, "phase"),
    ({"effect": LATENCY, "id": "a/b"}, "id"),
    ({"effect": LATENCY, "id": "taken"}, "id"),
    ({"effect": {"type": "truncate", "fraction": 2}}, "effect.fraction"),
    ({"effect": {"type": "signature", "mode": "wrong"}}, "effect.mode"),
]


@pytest.mark.parametrize(("body", "member"), BAD_FAULTS)
async def test_a_bad_fault_is_refused_by_its_member(client: Client, body: object, member: str) -> None:
    """Whatever is wrong is one 400 with the member's path, and no fault is added."""
    box = await client.sandbox()
    await box.control("POST", "/faults", {"id": "taken", "effect": LATENCY})

    answer = await box.control("POST", "/faults", body)

    assert answer.error == (400, "invalid", member)
    assert answer.document["error"]["message"].startswith(f"{member}: ")
    assert [fault["id"] for fault in (await box.get("/faults"))["items"]] == ["taken"]


@pytest.mark.parametrize(
    ("body", "member"),
    [({"id": "other"}, "id"), ({"effect": None}, "effect.type"), ({"effect": {"fixed": "1s"}}, "effect.type")],
)
async def test_a_bad_change_changes_nothing(client: Client, body: object, member: str) -> None:
    """A change that would leave a bad fault is refused as a whole."""
    box = await client.sandbox()
    before = await box.control("POST", "/faults", {"id": "f", "effect": LATENCY})

    answer = await box.control("PATCH", "/faults/f", body)

    assert answer.error == (400, "invalid", member)
    assert await box.get("/faults/f") == before.document


async def test_removing_tells_how_often_it_fired(client: Client) -> None:
    """DELETE of one says its firings, DELETE of all how many there were; then nothing fires."""
    box = await client.sandbox()
    for name in ("a", "b", "c"):
        await box.control("POST", "/faults", {"id": name, "effect": {"type": "error", "status": 500}})
    await box.api("GET", "/pay-in")

    one = await box.control("DELETE", "/faults/a")
    rest = await box.control("DELETE", "/faults")

    assert (one.document, rest.document) == ({"deleted": "a", "times_fired": 1}, {"deleted": 2})
    assert (await box.api("GET", "/pay-in")).status == 200


async def test_a_reset_of_faults_leaves_the_rest(client: Client) -> None:
    """Scope `faults` disarms and counts them; requests and state stay."""
    box = await client.sandbox()
    await box.deposit()
    await box.control("POST", "/faults", {"effect": LATENCY})

    answer = await box.control("POST", "/reset", {"scope": ["faults"]})

    assert answer.document == {"scope": ["faults"], "removed": {"faults": 1}}
    assert (await box.get("/faults"))["items"] == []
    assert len((await box.get("/requests"))["items"]) == 1


async def test_a_fault_of_one_sandbox_is_none_of_another(client: Client) -> None:
    """Two sandboxes may use the same id, and each meets only its own fault."""
    one, other = await client.sandbox(), await client.sandbox()
    await one.control("POST", "/faults", {"id": "f", "effect": {"type": "error", "status": 503}})
    await other.control("POST", "/faults", {"id": "f", "effect": {"type": "error", "status": 418}})

    assert [(await box.api("GET", "/pay-in")).status for box in (one, other)] == [503, 418]


ON_SANDBOX_CLOCK = {"clock": "sandbox_clock"}
UNITS = {"epoch_seconds": "1767225660", "epoch_milliseconds": "1767225660000", "delta_seconds": "60"}


@pytest.mark.parametrize(("unit", "reset"), UNITS.items())
async def test_a_quota_counts_for_real(client: Client, unit: str, reset: str) -> None:
    """Within a window so many requests pass; the next is 429 with the documented headers, until the window ends."""
    box = await client.sandbox(clock={"mode": "manual", "start": "2026-01-01T00:00:00Z"})
    rule = await box.control("PUT", "/rate-limit", {"limit": 2, "window": "1m", "reset_unit": unit, **ON_SANDBOX_CLOCK})

    answers = [await box.api("GET", "/pay-in") for _ in range(3)]

    assert rule.document == {
        **ON_SANDBOX_CLOCK,
        "limit": 2,
        "window": "1m",
        "reset_unit": unit,
        "headers": "on_429",
    }
    assert [answer.status for answer in answers] == [200, 200, 429]
    limits = {name: value for name, value in answers[2].headers.items() if name.startswith("X-RateLimit")}
    assert limits == {"X-RateLimit-Limit": "2", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}
    await box.advance(by="1m")
    assert (await box.api("GET", "/pay-in")).status == 200


async def test_the_reset_is_on_the_machines_clock(client: Client) -> None:
    """Whatever the sandbox's clock shows, a client that sleeps until the reset sleeps out the window."""
    box = await client.sandbox(clock={"mode": "manual", "start": "2026-01-01T00:00:20Z"})
    await box.control("PUT", "/rate-limit", {"limit": 1, "window": "1m", "reset_unit": "epoch_milliseconds"})
    await box.api("GET", "/pay-in")
    await box.advance(by="20s")

    before = time.time()
    answer = await box.api("GET", "/pay-in")
    after = time.time()

    assert before - 0.01 <= int(answer.headers["X-RateLimit-Reset"]) / 1000 - 40 <= after + 0.01


async def test_a_new_quota_replaces_the_old_one_whole(client: Client) -> None:
    """PUT takes nothing over from the quota before, and starts unused; DELETE takes it away."""
    box = await client.sandbox()
    await box.control("PUT", "/rate-limit", {"limit": 1, "window": "1h", "headers": "always"})
    first = [(await box.api("GET", "/pay-in")).status for _ in range(2)]
    replaced = await box.control("PUT", "/rate-limit", {"limit": 1})
    second = [(await box.api("GET", "/pay-in")).status for _ in range(2)]
    await box.control("DELETE", "/rate-limit")

    assert (first, second) == ([200, 429], [200, 429])
    defaults = {"window": "1m", "reset_unit": "epoch_seconds", "clock": "wall_clock", "headers": "on_429"}
    assert replaced.document == {"limit": 1, **defaults}
    assert (await box.api("GET", "/pay-in")).status == 200


@pytest.mark.parametrize(
    ("body", "member"),
    [
        ({}, "limit"),
        ({"limit": -1}, "limit"),
        ({"limit": 1, "window": 60}, "window"),
        ({"limit": 1, "window": "0s"}, "window"),
        ({"limit": 1, "reset_unit": "minutes"}, "reset_unit"),
    ],
)
async def test_a_bad_quota_is_refused(client: Client, body: object, member: str) -> None:
    """A quota that makes no sense is 400 with its member, and the old one holds."""
    box = await client.sandbox()
    await box.control("PUT", "/rate-limit", {"limit": 0})

    answer = await box.control("PUT", "/rate-limit", body)

    assert answer.error == (400, "invalid", member)
    assert (await box.api("GET", "/pay-in")).status == 429
