"""Time over real sockets: which clock moves by itself, what an advance waits for, and what is refused."""

from __future__ import annotations

import asyncio
import itertools
import time
from datetime import datetime, timedelta
from typing import Any

import aiohttp
import pytest
import receivers
from pauses import hold_requests
from receivers import receiving, status
from servers import Box, Client

from paydouble.runtime import pump

START = "2026-01-01T00:00:00.000Z"
MANUAL = {"mode": "manual", "start": START}
LIFE = ["pay-in.created", "pay-in.pending", "pay-in.processing", "pay-in.succeeded"]


def _after(**passed: float) -> str:
    moment = datetime.fromisoformat(START) + timedelta(**passed)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def _types(box: Box) -> list[str]:
    return [delivery["event_type"] for delivery in await box.deliveries()]


async def _open_connections(box: Box) -> None:
    """Open a few connections of the client, so that concurrent calls also arrive concurrently."""
    await asyncio.gather(*(box.get() for _ in range(5)))


async def test_a_manual_clock_stands(client: Client) -> None:
    """Without an advance only what is due immediately happens."""
    async with receiving() as receiver:
        box = await client.sandbox(clock=MANUAL, notification_url=receiver.url)
        await box.deposit()
        await receiver.wait_for(1)

        clock = await box.get("/clock")
        assert (clock["now"], clock["next_due_at"], clock["idle"]) == (START, _after(seconds=2), False)
        assert await _types(box) == ["pay-in.created"]


async def test_a_real_clock_goes_at_its_rate(client: Client) -> None:
    """At a thousand times the speed a six-second script ends immediately, without an advance."""
    async with receiving() as receiver:
        box = await client.sandbox(clock={"mode": "real", "rate": 1000}, notification_url=receiver.url)
        await box.deposit()
        await receiver.wait_for(4)

        assert await _types(box) == LIFE


