"""The page of a request: both directions, the fault that fired, and what a retry sent that differs."""

from __future__ import annotations

import base64
from typing import Any

import aiohttp
import pytest
from drive import deposit_body, key
from inspecting import HOME, Browser, Seen
from servers import Box, exchange

DEPOSITS = "/api/v1/pay-in/deposit-creation"


async def post(box: Box, content: bytes, number: int = 7, path: str = DEPOSITS) -> int | None:
    """Send bytes as a deposit with the n-th key; returns the status, or None if the reply was lost."""
    headers = {**box.credentials, "Idempotency-Key": key(number), "Content-Type": "application/json"}
    url = f"http://127.0.0.1:{box.client.server.port}{path}"
    try:
        # A new session: a connection that was used before would be tried again by itself.
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, data=content, headers=headers) as response,
        ):
            return response.status
    except aiohttp.ClientError:
        return None


def body(**changes: Any) -> bytes:  # noqa: ANN401 - JSON is any
    """Return a deposit's bytes."""
    return aiohttp.payload.JsonPayload(deposit_body(external_identifier="order-17", **changes)).decode().encode()


async def page(browser: Browser, box: Box, number: int = -1) -> Seen:
    """Open the page of the n-th request of a sandbox."""
    items = (await box.get("/requests"))["items"]
    seen = await browser.open(f"{HOME}inspector/sandboxes/{box.id}/requests/{items[number]['id']}")
    assert seen.status == 200
    return seen


async def test_both_directions_are_shown(browser: Browser) -> None:
    """With headers and bytes, the key and the verdict, and links to the payment, its events and their deliveries."""
    box = await browser.client.sandbox(notification_url="http://127.0.0.1:9/")
    await post(box, body())
    seen = await page(browser, box)
    (delivery,) = await box.deliveries()
    (pay_in,) = (await box.get("/pay-ins"))["items"]
    (event,) = (await box.get("/events"))["items"]
    (entry,) = (await box.get("/requests"))["items"]

    for text in (
        "POST /api/v1/pay-in/deposit-creation",
        "new : the key was new",
        key(7),
        "Idempotency-Key",
        '"external_identifier": "order-17"',
        '"success": true',
        "X-Request-Id " + entry["id"],
        "Content-Type application/json",
        event["type"],
        "00000000 7b 22",
    ):
        assert text in seen.text
    own = f"{HOME}inspector/sandboxes/{box.id}/"
    assert f"{own}payments/{pay_in['id']}" in seen.html.links
    assert f"{own}deliveries/{delivery['id']}" in seen.html.links
    payment = await browser.open(f"{own}payments/{pay_in['id']}")
    assert f"{own}requests/{entry['id']}" in payment.html.links
    assert f"{own}deliveries/{delivery['id']}" in payment.html.links
    assert "What differs" not in seen.text


async def test_a_lost_reply_and_what_the_retry_sent(browser: Browser) -> None:
    """The fault that fired, the earlier request of the same key, and each member that differs."""
    box = await browser.client.sandbox()
    fault = {"effect": {"type": "connection_reset"}, "phase": "after_commit", "times": 1}
    await box.control("POST", "/faults", fault)
    assert await post(box, body()) is None
    assert await post(box, body(amount=59.9, metadata={"try": 2})) == 409
    first, second = await page(browser, box, 0), await page(browser, box)

    assert "The fault that fired" in first.text
    assert '"type": "connection_reset"' in first.text
    assert "this one" in first.text
    assert "The idempotency key is the same. 2 members of the body differ." in second.text
    assert "amount 49.9 59.9" in second.text
    assert 'metadata absent {"try":2}' in second.text
    assert "content-length" not in second.text
    assert "200, reply lost" in first.text
    assert f"{HOME}inspector/sandboxes/{box.id}#fault-1" in first.html.links
    assert first.url.partition("/_pay")[2] in "".join(second.html.links)


