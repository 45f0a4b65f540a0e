"""The webhook that arrives before the API's own reply."""

from __future__ import annotations

import asyncio

import pytest
from drive import deposit_body
from hooked import hooked
from receivers import Exchange, ok, status
from servers import Client


async def test_the_webhook_arrives_before_the_reply(client: Client) -> None:
    """While the receiver has not answered, the caller has no reply; afterwards it gets the usual one."""
    replied = asyncio.Event()
    seen: list[bool] = []

    async def look(exchange: Exchange) -> None:
        seen.append(replied.is_set())
        await ok(exchange)

    async with hooked(client, look, scenario="abandoned") as business:
        fault = business.fault({"type": "before_response"})
        answer = await business.box.api("POST", "/pay-in/deposit-creation", deposit_body())
        replied.set()

        assert (seen, answer.status) == ([False], 200)
        assert business.documents[0]["data"]["object"]["id"] == answer.document["data"]["id"]
        assert business.deliveries[0].faults == (fault.id,)
        assert business.deliveries[0].status == "delivered"


async def test_the_reply_follows_after_its_lead(client: Client) -> None:
    """`lead` is real time between the webhook and the reply."""
    async with hooked(client, scenario="abandoned") as business:
        business.fault({"type": "before_response", "lead": "60ms"})
        loop = asyncio.get_running_loop()
        start = loop.time()
        await business.box.deposit()

        assert loop.time() - start >= 0.055


async def test_a_receiver_that_refuses_holds_up_no_reply(client: Client) -> None:
    """The reply waits for one attempt, whatever its outcome, and not for its retries."""
    async with hooked(client, status(500), scenario="abandoned") as business:
        business.fault({"type": "before_response"})
        await business.box.deposit()

        assert (len(business.requests), business.deliveries[0].status) == (1, "waiting")


@pytest.mark.parametrize("other", [{"type": "drop"}, {"type": "hold"}, {"type": "delay", "fixed": "1h"}])
async def test_an_event_that_does_not_leave_holds_up_no_reply(client: Client, other: dict[str, str]) -> None:
    """Combined with a fault that holds or delays the event, the reply still comes."""
    async with hooked(client, scenario="abandoned") as business:
        business.fault({"type": "before_response"}, compose=True)
        business.fault(other)
        await business.box.deposit()

        assert business.requests == []


async def test_an_event_that_no_request_caused_overtakes_none(client: Client) -> None:
    """An event that the clock causes has no reply to overtake, so the fault does not fire."""
    async with hooked(client) as business:
        fault = business.fault({"type": "before_response"}, match={"event_type": "pay-in.p*"})
        await business.live()

        assert fault.fired == 0
        assert len(business.requests) == 4
