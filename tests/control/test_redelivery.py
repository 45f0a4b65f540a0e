"""Deliveries that a test holds, releases and repeats, and events that it emits at will; over real sockets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from receivers import closed_port, receiving, status
from servers import Box, Client

from paydouble.payments.events import EVENT_TYPES


async def _settled(box: Box) -> list[dict[str, Any]]:
    await box.advance(by="0s")  # returns when every attempt of this instant has settled
    return await box.deliveries()


async def test_a_held_delivery_leaves_when_it_is_released(client: Client) -> None:
    """A delivery that waits for its next attempt can be held over any time, and goes out the moment it is released."""
    async with receiving(status(500), status(200)) as receiver:
        box = await client.sandbox(notification_url=receiver.url)
        await box.control("POST", "/webhook/test", {})
        (delivery,) = await _settled(box)
        held = await box.control("POST", f"/deliveries/{delivery['id']}/hold")
        await box.advance(by="24h")
        while_held = len(receiver.requests)
        released = await box.control("POST", f"/deliveries/{delivery['id']}/release")
        (after,) = await _settled(box)

    assert (held.document["status"], held.document["next_due_at"], while_held) == ("held", None, 1)
    assert (released.status, after["status"], len(receiver.requests)) == (200, "delivered", 2)


@pytest.mark.parametrize(("call", "says"), [("hold", "is delivered; nothing is left to hold"), ("release", "not held")])
async def test_what_cannot_be_held_or_released_is_refused(client: Client, call: str, says: str) -> None:
    """A delivery in the wrong state is 400, and says in which."""
    async with receiving() as receiver:
        box = await client.sandbox(notification_url=receiver.url)
        await box.control("POST", "/webhook/test", {})
        (delivery,) = await _settled(box)

        answer = await box.control("POST", f"/deliveries/{delivery['id']}/{call}")

    assert answer.error == (400, "invalid", "id")
    assert says in answer.document["error"]["message"]


async def test_redelivery_sends_the_same_event_once_more(client: Client) -> None:
    """A delivered event can be sent again: the same bytes, a new signature, one attempt."""
    async with receiving() as receiver:
        box = await client.sandbox(notification_url=receiver.url)
        await box.control("POST", "/webhook/test", {})
        (delivery,) = await _settled(box)
        answer = await box.control("POST", f"/deliveries/{delivery['id']}/redeliver")
        (after,) = await _settled(box)

    assert answer.status == 200
    assert [request.body for request in receiver.requests] == [receiver.requests[0].body] * 2
    assert (after["status"], [attempt["number"] for attempt in after["attempts"]]) == ("delivered", [1, 2])


async def test_whatever_has_failed_is_sent_again(client: Client) -> None:
    """Redelivery of everything takes what failed, since an instant if one is given, and nothing that arrived."""
    async with receiving(status(200), status(500), status(500), status(200)) as receiver:
        box = await client.sandbox(
            clock={"mode": "manual", "start": "2026-01-01T00:00:00Z"},
            notification_url=receiver.url,
            settings={"webhooks": {"schedule": ["0s"], "repeat_last": False}},
        )
        for _ in range(3):
            await box.control("POST", "/webhook/test", {})
            await box.advance(by="1h")
        before = await box.deliveries()
        recent = await box.control("POST", "/deliveries/redeliver", {"since": "2026-01-01T02:00:00Z"})
        await _settled(box)
        rest = await box.control("POST", "/deliveries/redeliver", {})
        after = await _settled(box)

    ids = [delivery["id"] for delivery in before]
    assert [delivery["status"] for delivery in before] == ["delivered", "exhausted", "exhausted"]
    assert (recent.document, rest.document) == ({"redelivered": [ids[2]]}, {"redelivered": [ids[1]]})
    assert [(delivery["status"], len(delivery["attempts"])) for delivery in after] == [
        ("delivered", 1),
        ("delivered", 2),
        ("delivered", 2),
    ]


@pytest.mark.parametrize("kind", EVENT_TYPES)
async def test_a_test_webhook_of_every_type_arrives(client: Client, kind: str) -> None:
    """Each documented type can be sent as a sample; its object is in no list."""
    async with receiving() as receiver:
        box = await client.sandbox(notification_url=receiver.url)
        answer = await box.control("POST", "/webhook/test", {"type": kind})
        await _settled(box)

    assert answer.status == 201
    body = json.loads(receiver.requests[0].body)
    assert (body["type"], answer.document["body"]) == (kind, receiver.requests[0].body.decode())
    assert (await box.api("GET", "/pay-in")).document["data"]["items"] == []


async def test_a_sample_dispute_says_why(client: Client) -> None:
    """Its reason is one that a provider gives, and the rest is that of a dispute about the sample's pay-in."""
    box = await client.sandbox()
    answer = await box.control("POST", "/webhook/test", {"type": "dispute.created"})

    shown = json.loads(answer.document["body"])["data"]["object"]
    assert (shown["object"], shown["reason"], shown["status"]) == ("dispute", "fraudulent", "needs_response")