@pytest.mark.parametrize("step", [-86_400, 86_400], ids=["back", "forward"])
async def test_a_step_of_the_machines_time_changes_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """When the machine's time is set a day back or forward, a real clock continues without a stop or repetition."""
    async with receiving() as receiver:
        box = await client.sandbox(clock={"mode": "real", "rate": 1000, "start": START}, notification_url=receiver.url)
        shown = time.time_ns
        monkeypatch.setattr(time, "time_ns", lambda: shown() + step * 1_000_000_000)
        await box.deposit(expires_in=2_592_000)
        await receiver.wait_for(4)

        assert await _types(box) == LIFE
        assert len(receiver.requests) == 4
        assert abs(int(receiver.requests[-1].header("X-Service-Signature")[2:12]) - time.time_ns() // 10**9) < 300


async def test_an_auto_clock_jumps_until_idle(client: Client) -> None:
    """When nothing is in flight an `auto` clock jumps to the next timer, through all retries to a dead receiver."""
    async with receiving(status(500)) as receiver:
        box = await client.sandbox(clock={"mode": "auto", "start": START}, notification_url=receiver.url)
        await box.deposit(expires_in=60)
        await receiver.wait_for(32)
        await client.server.host.pump(client.server.host.registry.get(box.id)).quiet()

        assert {delivery["status"] for delivery in await box.deliveries()} == {"exhausted"}
        assert (await box.get("/clock"))["now"] == _after(seconds=6, hours=58, minutes=36)


def _seconds_to_jump(client: Client, box: Box) -> float:
    alarm = client.server.host.pump(client.server.host.registry.get(box.id))._alarm  # noqa: SLF001 - shown nowhere else
    return -1.0 if alarm is None else alarm.when() - asyncio.get_running_loop().time()


AUTO = {"mode": "auto", "start": START}
# Both are far longer than a busy machine takes between the answer of a call and the test's look at the alarm.
PAUSE_SECONDS = 30.0
PATIENT = {"auto_patience": "10m"}
LOST = {"effect": {"type": "connection_reset"}, "phase": "after_commit", "times": 1}


async def test_an_auto_clock_waits_for_the_retry_of_a_lost_reply(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a lost reply the clock waits; as soon as the retry has its answer, it goes on."""
    monkeypatch.setattr(pump, "AUTO_PAUSE_SECONDS", PAUSE_SECONDS)
    box = await client.sandbox(clock=AUTO, settings=PATIENT)
    await box.control("POST", "/faults", LOST)
    with pytest.raises(aiohttp.ClientError):
        await box.deposit()
    waits = _seconds_to_jump(client, box)
    client.keys = itertools.count(1)  # the retry has the same key
    await box.deposit()
    goes_on = _seconds_to_jump(client, box)

    assert 2 * PAUSE_SECONDS < waits <= 600
    assert 0 < goes_on <= PAUSE_SECONDS
    assert [each["idempotency"]["verdict"] for each in (await box.get("/requests"))["items"]] == ["new", "replay"]


async def test_an_auto_clock_does_not_wait_longer_than_its_patience(client: Client) -> None:
    """A client that does not retry delays the clock by `auto_patience`, and no longer."""
    async with receiving() as receiver:
        box = await client.sandbox(clock=AUTO, notification_url=receiver.url, settings={"auto_patience": "100ms"})
        await box.control("POST", "/faults", LOST)
        with pytest.raises(aiohttp.ClientError):
            await box.deposit()
        await receiver.wait_for(4)

        assert await _types(box) == LIFE


async def test_an_auto_clock_stands_while_a_reply_is_withheld(client: Client) -> None:
    """A request whose reply never comes is in flight until the client gives up; then the clock waits for its retry."""
    box = await client.sandbox(clock=AUTO, settings=PATIENT)
    await box.control("POST", "/faults", {**LOST, "effect": {"type": "no_response"}})
    asked = asyncio.create_task(box.deposit())
    registry = client.server.host.registry
    while not registry.get(box.id).journal.requests.entries:
        await box.get()
    withheld = _seconds_to_jump(client, box)
    asked.cancel()
    await asyncio.wait([asked])
    while _seconds_to_jump(client, box) < 0:
        await box.get()

    assert withheld == -1.0
    assert _seconds_to_jump(client, box) > 2 * PAUSE_SECONDS


async def test_an_auto_clock_waits_for_a_client_that_went_away(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that disconnected before its reply came is likely to retry, so the clock waits."""
    box = await client.sandbox(clock=AUTO, settings={"processing_time": "50ms", **PATIENT})
    released = hold_requests(monkeypatch)
    asked = asyncio.create_task(box.deposit())
    registry = client.server.host.registry
    while not registry.get(box.id).journal.requests.entries:
        await box.get()
    asked.cancel()
    await asyncio.wait([asked])
    await box.get()  # the server has seen the end of the connection when this has been answered
    released.set()
    while _seconds_to_jump(client, box) < 0:
        await box.get()

    assert _seconds_to_jump(client, box) > 2 * PAUSE_SECONDS


async def test_an_auto_clock_stands_while_an_attempt_is_in_flight(client: Client) -> None:
    """While a receiver has not answered, the clock does not move."""
    async with receiving(receivers.hang, receivers.ok) as receiver:
        box = await client.sandbox(clock={"mode": "auto", "start": START}, notification_url=receiver.url)
        await box.deposit()
        await receiver.wait_for(1)
        driver = client.server.host.pump(client.server.host.registry.get(box.id))
        driver.wake()

        assert driver._alarm is None  # noqa: SLF001 - that nothing is going to happen shows nowhere else
        receiver.released.set()
        await receiver.wait_for(4)
        assert await _types(box) == LIFE


async def test_advance_by_fires_what_is_due_on_the_way(client: Client) -> None:
    """Advancing by 3 s makes two steps of the pay-in, delivers both events, and reports it."""
    async with receiving() as receiver:
        box = await client.sandbox(clock=MANUAL, notification_url=receiver.url)
        await box.deposit()
        await receiver.wait_for(1)
        await box.advance(by="0s")
        done = await box.advance(by="3s")

        assert done == {"now": _after(seconds=3), "fired": 2, "attempts": 2, "idle": False}
        assert len(receiver.requests) == 3


@pytest.mark.parametrize("patient", [False, True])
async def test_an_advance_counts_the_attempts_that_became_due_during_it(client: Client, *, patient: bool) -> None:
    """An attempt that was due before does not count: sent before, in flight, or sent meanwhile."""
    async with receiving() as receiver:
        box = await client.sandbox(clock=MANUAL, notification_url=receiver.url)
        registry, host = client.server.host.registry, client.server.host
        await box.deposit()
        if patient:
            await receiver.wait_for(1)
            await host.pump(registry.get(box.id)).quiet()
        else:
            registry.get(box.id).send_test_webhook("pay-in.created")  # nothing has been started for it yet
        done = [await box.advance(by=by) for by in ("0s", "2s", "4s")]

        assert [each["attempts"] for each in done] == [0, 1, 2]


async def test_advance_to_an_instant(client: Client) -> None:
    """`to` is the clock's new instant; the present one is allowed."""
    box = await client.sandbox(clock=MANUAL)
    await box.deposit()

    first = await box.advance(to="2026-01-01T01:00:02+01:00")
    again = await box.advance(to=first["now"])

    assert (first["now"], first["fired"]) == (_after(seconds=2), 1)
    assert (again["now"], again["fired"]) == (first["now"], 0)


async def test_advance_until_idle(client: Client) -> None:
    """`until_idle` ends at the last timer."""
    box = await client.sandbox(clock=MANUAL)
    await box.deposit()

    assert await box.advance(until_idle=True) == {"now": _after(seconds=6), "fired": 3, "attempts": 0, "idle": True}


async def test_advance_waits_for_attempts(client: Client) -> None:
    """An advance returns when the attempts of its last instant have been answered."""
    async with receiving(receivers.hang) as receiver:
        box = await client.sandbox(clock=MANUAL, notification_url=receiver.url, scenario="abandoned")
        await box.deposit()
        await receiver.wait_for(1)
        await _open_connections(box)
        advance = asyncio.create_task(box.advance(by="0s"))
        await box.get()  # another whole call meanwhile
        waited = not advance.done()
        receiver.released.set()

        assert (waited, (await advance)["now"]) == (True, START)
        assert [delivery["status"] for delivery in await box.deliveries()] == ["delivered"]


async def test_a_limit_ends_an_advance_where_it_is(client: Client) -> None:
    """After `limit` timers the clock stays at the last one's instant."""
    box = await client.sandbox(clock=MANUAL)
    await box.deposit()

    done = await box.advance(by="1h", limit=2)

    assert done == {"now": _after(seconds=3), "fired": 2, "attempts": 0, "idle": False}


async def test_concurrent_advances_queue_and_add_up(client: Client) -> None:
    """Three concurrent advances, made while an attempt hangs, move the clock by their sum."""
    async with receiving(receivers.hang) as receiver:
        box = await client.sandbox(clock=MANUAL, notification_url=receiver.url, scenario="abandoned")
        await box.deposit()
        await receiver.wait_for(1)
        await _open_connections(box)
        advances = [asyncio.create_task(box.advance(by=by)) for by in ("3h", "1h", "2h")]
        await box.get()
        receiver.released.set()
        ends = {done["now"] for done in await asyncio.gather(*advances)}

        assert len(ends) == 3
        assert max(ends) == (await box.get("/clock"))["now"] == _after(hours=6)


async def test_a_reset_ends_an_advance_that_is_under_way(client: Client) -> None:
    """The rest of an advance is not applied to the clock that a reset has put back to its start."""
    async with receiving(receivers.hang) as receiver:
        box = await client.sandbox(clock=MANUAL, notification_url=receiver.url, scenario="abandoned")
        await box.deposit()
        await receiver.wait_for(1)
        await _open_connections(box)
        advance = asyncio.create_task(box.advance(by="72h"))
        await box.get()
        reset = await box.control("POST", "/reset")

        assert reset.status == 200
        assert (await advance)["now"] == START
        assert (await box.get("/clock"))["now"] == START


async def test_advance_by_nothing_on_a_running_clock(client: Client) -> None:
    """`by: 0s` is never in the past, although it waited for another advance while the clock ran."""
    async with receiving(receivers.hang) as receiver:
        clock = {"mode": "real", "rate": 1_000_000}
        box = await client.sandbox(clock=clock, notification_url=receiver.url, scenario="abandoned")
        await box.deposit()
        await receiver.wait_for(1)
        await _open_connections(box)
        advances = [asyncio.create_task(box.advance(by="0s")) for _ in range(2)]
        before = (await box.get("/clock"))["now"]
        while (await box.get("/clock"))["now"] == before:
            pass  # a millisecond at most
        receiver.released.set()

        assert len(await asyncio.gather(*advances)) == 2


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"to": "2025-12-31T23:59:59Z"}, "to"),
    ({"to": "9999-01-01T00:00:00Z"}, "to"),
    ({"to": "2026-01-01"}, "to"),
    ({"by": "1h", "to": "2026-02-01T00:00:00Z"}, "by"),
    ({"by": "1h", "until_idle": True}, "by"),
    ({}, "by"),
    ({"by": "1"}, "by"),
    ({"by": 5}, "by"),
    ({"by": "-1h"}, "by"),
    ({"by": "99999999d"}, "by"),
    ({"until_idle": False}, "until_idle"),
    ({"by": "1s", "limit": 0}, "limit"),
    ({"by": "1s", "for": "1s"}, "for"),
]


