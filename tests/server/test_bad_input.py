"""Bytes that no client should send to the API's port: the documented error each time, and a server that goes on."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
from typing import Any
from unittest.mock import Mock

import pytest
from drive import deposit_body, key
from servers import Client, exchange

from paydouble.web import bodies
from paydouble.web.http_server import HttpServer

KEY = key(1)
BODY = json.dumps(deposit_body()).encode()
BASIC = base64.b64encode(b"sandbox_key:sandbox_secret")


def _post(body: bytes = BODY, *extra: bytes, length: int | None = None) -> bytes:
    """Return a deposit of the default sandbox as bytes; with `length` below zero without Content-Length."""
    lines = [
        b"POST /api/v1/pay-in/deposit-creation HTTP/1.1",
        b"Host: 127.0.0.1",
        b"Authorization: Basic " + BASIC,
        b"Content-Type: application/json",
        b"Idempotency-Key: " + KEY.encode(),
        *extra,
    ]
    if length is None or length >= 0:
        lines.append(b"Content-Length: %d" % (len(body) if length is None else length))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def _get(target: bytes, method: bytes = b"GET", *extra: bytes) -> bytes:
    lines = [b"%s %s HTTP/1.1" % (method, target), b"Host: 127.0.0.1", b"Authorization: Basic " + BASIC, *extra]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def _parse(data: bytes) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers (names in lower case) and the rest of one answer."""
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return int(first.split(" ")[1]), headers, body


async def _answer(client: Client, data: bytes) -> tuple[int, Any]:
    status, headers, body = _parse(await exchange(client.server.port, data))
    assert headers["content-type"] == "application/json"
    assert headers["x-request-id"].startswith("req_")
    return status, json.loads(body)


async def _pay_ins(client: Client) -> int:
    box = client.server.default
    assert box is not None
    return len([event for event in box.journal.events.entries if event.type == "pay-in.created"])


async def _still_well(client: Client, log: pytest.LogCaptureFixture) -> None:
    """Check that the server answers, and that it logged no traceback and nothing worse than a warning."""
    assert (await client.control("GET", "/health")).status == 200
    assert [record.getMessage() for record in log.records if record.exc_info or record.levelname == "ERROR"] == []


NO_HTTP = {
    "garbage": b"\x00\xff\xfe garbage\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64,
    "no version": b"GET /\r\n\r\n",
    "no method": b" / HTTP/1.1\r\n\r\n",
    "version 9": b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
    "two lengths": _post(BODY, b"Content-Length: 1"),
    "length and chunks": _post(BODY, b"Transfer-Encoding: chunked"),
    "negative length": _post(BODY, b"Content-Length: -1", length=-1),
    "length of letters": _post(BODY, b"Content-Length: ten", length=-1),
    "odd transfer encoding": _post(BODY, b"Transfer-Encoding: chunked, identity", length=-1),
    "200 headers": _get(b"/api/v1/pay-in", b"GET", *[b"X-A: 1"] * 200),
    "long header": _get(b"/api/v1/pay-in", b"GET", b"X-A: " + b"a" * 20_000),
    "long target": _get(b"/api/v1/pay-in?" + b"a" * 20_000),
    "NUL in a header": _get(b"/api/v1/pay-in", b"GET", b"X-A: a\x00b"),
    "folded header": _get(b"/api/v1/pay-in", b"GET", b"X-A: a\r\n b"),
    "space before the colon": _get(b"/api/v1/pay-in", b"GET", b"X-A : a"),
    "bare line feeds": b"GET /api/v1/pay-in HTTP/1.1\nHost: x\n\n",
    "two hosts": _get(b"/api/v1/pay-in", b"GET", b"Host: other"),
}
# What a lenient reading of HTTP allows is answered as the request that it is.
LENIENT = {"two hosts", "bare line feeds", "no version"}


@pytest.mark.parametrize("name", NO_HTTP)
async def test_what_is_no_http_is_invalid_input(client: Client, caplog: pytest.LogCaptureFixture, name: str) -> None:
    """Bytes that cannot be read as a request get 400 in envelope A and a closed connection."""
    status, document = await _answer(client, NO_HTTP[name])

    if name in LENIENT:
        assert status in {200, 400, 401, 404}
    else:
        assert (status, document["error"]["code"], document["error"]["status"]) == (400, "invalid_request", 400)
    assert await _pay_ins(client) == 0
    await _still_well(client, caplog)


