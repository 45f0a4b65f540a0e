"""Scenarios over HTTP: uploaded, made the default, played, and forgotten."""

from __future__ import annotations

from typing import Any

import pytest
from drive import deposit_body
from servers import Box, Client

MINE = {
    "name": "mine",
    "summary": "Fails at once.",
    "lifecycle": {"pay_in": [{"after": "1s", "to": "failed", "failure": {"code": "x", "message": "No."}}]},
}
YAML = "name: mine\nsummary: From a file.\nlifecycle:\n  pay_in:\n    - {after: 1s, to: pending}\n"


async def _types(box: Box) -> list[str]:
    await box.advance(by="10s")
    return [item["type"] for item in (await box.get("/events"))["items"]]


async def test_an_upload_stands_in_the_list(client: Client) -> None:
    """The list names shipped and uploaded scenarios, and says which is active."""
    box = await client.sandbox()

    made = await box.control("POST", "/scenarios", MINE)
    await box.control("PUT", "/scenarios/active", {"name": "mine"})

    shown = {"name": "mine", "summary": "Fails at once.", "source": "uploaded", "active": False}
    assert (made.status, {name: made.document[name] for name in shown}) == (201, shown)
    assert made.document["lifecycle"]["pay_in"][0]["after"] == "1s"
    items = {item["name"]: item for item in (await box.get("/scenarios"))["items"]}
    assert items["mine"] == {**shown, "active": True}
    assert (items["happy-path"]["source"], items["happy-path"]["active"]) == ("shipped", False)


async def test_a_yaml_text_is_taken(client: Client) -> None:
    """A file's text does what the same object does, and replaces an upload of its name."""
    box = await client.sandbox()
    await box.control("POST", "/scenarios", MINE)

    made = await box.control("POST", "/scenarios", {"yaml": YAML})

    assert (made.status, made.document["summary"]) == (201, "From a file.")
    await box.control("POST", "/scenarios/mine/play", {})
    assert await _types(box) == ["pay-in.created", "pay-in.pending"]


@pytest.mark.parametrize(
    ("body", "member", "text"),
    [
        ({}, "name", "the key 'name' is missing"),
        ({**MINE, "name": "Mine"}, "name", "did you mean 'mine'?"),
        ({**MINE, "lifecycle": {"pay_in": [{"after": 1, "to": "failed"}]}}, "lifecycle.pay_in.0.after", "duration"),
        ({**MINE, "lifecycle": {"dispute": [{"after": "1s", "to": "won", "force": 1}]}}, "lifecycle", "or false"),
        ({"yaml": 7}, "yaml", "send a text"),
        ({"yaml": YAML, "name": "mine"}, "name", "not known"),
        ({"yaml": "a: b: c"}, "yaml", "line 1, column 5"),
        ({"yaml": YAML.replace("pending", "paid")}, "lifecycle.pay_in.0.to", "line 5, column 23"),
    ],
)
async def test_a_bad_upload_is_refused(client: Client, body: dict[str, Any], member: str, text: str) -> None:
    """What is no scenario is 400 at its member, a text's with line and column, and nothing is kept of it."""
    box = await client.sandbox()

    answer = await box.control("POST", "/scenarios", body)

    status, code, named = answer.error
    assert (status, code, (named or "").startswith(member)) == (400, "invalid", True)
    assert text in answer.document["error"]["message"]
    assert "mine" not in {item["name"] for item in (await box.get("/scenarios"))["items"]}


async def test_the_active_scenario_goes_first(client: Client) -> None:
    """Active, then the e-mail, then the setting: each decides once the one before it is removed."""
    box = await client.sandbox(scenario="card-declined")
    await box.control("POST", "/scenarios", MINE)
    payer = {"first_name": "Ada", "last_name": "Lovelace", "email": "abandoned@scenario.test"}

    await box.control("PUT", "/scenarios/active", {"name": "mine"})
    first = await box.deposit(customer=payer)
    gone = await box.control("DELETE", "/scenarios/active")
    second = await box.deposit(customer=payer)
    third = await box.deposit()
    again = await box.control("DELETE", "/scenarios/active")

    ledger = client.server.host.registry.get(box.id).ledger
    lives = [getattr(ledger.find(made["id"]), "scenario", None) for made in (first, second, third)]
    assert lives == ["mine", "abandoned", "card-declined"]
    assert (gone.document, again.document) == ({"deleted": "mine"}, {"deleted": None})