@pytest.mark.parametrize(("how", "member"), REFUSED)
async def test_a_bad_advance_moves_nothing(client: Client, how: dict[str, Any], member: str) -> None:
    """A contradictory body, an instant in the past or a missing unit is 400 with the member's name."""
    box = await client.sandbox(clock=MANUAL)
    await box.deposit()

    answer = await box.control("POST", "/clock/advance", how)

    assert answer.error == (400, "invalid", member)
    clock = await box.get("/clock")
    assert (clock["now"], clock["pending"]) == (START, 1)


async def test_advances_end_before_the_calendar_does(client: Client) -> None:
    """Advancing by centuries is refused before the clock reaches years that cannot be written."""
    box = await client.sandbox(clock={"mode": "manual", "start": "9998-12-31T23:00:00Z"})

    answer = await box.control("POST", "/clock/advance", {"by": "36500d"})

    assert answer.error == (400, "invalid", "to")


async def test_another_clock_goes_on_from_here(client: Client) -> None:
    """PUT clock keeps the instant and the timers, which the new clock then reaches."""
    async with receiving() as receiver:
        box = await client.sandbox(clock=MANUAL, notification_url=receiver.url)
        await box.deposit()
        before = await box.get("/clock")
        changed = await box.control("PUT", "/clock", {"mode": "auto"})
        await receiver.wait_for(4)

        assert (before["mode"], changed.document["mode"], changed.document["now"]) == ("manual", "auto", START)
        assert await _types(box) == LIFE