@pytest.mark.parametrize(
    ("content", "number", "said"),
    [
        (body(), 7, "The idempotency key is the same. The bodies are the same, byte for byte."),
        (body() + b" ", 7, "The idempotency key is the same. The bodies are the same JSON in other bytes."),
        (body(), 8, "The idempotency key is another one, so the service takes it for a new request."),
        (b"{", 7, "The bodies differ."),
        (b"[1]", 7, "One member of the body differs."),
        (b"\xff\xfe", 7, "The bodies differ."),
    ],
)
async def test_a_retry_is_compared_with_the_earlier_request(
    browser: Browser, content: bytes, number: int, said: str
) -> None:
    """By its key, its members and its bytes."""
    box = await browser.client.sandbox()
    await post(box, body())
    await post(box, content, number)
    seen = await page(browser, box)

    assert said in seen.text
    assert ("differ from byte" in seen.text) == (content not in (body(), b"[1]"))


async def test_requests_without_a_key_are_compared_by_their_order(browser: Browser) -> None:
    """A shop that forgets its key is told so."""
    box = await browser.client.sandbox()
    url = f"http://127.0.0.1:{browser.client.server.port}{DEPOSITS}"
    headers = {**box.credentials, "Content-Type": "application/json"}
    for _ in range(2):
        async with browser.client.session.post(url, data=body(), headers=headers) as response:
            assert response.status == 400
    assert "Neither has an idempotency key." in (await page(browser, box)).text
    await post(box, body())
    async with browser.client.session.post(url, data=body(), headers=headers) as response:
        assert response.status == 400
    assert "It has no idempotency key, or was refused" in (await page(browser, box)).text


async def test_bytes_that_are_no_text_are_shown_in_hex(browser: Browser) -> None:
    """And a large body is cut, and can be saved whole."""
    box = await browser.client.sandbox(settings={"body_limit": 8_000_000})
    await post(box, b"\xff\x00\x01")
    assert "not UTF-8, in hex 00000000 ff 00 01" in (await page(browser, box)).text
    large = b'"' + b"x" * 1_000_000 + b'"'
    await post(box, large, 8)
    seen = await page(browser, box)

    assert "only the beginning" in seen.text
    assert "Only the first 4 KiB." in seen.text
    assert len(seen.html.source) < 200_000
    for name, whole in (("body", large), ("response", None)):
        async with browser.client.session.get(f"{seen.url}/{name}") as saved:
            content = await saved.read()
            assert saved.headers["Content-Disposition"].startswith("attachment; filename=")
            assert saved.headers["Content-Type"] == "application/octet-stream"
            assert saved.headers["X-Content-Type-Options"] == "nosniff"
            assert content == whole or (whole is None and b'"success":false' in content.replace(b" ", b""))


async def test_a_request_that_no_sandbox_claims_has_a_page(browser: Browser) -> None:
    """It says whose key it had; credentials are not kept."""
    secret = base64.b64encode(b"nobody:real-secret").decode()
    await browser.client.call("POST", "/api/v1/x", {"a": 1}, headers={"Authorization": f"Basic {secret}"})
    await exchange(browser.client.server.port, b"\x16\x03\x01 not HTTP\r\n\r\n")
    inbox = await browser.open()
    links = [link for link in inbox.html.links if "/unclaimed-requests/" in link]
    unreadable, known = [await browser.open(link) for link in links]

    assert "These bytes are no HTTP request." in unreadable.text
    assert "No sandbox has these credentials (business key nobody)." in known.text
    assert secret not in known.html.source
    assert '"a": 1' in known.text
    for name in ("body", "response"):
        async with browser.client.session.get(f"{known.url}/{name}") as saved:
            assert saved.status == 200
            assert await saved.read() == (b'{"a": 1}' if name == "body" else await saved.read())


async def test_a_fault_that_was_deleted_is_said(browser: Browser) -> None:
    """Its id is still known."""
    box = await browser.client.sandbox()
    fault = await box.control("POST", "/faults", {"on": "api", "effect": {"type": "latency", "fixed": "1ms"}})
    await box.deposit()
    await box.control("DELETE", f"/faults/{fault.document['id']}")
    assert "The fault has been deleted since." in (await page(browser, box)).text


@pytest.mark.parametrize("path", ["sandboxes/default/requests/req_none", "unclaimed-requests/req_none"])
async def test_a_request_that_is_not_kept_is_said(browser: Browser, path: str) -> None:
    """It may have been evicted."""
    seen = await browser.open(f"{HOME}inspector/{path}")

    assert seen.status == 404
    assert "There is no request 'req_none'" in seen.text
