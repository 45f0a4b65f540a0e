"""What receivers can do to an attempt, and what the attempt then shows. No event is lost by it."""

from __future__ import annotations

import gc
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import receivers
from aiohttp.http_writer import StreamWriter
from receivers import Answer, Receiver, raw, receiving, status
from servers import Client

from paydouble.runtime import sender

# Only answers that should time out get the short one: on a busy machine any other can take as long.
SHORT = "200ms"
PATIENT = "10s"


@asynccontextmanager
async def _attempted(
    client: Client, *answers: Answer, patience: str = PATIENT
) -> AsyncIterator[tuple[dict[str, Any], Receiver]]:
    """Send one event to a receiver; return its delivery after the first attempt."""
    async with receiving(*answers) as receiver:
        box = await client.sandbox(
            notification_url=receiver.url, scenario="abandoned", settings={"webhooks": {"timeout": patience}}
        )
        await box.deposit()
        await box.advance(by="0s")
        (delivery,) = await box.deliveries()
        yield delivery, receiver


@pytest.mark.parametrize("code", [200, 201, 204, 299])
async def test_any_2xx_accepts_the_event(client: Client, code: int) -> None:
    """A status from 200 to 299 makes it delivered."""
    async with _attempted(client, status(code)) as (delivery, _):
        assert (delivery["status"], delivery["attempts"][0]["status"]) == ("delivered", code)


@pytest.mark.parametrize("code", [101, 300, 304, 400, 404, 410, 429, 500, 503, 599])
async def test_any_other_status_is_a_failure(client: Client, code: int) -> None:
    """After another status the event waits for its next attempt, and the attempt has no network error."""
    async with _attempted(client, status(code)) as (delivery, _):
        attempt = delivery["attempts"][0]
        assert (delivery["status"], attempt["status"], attempt["error"]) == ("waiting", code, None)