async def test_a_faster_clock_does_not_wait_for_the_slower_ones_alarm(client: Client) -> None:
    """A timer that was a day away goes off immediately when the clock becomes a million times as fast."""
    async with receiving() as receiver:
        box = await client.sandbox(clock="real", notification_url=receiver.url, scenario="abandoned")
        await box.deposit(expires_in=86_400)
        await receiver.wait_for(1)
        await box.control("PUT", "/clock", {"mode": "real", "rate": 1_000_000})
        await receiver.wait_for(2)

        assert await _types(box) == ["pay-in.created", "pay-in.cancelled"]


async def test_a_clock_made_manual_stops_immediately(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A manual clock that replaces an `auto` clock does not make its next jump."""
    monkeypatch.setattr(pump, "AUTO_PAUSE_SECONDS", PAUSE_SECONDS)
    box = await client.sandbox(clock={"mode": "auto", "start": START})
    driver = client.server.host.pump(client.server.host.registry.get(box.id))
    await box.deposit()
    armed = driver._alarm is not None  # noqa: SLF001 - that nothing is going to happen shows nowhere else
    clock = (await box.control("PUT", "/clock", {"mode": "manual"})).document

    assert (armed, driver._alarm) == (True, None)  # noqa: SLF001 - as above
    assert (clock["mode"], clock["pending"]) == ("manual", 1)


async def test_a_clock_can_start_later_but_not_earlier(client: Client) -> None:
    """A start in the future fires the timers before it; one in the past is refused and changes nothing."""
    box = await client.sandbox(clock=MANUAL)
    await box.deposit()
    refused = await box.control("PUT", "/clock", {"mode": "manual", "start": "2025-01-01T00:00:00Z"})
    taken = await box.control("PUT", "/clock", {"mode": "manual", "start": _after(seconds=3)})

    assert refused.error == (400, "invalid", "start")
    assert (taken.document["now"], taken.document["pending"]) == (_after(seconds=3), 1)
    assert [event["type"] for event in (await box.get("/events"))["items"]] == LIFE[:3]


@pytest.mark.parametrize(
    ("clock", "member"),
    [
        ({"mode": "manual", "rate": 2}, "rate"),
        ({"mode": "real", "rate": 0}, "rate"),
        ({"mode": "real", "rate": -1}, "rate"),
        ({"mode": "real", "rate": 1e300}, "rate"),
        ({"mode": "sundial"}, "mode"),
        ({"mode": "manual", "start": "yesterday"}, "start"),
        ({"mode": "manual", "start": 1}, "start"),
        ({}, "mode"),
    ],
)
async def test_an_impossible_clock_is_refused(client: Client, clock: dict[str, Any], member: str) -> None:
    """An impossible clock is 400 with the member's name, and the old one stays."""
    box = await client.sandbox(clock=MANUAL)

    answer = await box.control("PUT", "/clock", clock)

    assert answer.error == (400, "invalid", member)
    assert (await box.get("/clock"))["now"] == START
