"""Forced outcomes and changes of a sandbox: what they do, and that a refused one does nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from servers import Box, Client


async def _types(box: Box) -> list[str]:
    return [event["type"] for event in (await box.get("/events"))["items"]]


async def _transition(box: Box, pay_in: dict[str, Any], **wanted: object) -> Any:  # noqa: ANN401 - JSON is any
    return await box.control("POST", f"/pay-ins/{pay_in['id']}/transition", wanted)


async def test_a_forced_transition_ends_the_script(client: Client) -> None:
    """A forced status is final for the script: after a forced failure nothing else happens to the pay-in."""
    box = await client.sandbox()
    pay_in = await box.deposit()
    failure = {"code": "card_declined", "message": "No."}

    answer = await _transition(box, pay_in, to="failed", failure=failure)
    await box.advance(until_idle=True)

    assert (answer.document["status"], answer.document["failure"]) == ("failed", failure)
    assert await _types(box) == ["pay-in.created", "pay-in.failed"]


async def test_an_illegal_transition_is_a_conflict(client: Client) -> None:
    """A transition outside the table is 409, changes nothing, and says how to do it all the same."""
    box = await client.sandbox()
    pay_in = await box.deposit()

    answer = await _transition(box, pay_in, to="succeeded")

    assert answer.error == (409, "illegal_transition", "to")
    assert "force: true" in answer.document["error"]["message"]
    assert await _types(box) == ["pay-in.created"]


async def test_force_goes_outside_the_table(client: Client) -> None:
    """Late money: with `force` a cancelled pay-in succeeds."""
    box = await client.sandbox(scenario="abandoned")
    pay_in = await box.deposit(expires_in=60)
    await box.advance(by="60s")

    answer = await _transition(box, pay_in, to="succeeded", force=True)

    assert (answer.status, answer.document["status"]) == (200, "succeeded")
    assert await _types(box) == ["pay-in.created", "pay-in.cancelled", "pay-in.succeeded"]
    last = (await box.get("/events"))["items"][-1]
    assert json.loads(last["body"])["data"]["previous_attributes"]["status"] == "cancelled"


@pytest.mark.parametrize(
    ("wanted", "member"),
    [
        ({"to": "paid"}, "to"),
        ({"to": "needs_response"}, "to"),
        ({"to": "pending", "failure": {"code": "x", "message": "y"}}, "failure"),
        ({"to": "failed", "failure": {"code": "x"}}, "failure.message"),
        ({"to": "failed", "failure": {"code": "", "message": "y"}}, "failure.code"),
        ({"to": 7}, "to"),
        ({"to": "pending", "force": "maybe"}, "force"),
        ({}, "to"),
    ],
)
async def test_a_bad_transition_is_refused(client: Client, wanted: dict[str, Any], member: str) -> None:
    """What is no state or no failure is 400 with the member's path, and changes nothing."""
    box = await client.sandbox()
    pay_in = await box.deposit()

    answer = await _transition(box, pay_in, **wanted)

    assert answer.error == (400, "invalid", member)
    assert await _types(box) == ["pay-in.created"]


async def test_a_dispute_arrives(client: Client) -> None:
    """The disputes call opens a dispute about the given amount and emits its event."""
    box = await client.sandbox()
    pay_in = await box.deposit()
    await box.advance(until_idle=True)

    answer = await box.control("POST", f"/pay-ins/{pay_in['id']}/disputes", {"amount": 12.5, "reason": "not_received"})

    shown = {name: answer.document[name] for name in ("object", "payin_id", "amount", "status", "reason")}
    assert shown == {
        "object": "dispute",
        "payin_id": pay_in["id"],
        "amount": 12.5,
        "status": "needs_response",
        "reason": "not_received",
    }
    assert (await _types(box))[-1] == "dispute.created"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"amount": 1000}, 409),
        ({"amount": 0}, 400),
        ({"amount": -1}, 400),
        ({"amount": 1.001}, 400),
        ({"amount": "5"}, 400),
        ({"reason": ""}, 400),
    ],
)
async def test_a_bad_dispute_is_refused(client: Client, body: dict[str, Any], status: int) -> None:
    """An amount that cannot be disputed is refused, and no dispute is opened."""
    box = await client.sandbox()
    pay_in = await box.deposit()
    await box.advance(until_idle=True)

    answer = await box.control("POST", f"/pay-ins/{pay_in['id']}/disputes", body)

    assert answer.status == status
    assert "dispute.created" not in await _types(box)


