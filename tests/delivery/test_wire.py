"""The exact bytes that a receiver gets at each attempt."""

from __future__ import annotations

import json
import time

import pytest
import receivers
from receivers import receiving, status
from servers import Client

import paydouble
from paydouble.config import TAKEN_HEADERS


async def test_a_post_has_the_documented_headers_and_no_other(client: Client) -> None:
    """Request line and headers are those of contract section 4, and what HTTP itself needs."""
    async with receiving() as receiver:
        box = await client.sandbox(notification_url=receiver.url + "?shop=1&x=%20", scenario="abandoned")
        await box.deposit()
        await box.advance(by="0s")

        (request,) = receiver.requests
        assert request.request_line == "POST /hooks?shop=1&x=%20 HTTP/1.1"
        assert sorted(name for name, _ in request.headers) == [
            "Content-Length",
            "Content-Type",
            "Host",
            "X-Service-Signature",
        ]
        assert request.header("Host") == f"127.0.0.1:{receiver.port}"
        assert request.header("Content-Type") == "application/json"
        assert request.header("Content-Length") == str(len(request.body))


async def test_each_attempt_sends_the_same_body_with_a_new_signature(client: Client) -> None:
    """All eight attempts have exactly the same body, and each signature is recent on arrival."""
    async with receiving(status(500)) as receiver:
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned")
        before = int(time.time())
        await box.deposit(expires_in=2_592_000)
        await box.advance(by="72h")

        secret = box.document["webhook_secret"]
        times = [
            paydouble.verify(request.body, request.header("X-Service-Signature"), secret, tolerance=300)
            for request in receiver.requests
        ]
        assert len({request.body for request in receiver.requests}) == 1
        assert len(times) == 8
        assert before <= min(times) <= max(times) <= time.time()


async def test_the_control_api_shows_what_the_receiver_got(client: Client) -> None:
    """Body and headers of an attempt, as shown, are those that arrived."""
    async with receiving() as receiver:
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned")
        pay_in = await box.deposit()
        await box.advance(by="0s")

        (request,) = receiver.requests
        (delivery,) = await box.deliveries()
        (attempt,) = delivery["attempts"]
        assert attempt["body"].encode() == request.body
        assert {tuple(header) for header in attempt["headers"]} <= set(request.headers)
        assert json.loads(request.body)["data"]["object"]["id"] == pay_in["id"] == delivery["object_id"]
        assert b'"amount":49.90' in request.body.replace(b" ", b"")


async def test_a_body_outside_ascii_arrives_whole(client: Client) -> None:
    """Names in any script arrive as UTF-8 and verify."""
    customer = {"first_name": "Żółć 🎉", "last_name": "李", "email": "a@b.test"}
    async with receiving() as receiver:
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned")
        await box.deposit(customer=customer)
        await box.advance(by="0s")

        (request,) = receiver.requests
        paydouble.verify(request.body, request.header("X-Service-Signature"), box.document["webhook_secret"])
        assert json.loads(request.body)["data"]["object"]["customer"] == customer


async def test_during_a_rotations_grace_both_secrets_sign(client: Client) -> None:
    """Within the grace either secret verifies; after it, only the new one."""
    async with receiving() as receiver:
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned")
        old = box.document["webhook_secret"]
        new = (await box.control("POST", "/webhook/rotate-secret", {"grace": "1h"})).document["secret"]
        await box.deposit()
        await box.advance(by="59m")
        await box.deposit()
        await box.advance(by="1m")
        await box.deposit()
        await box.advance(by="0s")

        accepted = [
            [name for name, secret in (("old", old), ("new", new)) if _verifies(request, secret)]
            for request in receiver.requests
        ]
        assert accepted == [["old", "new"], ["old", "new"], ["new"]]


async def test_a_retry_is_signed_with_the_secret_of_its_time(client: Client) -> None:
    """An event that failed under the old secret is retried under the new one."""
    async with receiving(status(500), receivers.ok) as receiver:
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned")
        await box.deposit()
        await box.advance(by="0s")
        new = (await box.control("POST", "/webhook/rotate-secret", {})).document["secret"]
        await box.advance(by="1m")

        assert [_verifies(request, new) for request in receiver.requests] == [False, True]


async def test_another_signature_header_can_be_chosen(client: Client) -> None:
    """`webhooks.signature_header` renames the header."""
    async with receiving() as receiver:
        settings = {"webhooks": {"signature_header": "X-Other"}}
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned", settings=settings)
        await box.deposit()
        await box.advance(by="0s")

        (request,) = receiver.requests
        paydouble.verify(request.body, request.header("X-Other"), box.document["webhook_secret"])
        assert "X-Service-Signature" not in dict(request.headers)


@pytest.mark.parametrize("effect", [None, {"type": "chunked"}, {"type": "slow_body", "over": "20ms"}])
async def test_no_header_of_a_post_can_be_the_signatures(client: Client, effect: dict[str, str] | None) -> None:
    """For every transport, `webhooks.signature_header` cannot be the name of another header of the request."""
    async with receiving() as receiver:
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned")
        if effect is not None:
            await box.control("POST", "/faults", {"on": "webhooks", "effect": effect})
        await box.deposit()
        await box.advance(by="0s")

        (request,) = receiver.requests
        others = {name.lower() for name, _ in request.headers} - {"x-service-signature"}
        assert others
        assert others <= TAKEN_HEADERS


def _verifies(request: receivers.Received, secret: str) -> bool:
    try:
        paydouble.verify(request.body, request.header("X-Service-Signature"), secret)
    except paydouble.SignatureMismatch:
        return False
    return True
