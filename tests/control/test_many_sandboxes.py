"""Two hundred businesses at once on one server, with faults and retries in all of them."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import BaseTestServer, RawTestServer
from drive import deposit_body
from servers import Client

COUNT = 200
SLOW = range(0, COUNT, 20)


class Receivers:
    """One receiver for each path: each refuses every event once; those of slow businesses wait to be released."""

    def __init__(self) -> None:
        self.bodies: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.released = asyncio.Event()

    async def handle(self, request: web.BaseRequest) -> web.Response:
        """Answer one attempt."""
        name = request.path.removeprefix("/")
        body = json.loads(await request.read())
        if int(name) in SLOW:
            await self.released.wait()
        seen = any(each["id"] == body["id"] for each in self.bodies[name])
        self.bodies[name].append(body)
        return web.Response(status=200 if seen else 500)


async def _play(client: Client, receiver: BaseTestServer, number: int) -> None:
    """Lose the reply of a deposit, retry it, let time pass, and ask what happened."""
    order = f"order-{number}"
    box = await client.sandbox(
        id=f"s{number}",
        notification_url=str(receiver.make_url(f"/{number}")),
        settings={"webhooks": {"timeout": "30m"}},
    )
    lost = {"phase": "after_commit", "times": 1, "effect": {"type": "error", "status": 503}}
    assert (await box.control("POST", "/faults", lost)).status == 201
    headers = {**box.credentials, "Idempotency-Key": "00000000-0000-4000-8000-000000000001"}
    path, body = "/api/v1/pay-in/deposit-creation", deposit_body(external_identifier=order)
    statuses = [(await client.call("POST", path, body, headers=headers)).status for _ in range(2)]
    assert statuses == [503, 200]
    await box.advance(until_idle=True)
    requests = {"sequence": [{"status": 503, "verdict": "new"}, {"status": 200, "verdict": "replay"}]}
    deliveries = {"match": {"status": "delivered", "attempt_count": 2}, "count": 4}
    for what, question in (("requests", requests), ("deliveries", deliveries)):
        answer = await box.control("POST", f"/{what}/verify", question)
        assert answer.document["passed"], answer.document
    assert [request["external_identifier"] for request in await _pay_ins(client, headers)] == [order]


async def _pay_ins(client: Client, headers: dict[str, str]) -> list[dict[str, Any]]:
    answer = await client.call("GET", "/api/v1/pay-in", headers=headers)
    items: list[dict[str, Any]] = answer.document["data"]["items"]
    return items


@pytest.mark.timeout(600)  # two thousand calls in one event loop
async def test_two_hundred_businesses_do_not_meet(client: Client) -> None:
    """Each sees its own requests, events and faults alone, and none waits for another's slow receiver."""
    receivers = Receivers()
    async with RawTestServer(receivers.handle) as receiver:
        slow = [asyncio.create_task(_play(client, receiver, number)) for number in SLOW]
        await asyncio.gather(*(_play(client, receiver, number) for number in range(COUNT) if number not in SLOW))
        waited = [task for task in slow if not task.done()]
        receivers.released.set()
        await asyncio.gather(*slow)

    assert waited == slow
    told = {
        name: {body["data"]["object"]["external_identifier"] for body in bodies}
        for name, bodies in receivers.bodies.items()
    }
    assert told == {str(number): {f"order-{number}"} for number in range(COUNT)}
    assert {len(bodies) for bodies in receivers.bodies.values()} == {8}
