"""Clocks over HTTP: advances queue, and contradictions are refused by their member."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from receivers import hang, receiving
from servers import Client

from paydouble.runtime.host import ClockSpec, HostOptions
from paydouble.server import Server, ServerOptions

START = {"mode": "manual", "start": "2026-01-01T00:00:00Z"}


async def test_a_second_advance_waits_for_the_first(client: Client) -> None:
    """While one advance waits for a receiver another queues; `by` then counts from where the first has ended."""
    async with receiving(hang) as receiver:
        box = await client.sandbox(clock=START, notification_url=receiver.url)
        await box.control("POST", "/webhook/test", {})
        first = asyncio.create_task(box.advance(by="1h"))
        await receiver.wait_for(1)
        second = asyncio.create_task(box.advance(by="1h"))
        clock = await box.get("/clock")
        receiver.released.set()
        ends = [(await task)["now"] for task in (first, second)]

    assert clock["now"] == "2026-01-01T00:00:00.000Z"
    assert ends == ["2026-01-01T01:00:00.000Z", "2026-01-01T02:00:00.000Z"]


BAD = [
    ({}, "by"),
    ({"by": "1h", "to": "2026-01-02T00:00:00Z"}, "by"),
    ({"by": "1h", "until_idle": True}, "by"),
    ({"until_idle": False}, "until_idle"),
    ({"by": 3600}, "by"),
    ({"by": "1"}, "by"),
    ({"to": "2025-01-01T00:00:00Z"}, "to"),
    ({"to": "2026-01-02T00:00:00"}, "to"),
    ({"until_idle": True, "limit": 0}, "limit"),
    ({"until_idle": True, "limit": True}, "limit"),
]


@pytest.mark.parametrize(("how", "member"), BAD)
async def test_a_contradictory_advance_is_refused(client: Client, how: dict[str, object], member: str) -> None:
    """Anything but one clear way forward is 400 with the member, and the clock does not move."""
    box = await client.sandbox(clock=START)

    answer = await box.control("POST", "/clock/advance", how)

    assert answer.error == (400, "invalid", member)
    assert answer.document["error"]["message"].startswith(f"{member}: ")
    assert (await box.get("/clock"))["now"] == "2026-01-01T00:00:00.000Z"


@pytest.mark.parametrize("clock", ["manual", {"mode": "manual"}, None])
async def test_a_clock_without_a_start_begins_where_the_server_says(clock: object) -> None:
    """`serve --start` holds for every sandbox that says nothing else, however its clock is named."""
    start = 1_767_225_600_000
    shared = HostOptions(clock=ClockSpec("manual", start))
    async with (
        Server(ServerOptions(port=0, shared=shared)) as server,
        aiohttp.ClientSession() as session,
        session.post(f"{server.base_url}/_paydouble/sandboxes", json={"clock": clock} if clock else {}) as response,
    ):
        made = await response.json()

    assert made["clock"]["now"] == "2026-01-01T00:00:00.000Z"
