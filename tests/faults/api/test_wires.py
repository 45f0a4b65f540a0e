"""Answers that are broken on the wire, as a raw socket or a client library gets them."""

from __future__ import annotations

import asyncio
import base64
import http.client
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from bounds import AT_MOST_SECONDS
from drive import DEPOSITS, deposit_body
from servers import Client
from wires import Caller, caller


async def _true(client: Client) -> bytes:
    return (await (await caller(client, "plain")).deposit()).body


async def test_a_reset_is_a_reset(shop: Caller) -> None:
    """`connection_reset` ends in RST, without a byte."""
    shop.arm("connection_reset")

    seen = await shop.deposit()

    assert (seen.data, seen.end) == (b"", "reset")


async def test_an_empty_response_is_a_clean_close(shop: Caller) -> None:
    """`empty_response` ends in FIN, without a byte."""
    shop.arm("empty_response")

    seen = await shop.deposit()

    assert (seen.data, seen.end) == (b"", "closed")


@pytest.mark.parametrize(
    ("effect", "error"),
    [
        ({"type": "connection_reset"}, ConnectionResetError),
        ({"type": "empty_response"}, http.client.RemoteDisconnected),
        (
            {"type": "garbage", "bytes": base64.b64encode(b"\x00\x01nonsense\r\n\r\n").decode()},
            http.client.BadStatusLine,
        ),
        ({"type": "truncate"}, http.client.IncompleteRead),
        ({"type": "wrong_content_length", "by": 1}, http.client.IncompleteRead),
        ({"type": "wrong_content_length", "by": -1}, json.JSONDecodeError),
        ({"type": "html_error"}, json.JSONDecodeError),
        ({"type": "no_response"}, TimeoutError),
    ],
    ids=lambda value: value["type"] + str(value.get("by", "")) if isinstance(value, dict) else value.__name__,
)
async def test_the_standard_client_meets_it(shop: Caller, effect: dict[str, Any], error: type[Exception]) -> None:
    """Python's own client raises what it would in production."""
    shop.arm(effect)

    def call() -> None:
        # Only the one that is to be left waiting has little patience.
        patience = 0.3 if error is TimeoutError else AT_MOST_SECONDS
        connection = http.client.HTTPConnection("127.0.0.1", shop.port, timeout=patience)
        try:
            headers = {**shop.box.credentials, "Content-Type": "application/json"}
            headers["Idempotency-Key"] = "5f0c9d3e-8a41-4b7e-9c1d-2e6f7a8b9c0d"
            connection.request("POST", f"/api/v1{DEPOSITS}", json.dumps(deposit_body()), headers)
            json.loads(connection.getresponse().read())
        finally:
            connection.close()

    with pytest.raises(error):
        await asyncio.to_thread(call)


