"""Unexpected bytes of a receiver are never taken for an answer, and interim answers are limited."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from typing import Any

import aiohappyeyeballs
import pytest
import receivers
from receivers import Answer, Exchange, Receiver, raw, receiving
from servers import Box, Client

from paydouble.runtime import connections

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
WITH_BODY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"


async def _box(client: Client, receiver: Receiver, **webhooks: object) -> Box:
    return await client.sandbox(notification_url=receiver.url, scenario="abandoned", settings={"webhooks": webhooks})


async def _send(box: Box) -> dict[str, Any]:
    """Make one more event; return its delivery after the first attempt."""
    await box.deposit()
    await box.advance(by="0s")
    return (await box.deliveries())[-1]


STRAYS = [
    pytest.param(TIMEOUT, id="a 408"),
    pytest.param(OK, id="a 200"),
    pytest.param(b"HTTP/1.1 408 Request Ti", id="half an answer"),
    pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n", id="an interim answer"),
    pytest.param(b"\x15\x03\x01", id="no HTTP"),
    pytest.param(b"\r\n", id="an empty line"),
]


@pytest.mark.parametrize("stray", STRAYS)
@pytest.mark.parametrize("answer", [OK, WITH_BODY, CHUNKED], ids=["without a body", "with a body", "chunked"])
async def test_bytes_after_an_answer_end_the_connection(client: Client, answer: bytes, stray: bytes) -> None:
    """With any bytes after an answer, the next event uses a new connection, once, and is accepted."""
    async with receiving(raw(answer + stray, keep=True), receivers.status(201)) as receiver:
        box = await _box(client, receiver)
        first = await _send(box)
        second = await _send(box)

        assert [(each["status"], each["attempts"][0]["status"]) for each in (first, second)] == [
            ("delivered", 200),
            ("delivered", 201),
        ]
        assert (len(receiver.requests), receiver.connections) == (2, 2)


@pytest.mark.parametrize("stray", STRAYS)
async def test_bytes_on_an_idle_connection_end_it(client: Client, stray: bytes) -> None:
    """Bytes that arrive on an idle connection are discarded with the connection."""
    gone = asyncio.Event()

    async def later(exchange: Exchange) -> None:
        await exchange.write(OK)
        await exchange.receiver.released.wait()
        await exchange.write(stray)
        gone.set()

    async with receiving(later, receivers.status(201)) as receiver:
        box = await _box(client, receiver)
        await _send(box)
        receiver.released.set()
        await gone.wait()
        second = await _send(box)

        assert (second["status"], [each["status"] for each in second["attempts"]]) == ("delivered", [201])
        assert (len(receiver.requests), receiver.connections) == (2, 2)


@pytest.mark.parametrize("stray", [TIMEOUT, None], ids=["a 408", "its end"])
async def test_what_the_loop_has_not_read_yet_counts(
    client: Client, monkeypatch: pytest.MonkeyPatch, stray: bytes | None
) -> None:
    """Bytes, or the end of a connection, are noticed even right before the next request is written."""
    sockets: list[int] = []
    send = connections.Request.send

    async def answer(exchange: Exchange) -> None:
        await exchange.write(OK)
        sockets.append(exchange.writer.get_extra_info("socket").fileno())

    async def interrupted(request: connections.Request, *rest: Any) -> Any:  # noqa: ANN401 - passed on as they are
        if request.kept:
            speaking = socket.socket(fileno=os.dup(sockets[0]))
            if stray is None:
                speaking.shutdown(socket.SHUT_WR)
            else:
                speaking.send(stray)
            speaking.close()
        return await send(request, *rest)

    monkeypatch.setattr(connections.Request, "send", interrupted)
    async with receiving(answer, receivers.status(201)) as receiver:
        box = await _box(client, receiver)
        await _send(box)
        second = await _send(box)

        assert (second["status"], [each["status"] for each in second["attempts"]]) == ("delivered", [201])
        assert (len(receiver.requests), receiver.connections) == (2, 2)


@pytest.mark.usefixtures("kept_for_long")
@pytest.mark.parametrize("answer", [OK, WITH_BODY, CHUNKED, b"HTTP/1.1 204 No Content\r\n\r\n"])
async def test_a_connection_without_stray_bytes_is_kept(client: Client, answer: bytes) -> None:
    """Three events use one connection when its receiver only answers them."""
    async with receiving(raw(answer, keep=True)) as receiver:
        box = await _box(client, receiver)
        for _ in range(3):
            assert (await _send(box))["status"] == "delivered"

        assert (len(receiver.requests), receiver.connections) == (3, 1)


async def test_an_idle_connection_that_was_closed_is_not_used(client: Client) -> None:
    """A receiver that closes a connection silently loses no event, and gets none twice."""
    closed = asyncio.Event()

    async def close_later(exchange: Exchange) -> None:
        await exchange.write(OK)
        await exchange.receiver.released.wait()
        exchange.writer.close()
        exchange.kept = False
        closed.set()

    async with receiving(close_later, receivers.status(201)) as receiver:
        box = await _box(client, receiver)
        await _send(box)
        receiver.released.set()
        await closed.wait()
        second = await _send(box)

        assert (second["status"], [each["status"] for each in second["attempts"]]) == ("delivered", [201])
        assert len(receiver.requests) == 2


async def test_a_body_in_parts_uses_its_own_connection(client: Client) -> None:
    """While a slow body is written, late bytes about the previous request could be taken for its answer."""
    async with receiving(receivers.ok) as receiver:
        box = await _box(client, receiver)
        await _send(box)
        slow = {"on": "webhooks", "effect": {"type": "slow_body", "over": "10ms"}}
        assert (await box.control("POST", "/faults", slow)).status == 201
        await _send(box)

        assert (len(receiver.requests), receiver.connections) == (2, 2)


@pytest.fixture
def greeted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every new connection wait for its first bytes before it is used."""
    dial = aiohappyeyeballs.start_connection

    async def wait_for_greeting(addr_infos: Sequence[Any], **rest: Any) -> Any:  # noqa: ANN401 - passed on as it is
        connected = await dial(addr_infos, **rest)
        if connected.getpeername()[1] == _greeter["port"]:
            loop = asyncio.get_running_loop()
            readable = loop.create_future()
            loop.add_reader(connected, readable.set_result, None)
            await readable
            loop.remove_reader(connected)
        return connected

    monkeypatch.setattr(aiohappyeyeballs, "start_connection", wait_for_greeting)


