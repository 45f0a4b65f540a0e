"""Requests that are answered while they are read: nobody can tell, and whatever is unusual goes the ordinary way."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
from aiohttp.web_protocol import RequestHandler
from bounds import AT_MOST_SECONDS
from drive import API, DEPOSITS, deposit_body
from pauses import hold_requests
from receivers import receiving
from servers import CONTROL, Client, running
from wires import Caller, caller

from paydouble.api.execution import Step
from paydouble.api.pipeline import Pipeline
from paydouble.api.values import Request
from paydouble.faults.model import parse_fault
from paydouble.runtime.pump import Pump
from paydouble.web.fast_path import FastConnection
from paydouble.web.http_server import HttpServer

CREATE = API + DEPOSITS


class Told(NamedTuple):
    """One answer, read whole."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def data(self) -> Any:  # noqa: ANN401 - JSON is any
        """Return the `data` of a success envelope."""
        return json.loads(self.body)["data"]

    def lasting(self, port: int) -> tuple[int, dict[str, str], bytes]:
        """Return an answer without what depends on the time, the server and the connection."""
        told = {name: value for name, value in self.headers.items() if name not in {"Date", "Connection"}}
        return self.status, told, self.body.replace(b":%d/" % port, b"/")


def _head(data: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = data.decode("latin-1").rstrip("\r\n").split("\r\n")
    return int(first.split(" ")[1]), dict(line.split(": ", 1) for line in lines)


@dataclass
class Line:
    """A client's end of a connection that stays open."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def send(self, *requests: bytes) -> None:
        """Send requests in one packet."""
        self.writer.write(b"".join(requests))

    async def told(self, *, bodiless: bool = False) -> Told:
        """Read the next answer."""
        async with asyncio.timeout(AT_MOST_SECONDS):
            status, headers = _head(await self.reader.readuntil(b"\r\n\r\n"))
            length = 0 if bodiless else int(headers["Content-Length"])
            return Told(status, headers, await self.reader.readexactly(length))

    async def ask(self, data: bytes) -> Told:
        """Send a request and read its answer."""
        self.send(data)
        return await self.told()


@asynccontextmanager
async def connected(port: int, **options: Any) -> AsyncIterator[Line]:  # noqa: ANN401 - asyncio's own
    """Open such a connection for a while."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, **options)
    try:
        yield Line(reader, writer)
    finally:
        writer.transport.abort()


@dataclass
class Seen:
    """What the server's inside has seen."""

    by_aiohttp: list[str] = field(default_factory=list)
    """Targets of the API that went the ordinary way."""
    handled: list[str] = field(default_factory=list)
    """Targets that entered the pipeline."""
    connections: list[FastConnection] = field(default_factory=list)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Watch the servers that are started from here on."""
    watched = Seen()
    make = HttpServer._make
    handle = Pipeline.handle
    made = RequestHandler.connection_made

    def making(self: HttpServer, message: Any, *rest: Any) -> Any:  # noqa: ANN401 - aiohttp's own
        if not message.path.startswith(CONTROL):
            watched.by_aiohttp.append(message.path)
        return make(self, message, *rest)

    def handling(self: Pipeline, request: Request) -> Step:
        watched.handled.append(request.target)
        return handle(self, request)

    def connecting(self: RequestHandler, transport: asyncio.BaseTransport) -> None:
        assert isinstance(self, FastConnection)
        watched.connections.append(self)
        made(self, transport)

    monkeypatch.setattr(HttpServer, "_make", making)
    monkeypatch.setattr(Pipeline, "handle", handling)
    monkeypatch.setattr(FastConnection, "connection_made", connecting)
    return watched


@pytest.fixture
async def client(seen: Seen) -> AsyncIterator[Client]:
    """Give a client of a server that is watched."""
    async with running() as started:
        yield started


@pytest.fixture
async def shop(client: Client) -> Caller:
    """Return a caller."""
    return await caller(client)


def _create(shop: Caller, n: int = 1, **changes: Any) -> bytes:  # noqa: ANN401 - JSON is any
    return shop.request("POST", DEPOSITS, deposit_body(**changes), n=n, keep=True)


def _get(shop: Caller, path: str = "/pay-in") -> bytes:
    return shop.request("GET", path, keep=True)


def _with(data: bytes, *headers: bytes) -> bytes:
    """Return a request with further headers."""
    return data.replace(b"\r\n\r\n", b"\r\n" + b"".join(header + b"\r\n" for header in headers) + b"\r\n", 1)


def _packed(data: bytes, body: bytes, *headers: bytes) -> bytes:
    """Return a request with another body, and other headers in the place of Content-Length."""
    head = re.sub(rb"Content-Length: \d+\r\n", b"", data.partition(b"\r\n\r\n")[0] + b"\r\n")
    return _with(head + b"\r\n", *headers) + body


def _body(data: bytes) -> bytes:
    return data.partition(b"\r\n\r\n")[2]


async def _settings(shop: Caller, **settings: object) -> None:
    answer = await shop.box.control("PATCH", "", {"settings": settings})
    assert answer.status == 200, answer.document


async def test_the_usual_request_is_answered_at_once(shop: Caller, seen: Seen) -> None:
    """Creates, replays, reads and refusals on a connection that stays open never reach aiohttp's handler."""
    async with connected(shop.port) as line:
        created = await line.ask(_create(shop))
        replayed = await line.ask(_create(shop))
        conflict = await line.ask(_create(shop, amount=1))
        listed = await line.ask(_get(shop))
        shown = await line.ask(_get(shop, f"/pay-in/{created.data['id']}"))
        strange = await line.ask(b"GET /elsewhere HTTP/1.1\r\nHost: test\r\n\r\n")

    statuses = [told.status for told in (created, replayed, conflict, listed, shown, strange)]
    assert statuses == [200, 200, 409, 200, 200, 404]
    assert (replayed.body, shown.data["id"]) == (created.body, created.data["id"])
    assert (seen.by_aiohttp, len(seen.handled), len(shop.pay_ins)) == ([], 6, 1)
    asked = shop.entries[0]
    sent, _, body = _create(shop).partition(b"\r\n\r\n")
    assert [b"%s: %s" % header for header in asked.headers] == sent.split(b"\r\n")[1:]
    assert (asked.method, asked.target, asked.body, asked.status) == ("POST", CREATE, body, 200)


async def test_an_answer_at_once_starts_what_it_has_set_in_motion(client: Client, seen: Seen) -> None:
    """The webhook of a deposit is sent without another call."""
    async with receiving() as receiver:
        shop = await caller(client, notification_url=receiver.url)
        async with connected(shop.port) as line:
            await line.ask(_create(shop))
            await receiver.wait_for(1)

    assert seen.by_aiohttp == []


Change = Callable[[bytes], bytes]
OTHER_WAYS: dict[str, Change] = {
    "Connection: close": lambda data: _with(data, b"Connection: close"),
    "HTTP/1.0": lambda data: data.replace(b" HTTP/1.1\r\n", b" HTTP/1.0\r\n"),
    "HTTP/1.0, kept": lambda data: _with(data.replace(b" HTTP/1.1", b" HTTP/1.0", 1), b"Connection: keep-alive"),
}
# A request, and with what fault or settings it is answered.
SAME: dict[str, tuple[Callable[[Caller], bytes], dict[str, Any] | None]] = {
    "a create": (_create, None),
    "a list": (_get, None),
    "no such path": (lambda shop: _get(shop, "/nothing?a=b"), None),
    "no credentials": (lambda _: b"GET /api/v1/pay-in HTTP/1.1\r\nHost: test\r\n\r\n", None),
    "no JSON": (lambda shop: shop.request("POST", DEPOSITS, b"{", keep=True), None),
    # On the sandbox's clock, since the machine's may reach another second between the two ways.
    "headers of a quota": (
        _get,
        {"rate_limit": {"limit": 1, "window": "1m", "headers": "always", "clock": "sandbox_clock"}},
    ),
    "an address that may call": (_get, {"allowed_addresses": ["127.0.0.0/8"]}),
    "an address that may not": (_get, {"allowed_addresses": ["192.0.2.0/24"]}),
    "a redirect": (_get, {"type": "redirect", "to": "http://other.test/"}),
    "an HTML page": (_get, {"type": "html_error", "status": 503}),
    "a status of the contract": (_get, {"type": "error", "status": 503}),
    "a status that HTTP does not know": (_get, {"type": "error", "status": 599}),
}


@pytest.mark.parametrize("way", OTHER_WAYS)
@pytest.mark.parametrize("name", SAME)
async def test_both_ways_say_the_same(seen: Seen, name: str, way: str) -> None:
    """Status, headers and body are the same except for Date and Connection."""
    request, changed = SAME[name]
    told: list[Told] = []
    lasting = []
    for change in (lambda data: data, OTHER_WAYS[way]):
        async with running() as client:
            shop = await caller(client)
            if changed is not None and "type" in changed:
                shop.arm(changed)
            elif changed is not None:
                await _settings(shop, **changed)
            async with connected(shop.port) as line:
                told.append(await line.ask(change(request(shop))))
                lasting.append(told[-1].lasting(shop.port))

    assert lasting[0] == lasting[1]
    assert {"X-Request-Id", "Content-Type", "Server", "Date"} <= told[0].headers.keys()
    assert len(seen.by_aiohttp) == (2 if "does not know" in name else 1)
    assert len(seen.handled) == 2


# What a client can send in the middle of a connection: its packets, the answer's status, and whether aiohttp gets it.
Unusual = tuple[Callable[[Caller], list[bytes]], int, bool]
UNUSUAL: dict[str, Unusual] = {
    "a body in two packets": (lambda shop: _halves(_create(shop, 2), -10), 200, True),
    "a head in two packets": (lambda shop: _halves(_create(shop, 2), 40), 200, False),
    "chunks": (lambda shop: [_chunked(shop)], 200, False),
    "chunks in two packets": (lambda shop: _halves(_chunked(shop), -8), 200, True),
    "gzip": (lambda shop: [_zipped(shop)], 200, True),
    "gzip in two packets": (lambda shop: _halves(_zipped(shop), -10), 200, True),
    "an expectation with its body": (lambda shop: [_with(_create(shop, 2), b"Expect: 100-continue")], 200, False),
    "an absolute target": (lambda shop: [_get(shop).replace(b" /", b" http://test/", 1)], 200, True),
    "the root": (lambda _: [b"GET / HTTP/1.1\r\nHost: test\r\n\r\n"], 404, True),
    "the shortest path": (lambda _: [b"GET /x HTTP/1.1\r\nHost: test\r\n\r\n"], 404, False),
    "a websocket": (lambda shop: [_with(_get(shop), b"Connection: Upgrade", b"Upgrade: websocket")], 200, True),
}


def _halves(data: bytes, at: int) -> list[bytes]:
    return [data[:at], data[at:]]


def _chunked(shop: Caller) -> bytes:
    data = _create(shop, 2)
    pieces = _halves(_body(data), 20)
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in [*pieces, b""])
    return _packed(data, chunks, b"Transfer-Encoding: chunked")


