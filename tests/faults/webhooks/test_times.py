"""Delay, drop, hold, and a retry schedule of the delivery's own."""

from __future__ import annotations

from typing import Any

import pytest
from hooked import LIFE, hooked
from receivers import ok, status
from servers import Client

from paydouble.core.errors import UsageError

SECOND, MINUTE = 1_000, 60_000


async def test_a_delayed_event_leaves_late_and_nothing_waits_for_it(client: Client) -> None:
    """Delayed by ten seconds of the sandbox's clock, the first event arrives after the next three."""
    async with hooked(client) as business:
        fault = business.fault({"type": "delay", "fixed": "10s"}, match={"event_type": "pay-in.created"})
        start = business.sandbox.now
        await business.live()
        on_time = list(business.types)
        await business.box.advance(by="4s")

        assert on_time == LIFE[1:]
        assert business.types == [*LIFE[1:], LIFE[0]]
        assert business.deliveries[0].attempts[0].due_at == start + 10 * SECOND
        assert business.deliveries[0].faults == (fault.id,)


async def test_a_delayed_event_keeps_its_ladder(client: Client) -> None:
    """The second attempt comes a minute after the first, however late that was."""
    async with hooked(client, status(500), ok, scenario="abandoned") as business:
        business.fault({"type": "delay", "fixed": "10s"})
        start = business.sandbox.now
        await business.live()
        await business.box.advance(by="10m")

        assert [each.due_at - start for each in business.deliveries[0].attempts] == [10 * SECOND, 70 * SECOND]


@pytest.mark.parametrize(
    ("how", "low", "high"),
    [
        ({"uniform": ["1s", "1m"]}, SECOND, MINUTE),
        ({"lognormal": {"median": "5s", "sigma": 1.5, "max": "1m"}}, 0, MINUTE),
    ],
)
async def test_drawn_delays_stay_in_their_bounds_and_repeat(
    client: Client, how: dict[str, Any], low: int, high: int
) -> None:
    """Thirty delays are within the bounds and differ; another sandbox with the same seed has the same ones."""

    async def delays() -> list[int]:
        async with hooked(client, scenario="abandoned", seed=7) as business:
            business.fault({"type": "delay", **how}, id="late")
            start = business.sandbox.now
            for _ in range(30):
                await business.box.deposit()
            await business.box.advance(by="1m")
            assert len(business.requests) == 30
            return [each.attempts[0].due_at - start for each in business.deliveries]

    first, second = await delays(), await delays()

    assert low <= min(first) < max(first) <= high
    assert first == second


async def test_a_dropped_event_is_never_sent(client: Client) -> None:
    """The receiver gets the others, the delivery says `dropped`, and three days change nothing."""
    async with hooked(client) as business:
        fault = business.fault({"type": "drop"}, match={"event_type": "*.succeeded"})
        await business.live()
        await business.box.advance(by="72h")

        assert business.types == LIFE[:3]
        lost = business.deliveries[3]
        assert (lost.status, lost.attempts, lost.faults) == ("dropped", (), (fault.id,))
        assert len(await business.box.get("/events")) > 0


async def test_a_dropped_event_can_be_sent_by_hand(client: Client) -> None:
    """Redelivered, it arrives; a receiver that refuses it leaves it dropped."""
    async with hooked(client, status(500), ok, scenario="abandoned") as business:
        business.fault({"type": "drop"})
        await business.live()
        (delivery,) = business.deliveries
        states = []
        for _ in range(2):
            business.sandbox.redeliver(delivery)
            await business.settle()
            states.append(delivery.status)

        assert states == ["dropped", "delivered"]


async def test_a_held_event_waits_until_it_is_released(client: Client) -> None:
    """Three days pass without it; released, it is sent at once, and a failure then starts the retries."""
    async with hooked(client, status(500), ok, scenario="abandoned") as business:
        fault = business.fault({"type": "hold"})
        await business.live(expires_in=2_592_000)
        await business.box.advance(by="72h")
        (delivery,) = business.deliveries
        before = (delivery.status, len(business.requests))
        business.sandbox.release(delivery)
        await business.settle()
        released = business.sandbox.now
        await business.box.advance(by="1m")

        assert before == ("held", 0)
        assert [each.due_at - released for each in delivery.attempts] == [0, MINUTE]
        assert (delivery.status, delivery.faults) == ("delivered", (fault.id,))


async def test_only_what_is_held_can_be_released(client: Client) -> None:
    """A delivered event can neither be released nor held."""
    async with hooked(client, scenario="abandoned") as business:
        await business.live()
        (delivery,) = business.deliveries

        with pytest.raises(UsageError, match="is delivered, not held"):
            business.sandbox.release(delivery)
        with pytest.raises(UsageError, match="nothing is left to hold"):
            business.sandbox.hold(delivery)


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({}, [0]),
        ({"attempts": 3}, [0, MINUTE, 6 * MINUTE]),
        ({"attempts": 3, "delays": ["5s", "10s"]}, [0, 5 * SECOND, 15 * SECOND]),
        ({"attempts": 2, "delays": ["5s", "10s"]}, [0, 5 * SECOND]),
    ],
    ids=str,
)
async def test_a_schedule_cuts_the_ladder_of_one_delivery(
    client: Client, how: dict[str, Any], expected: list[int]
) -> None:
    """One event has its own schedule and is then exhausted; the next has the contract's eight attempts."""
    async with hooked(client, status(500), scenario="abandoned") as business:
        fault = business.fault({"type": "schedule", **how}, times=1)
        start = business.sandbox.now
        await business.live(expires_in=2_592_000)
        await business.live(expires_in=2_592_000)
        await business.box.advance(by="72h")

        short, full = business.deliveries
        assert [each.due_at - start for each in short.attempts] == expected
        assert (short.status, short.faults) == ("exhausted", (fault.id,))
        assert len(full.attempts) == 8


async def test_a_schedule_holds_for_copies_too(client: Client) -> None:
    """A copy has as many attempts as its event."""
    async with hooked(client, status(500), scenario="abandoned") as business:
        business.fault({"type": "schedule", "attempts": 2}, compose=True)
        business.fault({"type": "duplicate"})
        await business.live()
        await business.box.advance(by="72h")

        assert [(each.status, len(each.attempts)) for each in business.deliveries[:2]] == [("exhausted", 2)] * 2
