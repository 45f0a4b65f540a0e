"""The verifying receiver that tests, `receive` and the demo share."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import AsyncIterator
from decimal import Decimal

import aiohttp
import pytest

from paydouble import SignatureHeaderMissing, SignatureMismatch, sign
from paydouble.core.errors import UsageError
from paydouble.testing import Received, Receiver

SECRET = "whsec_sandbox"
BODY = b'{"id":"evt_1","type":"pay-in.created","data":{"object":{"amount":49.90}}}'


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """Give a receiver that runs."""
    async with Receiver(SECRET) as running:
        yield running


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    """Give a client."""
    async with aiohttp.ClientSession() as session:
        yield session


async def _post(client: aiohttp.ClientSession, receiver: Receiver, body: bytes, header: str | None) -> int:
    headers = {} if header is None else {"X-Service-Signature": header}
    async with client.post(receiver.url, data=body, headers=headers) as response:
        return response.status


async def _post_signed(client: aiohttp.ClientSession, receiver: Receiver, body: bytes = BODY) -> int:
    return await _post(client, receiver, body, sign(body, SECRET))


async def test_what_verifies_is_taken_and_kept_byte_for_byte(receiver: Receiver, client: aiohttp.ClientSession) -> None:
    """The exact bytes and headers are kept, and money in the event stays exact."""
    header = sign(BODY, SECRET)

    status = await _post(client, receiver, BODY, header)

    [delivery] = receiver.received
    assert (status, delivery.answered) == (200, 200)
    assert (delivery.body, dict(delivery.headers)["X-Service-Signature"]) == (BODY, header)
    assert delivery.verified
    assert delivery.event["data"]["object"]["amount"] == Decimal("49.90")
    assert (delivery.attempt, delivery.duplicate, delivery.diagnosis) == (1, False, None)


async def test_a_compressed_body_is_kept_as_it_travelled(receiver: Receiver, client: aiohttp.ClientSession) -> None:
    """Nothing is decompressed before it is verified."""
    body = b"not gzip at all"
    headers = {"X-Service-Signature": sign(body, SECRET), "Content-Encoding": "gzip"}

    async with client.post(receiver.url, data=body, headers=headers) as response:
        status = response.status

    assert (status, receiver.received[0].body) == (200, body)


@pytest.mark.parametrize(
    ("secret", "refusal"),
    [
        (None, (400, SignatureHeaderMissing, "missing-header")),
        ("whsec_other", (401, SignatureMismatch, "wrong-secret")),
    ],
)
async def test_what_does_not_verify_is_refused_as_the_contract_recommends(
    receiver: Receiver, client: aiohttp.ClientSession, secret: str | None, refusal: tuple[int, type, str]
) -> None:
    """400 or 401, the likely cause is kept, and programmed answers are left for what verifies."""
    receiver.answer_next(503)

    refused = await _post(client, receiver, BODY, None if secret is None else sign(BODY, secret))
    programmed = await _post_signed(client, receiver)

    delivery = receiver.received[0]
    assert delivery.diagnosis is not None
    assert (refused, type(delivery.error), delivery.diagnosis.cause) == refusal
    assert (delivery.verified, delivery.attempt, programmed) == (False, 0, 503)


async def test_a_stale_signature_is_400(receiver: Receiver, client: aiohttp.ClientSession) -> None:
    """The tolerance is the contract's 300 seconds."""
    status = await _post(client, receiver, BODY, sign(BODY, SECRET, int(time.time()) - 400))

    assert status == 400


async def test_answers_are_given_in_order_and_then_the_standing_one(
    receiver: Receiver, client: aiohttp.ClientSession
) -> None:
    """A sequence of statuses is used up, and a repeated event is a duplicate only once it was taken."""
    receiver.answer_next(500, 302)
    receiver.status = 204

    statuses = [await _post_signed(client, receiver) for _ in range(4)]

    assert statuses == [500, 302, 204, 204]
    assert [each.attempt for each in receiver.received] == [1, 2, 3, 4]
    assert [each.duplicate for each in receiver.received] == [False, False, False, True]


