"""Compressed, large and many bodies: decompressed up to the limit only, and bounded over all requests."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import re
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
import pytest
from aiohttp.base_protocol import BaseProtocol
from aiohttp.streams import StreamReader
from bounds import AT_MOST_SECONDS
from drive import deposit_body, key
from multidict import CIMultiDict
from servers import CONTROL, Answer, Box, Client, running

from paydouble import Sandbox
from paydouble.runtime.bodies import Bodies
from paydouble.runtime.host import HostOptions
from paydouble.server import ServerOptions
from paydouble.testing.aiohttp_connector import SandboxConnector
from paydouble.web.bodies import read_body
from paydouble.web.control.app import BODY_LIMIT

DEPOSITS = "/api/v1/pay-in/deposit-creation"
BODY = json.dumps(deposit_body()).encode()
MIB = 1_048_576
Pack = Callable[[bytes], bytes]


def raw_deflate(data: bytes) -> bytes:
    """Return deflate without its two header bytes."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKERS: dict[str, tuple[str, Pack]] = {
    "gzip": ("gzip", gzip.compress),
    "in capitals": ("GZIP", gzip.compress),
    "deflate": ("deflate", zlib.compress),
    "deflate without its beginning": ("deflate", raw_deflate),
}


async def post(box: Box, data: object, coding: str | None = None, n: int = 1) -> Answer:
    """Send a body to create a deposit."""
    headers = {**box.credentials, "Idempotency-Key": key(n), "Content-Type": "application/json"}
    if coding is not None:
        headers["Content-Encoding"] = coding
    url = f"http://127.0.0.1:{box.client.server.port}{DEPOSITS}"
    # aiohttp warns of long bytes that are not wrapped.
    sent = io.BytesIO(data) if isinstance(data, bytes) else data
    async with box.client.session.post(url, data=sent, headers=headers) as response:
        return Answer(response.status, await response.json(), response.headers)


async def pieces(data: bytes, size: int) -> AsyncIterator[bytes]:
    """Yield bytes in pieces, which aiohttp sends as chunks."""
    for at in range(0, len(data), size):
        yield data[at : at + size]
        await asyncio.sleep(0)


@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize("size", [1, 7, 65_536])
async def test_a_packed_body_is_taken(name: str, size: int, client: Client) -> None:
    """However it is split into pieces; the journal has the decompressed body."""
    coding, pack = PACKERS[name]
    box = await client.sandbox()

    answer = await post(box, pieces(pack(BODY), size), coding)

    (entry,) = (await box.get("/requests"))["items"]
    assert (answer.status, entry["body"]) == (200, BODY.decode())