def _zipped(shop: Caller) -> bytes:
    data = _create(shop, 2)
    body = gzip.compress(_body(data))
    return _packed(data, body, b"Content-Encoding: gzip", b"Content-Length: %d" % len(body))


@pytest.mark.parametrize("name", UNUSUAL)
async def test_a_connection_goes_on_after_what_is_unusual(shop: Caller, seen: Seen, name: str) -> None:
    """An unusual request is answered once, between two that take the fast path."""
    packets, status, left_to_aiohttp = UNUSUAL[name]
    async with connected(shop.port) as line:
        before = await line.ask(_create(shop, 1))
        for packet in packets(shop):
            line.send(packet)
            await shop.box.get()  # the server has had it when this has been answered
        told = await line.told()
        after = await line.ask(_create(shop, 3))

    assert (before.status, told.status, after.status) == (200, status, 200)
    assert (len(seen.by_aiohttp), len(seen.handled)) == (int(left_to_aiohttp), 3)
    if name not in {"an absolute target", "the root", "the shortest path", "a websocket"}:
        assert [entry.body for entry in shop.entries] == [json.dumps(deposit_body()).encode()] * 3
        assert len(shop.pay_ins) == 3


async def test_a_body_that_cannot_be_unpacked_is_not_taken_for_an_empty_one(shop: Caller, seen: Seen) -> None:
    """It has arrived with its headers and is only an error, which the ordinary path reports."""
    body = b"this is no gzip"
    data = _packed(_create(shop, 1), body, b"Content-Encoding: gzip", b"Content-Length: %d" % len(body))
    async with connected(shop.port) as line:
        told = await line.ask(data)

    assert told.status == 400
    assert b"The body cannot be read" in told.body
    assert (len(seen.by_aiohttp), len(shop.pay_ins)) == (1, 0)