@pytest.mark.parametrize(
    ("effect", "error"),
    [
        ({"type": "connection_reset"}, aiohttp.ClientOSError),
        ({"type": "empty_response"}, aiohttp.ServerDisconnectedError),
        ({"type": "garbage"}, aiohttp.ClientError),
        ({"type": "truncate", "fraction": 0}, aiohttp.ClientPayloadError),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else value.__name__,
)
async def test_an_asynchronous_client_meets_it(shop: Caller, effect: dict[str, Any], error: type[Exception]) -> None:
    """So does aiohttp's, over a kept connection."""
    await shop.box.get("/clock")
    shop.arm(effect)

    with pytest.raises(error):
        await shop.box.api("POST", DEPOSITS, deposit_body())


async def test_no_response_holds_the_connection(shop: Caller) -> None:
    """With `hold` the connection is closed after that time, without a byte."""
    shop.arm({"type": "no_response", "hold": "60ms"})

    seen = await shop.deposit()

    assert (seen.data, seen.end) == (b"", "closed")
    assert seen.seconds >= 0.06


async def test_no_response_lasts_until_the_client_goes(shop: Caller) -> None:
    """Without `hold` nothing comes as long as the client waits; others are answered meanwhile."""
    shop.arm("no_response", match={"operation": "deposit-creation"})
    reader, writer = await asyncio.open_connection("127.0.0.1", shop.port)
    writer.write(shop.request("POST", DEPOSITS, deposit_body()))

    waiting = asyncio.ensure_future(reader.read())
    others = [(await shop.ask("GET", "/pay-in")).status for _ in range(20)]
    answered = waiting.done()
    waiting.cancel()
    writer.transport.abort()

    assert (answered, others) == (False, [200] * 20)


@pytest.mark.parametrize("fraction", [0, 0.25, 0.5, 0.999])
async def test_a_truncated_answer_promises_more_than_it_gives(client: Client, shop: Caller, fraction: float) -> None:
    """The head has the whole length; a part of the true body follows, and a close."""
    true = await _true(client)
    shop.arm({"type": "truncate", "fraction": fraction})

    seen = await shop.deposit()

    assert (seen.status, seen.end, seen.headers["Content-Length"]) == (200, "closed", str(len(true)))
    assert seen.body == true[: min(int(len(true) * fraction), len(true) - 1)]


@pytest.mark.parametrize(("by", "length"), [(10, 10), (-10, -10), (-1_000_000, None)])
async def test_a_content_length_lies(client: Client, shop: Caller, by: int, length: int | None) -> None:
    """The length is wrong by `by` bytes, never below 0; the body is whole."""
    true = await _true(client)
    shop.arm({"type": "wrong_content_length", "by": by})

    seen = await shop.deposit()

    assert seen.headers["Content-Length"] == str(0 if length is None else len(true) + length)
    assert seen.body == true


async def test_a_slow_body_comes_in_drips(client: Client, shop: Caller) -> None:
    """The head comes first; the body follows in parts over the time, and is whole in the end."""
    true = await _true(client)
    shop.arm({"type": "slow_body", "chunks": 4, "over": "80ms"})
    reader, writer = await asyncio.open_connection("127.0.0.1", shop.port)
    writer.write(shop.request("POST", DEPOSITS, deposit_body()))

    await reader.readuntil(b"\r\n\r\n")
    pieces = [piece async for piece in _pieces(reader)]
    writer.transport.abort()

    assert b"".join(pieces) == true
    assert len(pieces) > 1


async def _pieces(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while piece := await reader.read(65_536):
        yield piece


async def test_a_slow_body_ends_with_its_client(client: Client, shop: Caller) -> None:
    """When the client disconnects in the middle, the server goes on, and stops without delay."""
    shop.arm({"type": "slow_body", "chunks": 2, "over": "40ms"}, times=1)
    reader, writer = await asyncio.open_connection("127.0.0.1", shop.port)
    writer.write(shop.request("POST", DEPOSITS, deposit_body()))
    await reader.readuntil(b"\r\n\r\n")

    writer.transport.abort()

    # Its own times end after this one's, which began later and take longer.
    shop.arm({"type": "slow_body", "chunks": 2, "over": "60ms"}, times=1)
    assert (await shop.deposit(n=2)).status == 200


@pytest.mark.parametrize("effect", ["truncate", "wrong_content_length", "slow_body"])
async def test_before_the_commit_a_500_is_distorted(shop: Caller, effect: str) -> None:
    """With `before_commit` there is no true answer to distort, and nothing has happened."""
    shop.arm({"type": effect} | ({"over": "20ms"} if effect == "slow_body" else {}), phase="before_commit")

    seen = await shop.deposit()

    assert (seen.status, shop.pay_ins, shop.entries[0].status) == (500, [], 500)


async def test_garbage_is_exactly_the_bytes(shop: Caller) -> None:
    """`bytes` are all that is sent; without them they are derived from the seed, and are not HTTP."""
    shop.arm({"type": "garbage", "bytes": "AAEC/w=="}, times=1)
    shop.arm("garbage", id="drawn")

    given, drawn = await shop.deposit(), await shop.deposit(n=2)

    assert (given.data, given.end) == (b"\x00\x01\x02\xff", "closed")
    assert len(drawn.data) > 40
    assert not drawn.data.startswith(b"HTTP/")


async def test_the_same_seed_draws_the_same_garbage(client: Client) -> None:
    """Another business with the same seed gets the same bytes, one with another seed others."""
    shops = [await caller(client, name, seed=seed) for name, seed in (("a", 1), ("b", 1), ("c", 2))]
    for shop in shops:
        shop.arm("garbage")

    first, same, other = [(await shop.deposit()).data for shop in shops]

    assert first == same
    assert first != other


async def test_garbage_as_a_body_is_a_200_with_nonsense(shop: Caller) -> None:
    """`as: body` is HTTP with a body that is not JSON."""
    shop.arm({"type": "garbage", "bytes": "PDw+", "as": "body"})

    seen = await shop.deposit()

    assert (seen.status, seen.headers["Content-Type"], seen.body) == (200, "application/json", b"<<>")


async def test_a_later_wire_wins_and_delays_add_up(shop: Caller) -> None:
    """Combined faults: times add up, the last answer and the last wire fault apply."""
    shop.arm({"type": "latency", "fixed": "30ms"}, compose=True)
    shop.arm({"type": "latency", "fixed": "30ms"}, compose=True)
    shop.arm({"type": "error", "status": 503}, compose=True)
    shop.arm({"type": "error", "status": 502}, compose=True)
    shop.arm("connection_reset", compose=True)
    shop.arm({"type": "truncate", "fraction": 0}, phase="before_commit")

    seen = await shop.deposit()

    assert (seen.status, seen.body) == (502, b"")
    assert seen.seconds >= 0.06
    assert shop.entries[0].faults == tuple(f"fault-{n}" for n in range(1, 7))


async def test_the_first_that_fires_decides(shop: Caller) -> None:
    """Without `compose` the faults after one that fires are not even tried."""
    armed = [shop.arm({"type": "error", "status": status}) for status in (501, 502)]

    seen = await shop.deposit()

    assert (seen.status, [each.fired for each in armed], armed[1].matched) == (501, [1, 0], 0)


async def test_the_journal_says_what_was_said(shop: Caller) -> None:
    """An answer that was never sent has no status; after the commit the entry has the true one."""
    shop.arm("connection_reset", times=1)
    shop.arm("connection_reset", phase="after_commit", times=1)
    shop.arm({"type": "garbage", "bytes": "AAE="}, times=1)

    for n in range(1, 4):
        await shop.deposit(n=n)

    told = [(entry.status, entry.response_body[:10], entry.faults) for entry in shop.entries]
    assert told == [(None, b"", ("fault-1",)), (None, b"\x00\x01", ("fault-3",)), (200, b'{"success"', ("fault-2",))]
    assert {entry.external_identifier for entry in shop.entries} == {"order-1"}
    assert all(entry.key for entry in shop.entries)


@asynccontextmanager
async def _kept(shop: Caller) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", shop.port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def test_a_second_request_in_the_pipe_is_not_answered(shop: Caller) -> None:
    """A broken answer ends the connection; a request that was sent after it is lost, not answered wrongly."""
    shop.arm({"type": "truncate", "fraction": 0}, match={"method": "POST"})
    data = shop.request("POST", DEPOSITS, deposit_body(), keep=True) + shop.request("GET", "/pay-in", keep=True)

    async with _kept(shop) as (reader, writer):
        writer.write(data)
        received = await reader.read()

    assert received.count(b"HTTP/1.1") == 1
