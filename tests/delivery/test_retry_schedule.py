"""The documented retry schedule over real sockets: eight attempts in 72 hours, and no event is lost."""

from __future__ import annotations

import asyncio
from datetime import datetime
from itertools import pairwise

import receivers
from receivers import receiving, status
from servers import Box, Client

MINUTE, HOUR = 60, 3600
OFFSETS = [0, 1 * MINUTE, 6 * MINUTE, 36 * MINUTE, 156 * MINUTE, 636 * MINUTE, 2076 * MINUTE, 3516 * MINUTE]
LONG = 2_592_000  # seconds until expiry, so that nothing but retries happens


def _seconds(instant: str) -> float:
    return datetime.fromisoformat(instant).timestamp()


async def _offsets(box: Box) -> list[list[float]]:
    """Return, for each delivery, when its attempts were due after the first."""
    return [
        [_seconds(attempt["due_at"]) - _seconds(delivery["attempts"][0]["due_at"]) for attempt in delivery["attempts"]]
        for delivery in await box.deliveries()
    ]


async def test_eight_attempts_then_exhausted(client: Client) -> None:
    """A receiver that always fails gets an event eight times, at the documented times, and then never again."""
    async with receiving(status(500)) as receiver:
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned")
        await box.deposit(expires_in=LONG)
        await box.advance(by="100h")

        (delivery,) = await box.deliveries()
        assert await _offsets(box) == [OFFSETS]
        assert (delivery["status"], delivery["next_due_at"]) == ("exhausted", None)
        assert len(receiver.requests) == 8


async def test_each_attempt_waits_for_its_instant(client: Client) -> None:
    """One millisecond before its due time an attempt has not been made, and the delivery shows that time."""
    async with receiving(status(500)) as receiver:
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned")
        await box.deposit(expires_in=LONG)
        counts = []
        for earlier, offset in pairwise(OFFSETS):
            await box.advance(by=f"{(offset - earlier) * 1000 - 1}ms")
            counts.append(len(receiver.requests))
            (delivery,) = await box.deliveries()
            assert _seconds(delivery["next_due_at"]) - _seconds(delivery["attempts"][0]["due_at"]) == offset
            await box.advance(by="1ms")

        assert counts == [1, 2, 3, 4, 5, 6, 7]


async def test_a_success_ends_the_retries(client: Client) -> None:
    """After a 2xx nothing more is sent."""
    async with receiving(status(500), receivers.reset, receivers.ok) as receiver:
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned")
        await box.deposit(expires_in=LONG)
        await box.advance(by="100h")

        (delivery,) = await box.deliveries()
        assert [attempt["status"] for attempt in delivery["attempts"]] == [500, None, 200]
        assert (delivery["status"], len(receiver.requests)) == ("delivered", 3)


async def test_fifty_hours_of_outage_lose_nothing(client: Client) -> None:
    """A receiver that is down for 50 hours gets every event of the outage afterwards, in order of creation."""
    down = f"http://127.0.0.1:{receivers.closed_port()}/hooks"
    box = await client.sandbox(notification_url=down)
    pay_ins = [(await box.deposit())["id"] for _ in range(3)]
    await box.advance(by="50h")
    waiting = {delivery["status"] for delivery in await box.deliveries()}

    async with receiving() as receiver:
        await box.control("PATCH", "", {"notification_url": receiver.url})
        await box.advance(by="22h")
        deliveries = await box.deliveries()

        assert waiting == {"waiting"}
        assert {delivery["status"] for delivery in deliveries} == {"delivered"}
        assert [request.body.decode() for request in receiver.requests] == [
            delivery["attempts"][-1]["body"] for delivery in deliveries
        ]
        assert sorted({delivery["object_id"] for delivery in deliveries}) == sorted(pay_ins)
        assert len(receiver.requests) == 12


async def test_a_failed_event_does_not_block_later_ones(client: Client) -> None:
    """The second event is delivered while the first still waits for its retry."""
    async with receiving(status(503), receivers.ok) as receiver:
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned")
        await box.deposit(external_identifier="first")
        await box.deposit(external_identifier="second")
        await box.advance(by="0s")

        assert [delivery["status"] for delivery in await box.deliveries()] == ["waiting", "delivered"]


async def test_an_endpoint_has_one_attempt_in_flight(client: Client) -> None:
    """While an attempt hangs the next event to the same endpoint waits; then both arrive in order."""
    async with receiving(receivers.hang) as receiver:
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned")
        await box.deposit(external_identifier="first")
        await receiver.wait_for(1)
        await box.deposit(external_identifier="second")
        in_flight = [len(delivery["attempts"]) for delivery in await box.deliveries()]
        receiver.released.set()
        await box.advance(by="0s")

        assert in_flight == [1, 0]
        assert [b'"first"' in request.body for request in receiver.requests] == [True, False]


async def test_on_a_real_clock_a_slow_answer_delays_no_other_payment(client: Client) -> None:
    """While an attempt hangs, events of other payments arrive; the next one of the same payment waits."""
    async with receiving(receivers.hang, receivers.ok) as receiver:
        box = await client.sandbox(clock="real", notification_url=receiver.url, scenario="abandoned")
        slow = await box.deposit(external_identifier="slow")
        await receiver.wait_for(1)
        await box.api("POST", f"/pay-in/{slow['id']}/cancellation", {})
        for number in range(7):
            await box.deposit(external_identifier=f"other-{number}")
        await receiver.wait_for(8)
        in_flight = [
            (each["event_type"], len(each["attempts"]))
            for each in await box.deliveries()
            if each["object_id"] == slow["id"]
        ]
        receiver.released.set()
        await receiver.wait_for(9)

        assert in_flight == [("pay-in.created", 1), ("pay-in.cancelled", 0)]
        assert b'"pay-in.cancelled"' in receiver.requests[-1].body
        assert all(any(f'"other-{n}"'.encode() in each.body for each in receiver.requests[1:8]) for n in range(7))