async def test_an_unknown_scenario_cannot_be_active(client: Client) -> None:
    """The refusal names the member and the scenarios that there are, uploaded ones too; nothing changes."""
    box = await client.sandbox()
    await box.control("POST", "/scenarios", MINE)

    answer = await box.control("PUT", "/scenarios/active", {"name": "nothing"})

    assert answer.error == (400, "invalid", "name")
    assert "mine" in answer.document["error"]["message"]
    assert [item for item in (await box.get("/scenarios"))["items"] if item["active"]] == []


async def test_an_uploaded_scenario_is_a_scenario_everywhere(client: Client) -> None:
    """The setting and the e-mail find it by its name."""
    box = await client.sandbox()
    await box.control("POST", "/scenarios", MINE)

    changed = await box.control("PATCH", "", {"scenario": "mine"})
    await box.deposit()

    assert changed.document["scenario"] == "mine"
    assert await _types(box) == ["pay-in.created", "pay-in.failed"]


async def test_a_played_scenario_has_its_own_pay_in(client: Client) -> None:
    """Without members it is 49.90 EUR by card, named for its scenario and counted; its events have no request."""
    box = await client.sandbox()
    await box.control("POST", "/scenarios", MINE)

    answers = [await box.control("POST", "/scenarios/mine/play", {}) for _ in range(2)]

    first = answers[0].document
    assert [answer.status for answer in answers] == [201, 201]
    assert (first["object"], first["status"], first["amount"], first["currency"]) == ("payin", "created", 49.9, "EUR")
    assert (first["payment_method"]["type"], first["customer"]["first_name"]) == ("CREDIT_CARD", "Ada")
    assert [answer.document["external_identifier"] for answer in answers] == ["scenario-mine-1", "scenario-mine-2"]
    assert (await box.get("/events"))["items"][0]["request_id"] is None
    read = await box.api("GET", f"/pay-in/{first['id']}")
    assert {name: first[name] for name in read.document["data"]} == read.document["data"]
    assert (await _types(box))[-2:] == ["pay-in.failed", "pay-in.failed"]


async def test_a_play_begins_when_it_is_asked_for(client: Client) -> None:
    """Not when something has last happened in the sandbox: what was due meanwhile has happened before."""
    box = await client.sandbox(clock={"mode": "manual", "start": "2026-01-01T00:00:00Z"})
    await box.deposit()
    idle = client.server.host.registry.get(box.id).clock
    idle.jump(idle.now() + 3_600_000)  # as a real clock runs on while nobody asks

    played = (await box.control("POST", "/scenarios/card-declined/play", {})).document

    assert played["created_at"] == "2026-01-01T01:00:00.000Z"
    assert (await _types(box))[:5] == [
        *(f"pay-in.{state}" for state in ("created", "pending", "processing", "succeeded")),
        "pay-in.created",
    ]


async def test_a_play_takes_the_members_of_a_deposit(client: Client) -> None:
    """What is given goes over the defaults, and playing goes over the active scenario and the e-mail."""
    box = await client.sandbox()
    await box.control("PUT", "/scenarios/active", {"name": "abandoned"})
    deposit = {
        "amount": 12,
        "external_identifier": "order-1",
        "customer": {"email": "abandoned@scenario.test"},
        "metadata": {"cart": "7"},
    }

    answer = await box.control("POST", "/scenarios/card-declined/play", {"deposit": deposit})

    shown = answer.document
    assert (shown["amount"], shown["external_identifier"], shown["metadata"]) == (12, "order-1", {"cart": "7"})
    assert shown["customer"]["last_name"] == "Lovelace"
    assert (await _types(box))[-1] == "pay-in.failed"