async def test_head_has_no_body_and_leaves_the_connection(shop: Caller, seen: Seen) -> None:
    """HEAD takes the ordinary path, whose answer ends with the headers."""
    async with connected(shop.port) as line:
        line.send(shop.request("HEAD", "/pay-in", keep=True))
        told = await line.told(bodiless=True)
        after = await line.ask(_get(shop))

    assert (told.status, after.status, seen.by_aiohttp) == (200, 200, [f"{API}/pay-in"])


async def test_an_expectation_is_met_in_the_middle_of_a_connection(shop: Caller, seen: Seen) -> None:
    """A client that waits for `100 Continue` gets it, and its request counts once."""
    data = _with(_create(shop, 2), b"Expect: 100-continue")
    body = _body(data)
    async with connected(shop.port) as line:
        await line.ask(_create(shop, 1))
        line.send(data.removesuffix(body))
        interim = await line.reader.readuntil(b"\r\n\r\n")
        told = await line.ask(body)
        after = await line.ask(_create(shop, 3))

    assert (interim, told.status, after.status) == (b"HTTP/1.1 100 Continue\r\n\r\n", 200, 200)
    assert (len(seen.handled), len(seen.by_aiohttp), len(shop.pay_ins)) == (3, 1, 3)


async def test_the_control_api_shares_a_connection_with_the_api(shop: Caller, seen: Seen) -> None:
    """A control call never reaches the pipeline, before or after a request of the API."""
    control = f"GET {CONTROL}/sandboxes/{shop.box.id} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    async with connected(shop.port) as line:
        first = await line.ask(control)
        created = await line.ask(_create(shop))
        second = await line.ask(control)

    assert (json.loads(first.body)["id"], created.status, second.status) == ("shop", 200, 200)
    assert (seen.handled, seen.by_aiohttp) == ([CREATE], [])


