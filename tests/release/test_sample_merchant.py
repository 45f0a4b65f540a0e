"""The sample merchant of compose.yaml does what its head says, as a process of its own against a running server."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from servers import Box, Client, running

MERCHANT = Path(__file__).parents[2] / "examples" / "merchant" / "merchant.py"
ORDER = {"id": "order-1", "amount": "49.90", "currency": "EUR", "email": "ada@example.test"}


@asynccontextmanager
async def shop(client: Client, **members: object) -> AsyncIterator[tuple[Box, aiohttp.ClientSession]]:
    """Open the shop at a free port, with a sandbox that tells it what happens."""
    box = await client.sandbox(**members)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-u", str(MERCHANT)),
        stdout=asyncio.subprocess.PIPE,
        env={
            "PATH": os.defpath,
            "PORT": "0",
            "PAYMENT_URL": f"http://127.0.0.1:{client.server.port}/api/v1",
            "PAYMENT_KEY": box.document["business_key"],
            "PAYMENT_SECRET": box.document["business_secret"],
            "WEBHOOK_SECRET": box.document["webhook_secret"],
            "FIRST_WAIT_SECONDS": "0.01",
        },
    )
    assert process.stdout is not None
    try:
        found = re.search(rb":(\d+)\n", await process.stdout.readline())
        assert found
        url = f"http://127.0.0.1:{int(found[1])}"
        await box.control("PATCH", "/webhook", {"notification_url": f"{url}/webhooks"})
        async with aiohttp.ClientSession(url) as session:
            yield box, session
    finally:
        process.terminate()
        await process.communicate()
    assert process.returncode == 0


async def order(session: aiohttp.ClientSession, **changes: str) -> tuple[int, Any]:
    """Place an order; the status and the answer."""
    async with session.post("/orders", json={**ORDER, **changes}) as response:
        return response.status, await response.json()


async def shown(session: aiohttp.ClientSession) -> Any:  # noqa: ANN401 - JSON is any
    """Return the order as the shop shows it."""
    async with session.get("/orders/order-1") as response:
        assert response.status == 200
        return await response.json()


async def test_an_order_is_paid_once_its_webhooks_say_so() -> None:
    """An order is new until it is told of, and ends as succeeded with every event heard once, in order."""
    async with running() as client, shop(client) as (box, session):
        assert (await order(session))[0] == 201

        await box.advance(by="1h")

        paid = await shown(session)
        assert (paid["status"], paid["amount"]) == ("succeeded", "49.90")
        assert paid["events"] == ["pay-in.created", "pay-in.pending", "pay-in.processing", "pay-in.succeeded"]


@pytest.mark.parametrize("phase", ["before_commit", "after_commit"])
async def test_a_lost_reply_is_not_paid_twice(phase: str) -> None:
    """When the connection breaks, the shop asks again with the same key, and there is one pay-in of 49.90."""
    async with running() as client, shop(client) as (box, session):
        fault = {"effect": {"type": "connection_reset"}, "phase": phase, "times": 2}
        assert (await box.control("POST", "/faults", fault)).status == 201

        assert (await order(session))[0] == 201

        requests = (await box.get("/requests"))["items"]
        assert len({request["idempotency"]["key"] for request in requests}) == 1
        assert len(requests) == 3
        made = (await box.api("GET", "/pay-in")).document["data"]["items"]
        assert [pay_in["amount"] for pay_in in made] == [49.9]


@pytest.mark.parametrize(
    ("effect", "arrived", "heard"),
    [
        ({"type": "duplicate", "copies": 2}, 12, ["created", "pending", "processing", "succeeded"]),
        ({"type": "reorder", "window": 4}, 4, ["succeeded", "processing", "pending", "created"]),
    ],
    ids=["duplicates", "stragglers"],
)
async def test_duplicates_and_stragglers_change_nothing(
    effect: dict[str, object], arrived: int, heard: list[str]
) -> None:
    """Events that come three times, or the last one first, leave the order succeeded, each heard once."""
    async with running() as client, shop(client) as (box, session):
        assert (await box.control("POST", "/faults", {"on": "webhooks", "effect": effect})).status == 201
        await order(session)

        await box.advance(by="1h")

        told = await shown(session)
        assert sum(len(delivery["attempts"]) for delivery in await box.deliveries()) == arrived
        assert told["events"] == [f"pay-in.{state}" for state in heard]
        assert told["status"] == "succeeded"


@pytest.mark.parametrize("header", ["", "t=1,v1=00", "t=x,v1=é"])
async def test_what_is_not_signed_is_not_believed(header: str) -> None:
    """A webhook without a good signature gets 401."""
    async with running() as client, shop(client) as (_, session):
        headers = {"X-Service-Signature": header}
        async with session.post("/webhooks", data=b"{}", headers=headers) as response:
            assert response.status == 401


@pytest.mark.parametrize("changes", [{"amount": "nothing"}, {"amount": "-1"}, {"amount": "0"}, {"currency": "EURO"}])
async def test_an_order_that_cannot_be_is_refused(changes: dict[str, str]) -> None:
    """The shop answers 422 with a sentence, whether it sees the mistake itself or the payment service does."""
    async with running() as client, shop(client) as (_, session):
        status, answer = await order(session, **changes)

    assert status == 422
    assert answer["error"]