async def test_any_event_can_be_emitted_for_an_object_that_exists(client: Client) -> None:
    """The event shows the object as it is now, and the object stays as it is."""
    async with receiving() as receiver:
        box = await client.sandbox(notification_url=receiver.url)
        pay_in = await box.deposit()
        answer = await box.control("POST", "/events", {"type": "pay-in.succeeded", "object_id": pay_in["id"]})
        await _settled(box)

    assert (answer.status, answer.document["type"]) == (201, "pay-in.succeeded")
    told = json.loads(receiver.requests[-1].body)
    assert (told["id"], told["data"]["object"]["status"]) == (answer.document["id"], pay_in["status"])
    assert (await box.api("GET", f"/pay-in/{pay_in['id']}")).document["data"]["status"] == pay_in["status"]


BAD_EVENTS = [
    ({"type": "pay-in.exploded", "object_id": "{id}"}, (400, "invalid", "type")),
    ({"type": "refund.succeeded", "object_id": "{id}"}, (400, "invalid", "object_id")),
    ({"type": "pay-in.succeeded", "object_id": "payin_nobody"}, (404, "not_found", None)),
    ({"type": "pay-in.succeeded"}, (400, "invalid", "object_id")),
    ({"object_id": "{id}"}, (400, "invalid", "type")),
]


@pytest.mark.parametrize(("body", "error"), BAD_EVENTS)
async def test_an_event_that_cannot_be_is_refused(
    client: Client, body: dict[str, str], error: tuple[int, str, str | None]
) -> None:
    """An unknown type, an object of another kind, an unknown object: refused, and nothing is emitted."""
    box = await client.sandbox()
    pay_in = await box.deposit()
    before = (await box.get("/events"))["items"]

    answer = await box.control("POST", "/events", {name: value.format(id=pay_in["id"]) for name, value in body.items()})

    assert answer.error == error
    assert (await box.get("/events"))["items"] == before


async def test_an_unknown_sample_is_refused(client: Client) -> None:
    """A test webhook has a documented type, and the refusal lists them."""
    box = await client.sandbox()

    answer = await box.control("POST", "/webhook/test", {"type": "payout.paid"})

    assert answer.error == (400, "invalid", "type")
    assert ", ".join(EVENT_TYPES) in answer.document["error"]["message"]


async def test_redelivery_without_an_endpoint_stays_without(client: Client) -> None:
    """Where no URL is set a redelivery changes nothing; once one is set it arrives there."""
    async with receiving() as receiver:
        box = await client.sandbox()
        await box.control("POST", "/webhook/test", {})
        (delivery,) = await _settled(box)
        nowhere = await box.control("POST", f"/deliveries/{delivery['id']}/redeliver")
        await box.control("PATCH", "/webhook", {"notification_url": receiver.url})
        await box.control("POST", f"/deliveries/{delivery['id']}/redeliver")
        (after,) = await _settled(box)

    assert (nowhere.document["status"], after["status"], after["target"]) == ("no_endpoint", "delivered", receiver.url)


async def test_a_failed_redelivery_goes_back_to_what_it_was(client: Client) -> None:
    """A redelivery is one attempt: when it fails the delivery is as settled as before."""
    async with receiving() as receiver:
        box = await client.sandbox(notification_url=receiver.url)
        await box.control("POST", "/webhook/test", {})
        (delivery,) = await _settled(box)
        await box.control("PATCH", "/webhook", {"notification_url": f"http://127.0.0.1:{closed_port()}/"})
        await box.control("POST", f"/deliveries/{delivery['id']}/redeliver")
        (after,) = await _settled(box)

    assert (after["status"], [each["status"] for each in after["attempts"]]) == ("delivered", [200, None])
    assert after["attempts"][1]["error"]["kind"] == "refused"