BROKEN = [
    pytest.param(receivers.hang, "timeout", id="hangs"),
    pytest.param(raw(b"HTTP/1.1 200 OK\r\n", keep=True), "timeout", id="stops in its headers"),
    pytest.param(raw(b"HTTP/1.1 100 Continue\r\n\r\n", keep=True), "timeout", id="says only continue"),
    pytest.param(receivers.reset, "reset", id="resets"),
    pytest.param(receivers.silent, "reset", id="closes without a byte"),
    pytest.param(raw(b"HTTP/1.1 200 OK\r\nContent-Le"), "protocol", id="closes in its headers"),
    pytest.param(receivers.endless_header, "protocol", id="sends a header of 10 MiB"),
    pytest.param(raw(b"HTTP/1.1 200 OK\r\n" + b"X-A: 1\r\n" * 10_000 + b"\r\n"), "protocol", id="floods headers"),
    pytest.param(raw(b"\x00\xff\x16\x03\x01" * 1000), "protocol", id="sends garbage"),
    pytest.param(raw(b"220 smtp.example.test ESMTP\r\n"), "protocol", id="speaks SMTP"),
    pytest.param(raw(b"HTTP/1.1 9999 OK\r\n\r\n"), "protocol", id="invents a status"),
    pytest.param(raw(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n"), "protocol", id="negative length"),
]


@pytest.mark.parametrize(("answer", "kind"), BROKEN)
async def test_a_broken_answer_is_a_failed_attempt(client: Client, answer: Answer, kind: str) -> None:
    """An attempt without a status has an error, and the event waits for the next attempt."""
    async with _attempted(client, answer, patience=SHORT if kind == "timeout" else PATIENT) as (delivery, _):
        (attempt,) = delivery["attempts"]
        assert (delivery["status"], attempt["status"], attempt["error"]["kind"]) == ("waiting", None, kind)


async def test_a_closed_port_is_refused(client: Client) -> None:
    """Nothing listens at the target: the error is `refused`."""
    url = f"http://127.0.0.1:{receivers.closed_port()}/"
    box = await client.sandbox(notification_url=url, scenario="abandoned")
    await box.deposit()
    await box.advance(by="0s")

    (delivery,) = await box.deliveries()
    assert (delivery["status"], delivery["attempts"][0]["error"]["kind"]) == ("waiting", "refused")


async def test_a_name_that_does_not_resolve_is_a_dns_error(client: Client) -> None:
    """The host does not exist: the error is `dns`."""
    box = await client.sandbox(notification_url="http://nobody.invalid/", scenario="abandoned")
    await box.deposit()
    await box.advance(by="0s")

    (delivery,) = await box.deliveries()
    assert (delivery["status"], delivery["attempts"][0]["error"]["kind"]) == ("waiting", "dns")


def _chunked(*parts: bytes) -> bytes:
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks


BOMB = gzip.compress(b"0" * 20_000_000)
STOPS = receivers.body_that_stops(b"hello")
BODIES = [
    pytest.param(raw(_chunked(b"he", b"llo", b""), keep=True), "hello", id="chunked"),
    pytest.param(raw(_chunked(b"he")), "he", id="breaks off between chunks"),
    pytest.param(raw(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhel"), "hel", id="shorter than it said"),
    pytest.param(raw(b"HTTP/1.0 200 OK\r\n\r\nhello"), "hello", id="ends with the connection"),
    pytest.param(receivers.endless_body, "x" * 16_384, id="endless"),
    pytest.param(STOPS, "hello", id="stops"),
]


@pytest.mark.parametrize(("answer", "body"), BODIES)
async def test_status_and_headers_decide(
    client: Client, answer: Answer, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A 2xx is a success with any body; at most 16 KiB of the body are read and shown."""
    if answer is STOPS:
        monkeypatch.setattr(sender, "BODY_PATIENCE_SECONDS", 0.1)

    async with _attempted(client, answer) as (delivery, _):
        (attempt,) = delivery["attempts"]
        assert (delivery["status"], attempt["response_body"]) == ("delivered", body)


async def test_the_answer_of_a_receiver_is_kept_with_its_headers(client: Client) -> None:
    """In their order, with their case and repetitions; an attempt without an answer has none."""
    head = b"HTTP/1.1 200 OK\r\nX-Worker: 7\r\nset-cookie: a=1\r\nset-cookie: b=2\r\nContent-Length: 0\r\n\r\n"

    async with _attempted(client, raw(head)) as (delivery, _):
        (attempt,) = delivery["attempts"]
    async with _attempted(client, receivers.reset) as (delivery, _):
        lost = delivery["attempts"][0]

    expected = [["X-Worker", "7"], ["set-cookie", "a=1"], ["set-cookie", "b=2"], ["Content-Length", "0"]]
    assert (attempt["response_headers"], lost["response_headers"]) == (expected, [])


async def test_a_compressed_body_is_not_unpacked(client: Client) -> None:
    """A gzip bomb is not decompressed: its bytes are shown, up to the limit."""
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB)

    async with _attempted(client, raw(head + BOMB)) as (delivery, _):
        (attempt,) = delivery["attempts"]
        shown = len(attempt["response_body"]["base64"]) * 3 // 4
        assert delivery["status"] == "delivered"
        assert 16_384 <= shown <= 16_386  # base64 pads


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(client: Client, code: int) -> None:
    """A 3xx is a failed attempt, and the other host gets no request."""
    async with receiving() as other:
        answer = raw(b"HTTP/1.1 %d Moved\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % (code, other.url.encode()))

        async with _attempted(client, answer) as (delivery, _):
            assert (delivery["status"], delivery["attempts"][0]["status"]) == ("waiting", code)
            assert (other.connections, other.requests) == (0, [])


async def test_a_kept_connection_that_was_closed_is_no_failure(client: Client) -> None:
    """A receiver that closes after each answer without announcing it gets each event at the first attempt."""
    answer = raw(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    async with receiving(answer) as receiver:
        box = await client.sandbox(notification_url=receiver.url)
        for _ in range(5):
            await box.deposit()
        await box.advance(by="1h")

        outcomes = [[each["status"] for each in delivery["attempts"]] for delivery in await box.deliveries()]
        assert outcomes == [[200]] * 20
        assert len(receiver.requests) == 20


@pytest.mark.usefixtures("kept_for_long")
@pytest.mark.parametrize("broken", [receivers.silent, receivers.reset])
async def test_nothing_is_posted_twice(client: Client, broken: Answer) -> None:
    """A kept connection that breaks after the POST is a failed attempt; there is no hidden second POST."""
    async with receiving(receivers.ok, broken) as receiver:
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned")
        await box.deposit()
        await box.deposit()
        await box.advance(by="0s")

        outcomes = [[each["status"] for each in delivery["attempts"]] for delivery in await box.deliveries()]
        assert outcomes == [[200], [None]]
        assert (receiver.connections, len(receiver.requests)) == (1, 2)


@pytest.mark.usefixtures("kept_for_long")
async def test_one_connection_serves_many_events(client: Client) -> None:
    """Events to a receiver that keeps its connection open use that one."""
    async with receiving() as receiver:
        box = await client.sandbox(notification_url=receiver.url)
        await box.deposit()
        await box.advance(by="1h")

        assert (receiver.connections, len(receiver.requests)) == (1, 4)


async def test_a_connection_that_closes_at_the_last_byte_leaves_no_error_behind(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The attempt has its outcome from the wait for the answer; nobody waits for the task that writes."""
    write_eof = StreamWriter.write_eof

    async def closed(writer: StreamWriter, chunk: bytes = b"") -> None:
        if writer.chunked:  # so neither the test's own request nor its answer
            assert writer.transport is not None
            writer.transport.close()
        await write_eof(writer, chunk)

    async with receiving() as receiver:
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned")
        await box.control("POST", "/faults", {"on": "webhooks", "effect": {"type": "chunked"}})
        monkeypatch.setattr(StreamWriter, "write_eof", closed)
        await box.deposit()
        await box.advance(by="0s")
        (delivery,) = await box.deliveries()
    gc.collect()

    assert delivery["attempts"][0]["error"]["kind"] == "reset"
    assert "never retrieved" not in caplog.text