async def test_garbage_after_an_answer_is_invalid_input(shop: Caller) -> None:
    """Bytes that are not HTTP get a 400 and the end of the connection, as at its beginning."""
    async with connected(shop.port) as line:
        await line.ask(_get(shop))
        told = await line.ask(b"\x00\xff garbage\r\n\r\n")
        rest = await line.reader.read()

    assert (told.status, rest) == (400, b"")


async def test_requests_in_one_packet_are_answered_in_order(shop: Caller, seen: Seen) -> None:
    """Each is answered once; the next packet is answered at once again."""
    async with connected(shop.port) as line:
        line.send(*(_create(shop, n, external_identifier=f"order-{n}") for n in range(1, 6)))
        told = [await line.told() for _ in range(5)]
        after = await line.ask(_get(shop))

    assert [each.data["external_identifier"] for each in told] == [f"order-{n}" for n in range(1, 6)]
    assert [entry.external_identifier for entry in shop.entries[:5]] == [f"order-{n}" for n in range(1, 6)]
    assert (after.status, len(shop.pay_ins), len(shop.entries)) == (200, 5, 6)
    assert (seen.by_aiohttp, len(seen.handled)) == ([CREATE] * 5, 6)


async def test_two_packets_in_one_turn_of_the_loop_keep_their_order(shop: Caller, seen: Seen) -> None:
    """A loop may pass on a second packet before the requests of the first have begun."""
    async with connected(shop.port) as line:
        await line.ask(_get(shop))
        connection = seen.connections[-1]
        connection.data_received(_create(shop, 1) + _create(shop, 2))
        connection.data_received(_get(shop))
        told = [await line.told() for _ in range(3)]

    assert [len(shop.pay_ins), len(told[2].data["items"])] == [2, 2]
    assert [entry.method for entry in shop.entries] == ["GET", "POST", "POST", "GET"]