@pytest.mark.parametrize("body", [b"", b"[", b"[1]", b"\xff", b'{"id": 1e999999999999999999999}', b"[" * 100_000])
async def test_a_signed_body_that_is_no_event_is_still_taken(
    receiver: Receiver, client: aiohttp.ClientSession, body: bytes
) -> None:
    """A receiver that answered 4xx here would be sent it again (delivery rule 6); it is never a duplicate."""
    statuses = [await _post_signed(client, receiver, body) for _ in range(2)]

    assert statuses == [200, 200]
    assert [each.duplicate for each in receiver.received] == [False, False]


async def test_down_is_refused_and_up_is_the_same_port(receiver: Receiver, client: aiohttp.ClientSession) -> None:
    """An outage breaks open connections and refuses new ones; no other process can take the port meanwhile."""
    await _post_signed(client, receiver)
    url = receiver.url

    await receiver.down()
    await receiver.down()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", receiver.port)
    with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
        stranger.bind(("127.0.0.1", receiver.port))
    await receiver.up()
    await receiver.up()

    assert (await _post_signed(client, receiver), receiver.url) == (200, url)


async def test_each_delivery_is_told_of(client: aiohttp.ClientSession) -> None:
    """`on_delivery` gets what is kept."""
    told: list[Received] = []
    async with Receiver(SECRET, on_delivery=told.append) as receiver:
        await _post_signed(client, receiver)

        assert told == receiver.received


async def test_only_the_newest_are_kept(
    receiver: Receiver, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A receiver that runs for days does not grow."""
    monkeypatch.setattr("paydouble.testing.receiver._KEPT", 2)

    for _ in range(3):
        await _post_signed(client, receiver)

    assert [each.attempt for each in receiver.received] == [2, 3]


async def test_other_methods_are_405(receiver: Receiver, client: aiohttp.ClientSession) -> None:
    """A person's browser learns what this is, and nothing is recorded."""
    async with client.get(receiver.url) as response:
        text = await response.text()

    assert (response.status, text, receiver.received) == (405, "Webhooks come here by POST.\n", [])


async def test_broken_requests_leave_no_traceback(
    receiver: Receiver, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Garbage and bodies that break off are their sender's mistake; the receiver goes on."""
    caplog.set_level(logging.CRITICAL)
    head = b"POST / HTTP/1.1\r\nHost: receiver\r\n"
    answers = []
    for raw in (b"garbage\r\n\r\n", head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"):
        reader, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
        writer.write(raw)
        answers.append((await reader.read())[:12])
        writer.close()
    _, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
    writer.write(head + b"Content-Length: 100\r\n\r\nabc")
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    await receiver.stop()

    assert answers == [b"HTTP/1.0 400", b"HTTP/1.0 400"]
    assert receiver.received == []
    assert capfd.readouterr().err == ""


async def test_a_port_in_use_is_one_clear_sentence(receiver: Receiver) -> None:
    """The sentence says which port, why, and what to do."""
    with pytest.raises(UsageError, match=rf"--port: 127\.0\.0\.1:{receiver.port} cannot be used .*in use.*or 0 for"):
        await Receiver(port=receiver.port).start()


@pytest.mark.parametrize("host", ["203.0.113.5", ""], ids=["not ours", "none"])
async def test_a_host_that_cannot_be_had_is_one_clear_sentence(host: str) -> None:
    """The sentence names the host, not the port."""
    with pytest.raises(UsageError, match=r"--host: .*cannot be used .*give an address of this machine"):
        await Receiver(host=host).start()


def test_a_blank_secret_is_refused() -> None:
    """It would verify what anybody can sign."""
    with pytest.raises(UsageError, match="secret is blank"):
        Receiver(" ")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8081/"),
        ("0.0.0.0", "http://localhost:8081/"),  # noqa: S104 - compared with, not bound to
        ("::1", "http://[::1]:8081/"),
    ],
)
def test_the_url_is_one_that_can_be_delivered_to(host: str, url: str) -> None:
    """Wildcards and IPv6 addresses are written so that a server on this machine can use them."""
    assert Receiver(host=host, port=8081).url == url