async def test_an_unpaid_pay_in_cannot_be_disputed(client: Client) -> None:
    """A dispute needs money that was paid."""
    box = await client.sandbox()
    pay_in = await box.deposit()

    answer = await box.control("POST", f"/pay-ins/{pay_in['id']}/disputes", {})

    assert answer.status == 409
    assert await _types(box) == ["pay-in.created"]


async def test_settings_change_member_by_member(client: Client) -> None:
    """PATCH lays the given settings over the present ones, at every depth."""
    box = await client.sandbox(settings={"livemode": True, "webhooks": {"timeout": "3s"}})

    await box.control("PATCH", "", {"settings": {"webhooks": {"require_https": True}}})

    settings = (await box.get())["settings"]
    assert (settings["livemode"], settings["webhooks"]["timeout"], settings["webhooks"]["require_https"]) == (
        True,
        "3s",
        True,
    )


GOOD = {"settings": {"livemode": True}}


@pytest.mark.parametrize(
    ("change", "member"),
    [
        ({**GOOD, "scenario": "no-such"}, "scenario"),
        ({**GOOD, "notification_url": "ftp://x/"}, "notification_url"),
        ({**GOOD, "notification_url": "http://"}, "notification_url"),
        ({**GOOD, "clock": "manual"}, "clock"),
        ({"settings": {"livemode": True, "webhooks": {"timeout": "2"}}}, "settings.webhooks.timeout"),
        ({"settings": {"livemode": True, "webhooks": {"timeout": 2}}}, "settings.webhooks.timeout"),
        ({"settings": {"livemode": True, "colour": "red"}}, "settings.colour"),
        (
            {"settings": {"livemode": True, "webhooks": {"signature_header": "a b"}}},
            "settings.webhooks.signature_header",
        ),
        ({"settings": {"livemode": True, "allowed_addresses": ["x"]}}, "settings.allowed_addresses.0"),
        ({"settings": [], "notification_url": "http://127.0.0.1/"}, "settings"),
    ],
)
async def test_a_change_is_made_whole_or_not_at_all(client: Client, change: dict[str, Any], member: str) -> None:
    """When anything in a PATCH is refused, nothing of it is done."""
    box = await client.sandbox()
    before = await box.get()

    answer = await box.control("PATCH", "", change)

    assert answer.error == (400, "invalid", member)
    assert await box.get() == before


@pytest.mark.parametrize(
    ("wanted", "member"),
    [
        ({"id": "default"}, "id"),
        ({"id": "a b"}, "id"),
        ({"id": ""}, "id"),
        ({"business_key": "sandbox_key"}, "business_key"),
        ({"business_key": "with:colon"}, "business_key"),
        ({"webhook_secret": " "}, "webhook_secret"),
        ({"webhook_secret": ""}, "webhook_secret"),
        ({"scenario": "no-such"}, "scenario"),
        ({"seed": "x"}, "seed"),
        ({"clock": {"mode": "manual", "rate": 2}}, "clock.rate"),
        ({"notification_url": "nonsense"}, "notification_url"),
        ({"settings": {"journal_limit": 0}}, "settings.journal_limit"),
    ],
)
async def test_a_bad_sandbox_is_not_made(client: Client, wanted: dict[str, Any], member: str) -> None:
    """What cannot be is 400 with the member's path, and no sandbox is left behind."""
    answer = await client.control("POST", "/sandboxes", wanted)

    assert answer.error == (400, "invalid", member)
    assert (await client.control("GET", "/health")).document["sandboxes"] == 1


async def test_a_blank_webhook_secret_changes_nothing(client: Client) -> None:
    """Nothing can be signed with a blank secret, so neither it nor the URL beside it is taken."""
    box = await client.sandbox()
    before = await box.get("/webhook")

    answer = await box.control("PATCH", "/webhook", {"secret": "\t", "notification_url": "http://127.0.0.1:1/"})

    assert answer.error == (400, "invalid", "secret")
    assert await box.get("/webhook") == before


