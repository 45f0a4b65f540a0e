"""A server's start and end inside an event loop, and how much it keeps."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import sys
import tracemalloc
import warnings
from collections.abc import Callable

import pytest
import receivers
from aiohttp import web
from drive import Business, deposit_body
from receivers import receiving
from servers import running

from paydouble.core.errors import UsageError
from paydouble.runtime.host import HostOptions, SandboxSpec
from paydouble.server import Server, ServerOptions
from paydouble.testing.receiver import Receiver
from paydouble.web.listening import listen


async def test_port_0_takes_a_free_one() -> None:
    """Two servers at port 0 run side by side, each knowing its own port."""
    async with Server(ServerOptions(port=0)) as one, Server(ServerOptions(port=0)) as other:
        assert 0 < one.port != other.port > 0
        assert one.base_url == f"http://127.0.0.1:{one.port}"


async def test_a_port_in_use_is_one_clear_refusal() -> None:
    """A port that is taken is a `UsageError` that names the option, the port and the reason."""
    async with Server(ServerOptions(port=0)) as first:
        second = Server(ServerOptions(port=first.port))

        with pytest.raises(UsageError, match=rf"^--port: 127\.0\.0\.1:{first.port} cannot be used \(.*in use"):
            await second.start()


async def test_a_control_port_in_use_leaves_the_api_port_free() -> None:
    """When the second port is taken the first is freed again."""
    async with Server(ServerOptions(port=0)) as first:
        second = Server(ServerOptions(port=0, control_port=first.port))

        with pytest.raises(UsageError, match=r"^--control-port: "):
            await second.start()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", second.port)


async def test_an_unknown_scenario_leaves_no_port_bound() -> None:
    """When the default sandbox cannot be made the ports are freed again."""
    shared = HostOptions(settings=HostOptions().settings.model_copy(update={"scenario": "no-such"}))
    server = Server(ServerOptions(port=0, shared=shared))

    with pytest.raises(UsageError, match="no-such"):
        await server.start()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", server.port)


async def test_a_client_that_does_not_read_is_cut_off() -> None:
    """Nothing is left for the loop to send when the server has stopped, since the loop may end then."""
    asked = asyncio.Event()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        asked.set()
        await response.write(bytes(50_000_000))  # which waits for the client
        return response

    server = web.Server(answer)
    listener = await listen(server, ("127.0.0.1", 0), 0.2)
    with socket.create_connection(("127.0.0.1", listener.port)) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n")
        await asked.wait()
        (transport,) = [each.transport for each in server.connections]
        assert transport is not None
        assert transport.get_write_buffer_size() > 0

        await listener.close()

        assert (transport.is_closing(), transport.get_write_buffer_size()) == (True, 0)


@pytest.mark.parametrize("turns", range(6))
@pytest.mark.parametrize("made", [lambda: Server(ServerOptions(port=0)), Receiver], ids=["server", "receiver"])
def test_a_connection_that_comes_at_the_end_is_closed(made: Callable[[], Server | Receiver], turns: int) -> None:
    """However far it is accepted: one that is forgotten is a warning in a later test of somebody else."""

    async def stop_while_one_comes() -> socket.socket:
        server = made()
        await server.start()
        client = socket.create_connection(("127.0.0.1", server.port))
        for _ in range(turns):
            await asyncio.sleep(0)
        await server.stop()
        return client

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        forgotten: list[str] = []
        patch.setattr(sys, "unraisablehook", lambda each: forgotten.append(str(each.exc_value)))
        with asyncio.run(stop_while_one_comes()) as client:
            gc.collect()
            client.settimeout(10)
            with contextlib.suppress(ConnectionResetError):
                assert client.recv(1) == b""
    assert forgotten == []


async def test_a_stopped_server_answers_nobody() -> None:
    """After the end the port is free and no task of the server is left."""
    before = asyncio.all_tasks()
    async with receiving(receivers.hang) as receiver:
        async with running() as client:
            box = await client.sandbox(notification_url=receiver.url)
            await box.deposit()
            await receiver.wait_for(1)
            port = client.server.port
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)

    await asyncio.sleep(0)
    assert asyncio.all_tasks() - before == set()


async def test_a_stop_ends_an_advance_and_a_request_in_flight() -> None:
    """Neither an advance that waits for a receiver nor a request in flight delays the end of a server."""
    async with receiving(receivers.hang) as receiver, running() as client:
        settings = {"processing_time": "10m"}
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned")
        await box.deposit()
        await receiver.wait_for(1)
        advance = asyncio.create_task(box.control("POST", "/clock/advance", {"by": "72h"}))
        await box.control("PATCH", "", {"settings": settings})
        deposit = asyncio.create_task(box.api("POST", "/pay-in/deposit-creation", deposit_body()))
        await box.get()
        await client.server.stop()
        results = await asyncio.gather(advance, deposit, return_exceptions=True)

        assert len(results) == 2
        assert len(receiver.requests) == 1


async def test_stopping_twice_is_stopping() -> None:
    """A second stop does nothing."""
    server = Server(ServerOptions(port=0))
    await server.start()
    await server.stop()
    await server.stop()


async def test_the_default_sandbox_is_what_the_options_say() -> None:
    """Keys and secrets of the default sandbox are settable."""
    spec = SandboxSpec(id="shop", business_key="k", business_secret="s", webhook_secret="whsec_x")
    async with running(ServerOptions(port=0, default_sandbox=spec)) as client:
        shown = (await client.control("GET", "/sandboxes/shop")).document

    assert (shown["business_key"], shown["business_secret"], shown["webhook_secret"]) == ("k", "s", "whsec_x")


def test_ten_thousand_creates_leave_memory_bounded() -> None:
    """At its limit the journal keeps the newest, counts the evicted, and a create adds little."""
    business = Business(journal_limit=500, notification_url=None)
    for _ in range(8_000):
        business.deposit()
    tracemalloc.start()
    try:
        for _ in range(1_000):  # replaces the whole journal by entries whose memory is traced
            business.deposit()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(1_000):
            business.deposit()
        gc.collect()
        per_create = (tracemalloc.get_traced_memory()[0] - before) / 1_000
    finally:
        tracemalloc.stop()

    journal = business.sandbox.journal
    assert (len(journal.requests.entries), journal.requests.evicted) == (500, 9_500)
    assert (len(journal.events.entries), journal.events.evicted) == (500, 9_500)
    assert (len(business.sandbox.outbox.deliveries), business.sandbox.outbox.evicted) == (500, 9_500)
    assert per_create < 4_096
