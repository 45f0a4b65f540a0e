"""A deleted sandbox is freed, without a full garbage collection, whatever was in flight."""

from __future__ import annotations

import asyncio
import gc
import io
import sys
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest
from bounds import AT_MOST_SECONDS
from receivers import receiving
from servers import CONTROL, Box, Client, running

from paydouble.cli.live import LiveLog, LogFormat
from paydouble.runtime.host import HostOptions
from paydouble.sandbox import Sandbox
from paydouble.server import ServerOptions

Use = Callable[[Box], Awaitable[object]]


@pytest.fixture(autouse=True)
def _without_the_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """Give a client of a fresh server."""
    async with running() as started:
        yield started


def weakly(box: Box) -> weakref.ref[Sandbox]:
    """Return a weak reference to the sandbox itself."""
    return weakref.ref(box.client.server.host.registry.get(box.id))


async def check_given_back(sandbox: weakref.ref[Sandbox]) -> None:
    """Wait until nothing refers to a sandbox any more."""
    async with asyncio.timeout(AT_MOST_SECONDS):
        while sandbox() is not None:  # noqa: ASYNC110 - nothing tells when an object goes
            await asyncio.sleep(0.001)


async def _pay(box: Box) -> None:
    for number in range(3):
        await box.deposit(external_identifier=f"order-{number}")
    await box.api("POST", "/pay-in/deposit-creation", {"amount": "much"})
    await box.advance(by="10s")


async def _fault(box: Box) -> None:
    await box.control("POST", "/faults", {"on": "webhooks", "effect": {"type": "hold"}})
    await box.control("POST", "/faults", {"effect": {"type": "stale_read"}})
    await box.control("POST", "/faults", {"effect": {"type": "nothing"}})
    await _pay(box)


async def _tell_scenarios(box: Box) -> None:
    scenario = {"name": "own", "summary": "A test's own.", "settings": {"livemode": True}}
    scenario["lifecycle"] = {"pay_in": [{"after": "1s", "to": "pending"}]}
    await box.control("POST", "/scenarios", scenario)
    await box.control("PUT", "/scenarios/active", {"name": "own"})
    await _pay(box)


async def _ask(box: Box) -> None:
    await _pay(box)
    for what in ("requests", "deliveries"):
        await box.control("POST", f"/{what}/verify", {"count": 77})
        await box.control("POST", f"/{what}/wait", {"count": 77, "timeout": "1ms"})


async def _reset(box: Box) -> None:
    await _pay(box)
    await box.control("POST", "/reset")
    await _pay(box)
    await box.control("POST", "/reset", {"scope": ["deliveries"]})


async def _change(box: Box) -> None:
    await _pay(box)
    await box.control("PATCH", "", {"settings": {"livemode": True}})
    await box.control("PUT", "/clock", {"mode": "auto"})


async def _nothing(box: Box) -> None:
    assert box.id


USES: list[Use] = [_nothing, _pay, _fault, _tell_scenarios, _ask, _reset, _change]


@pytest.mark.parametrize("clock", ["manual", "auto", "real"])
@pytest.mark.parametrize("use", USES)
async def test_a_deleted_sandbox_is_given_back(use: Use, clock: str, client: Client) -> None:
    """It is in no reference cycle, whatever was done with it."""
    async with receiving() as receiver:
        box = await client.sandbox(clock=clock, notification_url=receiver.url)
        sandbox = weakly(box)
        await use(box)

        assert (await box.control("DELETE")).status == 200

        await check_given_back(sandbox)


@pytest.mark.parametrize("log_format", ["text", "json"])
async def test_a_log_holds_no_sandbox(log_format: LogFormat) -> None:
    """A log of all sandboxes goes on without the deleted ones."""
    log = LiveLog(io.StringIO(), log_format, "default")
    try:
        async with running(ServerOptions(port=0, shared=HostOptions(on_sandbox=log.follow))) as client:
            box = await client.sandbox()
            sandbox = weakly(box)
            await _pay(box)

            await box.control("DELETE")

            await check_given_back(sandbox)
    finally:
        log.close()


async def test_a_stream_and_waits_end_with_their_sandbox(client: Client) -> None:
    """A stream and a wait end with their sandbox, and do not keep it in memory."""
    box = await client.sandbox()
    sandbox = weakly(box)
    signal = client.server.host.signal(client.server.host.registry.get(box.id))
    url = f"http://127.0.0.1:{client.server.port}{CONTROL}/sandboxes/{box.id}/stream"
    wait = asyncio.create_task(box.control("POST", "/requests/wait", {"count": 5, "timeout": "60s"}))
    async with client.session.get(url) as stream:
        while signal.waiting < 2:  # noqa: ASYNC110 - nothing else tells that both have come so far
            await asyncio.sleep(0)
        await box.control("DELETE")
        assert (await wait).status == 404
        await stream.read()

        await check_given_back(sandbox)


async def test_requests_that_outlast_their_sandbox_are_answered(client: Client) -> None:
    """Requests in flight, and those that have joined them, are answered; then the sandbox is freed."""
    box = await client.sandbox(settings={"processing_time": "50ms"})
    sandbox = weakly(box)
    host = client.server.host
    signal = host.signal(host.registry.get(box.id))
    notes = signal.changed()
    deposit = asyncio.create_task(box.deposit())
    await notes

    await box.control("DELETE")

    assert (await deposit)["status"] == "created"
    await check_given_back(sandbox)


async def test_a_receiver_that_hangs_holds_no_sandbox(client: Client) -> None:
    """An attempt in flight is cancelled."""
    connected = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.set()
        try:
            await reader.read()
        finally:
            writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        box = await client.sandbox(notification_url=f"http://127.0.0.1:{port}/hooks")
        sandbox = weakly(box)
        await box.deposit()
        await connected.wait()

        await box.control("DELETE")

        await check_given_back(sandbox)


async def test_a_client_that_goes_while_its_answer_drips_holds_no_sandbox(client: Client) -> None:
    """A broken reply that is still being written does not keep the sandbox in memory."""
    box = await client.sandbox()
    sandbox = weakly(box)
    await box.control("POST", "/faults", {"effect": {"type": "no_response"}})
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await box.deposit()

    await box.control("DELETE")

    await check_given_back(sandbox)


async def blocks_of(client: Client, boxes: int) -> int:
    """Return how many blocks of memory so many sandboxes with deposits take; they are deleted afterwards."""
    made = [await client.sandbox() for _ in range(boxes)]
    before = sys.getallocatedblocks()
    for box in made:
        for number in range(10):
            await box.deposit(external_identifier=f"order-{number}")
        await box.advance(by="10s")
    held = sys.getallocatedblocks() - before
    for box in made:
        await box.control("DELETE")
    return held


async def test_memory_is_flat_over_many_sandboxes(client: Client) -> None:
    """Sandboxes that are created and deleted leave less than a twentieth of their memory, and that only once."""
    for _ in range(10):
        await blocks_of(client, 5)  # until the caches of everybody who takes part are full
    gc.collect()
    start = sys.getallocatedblocks()
    held = sum([await blocks_of(client, 5) for _ in range(20)])
    gc.collect()
    left = sys.getallocatedblocks() - start

    assert held > 20 * 5 * 10 * 20
    assert left < held / 20
