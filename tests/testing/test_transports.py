"""Clients without sockets: httpx in both kinds, and aiohttp over connections in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import aiohttp
import httpx
import pytest
from bounds import AT_MOST_SECONDS
from drive import deposit_body, key

from paydouble import Sandbox
from paydouble.testing.aiohttp_connector import SandboxConnector
from paydouble.testing.transports import AsyncHttpxTransport, HttpxTransport

DEPOSITS = "/pay-in/deposit-creation"
HEADERS = {"Idempotency-Key": key(1)}
# A fault, and what a client of each library meets.
MET: list[tuple[str, dict[str, Any], type[Exception], type[Exception]]] = [
    ("connection_reset", {}, httpx.ReadError, aiohttp.ClientOSError),
    ("empty_response", {}, httpx.RemoteProtocolError, aiohttp.ServerDisconnectedError),
    ("garbage", {}, httpx.RemoteProtocolError, aiohttp.ClientResponseError),
    ("truncate", {}, httpx.RemoteProtocolError, aiohttp.ClientPayloadError),
    ("wrong_content_length", {"by": 5}, httpx.RemoteProtocolError, aiohttp.ClientPayloadError),
    ("no_response", {}, httpx.ReadTimeout, TimeoutError),
]
IDS = [each[0] for each in MET]


@pytest.fixture
def box() -> Sandbox:
    """Give a sandbox."""
    return Sandbox()


@pytest.fixture
def client(box: Sandbox) -> Iterator[httpx.Client]:
    """Give a client of httpx."""
    with httpx.Client(transport=HttpxTransport(box), base_url=box.base_url, auth=box.auth) as made:
        yield made


def _session(box: Sandbox, timeout: float = AT_MOST_SECONDS) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=SandboxConnector(box),
        headers={"Authorization": box.auth.header, **HEADERS},
        timeout=aiohttp.ClientTimeout(total=timeout),
    )


def _lose(box: Sandbox, effect: str, members: dict[str, Any]) -> None:
    box.faults.add(effect, operation="deposit-creation", phase="after_commit", times=1, **members)


def test_httpx_is_answered(box: Sandbox, client: httpx.Client) -> None:
    """By the same pipeline, with the server's headers; queries and bodies arrive whole."""
    made = client.post(DEPOSITS, json=deposit_body(), headers=HEADERS)
    listed = client.get("/pay-in", params={"external_identifier": "order-1"})

    assert (made.status_code, made.headers["Content-Type"], made.headers["Server"]) == (
        200,
        "application/json",
        "paydouble",
    )
    assert [each["id"] for each in listed.json()["data"]["items"]] == [made.json()["data"]["id"]]
    assert box.requests[1].target == "/api/v1/pay-in?external_identifier=order-1"
    assert dict(box.requests[0].headers)["Idempotency-Key"] == key(1)


async def test_httpx_is_answered_asynchronously(box: Sandbox) -> None:
    """The same for async clients."""
    transport = AsyncHttpxTransport(box)
    async with httpx.AsyncClient(transport=transport, base_url=box.base_url, auth=box.auth) as client:
        made = await client.post(DEPOSITS, json=deposit_body(), headers=HEADERS)

    assert made.json()["data"]["id"] == box.events[0].object_id


@pytest.mark.parametrize(("effect", "members", "error", "_"), MET, ids=IDS)
def test_httpx_loses_a_reply_in_its_own_words(
    box: Sandbox, client: httpx.Client, effect: str, members: dict[str, Any], error: type[Exception], _: object
) -> None:
    """The deposit is made, the reply is lost, and a retry with the same key finds it."""
    _lose(box, effect, members)

    with pytest.raises(error):
        client.post(DEPOSITS, json=deposit_body(), headers=HEADERS)
    retried = client.post(DEPOSITS, json=deposit_body(), headers=HEADERS)

    assert [event.object_id for event in box.events] == [retried.json()["data"]["id"]]


def test_httpx_meets_an_outage_and_its_own_timeout(box: Sandbox, client: httpx.Client) -> None:
    """Nobody waits for either."""
    box.faults.add("latency", fixed="4s", times=3)
    with pytest.raises(httpx.ReadTimeout):
        client.get("/pay-in", timeout=4)
    answered = client.get("/pay-in"), client.get("/pay-in", timeout=None)
    box.down()
    with pytest.raises(httpx.ConnectError):
        client.get("/pay-in")

    assert [each.status_code for each in answered] == [200, 200]


