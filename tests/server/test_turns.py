"""Clients that send without reading take turns with everybody else."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from servers import Client
from wires import Caller, caller

from paydouble.api.execution import Step
from paydouble.api.pipeline import Pipeline
from paydouble.api.values import Request
from paydouble.web.turns import PER_LOOP_TURN, Turns

GREEDY = 300
EACH = 200


async def test_a_round_of_the_loop_does_so_much_and_no_more() -> None:
    """The rest waits for the next turns of the loop, in the order of arrival."""
    turns = Turns(asyncio.get_running_loop())
    done: list[int] = []
    count = 3 * PER_LOOP_TURN + 5
    at_once = [turns.do(lambda number=number: done.append(number)) for number in range(count)]  # type: ignore[misc]

    after = [len(done)]
    while turns.waiting:
        await asyncio.sleep(0)
        after.append(len(done))

    assert at_once == [True] * PER_LOOP_TURN + [False] * (count - PER_LOOP_TURN)
    assert done == list(range(count))
    assert max(later - sooner for sooner, later in itertools.pairwise(after)) == PER_LOOP_TURN


async def test_who_has_not_waited_does_not_wait() -> None:
    """Once nothing waits any more, the next piece of work is done at once."""
    turns = Turns(asyncio.get_running_loop())
    for _ in range(PER_LOOP_TURN + 1):
        turns.do(lambda: None)
    for _ in range(5):
        await asyncio.sleep(0)

    assert turns.do(lambda: None) is True


async def test_a_turn_that_nobody_wants_any_more_is_passed_over() -> None:
    """A cancelled wait delays nobody."""
    turns = Turns(asyncio.get_running_loop())
    waits = [asyncio.create_task(turns.take()) for _ in range(PER_LOOP_TURN + 2)]
    await asyncio.sleep(0)
    waits[PER_LOOP_TURN].cancel()

    results = await asyncio.gather(*waits, return_exceptions=True)

    assert isinstance(results[PER_LOOP_TURN], asyncio.CancelledError)
    assert results[:PER_LOOP_TURN] + results[PER_LOOP_TURN + 1 :] == [None] * (PER_LOOP_TURN + 1)


@pytest.fixture
async def shop(client: Client) -> Caller:
    """Give a business."""
    return await caller(client)


@pytest.fixture
def handled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the requests that the pipeline gets."""
    asked: list[str] = []
    handle = Pipeline.handle

    def handling(self: Pipeline, request: Request) -> Step:
        asked.append(request.target)
        return handle(self, request)

    monkeypatch.setattr(Pipeline, "handle", handling)
    return asked


@asynccontextmanager
async def greedy(port: int, data: bytes, count: int) -> AsyncIterator[None]:
    """Hold connections that have sent all of their requests and read no answer."""
    loop = asyncio.get_running_loop()
    held: list[socket.socket] = []
    try:
        for _ in range(count):
            connection = socket.socket()
            connection.setblocking(False)
            held.append(connection)
            await loop.sock_connect(connection, ("127.0.0.1", port))
        for connection in held:
            connection.send(data)
        yield
    finally:
        for connection in held:
            connection.close()


async def test_those_who_do_not_read_keep_nobody_waiting(client: Client, shop: Caller, handled: list[str]) -> None:
    """While many requests wait whose answers nobody reads, a client that reads is answered soon."""
    data = shop.request("GET", "/pay-in", keep=True) * EACH
    async with greedy(shop.port, data, GREEDY):
        async with asyncio.timeout(30):
            while not handled:  # noqa: ASYNC110 - nothing tells that the first has come so far
                await asyncio.sleep(0)
        before = len(handled)
        answer = await client.control("GET", "/health")
        between = len(handled) - before

    assert answer.status == 200
    # The client runs in the same event loop; the request itself takes about a dozen rounds.
    assert between <= 30 * PER_LOOP_TURN
    assert len(handled) < GREEDY * EACH / 2


async def test_those_who_read_get_all_their_answers_in_order(shop: Caller) -> None:
    """Requests that are sent all at once, more than one turn of the loop allows, are answered in their order."""
    count = 20 * PER_LOOP_TURN
    requests = [shop.request("GET", f"/pay-in/payin_{number:05}", keep=True) for number in range(count)]
    reader, writer = await asyncio.open_connection("127.0.0.1", shop.port)
    writer.write(b"".join(requests))
    answers = []
    async with asyncio.timeout(60):
        for _ in range(count):
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            answers.append(await reader.readexactly(length))
    writer.transport.abort()

    assert [b"payin_%05d" % number in body for number, body in enumerate(answers)] == [True] * count


async def test_many_large_requests_at_once_are_all_answered(shop: Caller) -> None:
    """Large amounts of data take turns too, and nothing is lost."""

    async def create(number: int) -> int:
        body = b'{"note": "' + b"x" * 400_000 + b'"}'
        seen = await shop.ask("POST", "/pay-in/deposit-creation", body, n=number + 1)
        return seen.status

    statuses = await asyncio.gather(*(create(number) for number in range(3 * PER_LOOP_TURN)))

    assert statuses == [400] * 3 * PER_LOOP_TURN
    assert len(shop.entries) == 3 * PER_LOOP_TURN


async def test_a_client_that_goes_while_it_waits_for_its_turn_changes_nothing(client: Client, shop: Caller) -> None:
    """Its data is dropped with its connection, and the others are answered."""
    data = shop.request("GET", "/pay-in", keep=True) * EACH
    async with greedy(shop.port, data, 3 * PER_LOOP_TURN):
        await client.control("GET", "/health")

    assert (await shop.ask("GET", "/pay-in")).status == 200
