"""A webhook that arrives before the reply of the request that caused it."""

from __future__ import annotations

import asyncio
from typing import Any

from bounds import AT_MOST_SECONDS, FAR_LONGER
from receivers import Exchange, hang, ok, receiving, status
from servers import Client
from wires import Caller, Seen, caller

from paydouble.faults.model import parse_fault

# What must not be waited for, is waited for in vain for minutes.
PATIENT = {"webhooks": {"timeout": FAR_LONGER}}


def _overtake(shop: Caller, **attributes: Any) -> None:  # noqa: ANN401 - JSON is any
    effect = {"type": "before_response", **attributes}
    shop.sandbox.faults.add(parse_fault({"on": "webhooks", "effect": effect}), shop.sandbox.now)


async def test_the_webhook_is_first(client: Client) -> None:
    """The reply waits until the receiver has answered."""
    replies: list[asyncio.Task[Seen]] = []
    unanswered: list[bool] = []
    shops: list[Caller] = []

    async def answer(exchange: Exchange) -> None:
        for n in range(3):  # time in which a reply that did not wait would arrive
            await shops[0].ask("GET", f"/pay-in?limit={n + 1}")
        unanswered.append(not replies[0].done())
        await ok(exchange)

    async with receiving(answer) as receiver:
        shop = await caller(client, notification_url=receiver.url)
        shops.append(shop)
        _overtake(shop)

        replies.append(asyncio.create_task(shop.deposit()))
        seen = await replies[0]

    (delivery,) = shop.sandbox.outbox.deliveries.values()
    assert (unanswered, seen.status, delivery.status) == ([True], 200, "delivered")


async def test_the_reply_follows_by_a_lead(client: Client) -> None:
    """`lead` delays it further, and a slow answer adds its own time."""
    async with receiving() as receiver:
        shop = await caller(client, notification_url=receiver.url)
        _overtake(shop, lead="40ms")
        shop.arm({"type": "latency", "fixed": "30ms"}, phase="after_commit")

        seen = await shop.deposit()

    assert seen.seconds >= 0.07


async def test_a_refused_webhook_is_not_waited_for_again(client: Client) -> None:
    """The reply waits for the first attempt, even if it fails."""
    async with receiving(status(500)) as receiver:
        shop = await caller(client, notification_url=receiver.url)
        _overtake(shop)

        seen = await shop.deposit()

    (delivery,) = shop.sandbox.outbox.deliveries.values()
    assert (seen.status, len(delivery.attempts), delivery.status) == (200, 1, "waiting")


async def test_a_receiver_that_hangs_holds_the_reply_no_longer_than_its_timeout(client: Client) -> None:
    """The reply is sent when the webhook's timeout is over."""
    async with receiving(hang) as receiver:
        shop = await caller(client, notification_url=receiver.url, settings={"webhooks": {"timeout": "60ms"}})
        _overtake(shop)

        seen = await shop.deposit()

    assert (seen.status, 0.055 <= seen.seconds < AT_MOST_SECONDS) == (200, True)


async def test_what_does_not_come_is_not_waited_for(client: Client) -> None:
    """Without an endpoint, held, dropped, or due later on the sandbox's clock: the reply is sent at once."""
    for name, effect in (("held", "hold"), ("dropped", "drop"), ("late", "delay")):
        shop = await caller(client, name, notification_url="http://127.0.0.1:9/", settings=PATIENT)
        attributes = {"fixed": "1h"} if effect == "delay" else {}
        fault = parse_fault({"on": "webhooks", "compose": True, "effect": {"type": effect, **attributes}})
        shop.sandbox.faults.add(fault, shop.sandbox.now)
        _overtake(shop)
        assert (await shop.deposit()).seconds < AT_MOST_SECONDS, name
    nowhere = await caller(client, "nowhere", settings=PATIENT)
    _overtake(nowhere)

    assert (await nowhere.deposit()).seconds < AT_MOST_SECONDS


async def test_a_reset_lets_the_reply_go(client: Client) -> None:
    """When the delivery is removed, or its sandbox deleted, the reply is sent."""
    async with receiving(hang) as receiver:
        for name, forget in (("reset", "/reset"), ("deleted", "")):
            shop = await caller(client, name, notification_url=receiver.url, settings=PATIENT)
            _overtake(shop)
            waiting = asyncio.create_task(shop.deposit())
            await receiver.wait_for(1 if forget else 2)

            await shop.box.control("POST" if forget else "DELETE", forget)

            seen = await waiting
            assert (seen.status, seen.seconds < AT_MOST_SECONDS) == (200, True)


async def test_a_lost_reply_is_overtaken_too(client: Client) -> None:
    """The webhook of a deposit whose reply is lost arrives before the loss."""
    async with receiving() as receiver:
        shop = await caller(client, notification_url=receiver.url)
        _overtake(shop)
        shop.arm("connection_reset", phase="after_commit")

        seen = await shop.deposit()
        arrived = len(receiver.requests)

    assert (seen.end, arrived) == ("reset", 1)