_greeter: dict[str, int] = {}


@pytest.mark.parametrize("greeting", [OK, b"220 mail.example.test ESMTP\r\n"])
@pytest.mark.usefixtures("greeted")
async def test_bytes_before_the_request_are_not_an_answer(client: Client, greeting: bytes) -> None:
    """Bytes on a new connection before the request make the attempt fail, and nothing is sent."""
    received: list[bytes] = []

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(greeting)
        try:
            received.append(await reader.read())
        finally:
            writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        _greeter["port"] = server.sockets[0].getsockname()[1]
        box = await client.sandbox(notification_url=f"http://127.0.0.1:{_greeter['port']}/", scenario="abandoned")
        delivery = await _send(box)

        (attempt,) = delivery["attempts"]
        assert (delivery["status"], attempt["status"]) == ("waiting", None)
        assert attempt["error"] == {
            "kind": "protocol",
            "message": "the receiver sent bytes before it was asked anything",
        }
        assert b"".join(received) == b""


def _interim(count: int, head: bytes = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n") -> Answer:
    async def answer(exchange: Exchange) -> None:
        for _ in range(count):
            await exchange.write(head)
        await receivers.ok(exchange)

    return answer


@pytest.mark.usefixtures("kept_for_long")
@pytest.mark.parametrize("count", [1, 16])
async def test_interim_answers_are_skipped(client: Client, count: int) -> None:
    """A receiver may send a few 1xx answers; the final one counts, and the connection is kept."""
    async with receiving(_interim(count)) as receiver:
        box = await _box(client, receiver)
        first, second = await _send(box), await _send(box)

        assert [each["attempts"][0]["status"] for each in (first, second)] == [200, 200]
        assert receiver.connections == 1


async def _for_ever(exchange: Exchange) -> None:
    while True:
        await exchange.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000)


FLOODS: list[tuple[Callable[[Exchange], Any], str]] = [
    (_interim(17), "more than 16 interim (1xx) answers"),
    (_for_ever, "more than 16 interim (1xx) answers"),
    (_interim(4, b"HTTP/1.1 103 Early Hints\r\nLink: <" + b"a" * 5_000 + b">\r\n\r\n"), "more than 16 KiB of interim"),
    (_interim(2_000, b"\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"), "more than 16 interim (1xx) answers"),
]


@pytest.mark.parametrize(("answer", "reason"), FLOODS, ids=["one too many", "without end", "long", "after empty lines"])
async def test_a_flood_of_interim_answers_is_a_failed_attempt(client: Client, answer: Answer, reason: str) -> None:
    """It is cancelled immediately, not after the timeout, and has an error."""
    async with receiving(answer) as receiver:
        box = await _box(client, receiver, timeout="10m")
        delivery = await _send(box)

        (attempt,) = delivery["attempts"]
        assert (delivery["status"], attempt["status"], attempt["error"]["kind"]) == ("waiting", None, "protocol")
        assert attempt["error"]["message"].startswith(f"the receiver sent {reason}")