async def test_on_a_real_clock_eight_are_in_flight(client: Client) -> None:
    """The ninth event of an endpoint that never answers waits until one of the eight attempts has ended."""
    async with receiving(receivers.hang) as receiver:
        box = await client.sandbox(clock="real", notification_url=receiver.url, scenario="abandoned")
        for _ in range(9):
            await box.deposit()
        await receiver.wait_for(8)
        in_flight = [len(delivery["attempts"]) for delivery in await box.deliveries()]
        receiver.released.set()
        await receiver.wait_for(9)

        assert in_flight == [1] * 8 + [0]


async def test_in_flight_can_be_chosen(client: Client) -> None:
    """`webhooks.in_flight` is used with every clock."""
    async with receiving(receivers.hang) as receiver:
        settings = {"webhooks": {"in_flight": 2}}
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned", settings=settings)
        for _ in range(3):
            await box.deposit()
        await receiver.wait_for(2)
        in_flight = [len(delivery["attempts"]) for delivery in await box.deliveries()]
        receiver.released.set()
        await box.advance(by="0s")

        assert (in_flight, len(receiver.requests)) == ([1, 1, 0], 3)


async def test_a_hanging_receiver_blocks_no_other_business(client: Client) -> None:
    """While one business's receiver hangs, another's events are all delivered and the API answers."""
    async with receiving(receivers.hang) as hanging, receiving() as quick:
        stuck = await client.sandbox(notification_url=hanging.url)
        free = await client.sandbox(notification_url=quick.url)
        await stuck.deposit()
        await hanging.wait_for(1)

        for _ in range(10):
            await free.deposit()
        await free.advance(by="1h")
        answered = await stuck.api("GET", "/pay-in")

        (held,) = await stuck.deliveries()
        assert held["attempts"][0]["sent_at"] is None  # still in flight
        assert len(quick.requests) == 40
        assert answered.status == 200


async def test_a_deposits_own_url_is_a_separate_endpoint(client: Client) -> None:
    """A deposit's `notification_url` is used for its events, and blocks only them when it hangs."""
    async with receiving(receivers.hang) as own, receiving() as general:
        box = await client.sandbox(notification_url=general.url, scenario="abandoned")
        await box.deposit(notification_url=own.url)
        await own.wait_for(1)
        await box.deposit()
        await general.wait_for(1)

        assert (len(own.requests), len(general.requests)) == (1, 1)


async def test_a_reset_cancels_attempts_in_flight(client: Client) -> None:
    """A reset cancels a hanging attempt, says so, and the endpoint is free for the next event."""
    async with receiving(receivers.hang, receivers.ok) as receiver:
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned")
        await box.deposit()
        await receiver.wait_for(1)
        reset = await box.control("POST", "/reset")
        await box.deposit()
        await box.advance(by="0s")

        assert reset.document["removed"]["attempts_broken_off"] == 1
        assert [delivery["status"] for delivery in await box.deliveries()] == ["delivered"]


async def test_concurrent_resets_leave_a_living_sandbox(client: Client) -> None:
    """Two concurrent resets with an attempt in flight both succeed, and deliveries go on."""
    async with receiving(receivers.hang, receivers.ok) as receiver:
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned")
        await box.deposit()
        await receiver.wait_for(1)
        sandbox = client.server.host.registry.get(box.id)
        scope = frozenset({"state", "deliveries"})
        await asyncio.gather(*(client.server.host.reset(sandbox, scope) for _ in range(3)))
        await box.deposit()
        await box.advance(by="0s")

        assert [delivery["status"] for delivery in await box.deliveries()] == ["delivered"]


async def test_an_attempt_that_has_not_begun_can_be_cancelled(client: Client) -> None:
    """A reset in the same turn of the event loop in which an event was made leaves the endpoint usable."""
    async with receiving() as receiver:
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned")
        pay_in = await box.deposit()
        host = client.server.host
        sandbox = host.registry.get(box.id)
        resource = sandbox.ledger.find(pay_in["id"])
        await box.advance(by="0s")
        host.act(sandbox, lambda: sandbox.force_transition(resource, "pending"))  # type: ignore[arg-type]
        await host.reset(sandbox, frozenset({"state", "deliveries"}))
        await box.deposit()
        await box.advance(by="0s")

        assert [delivery["status"] for delivery in await box.deliveries()] == ["delivered"]
        assert len(receiver.requests) == 2


async def test_a_deleted_sandbox_sends_nothing_more(client: Client) -> None:
    """Deleting a sandbox cancels its attempt, even while an advance waits for it."""
    async with receiving(receivers.hang) as receiver:
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned")
        await box.deposit()
        await receiver.wait_for(1)
        advance = asyncio.create_task(box.control("POST", "/clock/advance", {"by": "72h"}))
        deleted = await box.control("DELETE")
        await advance

        assert deleted.document == {"deleted": box.id}
        assert len(receiver.requests) == 1