async def test_a_play_starts_from_the_scenarios_own_deposit(client: Client) -> None:
    """What the file says of its deposit holds unless the call says otherwise."""
    box = await client.sandbox()
    await box.control("POST", "/scenarios", {**MINE, "deposit": {"amount": 1500, "currency": "JPY"}})

    first = await box.control("POST", "/scenarios/mine/play", {})
    second = await box.control("POST", "/scenarios/mine/play", {"deposit": {"amount": 700}})

    shown = [(answer.document["amount"], answer.document["currency"]) for answer in (first, second)]
    assert shown == [(1500, "JPY"), (700, "JPY")]


async def test_a_scenario_brings_its_faults_and_settings(client: Client) -> None:
    """Over HTTP as in the core: a 503 for the order's first call alone, envelopes that alternate while it is active."""
    box = await client.sandbox()
    fault = {"match": {"operation": "deposit-creation"}, "times": 1, "effect": {"type": "error", "status": 503}}
    await box.control("POST", "/scenarios", {**MINE, "faults": [fault], "settings": {"envelope": "alternate"}})
    await box.control("PUT", "/scenarios/active", {"name": "mine"})

    statuses = [(await box.api("POST", "/pay-in/deposit-creation", deposit_body())).status for _ in range(2)]
    during = (await box.get())["settings"]["envelope"]
    await box.control("DELETE", "/scenarios/active")

    assert (statuses, during) == ([503, 200], "alternate")
    assert (await box.get())["settings"]["envelope"] == "by_layer"
    (shown,) = (await box.get("/faults"))["items"]
    assert (shown["id"], shown["times_fired"], shown["active"]) == ("mine-1.1", 1, False)


@pytest.mark.parametrize(
    ("deposit", "member"),
    [
        ({"amount": 0}, "deposit.amount"),
        ({"amount": "5"}, "deposit.amount"),
        ({"amount": True}, "deposit.amount"),
        ({"amount": 1.001}, "deposit.amount"),
        ({"colour": "red"}, "deposit.colour"),
        ({"customer": {"email": "nobody"}}, "deposit.customer.email"),
        ({"payment_method": {"colour": "red"}}, "deposit.payment_method.colour"),
        ({"external_identifier": ""}, "deposit.external_identifier"),
        ({"currency": "XYZ"}, "deposit.currency"),
    ],
)
async def test_a_bad_play_makes_nothing(client: Client, deposit: dict[str, Any], member: str) -> None:
    """A deposit that the API would refuse is refused here, at its member, and counts as no play."""
    box = await client.sandbox()

    answer = await box.control("POST", "/scenarios/happy-path/play", {"deposit": deposit})
    good = await box.control("POST", "/scenarios/happy-path/play")

    assert answer.error == (400, "invalid", member)
    assert good.document["external_identifier"] == "scenario-happy-path-1"
    assert len((await box.get("/events"))["items"]) == 1


async def test_a_reset_forgets_uploads_and_the_active_one(client: Client) -> None:
    """The scope `scenarios` takes both away and counts them; deposits then go on as the sandbox began."""
    box = await client.sandbox(scenario="card-declined")
    await box.control("POST", "/scenarios", MINE)
    await box.control("PUT", "/scenarios/active", {"name": "mine"})
    await box.control("PATCH", "", {"scenario": "mine"})

    answer = await box.control("POST", "/reset", {"scope": ["scenarios"]})

    assert answer.document["removed"] == {"scenarios": 1, "active_scenario": 1}
    assert (await box.get())["scenario"] == "card-declined"
    assert {item["source"] for item in (await box.get("/scenarios"))["items"]} == {"shipped"}
    await box.deposit()
    assert (await _types(box))[-1] == "pay-in.failed"


async def test_sandboxes_do_not_share_uploads(client: Client) -> None:
    """What one business uploads, another does not know."""
    box, other = await client.sandbox(), await client.sandbox()
    await box.control("POST", "/scenarios", MINE)

    assert (await other.control("POST", "/scenarios/mine/play", {})).error == (404, "not_found", None)