def test_head_has_no_body_here_either(box: Sandbox, client: httpx.Client) -> None:
    """Called directly and through httpx HEAD answers as GET and ends with its headers, also when its body is broken."""
    length = str(len(box.handle("GET", "/pay-in").body))
    box.faults.add("truncate", phase="after_commit")

    direct, sent = box.handle("HEAD", "/pay-in"), client.head("/pay-in")

    assert (direct.status, dict(direct.headers)["Content-Length"], direct.body) == (200, length, b"")
    assert (sent.status_code, sent.headers["Content-Length"], sent.content) == (200, length, b"")


async def test_head_has_no_body_through_aiohttp(box: Sandbox) -> None:
    """A connection in memory ends it with its headers as well."""
    length = str(len(box.handle("GET", "/pay-in").body))

    async with _session(box) as session, session.head(f"{box.base_url}/pay-in") as asked:
        told = (asked.status, asked.headers["Content-Length"], await asked.read())

    assert told == (200, length, b"")


async def test_aiohttp_is_answered(box: Sandbox) -> None:
    """Through the double's own HTTP shell: small bodies, large ones, and one that comes in parts."""

    async def parts() -> Any:  # noqa: ANN401 - an async iterator
        yield b'{"amount"'
        yield b": 1}"

    async with _session(box) as session:
        async with session.post(box.base_url + DEPOSITS, json=deposit_body()) as made:
            document = await made.json()
        async with session.get(f"{box.base_url}/pay-in", params={"external_identifier": "order-1"}) as listed:
            items = (await listed.json())["data"]["items"]
        async with session.post(
            box.base_url + DEPOSITS, data=parts(), headers={"Content-Type": "application/json"}
        ) as refused:
            status = refused.status
        metadata = {f"k{number}": "x" * 200 for number in range(40)}
        async with session.post(
            box.base_url + DEPOSITS, json=deposit_body(metadata=metadata), headers={"Idempotency-Key": key(2)}
        ) as large:
            await large.read()

    assert (made.status, [each["id"] for each in items], status) == (200, [document["data"]["id"]], 409)
    assert (box.requests[2].body, len(box.requests)) == (b'{"amount": 1}', 4)


@pytest.mark.parametrize(("effect", "members", "_", "error"), MET, ids=IDS)
async def test_aiohttp_loses_a_reply_in_its_own_words(
    box: Sandbox, effect: str, members: dict[str, Any], _: object, error: type[Exception]
) -> None:
    """As over a socket: the connection itself is broken."""
    _lose(box, effect, members)

    async with _session(box) as session:
        # Only the one that is to be left waiting has little patience.
        patient = aiohttp.ClientTimeout(total=AT_MOST_SECONDS)
        with pytest.raises(error):
            await _read(session, box, aiohttp.ClientTimeout(total=0.05) if effect == "no_response" else patient)
        retried = await _read(session, box, patient)

    assert len(box.events) == 1
    assert box.events[0].object_id.encode() in retried


async def _read(session: aiohttp.ClientSession, box: Sandbox, timeout: aiohttp.ClientTimeout) -> bytes:  # noqa: ASYNC109
    async with session.post(box.base_url + DEPOSITS, json=deposit_body(), timeout=timeout) as response:
        return await response.read()


async def test_aiohttp_meets_an_outage_and_a_slow_answer(box: Sandbox) -> None:
    """An outage refuses; a late answer is waited for, as the event loop's time is real."""
    box.faults.add("latency", fixed="20ms", times=1)
    loop = asyncio.get_running_loop()
    async with _session(box) as session:
        begin = loop.time()
        async with session.get(f"{box.base_url}/pay-in") as slow:
            status = slow.status
        seconds = loop.time() - begin
        box.down()
        with pytest.raises(aiohttp.ClientConnectorError):
            await session.get(f"{box.base_url}/pay-in")

    assert status == 200
    assert seconds >= 0.02


def test_a_merchant_is_tested_without_sockets(box: Sandbox, client: httpx.Client) -> None:
    """A lost reply and a retry under a new key: the bug that charges twice, found in a millisecond."""
    box.faults.add("connection_reset", operation="deposit-creation", phase="after_commit", times=1)
    keys = iter((key(1), key(2)))

    def pay(send: Callable[..., httpx.Response]) -> httpx.Response:
        try:
            return send(DEPOSITS, json=deposit_body(), headers={"Idempotency-Key": next(keys)})
        except httpx.TransportError:
            return send(DEPOSITS, json=deposit_body(), headers={"Idempotency-Key": next(keys)})

    assert pay(client.post).status_code == 200
    assert len({event.object_id for event in box.events}) == 2
