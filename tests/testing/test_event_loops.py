"""Event loops that a call would stop, and those that are not asyncio's: each is refused at once, with the way out."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer
from kit import deposit, deposited

from paydouble.testing import AsyncPaydouble, Paydouble, Receiver, UsageError, WebhookReceiver
from paydouble.testing.loops import blocked_ports, is_this_machine


async def _taken(_: web.BaseRequest) -> web.Response:
    return web.Response()


async def test_an_advance_that_would_stop_its_own_receiver(server: Paydouble) -> None:
    """The receiver could answer nothing while the call blocks its loop; awaited, or from a thread, it works."""
    with server.sandbox(clock="manual") as box:
        async with RawTestServer(_taken) as receiver:
            url = f"http://localhost:{receiver.port}/hooks"
            box.change(notification_url=url)
            with pytest.raises(UsageError) as refused:
                box.clock.advance("72h")
            await deposited(box)
            awaited = await box.asynchronous.clock.advance("1m")
            threaded = await asyncio.to_thread(box.clock.advance, "1m")

        box.deliveries.verify(status="delivered", count=4)
    assert f"clock.advance would wait for the receiver at {url}" in str(refused.value)
    assert "await sandbox.asynchronous.clock.advance" in str(refused.value)
    assert awaited.attempts + threaded.attempts <= 4


async def test_a_deposit_s_own_receiver_is_looked_at_too(server: Paydouble) -> None:
    """One that the sandbox itself does not name."""
    with server.sandbox(clock="manual") as box:
        async with RawTestServer(_taken) as receiver:
            box.faults.add("delay", fixed="1m")
            await asyncio.to_thread(deposit, box, notification_url=f"http://127.0.0.1:{receiver.port}/")
            with pytest.raises(UsageError, match=r"would wait for the receiver at http://127\.0\.0\.1"):
                box.clock.advance("72h")


async def test_a_receiver_elsewhere_is_no_reason(server: Paydouble) -> None:
    """In a thread of its own it answers, whatever else listens in this loop."""
    with server.sandbox(clock="manual") as box, WebhookReceiver(box.webhook_secret) as receiver:
        async with RawTestServer(_taken):
            box.clock.advance("1s")  # nothing to deliver to
            box.change(notification_url=receiver.url)
            await deposited(box)
            box.clock.advance("1h")
        box.deliveries.verify(status="delivered", count=4)


async def test_a_server_in_the_own_loop() -> None:
    """A call that blocks would wait for a server that cannot answer."""
    async with AsyncPaydouble.start() as server:
        with pytest.raises(UsageError, match="runs in this event loop, which a call that blocks would stop"):
            Paydouble.connect(server.url).health()


def _first_step(work: Coroutine[Any, Any, object]) -> None:
    # What trio does with a coroutine, as far as it comes.
    try:
        work.send(None)
    finally:
        work.close()


def test_trio_is_told_what_to_use(server: Paydouble) -> None:
    """No event loop of asyncio runs there: each that needs one says so, and what works instead."""
    box = server.sandbox()
    for work, instead in (
        (box.asynchronous.clock.read(), "await trio.to_thread.run_sync(sandbox.clock.advance"),
        (AsyncPaydouble.connect(server.url).health(), "through the synchronous handle"),
        (AsyncPaydouble.start().__aenter__(), "under trio start Paydouble"),
        (Receiver().start(), "under trio use WebhookReceiver"),
    ):
        with pytest.raises(UsageError, match="needs asyncio, and no event loop of asyncio runs here") as refused:
            _first_step(work)
        assert instead in str(refused.value)


def test_ports_that_are_blocked() -> None:
    """Those at which the running loop listens; none without one, nor of a loop that does not tell."""

    async def listening(*, secretive: bool) -> tuple[int | None, frozenset[int]]:
        async with RawTestServer(_taken) as receiver:
            loop: Any = asyncio.get_running_loop()
            known = loop._selector  # noqa: SLF001 - what is tested
            assert isinstance(known, selectors.BaseSelector)
            if secretive:
                loop._selector = None  # noqa: SLF001 - as above
            try:
                return receiver.port, blocked_ports()
            finally:
                loop._selector = known  # noqa: SLF001 - as above

    port, found = asyncio.run(listening(secretive=False))
    _, hidden = asyncio.run(listening(secretive=True))

    assert [set(found), set(hidden), set(blocked_ports())] == [{port}, set(), set()]


@pytest.mark.parametrize(
    ("host", "here"),
    [("localhost", True), ("127.0.0.7", True), ("::1", True), ("shop.test", False), ("192.0.2.1", False), ("", False)],
)
def test_names_of_this_machine(host: str, here: bool) -> None:
    """A receiver at another one may well have a port of the same number."""
    assert is_this_machine(host) == here