async def test_half_a_request_behind_a_whole_one_holds_nothing_up(shop: Caller) -> None:
    """The first of a packet is answered before the rest of the second has arrived."""
    first, second = _get(shop), _create(shop)
    async with connected(shop.port) as line:
        for at in (30, -10):  # within the head, and within the body
            line.send(first, second[:at])
            assert (await line.told()).status == 200
            line.send(second[at:])
            assert (await line.told()).status == 200

    assert [entry.method for entry in shop.entries] == ["GET", "POST", "GET", "POST"]
    assert len(shop.pay_ins) == 1


async def test_more_than_a_queue_of_requests_is_answered_whole(shop: Caller) -> None:
    """However many are in one packet, and however the request before them was answered, none is left over."""
    async with connected(shop.port) as line:
        for packet in _halves(_create(shop, 100), -10):
            line.send(packet)
            await shop.box.get()
        line.send(*(_create(shop, n, external_identifier=f"order-{n}") for n in range(70)))
        await line.told()
        told = [await line.told() for _ in range(70)]

    assert [each.data["external_identifier"] for each in told] == [f"order-{n}" for n in range(70)]
    assert len(shop.pay_ins) == 71


async def test_what_arrives_behind_a_request_in_flight_waits_its_turn(
    shop: Caller, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packets that arrive while a request is in flight are answered after it, and see its effects."""
    await _settings(shop, processing_time="60ms")
    released = hold_requests(monkeypatch)
    async with connected(shop.port) as line:
        line.send(_create(shop, 1))
        await shop.box.get()
        assert (len(shop.entries), shop.pay_ins) == (1, [])  # it is in flight
        for request in (_get(shop), _get(shop, "/nothing"), _create(shop, 1)):
            line.send(request)
            await shop.box.get()
        assert len(shop.entries) == 1
        released.set()
        created, listed, missing, replayed = [await line.told() for _ in range(4)]
        await _settings(shop, processing_time="0s")
        after = await line.ask(_create(shop, 2))

    assert [each.status for each in (created, listed, missing, replayed, after)] == [200, 200, 404, 200, 200]
    assert [item["id"] for item in listed.data["items"]] == [created.data["id"]]
    assert replayed.body == created.body
    assert (len(seen.handled), len(seen.by_aiohttp), len(shop.pay_ins)) == (5, 4, 2)


# What is begun at once and cannot be answered at once: the fault, its phase, the answer's status and what is made.
BEGUN: dict[str, tuple[dict[str, Any], str | None, int | None, int]] = {
    "slow before": ({"type": "latency", "fixed": "20ms"}, "before_commit", 200, 1),
    "slow after": ({"type": "latency", "fixed": "20ms"}, "after_commit", 200, 1),
    "lost before": ({"type": "empty_response"}, "before_commit", None, 0),
    "lost after": ({"type": "empty_response"}, "after_commit", None, 1),
    "reset after": ({"type": "connection_reset"}, "after_commit", None, 1),
    "silent": ({"type": "no_response", "hold": "20ms"}, "after_commit", None, 1),
    "cut": ({"type": "truncate", "fraction": 0.5}, None, 200, 1),
    "longer than it says": ({"type": "wrong_content_length", "by": -1}, None, 200, 1),
    "in drips": ({"type": "slow_body", "chunks": 2, "over": "10ms"}, None, 200, 1),
}


@pytest.mark.parametrize("name", BEGUN)
async def test_a_broken_answer_is_carried_out_once(shop: Caller, seen: Seen, name: str) -> None:
    """The request is in the journal once and creates one pay-in or none, though both paths were involved."""
    effect, phase, status, made = BEGUN[name]
    shop.arm(effect, times=1, **({} if phase is None else {"phase": phase}))

    async with connected(shop.port) as line:
        answered: int | None
        line.send(_create(shop))
        if effect["type"] == "latency":
            answered = (await line.told()).status
            line.writer.write_eof()
            assert await line.reader.read() == b""
        else:
            try:
                data = await line.reader.read()
            except ConnectionResetError:
                data = b""
            assert data.count(b"HTTP/1.1 ") == (status is not None)
            answered = _head(data.partition(b"\r\n\r\n")[0])[0] if data else None

    assert (answered, len(seen.handled), seen.by_aiohttp) == (status, 1, [CREATE])
    assert (len(shop.entries), len(shop.pay_ins)) == (1, made)


async def test_a_webhook_can_overtake(client: Client, seen: Seen) -> None:
    """A reply that a webhook overtakes is held, and sent once."""
    async with receiving() as receiver:
        shop = await caller(client, notification_url=receiver.url)
        overtaking = parse_fault({"on": "webhooks", "effect": {"type": "before_response"}})
        shop.sandbox.faults.add(overtaking, shop.sandbox.now)
        async with connected(shop.port) as line:
            told = await line.ask(_create(shop))
            arrived = len(receiver.requests)
            line.writer.write_eof()
            rest = await line.reader.read()

    assert (told.status, arrived, rest) == (200, 1, b"")
    assert (len(seen.handled), seen.by_aiohttp, len(shop.pay_ins)) == (1, [CREATE], 1)


async def test_a_large_answer_is_given_once(shop: Caller, seen: Seen) -> None:
    """Above the limit aiohttp sends it; the pipeline does not run again."""
    async with connected(shop.port) as line:
        for n in range(1, 101):
            assert (await line.ask(_create(shop, n, metadata={"note": "-" * 100}))).status == 200
        large = await line.ask(_get(shop, "/pay-in?limit=100"))
        after = await line.ask(_get(shop, "/pay-in?limit=1"))

    assert len(large.body) > 65_536
    assert (len(large.data["items"]), after.status) == (100, 200)
    assert (seen.by_aiohttp, len(seen.handled)) == ([f"{API}/pay-in?limit=100"], 102)


async def test_two_with_one_key_meet_while_one_is_in_flight(shop: Caller, seen: Seen) -> None:
    """The second joins the first and gets its answer; one pay-in is created."""
    await _settings(shop, processing_time="30ms")
    async with connected(shop.port) as one, connected(shop.port) as other:
        one.send(_create(shop))
        other.send(_create(shop))
        first, second = await one.told(), await other.told()

    assert (first.status, second.body) == (200, first.body)
    assert [entry.verdict for entry in shop.entries] == ["new", "joined"]
    assert (len(shop.pay_ins), len(seen.handled), seen.by_aiohttp) == (1, 2, [CREATE] * 2)


async def test_one_that_was_read_piecemeal_joins_one_that_has_just_begun(shop: Caller, seen: Seen) -> None:
    """The rest of its body arrives at the moment when another with its key begins, and it joins that one."""
    await _settings(shop, processing_time="30ms")
    first_part, rest = _halves(_create(shop), -10)
    async with connected(shop.port) as one, connected(shop.port) as other:
        other.send(first_part)
        await shop.box.get()
        one.send(_create(shop))
        other.send(rest)
        first, second = await one.told(), await other.told()

    assert (first.status, second.body) == (200, first.body)
    assert [entry.verdict for entry in shop.entries] == ["new", "joined"]
    assert (len(shop.pay_ins), len(seen.handled)) == (1, 2)


async def test_a_client_that_leaves_a_request_in_flight_has_made_it(shop: Caller, seen: Seen) -> None:
    """A request that has begun is carried out although its client has disconnected; a retry gets the answer."""
    await _settings(shop, processing_time="30ms")
    async with connected(shop.port) as line:
        line.send(_create(shop))
        await line.writer.drain()
    async with connected(shop.port) as line:
        told = await line.ask(_create(shop))

    assert (told.status, len(shop.pay_ins), len(seen.handled)) == (200, 1, 2)


def _breaking(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
    def fail(*_: object) -> None:
        message = "a bug of ours"
        raise RuntimeError(message)

    monkeypatch.setattr(owner, name, fail)


# Where a bug of ours can be: in the pipeline, before and after it, and in what an answer starts.
BROKEN = [(Pipeline, "_deduplicate"), (Pipeline, "handle"), (Pump, "wake")]


@pytest.mark.parametrize("place", BROKEN, ids=lambda place: place[1])
@pytest.mark.parametrize("headers", [(), (b"Connection: close",)], ids=["at once", "ordinary"])
async def test_a_bug_of_ours_is_a_500_and_a_line_of_the_log(
    shop: Caller,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    place: tuple[type, str],
    headers: tuple[bytes, ...],
) -> None:
    """On either path the answer is the documented one, the log says why once, and the connection stays open."""
    async with connected(shop.port) as line:
        with monkeypatch.context() as patched:
            _breaking(patched, *place)
            told = await line.ask(_with(_create(shop), *headers))
        after = None if headers else await line.ask(_get(shop, "/nothing"))

    assert (told.status, json.loads(told.body)["error"]["code"]) == (500, "internal_error")
    ((logged, error),) = [(each.getMessage(), each.exc_info) for each in caplog.records if each.levelname == "ERROR"]
    assert (logged, error is not None) == (f"POST {CREATE} failed", True)
    assert after is None or after.status == 404


async def test_a_bug_of_ours_in_a_request_in_flight_is_a_500(
    shop: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The same holds for an error when a request in flight is continued."""
    await _settings(shop, processing_time="5ms")
    _breaking(monkeypatch, Pipeline, "execute")
    async with connected(shop.port) as line:
        told = await line.ask(_create(shop))

    assert (told.status, json.loads(told.body)["error"]["code"]) == (500, "internal_error")
    assert [each.getMessage() for each in caplog.records if each.levelname == "ERROR"] == [f"POST {CREATE} failed"]


async def test_an_answer_at_once_keeps_its_connection_open(shop: Caller, seen: Seen) -> None:
    """Each answer restarts the keep-alive timeout, after which the connection is closed."""
    async with connected(shop.port) as line:
        await line.ask(_get(shop))
        connection = seen.connections[-1]
        loop = asyncio.get_running_loop()
        for _ in range(2):
            connection._next_keepalive_close_time = 0.0  # noqa: SLF001 - as if all its time had gone by
            await line.ask(_get(shop))
            connection._process_keepalive()  # noqa: SLF001 - the timer, which would ring much later
            timer = connection._keepalive_handle  # noqa: SLF001 - set again
            assert isinstance(timer, asyncio.TimerHandle)
            assert connection.keepalive_timeout - 5 < timer.when() - loop.time() <= connection.keepalive_timeout
        assert (await line.ask(_get(shop))).status == 200

        connection._next_keepalive_close_time = 0.0  # noqa: SLF001 - as above
        connection._process_keepalive()  # noqa: SLF001 - as above
        async with asyncio.timeout(AT_MOST_SECONDS):
            assert await line.reader.read() == b""

    assert seen.by_aiohttp == []


async def test_the_server_counts_what_it_answers_at_once(shop: Caller, seen: Seen) -> None:
    """Aiohttp's own count of requests includes them."""
    async with connected(shop.port) as line:
        await line.ask(_get(shop))
        server = seen.connections[-1]._manager  # noqa: SLF001 - the connection's server
        assert server is not None
        before = server.requests_count
        await line.ask(_get(shop))

    assert server.requests_count == before + 1


async def test_a_client_that_never_reads_is_not_kept_answers_for(shop: Caller, seen: Seen) -> None:
    """The server stops reading from it, and resumes when it reads: each of its requests is answered, in order."""
    sizes = [(socket.SO_SNDBUF, 32_768), (socket.SO_RCVBUF, 32_768)]  # the kernel keeps answers too
    wanted, largest = 300, 0
    async with connected(shop.port, limit=16_384) as line:
        for n in range(1, 41):
            await line.ask(_create(shop, n))
        connection = seen.connections[-1]
        transport = connection.transport
        assert transport is not None
        for end in (transport, line.writer.transport):
            for option, size in sizes:
                end.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, option, size)
        for n in range(wanted):
            line.send(_get(shop, f"/pay-in?limit=40&n={n}"))
            for _ in range(3):  # the server reads and answers, or does not
                await asyncio.sleep(0)
            largest = max(largest, transport.get_write_buffer_size())
        kept = len(shop.entries) - 40
        told = [await line.told() for _ in range(wanted)]

    answer = len(told[0].body)
    assert largest < 65_536 + 2 * answer
    assert kept < 50
    assert {len(each.data["items"]) for each in told} == {40}
    assert [entry.target.rpartition("=")[2] for entry in shop.entries[40:]] == [str(n) for n in range(wanted)]


