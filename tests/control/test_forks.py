"""Forks and checkpoints of the sandboxes of a server."""

from __future__ import annotations

from aiohttp import web
from aiohttp.test_utils import RawTestServer
from drive import deposit_body, key
from servers import Client


async def test_what_is_pending_goes_on_in_both(client: Client) -> None:
    """A retry that waits in the original is made by the fork too, to the same target."""
    received: list[bytes] = []

    async def refuse(request: web.BaseRequest) -> web.Response:
        received.append(await request.read())
        return web.Response(status=500)

    async with RawTestServer(refuse) as receiver:
        box = await client.sandbox(clock="manual", notification_url=str(receiver.make_url("/")))
        headers = {**box.credentials, "Idempotency-Key": key(1)}
        await client.call("POST", "/api/v1/pay-in/deposit-creation", deposit_body(), headers=headers)
        await box.advance(by="0s")
        forked = await box.control("POST", "/fork", {"id": "forked"})
        before = len(received)

        moved = await client.call("POST", "/_paydouble/sandboxes/forked/clock/advance", {"by": "1m"})

        assert (forked.status, before) == (201, 1)
        assert moved.document["attempts"] >= 1
        assert set(received[before:]) >= {received[0]}
        untouched = await box.control("GET", "/clock")
        assert untouched.document["now"] == forked.document["clock"]["now"]


async def test_a_fork_that_is_refused_leaves_nothing(client: Client) -> None:
    """An id or a key that is taken is a 400 with its member, an unknown checkpoint a 404."""
    box = await client.sandbox(id="world", business_key="world-key")

    refused = [
        await box.control("POST", "/fork", body)
        for body in ({"id": "world"}, {"business_key": "world-key"}, {"checkpoint": "none"}, {"other": 1})
    ]

    assert [(each.status, each.document["error"].get("member")) for each in refused] == [
        (400, "id"),
        (400, "business_key"),
        (404, None),
        (400, "other"),
    ]
    listed = await client.call("GET", "/_paydouble/sandboxes")
    assert [each["id"] for each in listed.document["items"] if "fork" in each["id"]] == []


async def test_a_fork_can_live_longer_than_its_original(client: Client) -> None:
    """Deleting the original deletes its checkpoints, and no fork."""
    box = await client.sandbox(id="world")
    made = await box.control("POST", "/checkpoint", {})
    forked = await box.control("POST", "/fork", {"checkpoint": made.document["id"]})

    await client.call("DELETE", "/_paydouble/sandboxes/world")

    path = f"/_paydouble/sandboxes/{forked.document['id']}"
    assert (made.status, made.document["id"]) == (201, "checkpoint-1")
    assert (await client.call("GET", path)).status == 200
    again = await client.call("POST", f"{path}/fork", {"checkpoint": made.document["id"]})
    assert again.status == 404


async def test_the_past_of_a_fork_is_not_news(client: Client) -> None:
    """Those who watch the whole server see of a fork only what happens in it; its own stream has all."""
    box = await client.sandbox(id="world")
    headers = {**box.credentials, "Idempotency-Key": key(1)}
    await client.call("POST", "/api/v1/pay-in/deposit-creation", deposit_body(), headers=headers)
    host = client.server.host
    before = host.everything.look()

    await box.control("POST", "/fork", {"id": "forked"})

    assert host.everything.look() == before
    assert host.registry.get("forked").feed.sequence == host.registry.get("world").feed.sequence