async def test_a_reset_forgets_and_says_what(client: Client) -> None:
    """A reset without a scope removes all state, cancels pending work and reports both."""
    box = await client.sandbox()
    await box.deposit()
    await box.advance(by="2s")

    answer = await box.control("POST", "/reset")

    removed = answer.document["removed"]
    wanted = {"pay_ins": 1, "events": 2, "deliveries": 2, "requests": 1, "idempotency_keys": 1, "timers_cancelled": 2}
    assert {name: removed[name] for name in wanted} == wanted
    assert await _types(box) == []
    assert (await box.get("/requests"))["items"] == []
    assert (await box.api("GET", "/pay-in")).document["data"]["items"] == []
    assert (await box.advance(until_idle=True))["fired"] == 0


async def test_a_reset_sandbox_begins_as_it_began(client: Client) -> None:
    """After a reset that asks for the same ids the same commands make them again."""
    box = await client.sandbox(clock={"mode": "manual", "start": "2026-01-01T00:00:00Z"})
    first = await box.deposit()
    await box.control("POST", "/reset", {"same_ids": True})

    assert await box.deposit() == first


async def test_a_scoped_reset_leaves_the_rest(client: Client) -> None:
    """With `scope` only what is named is forgotten."""
    box = await client.sandbox()
    await box.deposit()

    await box.control("POST", "/reset", {"scope": ["requests"]})

    assert (await box.get("/requests"))["items"] == []
    assert await _types(box) == ["pay-in.created"]
    assert len((await box.api("GET", "/pay-in")).document["data"]["items"]) == 1


async def test_the_clock_cannot_be_reset_alone(client: Client) -> None:
    """Otherwise the sandbox's state would be in the clock's future."""
    box = await client.sandbox()
    await box.deposit()

    answer = await box.control("POST", "/reset", {"scope": ["clock", "requests"]})

    assert answer.error == (400, "invalid", "scope")
    assert len((await box.get("/requests"))["items"]) == 1


async def test_a_deleted_business_has_no_credentials(client: Client) -> None:
    """After DELETE the key is unknown to the API, and free for another."""
    box = await client.sandbox(id="gone")
    await box.control("DELETE")
    refused = await box.api("GET", "/pay-in")
    again = await client.sandbox(id="gone")

    assert refused.status == 401
    assert (await box.control("GET")).status == 200
    assert again.document["business_key"] == box.document["business_key"]


async def test_lists_come_in_pages(client: Client) -> None:
    """`limit` and `next_cursor` walk through a list without gaps or repeats."""
    box = await client.sandbox()
    for _ in range(5):
        await box.deposit()
    seen: list[str] = []
    query = "?limit=2"
    while query:
        page = await box.get(f"/events{query}")
        seen += [item["id"] for item in page["items"]]
        query = f"?limit=2&cursor={page['next_cursor']}" if page["next_cursor"] else ""

    assert seen == [item["id"] for item in (await box.get("/events"))["items"]]
    assert len(seen) == 5


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "limit=-1", "limit=%D9%A3", "cursor=x"])
async def test_a_bad_page_is_refused(client: Client, query: str) -> None:
    """A page is asked for with whole numbers in range."""
    answer = await (await client.sandbox()).control("GET", f"/events?{query}")

    assert answer.error == (400, "invalid", query.partition("=")[0])


@pytest.mark.parametrize(
    ("call", "member", "says"),
    [
        ("/events?type=pay-in.suceeded", "type", "there is no event type 'pay-in.suceeded'; did you mean"),
        ("/deliveries?event_type=pay_in.created", "event_type", "did you mean 'pay-in.created'?"),
        ("/deliveries?status=done", "status", "there are: waiting, held, delivered, exhausted, dropped, no_endpoint"),
        ("/events?type=pay-in.*", "type", "there is no event type 'pay-in.*'; did you mean 'pay-in."),
        ("/deliveries?status=", "status", "there is no status of a delivery ''"),
    ],
)
async def test_a_list_is_not_chosen_by_a_name_that_nothing_has(
    client: Client, call: str, member: str, says: str
) -> None:
    """A misspelt name would choose nothing, and look as if nothing had happened; so it is refused, with the nearest."""
    answer = await (await client.sandbox()).control("GET", call)

    assert answer.error == (400, "invalid", member)
    assert says in answer.document["error"]["message"]
    assert "did you mean 'pay-in.*'" not in answer.document["error"]["message"], "a list takes names, not patterns"