async def test_another_port_for_the_control_api_changes_nothing(seen: Seen) -> None:
    """Where the API has a port of its own, it answers every path there, the control API's too."""
    from paydouble.server import ServerOptions

    async with running(ServerOptions(port=0, control_port=0)) as client:
        assert client.server.default is not None
        async with connected(client.server.port) as line:
            told = await line.ask(f"GET {CONTROL}/health HTTP/1.1\r\nHost: test\r\n\r\n".encode())

    assert (told.status, seen.handled) == (404, [f"{CONTROL}/health"])


async def test_the_next_request_is_answered_at_once_as_soon_as_the_one_before_it_is_answered(
    shop: Caller, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quick client's next request arrives before aiohttp's own task resumes, and still takes the fast path."""
    first_part, rest = _halves(_create(shop), -10)
    nexts = [_create(shop, 2)]
    finish = FastConnection.finish_response

    async def finishing(self: FastConnection, *given: Any) -> Any:  # noqa: ANN401 - aiohttp's own
        finished = await finish(self, *given)
        if nexts:
            asyncio.get_running_loop().call_soon(self.data_received, nexts.pop())
        return finished

    async with connected(shop.port) as line:
        line.send(first_part)
        await shop.box.get()
        monkeypatch.setattr(FastConnection, "finish_response", finishing)
        line.send(rest)
        answers = [await line.told(), await line.told(), await line.ask(_create(shop, 3))]

    assert [each.status for each in answers] == [200, 200, 200]
    assert (len(shop.pay_ins), seen.by_aiohttp) == (3, [CREATE])