BROKEN = {
    "not gzip": (BODY, "gzip", "it is not gzip"),
    "not deflate": (b"\xff" + BODY, "deflate", "it is not deflate"),
    "half of it": (gzip.compress(BODY)[:-9], "gzip", "its gzip data breaks off"),
    "something behind": (gzip.compress(BODY) + b"x", "gzip", "it is not gzip"),
    "twice": (gzip.compress(BODY) * 2, "gzip", "it is not gzip"),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("size", [5, 65_536])
async def test_a_body_that_is_packed_badly_is_refused(name: str, size: int, client: Client) -> None:
    """A body that cannot be decompressed completely creates nothing, and the answer says why."""
    data, coding, why = BROKEN[name]
    box = await client.sandbox()

    answer = await post(box, pieces(data, size), coding)

    assert answer.status == 400
    assert answer.document["error"]["message"] == f"The body cannot be read: {why}."
    assert (await box.get("/events"))["items"] == []


@pytest.mark.parametrize("coding", ["br", "zstd"])
async def test_a_body_that_nobody_here_can_unpack_is_refused(coding: str, client: Client) -> None:
    """The answer names the supported codings."""
    answer = await post(await client.sandbox(), BODY, coding)

    assert answer.status == 400
    assert answer.document["error"]["message"] == f"The body is packed with {coding}; there are gzip and deflate."


async def test_an_empty_packed_body_breaks_off(client: Client) -> None:
    """Not even the beginning of the compressed data is there."""
    answer = await post(await client.sandbox(), pieces(b"", 1), "gzip")

    assert answer.document["error"]["message"] == "The body cannot be read: its gzip data breaks off."


@pytest.mark.parametrize("limit", [1_000, MIB])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
async def test_a_body_is_read_no_further_than_the_sandbox_allows(limit: int, pack: Pack, client: Client) -> None:
    """One byte more is refused with the sandbox's limit; the journal keeps as much as it may."""
    box = await client.sandbox(settings={"body_limit": limit})
    coding = None if pack is bytes else "gzip"
    exact = BODY + b" " * (limit - len(BODY))

    taken = await post(box, pack(exact), coding, 1)
    refused = await post(box, pack(exact + b" "), coding, 2)

    entries = (await box.get("/requests"))["items"]
    assert (taken.status, refused.status) == (200, 400)
    assert refused.document["error"]["message"] == f"The body is larger than {limit} bytes."
    assert [len(entry["body"]) for entry in entries] == [limit, limit]


async def test_bombs_cost_no_more_than_what_they_may_hold(client: Client) -> None:
    """Small bodies that decompress to a gigabyte are refused, all at once, with a few megabytes of memory."""
    box = await client.sandbox()
    bomb = gzip.compress(b" " * 64 * MIB)
    tracemalloc.start()
    try:
        answers = await asyncio.gather(*(post(box, bomb, "gzip", n) for n in range(16)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert [answer.status for answer in answers] == [400] * 16
    assert peak < 64 * MIB


async def test_a_stranger_may_send_what_the_server_allows() -> None:
    """A body without a sandbox is read up to the server's limit, and the key is refused."""
    async with running() as client:
        url = f"http://127.0.0.1:{client.server.port}{DEPOSITS}"
        async with client.session.post(url, data=io.BytesIO(b" " * 2 * MIB)) as response:
            assert response.status == 401


async def test_a_control_call_has_a_limit_of_its_own(client: Client) -> None:
    """No control call needs as much as a sandbox may allow."""
    url = f"http://127.0.0.1:{client.server.port}{CONTROL}/sandboxes"
    async with client.session.post(url, data=io.BytesIO(b'{"id":"' + b"a" * BODY_LIMIT + b'"}')) as response:
        answer = await response.json()

    assert response.status == 400
    assert answer["error"]["message"] == f"The body is larger than {BODY_LIMIT} bytes."


async def test_all_bodies_together_are_bounded() -> None:
    """A body above the limit is refused with a clear answer, and accepted again once the others are answered."""
    shared = HostOptions(bodies_in_flight=100_000)
    async with running(ServerOptions(port=0, shared=shared)) as client:
        box = await client.sandbox(settings={"body_limit": 90_000})
        bodies = client.server.host.bodies
        body = BODY + b" " * (60_000 - len(BODY))
        head = "".join(
            f"{name}: {value}\r\n"
            for name, value in {
                **box.credentials,
                "Host": "x",
                "Idempotency-Key": key(1),
                "Content-Length": "60000",
            }.items()
        )
        reader, writer = await asyncio.open_connection("127.0.0.1", client.server.port)
        request = f"POST {DEPOSITS} HTTP/1.1\r\n{head}Content-Type: application/json\r\n\r\n".encode()
        writer.write(request + body[:50_000])
        async with asyncio.timeout(AT_MOST_SECONDS):
            while bodies.used < 50_000:  # noqa: ASYNC110 - nothing tells how far a body has come
                await asyncio.sleep(0.001)

        refused = await post(box, pieces(body, 10_000), n=2)
        writer.write(body[50_000:])
        first = await reader.readuntil(b"\r\n\r\n")
        taken = await post(box, pieces(body, 10_000), n=3)
        writer.transport.abort()

        assert refused.status == 400
        message = "The server holds 100000 bytes of bodies already (--bodies-in-flight); try again."
        assert refused.document["error"]["message"] == message
        assert (re.match(rb"HTTP/1.1 (\d+)", first) or [b"", b""])[1] == b"200"
        assert taken.status == 200
        async with asyncio.timeout(AT_MOST_SECONDS):
            while bodies.used:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.001)


async def test_a_client_that_goes_in_the_middle_of_its_body_holds_nothing(client: Client) -> None:
    """The bytes that had arrived are released."""
    box = await client.sandbox()
    bodies = client.server.host.bodies
    head = "".join(f"{name}: {value}\r\n" for name, value in box.credentials.items())
    _, writer = await asyncio.open_connection("127.0.0.1", client.server.port)
    writer.write(f"POST {DEPOSITS} HTTP/1.1\r\nHost: x\r\n{head}Content-Length: 500\r\n\r\n".encode() + b" " * 400)
    async with asyncio.timeout(AT_MOST_SECONDS):
        while bodies.used < 400:  # noqa: ASYNC110 - nothing tells how far a body has come
            await asyncio.sleep(0.001)
        writer.transport.abort()
        while bodies.used:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.001)


async def test_a_body_is_not_read_from_a_client_that_has_disconnected() -> None:
    """A connection that is lost before anybody reads the body makes aiohttp raise, and that is no bug to log."""
    content = StreamReader(BaseProtocol(asyncio.get_running_loop()), 2**16)
    request = SimpleNamespace(body_exists=True, headers=CIMultiDict(), content=content, transport=None)

    body = await read_body(cast("Any", request), 100, Bodies())

    assert body == (b"", "The body cannot be read: the client has disconnected.")


async def test_a_packed_body_is_taken_without_sockets() -> None:
    """A compressed body of an aiohttp session is accepted by an in-process sandbox as well."""
    box = Sandbox()
    headers = {"Authorization": box.auth.header, "Idempotency-Key": key(1), "Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=SandboxConnector(box)) as session:
        data = gzip.compress(BODY)
        url = f"{box.base_url}/pay-in/deposit-creation"
        async with session.post(url, data=data, headers={**headers, "Content-Encoding": "gzip"}) as response:
            assert response.status == 200
