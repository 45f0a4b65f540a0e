"""Slow answers: how slow, what is in flight meanwhile, and that a client that disconnects does not split a commit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from bounds import AT_MOST_SECONDS, FAR_LONGER
from drive import DEPOSITS, deposit_body
from pauses import hold_requests
from receivers import receiving
from servers import Client
from wires import Caller, caller


async def _until(shop: Caller, holds: Callable[[], bool]) -> None:
    """Wait for something to have happened in the sandbox."""
    signal = shop.box.client.server.host.signal(shop.sandbox)
    while not holds():
        await signal.changed()


async def _until_noted(shop: Caller, count: int) -> None:
    await _until(shop, lambda: sum(entry.status is not None for entry in shop.entries) >= count)


async def _until_in_flight(shop: Caller, count: int) -> None:
    await _until(shop, lambda: len(shop.entries) >= count)


@pytest.mark.parametrize("phase", ["before_commit", "after_commit"])
@pytest.mark.parametrize(
    ("shape", "least"),
    [
        ({"fixed": "50ms"}, 0.05),
        ({"uniform": ["50ms", "60ms"]}, 0.05),
        ({"lognormal": {"median": FAR_LONGER, "sigma": 0.1, "max": "50ms"}}, 0.05),
    ],
    ids=str,
)
async def test_an_answer_is_slow(shop: Caller, shape: dict[str, Any], least: float, phase: str) -> None:
    """The true answer comes after the given time, and not after `max`."""
    shop.arm({"type": "latency", **shape}, phase=phase)

    slow = await shop.deposit()

    assert (slow.status, len(shop.pay_ins)) == (200, 1)
    assert least <= slow.seconds < AT_MOST_SECONDS


@pytest.mark.parametrize("path", ["/pay-in", "/pay-in/payin_nobody"])
async def test_a_read_is_slow_too(shop: Caller, path: str) -> None:
    """A GET waits too, whether it finds something or not."""
    shop.arm({"type": "latency", "fixed": "30ms"})

    assert (await shop.ask("GET", path)).seconds >= 0.03


async def test_a_refusal_is_slow_too(shop: Caller) -> None:
    """The same holds for a request that is refused before it could be in flight, and for a replay."""
    await shop.deposit()
    shop.arm({"type": "latency", "fixed": "30ms"})

    answers = [await shop.deposit(n=2, amount="x"), await shop.deposit(), await shop.deposit(amount=1)]

    assert [answer.status for answer in answers] == [400, 200, 409]
    assert min(answer.seconds for answer in answers) >= 0.03


async def test_before_the_commit_the_key_is_in_flight(shop: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second request with the key joins the slow one and gets its bytes; one deposit exists."""
    shop.arm({"type": "latency", "fixed": "60ms"}, times=1)
    released = hold_requests(monkeypatch)

    first = asyncio.ensure_future(shop.deposit())
    await _until_in_flight(shop, 1)
    made = len(shop.pay_ins)
    second = asyncio.ensure_future(shop.deposit())
    await _until_in_flight(shop, 2)
    released.set()

    assert (await second).body == (await first).body
    assert (made, len(shop.pay_ins)) == (0, 1)
    assert sorted(entry.verdict for entry in shop.entries) == ["joined", "new"]


async def test_after_the_commit_the_state_is_kept(shop: Caller) -> None:
    """A retry does not wait for the slow reply: it gets the stored answer at once."""
    shop.arm({"type": "latency", "fixed": "10s"}, phase="after_commit", times=1)

    first = asyncio.ensure_future(shop.deposit())
    await _until_in_flight(shop, 1)
    made = len(shop.pay_ins)
    second = await shop.deposit()
    still = first.done()
    first.cancel()

    assert (made, second.status, shop.entries[1].verdict, still) == (1, 200, "replay", False)


@pytest.mark.parametrize(("phase", "made"), [("before_commit", 0), ("after_commit", 1)])
async def test_a_client_that_goes_does_not_split_a_commit(client: Client, phase: str, made: int) -> None:
    """The request is carried out once and completely: state, stored answer and webhook."""
    async with receiving() as receiver:
        shop = await caller(client, notification_url=receiver.url)
        shop.arm({"type": "latency", "fixed": "40ms"}, phase=phase, times=1)
        _, writer = await asyncio.open_connection("127.0.0.1", shop.port)
        writer.write(shop.request("POST", DEPOSITS, deposit_body()))
        await _until_in_flight(shop, 1)
        before = len(shop.pay_ins)

        writer.transport.abort()
        await _until_noted(shop, 1)
        await receiver.wait_for(1)
        retry = await shop.deposit()

    assert (before, len(shop.pay_ins), len(shop.sandbox.keys), shop.events) == (made, 1, 1, ["pay-in.created"])
    assert (shop.entries[1].verdict, retry.document["data"]["id"]) == ("replay", shop.pay_ins[0].id)


async def test_a_slow_request_holds_up_nobody_else(shop: Caller) -> None:
    """While it is in flight other requests of the business are answered."""
    shop.arm({"type": "latency", "fixed": "10s"}, match={"external_identifier": "slow"})
    slow = asyncio.ensure_future(shop.deposit(external_identifier="slow"))
    await _until_in_flight(shop, 1)

    others = [(await shop.deposit(n=n, external_identifier="quick")).status for n in range(2, 12)]
    done = slow.done()
    slow.cancel()

    assert (others, done) == ([200] * 10, False)


async def test_an_auto_clock_stands_while_a_reply_is_held(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow reply counts as a request in flight: an `auto` clock stands still, and goes on afterwards."""
    shop = await caller(client, clock="auto")
    shop.arm({"type": "latency", "fixed": "200ms"}, phase="after_commit")
    released = hold_requests(monkeypatch)

    slow = asyncio.ensure_future(shop.deposit())
    await _until_in_flight(shop, 1)
    await shop.box.get()
    due, stood = shop.sandbox.timers.next_due(), shop.sandbox.now
    alarm = client.server.host.pump(shop.sandbox)._alarm  # noqa: SLF001 - that nothing is going to happen shows nowhere else
    released.set()
    seen = await slow
    await _until(shop, lambda: "pay-in.succeeded" in shop.events)

    assert (seen.status, alarm) == (200, None)
    assert due is not None
    assert stood < due


async def test_a_sandbox_can_go_while_a_reply_is_held(client: Client, shop: Caller) -> None:
    """The slow reply of a deleted sandbox is still sent."""
    shop.arm({"type": "latency", "fixed": "50ms"}, phase="after_commit")
    slow = asyncio.ensure_future(shop.deposit())
    await _until_in_flight(shop, 1)

    deleted = await shop.box.control("DELETE")

    assert ((await slow).status, deleted.status < 300) == (200, True)