CHUNKS = b"100001\r\n" + b" " * 0x100001 + b"\r\n0\r\n\r\n"
BAD_BODIES = {
    "broken gzip": _post(b"not gzip at all", b"Content-Encoding: gzip"),
    "no chunk": _post(b"zz\r\nnot a chunk\r\n", b"Transfer-Encoding: chunked", length=-1),
    "too large": _post(b" " * 1_048_577),
    "too large in chunks": _post(CHUNKS, b"Transfer-Encoding: chunked", length=-1),
    "a bomb": _post(gzip.compress(b" " * 80_000_000), b"Content-Encoding: gzip"),
    "larger than anybody reads": _post(b" " * (65 * 1024 * 1024)),
}


@pytest.mark.parametrize("name", BAD_BODIES)
async def test_a_body_that_cannot_be_taken_is_invalid_input(
    client: Client, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    """A broken body, or one above the limit however it is compressed, is 400 and creates nothing."""
    status, document = await _answer(client, BAD_BODIES[name])

    assert (status, document["error"]["code"].upper()) in {(400, "INVALID_INPUT"), (400, "INVALID_REQUEST")}
    assert await _pay_ins(client) == 0
    await _still_well(client, caplog)


async def test_a_gzipped_body_is_unpacked(client: Client) -> None:
    """A compressed body with its `Content-Encoding` is accepted."""
    status, _ = await _answer(client, _post(gzip.compress(BODY), b"Content-Encoding: gzip"))

    assert (status, await _pay_ins(client)) == (200, 1)


async def test_a_slow_body_is_given_up(
    client: Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A body that does not arrive in time is 400, and nothing is created."""
    monkeypatch.setattr(bodies, "BODY_PATIENCE_SECONDS", 0.05)
    reader, writer = await asyncio.open_connection("127.0.0.1", client.server.port)
    writer.write(_post(BODY[:10], length=len(BODY)))

    head = await reader.readuntil(b"\r\n\r\n")
    body = await reader.readexactly(int(_parse(head)[1]["content-length"]))
    writer.close()
    await writer.wait_closed()

    assert (_parse(head)[0], json.loads(body)["error"]["code"]) == (400, "INVALID_INPUT")
    assert "did not arrive within" in json.loads(body)["error"]["message"]
    assert await _pay_ins(client) == 0
    await _still_well(client, caplog)


@pytest.mark.parametrize("path", [b"/api/v1/pay-in/deposit-creation", b"/_paydouble/sandboxes"])
async def test_a_caller_that_goes_away_in_mid_body_leaves_nothing(
    client: Client, caplog: pytest.LogCaptureFixture, path: bytes
) -> None:
    """Half a body creates nothing, and nothing is logged."""
    data = _post(BODY[:10], length=len(BODY)).replace(b"/api/v1/pay-in/deposit-creation", path)
    _, writer = await asyncio.open_connection("127.0.0.1", client.server.port)
    writer.write(data)
    await writer.drain()
    await client.control("GET", "/health")
    writer.transport.abort()
    await client.control("GET", "/health")

    assert await _pay_ins(client) == 0
    assert (await client.control("GET", "/health")).document["sandboxes"] == 1
    await _still_well(client, caplog)


async def test_a_caller_that_goes_away_while_waiting_changes_nothing(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """A request whose client disconnects meanwhile is carried out completely; a retry gets its answer."""
    await client.control("PATCH", "/sandboxes/default", {"settings": {"processing_time": "50ms"}})
    _, writer = await asyncio.open_connection("127.0.0.1", client.server.port)
    writer.write(_post())
    await writer.drain()
    await client.control("GET", "/health")
    writer.transport.abort()

    status, document = await _answer(client, _post())

    assert (status, await _pay_ins(client)) == (200, 1)
    assert client.server.default is not None
    entries = client.server.default.journal.requests.entries
    assert [entry.verdict for entry in entries] in (["new", "joined"], ["new", "replay"])
    assert {json.loads(entry.response_body)["data"]["id"] for entry in entries} == {document["data"]["id"]}
    await _still_well(client, caplog)


async def test_expect_100_continue_is_met(client: Client) -> None:
    """A client that asks before it sends its body is told to continue."""
    reader, writer = await asyncio.open_connection("127.0.0.1", client.server.port)
    writer.write(_post(b"", b"Expect: 100-continue", length=len(BODY)))
    interim = await reader.readuntil(b"\r\n\r\n")
    writer.write(BODY)
    final = await reader.readuntil(b"\r\n\r\n")
    writer.close()
    await writer.wait_closed()

    assert interim == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert _parse(final)[0] == 200


@pytest.mark.parametrize("method", [b"OPTIONS", b"PUT", b"PATCH", b"DELETE", b"TRACE", b"POST", b"BREW"])
async def test_a_wrong_method_is_not_found(client: Client, caplog: pytest.LogCaptureFixture, method: bytes) -> None:
    """The contract's table has no 405: a wrong method on a known path is 404 in envelope A."""
    status, document = await _answer(client, _get(b"/api/v1/pay-in", method, b"Content-Length: 0"))

    # A method that HTTP does not know cannot even be read.
    code = (400, "invalid_request") if method == b"BREW" else (404, "not_found")
    assert (status, document["error"]["code"]) == code
    await _still_well(client, caplog)


TARGETS = {
    b"http://127.0.0.1/api/v1/pay-in": 200,
    b"http://127.0.0.1/_paydouble/health": 200,
    b"*": 400,
    b"//api/v1/pay-in": 404,
    b"/api/v1/pay-in/%FF": 404,
    b"/api/v1/pay-in/\xff\xfe": 400,
    b"/_paydouble/\xff": 400,
    b"/_paydouble/sandboxes/%FF": 404,
    b"/api/v1/pay-in/%00": 404,
    b"/api/v1/pay-in/..%2f..%2fetc": 404,
    b"/api/v1/pay-in?status=%ff": 400,
    b"/api/v1/pay-in?external_identifier=\xff": 400,
    b"/api/v1/pay-in?limit=%D9%A3": 400,
}


@pytest.mark.parametrize("target", TARGETS)
async def test_odd_targets_get_plain_answers(client: Client, caplog: pytest.LogCaptureFixture, target: bytes) -> None:
    """Whatever the request line contains, the answer is a documented one, in valid JSON."""
    status, _, body = _parse(await exchange(client.server.port, _get(target)))

    assert (status, type(json.loads(body))) == (TARGETS[target], dict)
    journal = await client.control("GET", "/sandboxes/default/requests")
    assert journal.status == 200
    await _still_well(client, caplog)


async def test_connect_is_refused(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    """The double is no proxy."""
    status, document = await _answer(client, _get(b"127.0.0.1:1", b"CONNECT"))

    assert (status, document["error"]["code"]) in {(404, "not_found"), (400, "invalid_request")}
    await _still_well(client, caplog)


async def test_two_requests_in_one_packet_get_two_answers(client: Client) -> None:
    """Pipelined requests are answered in their order."""
    data = await exchange(client.server.port, _get(b"/api/v1/nothing") + _get(b"/api/v1/pay-in"), 2)
    first, headers, rest = _parse(data)
    second = _parse(rest[int(headers["content-length"]) :])[0]

    assert (first, second) == (404, 200)


async def test_connection_close_is_kept(client: Client) -> None:
    """A client that asks for it gets its connection closed after the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", client.server.port)
    writer.write(_get(b"/api/v1/pay-in", b"GET", b"Connection: close"))
    status, headers, body = _parse(await reader.read())
    writer.close()
    await writer.wait_closed()

    assert (status, headers["connection"], len(body)) == (200, "close", int(headers["content-length"]))


async def test_an_answer_names_no_library(client: Client) -> None:
    """`Server` is ours and does not name the library."""
    answer = await client.call("GET", "/api/v1/pay-in")

    assert answer.headers["Server"] == "paydouble"


@pytest.mark.parametrize("turns", range(1, 6))
@pytest.mark.parametrize("name", NO_HTTP)
async def test_a_client_that_vanishes_after_garbage_leaves_nothing(
    client: Client, caplog: pytest.LogCaptureFixture, name: str, turns: int
) -> None:
    """However soon a client disconnects after such bytes, nothing is logged."""
    connection = HttpServer(client.server.host, None, home=lambda _: "/")()
    transport = Mock(asyncio.Transport)
    transport.is_closing.return_value = False
    connection.connection_made(transport)
    await asyncio.sleep(0)

    connection.data_received(NO_HTTP[name])
    for _ in range(turns):
        await asyncio.sleep(0)
    transport.is_closing.return_value = True
    connection.connection_lost(None)
    for _ in range(10):
        await asyncio.sleep(0)

    await _still_well(client, caplog)