async def test_lists_are_chosen_by_what_their_items_are(client: Client) -> None:
    """Each choice gives the items that it names, and those alone."""
    box = await client.sandbox(clock="manual")
    first, second = await box.deposit(), await box.deposit()
    await box.control("POST", "/clock/advance", {"by": "1h"})

    created = (await box.get("/events?type=pay-in.created"))["items"]
    own = (await box.get(f"/deliveries?event_type=pay-in.succeeded&object_id={second['id']}&status=no_endpoint"))[
        "items"
    ]

    assert [event["object_id"] for event in created] == [first["id"], second["id"]]
    assert [(item["event_type"], item["object_id"]) for item in own] == [("pay-in.succeeded", second["id"])]
    assert (await box.get("/deliveries?status=waiting"))["items"] == []


@pytest.mark.parametrize(
    ("clock", "member", "says"),
    [
        ("manul", "clock", "is 'manul'; did you mean 'manual'?"),
        (5, "clock", "is the number 5; send 'real', 'manual' or 'auto'."),
        ({"mode": "manul"}, "clock.mode", "is 'manul'; did you mean 'manual'?"),
        ({"mode": "real", "rate": 0}, "clock.rate", "is 0; send more than 0"),
    ],
)
async def test_a_clock_is_refused_at_its_member(client: Client, clock: object, member: str, says: str) -> None:
    """A clock is a word or an object; the error is about the form that was given."""
    answer = await client.control("POST", "/sandboxes", {"clock": clock})

    assert answer.error == (400, "invalid", member)
    assert says in answer.document["error"]["message"]


async def test_a_payer_acts_by_a_control_call(client: Client) -> None:
    """The script goes on with the steps for it; those without a delay have happened in the answer."""
    box = await client.sandbox(scenario="payer-decides")
    pay_in = await box.deposit()
    await box.advance(by="1m")

    answer = await _payer(box, pay_in, action="decline", code="insufficient_funds")

    failure = {"code": "insufficient_funds", "message": "The account has insufficient funds."}
    assert (answer.status, answer.document["status"], answer.document["failure"]) == (200, "failed", failure)
    assert await _types(box) == ["pay-in.created", "pay-in.pending", "pay-in.failed"]


async def test_a_payer_cannot_act_when_nothing_waits(client: Client) -> None:
    """409 says why; it changes nothing."""
    box = await client.sandbox(scenario="happy-path")
    pay_in = await box.deposit()

    early = await _payer(box, pay_in, action="pay")
    await box.advance(until_idle=True)
    late = await _payer(box, pay_in, action="abandon")

    assert early.error == (409, "validation_error", None)
    assert "is created, and its script does not wait for the payer now" in early.document["error"]["message"]
    assert late.error == (409, "validation_error", None)
    assert "is succeeded, so the payer can do nothing any more" in late.document["error"]["message"]
    assert len(await _types(box)) == 4


@pytest.mark.parametrize(
    ("body", "member"),
    [
        ({}, "action"),
        ({"action": "refund"}, "action"),
        ({"action": "pay", "code": "expired_card"}, "code"),
        ({"action": "decline", "code": ""}, "code"),
        ({"action": "decline", "code": 7}, "code"),
        ({"action": "pay", "how": "quickly"}, "how"),
    ],
)
async def test_a_bad_action_of_a_payer_is_refused(client: Client, body: dict[str, object], member: str) -> None:
    """With the member that is wrong."""
    box = await client.sandbox(scenario="payer-decides")
    pay_in = await box.deposit()
    await box.advance(by="2s")

    answer = await _payer(box, pay_in, **body)

    assert answer.error == (400, "invalid", member)
    assert (await box.get(f"/pay-ins/{pay_in['id']}"))["status"] == "pending"


async def test_an_unknown_pay_in_has_no_payer(client: Client) -> None:
    """404, as for every call about it."""
    box = await client.sandbox()

    assert (await _payer(box, {"id": "payin_x"}, action="pay")).error == (404, "not_found", None)


async def _payer(box: Box, pay_in: dict[str, Any], **body: object) -> Any:  # noqa: ANN401 - JSON is any
    return await box.control("POST", f"/pay-ins/{pay_in['id']}/payer", body)
