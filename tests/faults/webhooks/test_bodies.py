"""Bodies that were changed before or after signing, as a receiver gets them."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hooked import hooked
from receivers import status
from servers import Client

from paydouble.core import json_text
from paydouble.faults.webhook_effects import Formatting, Payload

FORMATS = get_args(Formatting.model_fields["mode"].annotation)
PAYLOADS = get_args(Payload.model_fields["mode"].annotation)
# A payload mode, and what is true of the document that arrives.
READABLE: dict[str, Any] = {
    "unknown_type": lambda event: event["type"] == "pay-in.teleported",
    "extra_members": lambda event: event["x_future"] and event["data"]["object"]["x_future"],
    "null_members": lambda event: (
        (event["data"]["previous_attributes"], event["data"]["object"]["customer"]) == (None, None)
    ),
    "huge": lambda event: len(event["x_padding"]) == 1_048_576,
    "escaped": lambda event: event["data"]["object"]["currency"] == "EUR",
    "unicode": lambda event: "🦄" in event["data"]["object"]["customer"]["first_name"],
    "big_number": lambda event: event["x_sequence"] == 9_007_199_254_740_993,
}


async def test_tamper_changes_a_member_behind_the_signature(client: Client) -> None:
    """The body has another amount, the signature is that of the true body, and a correct receiver refuses it."""
    async with hooked(client, scenario="abandoned") as business:
        fault = business.fault({"type": "tamper", "path": "data.object.amount", "value": 1}, times=1)
        await business.live()
        await business.live()

        changed, true = business.documents
        assert (changed["data"]["object"]["amount"], true["data"]["object"]["amount"]) == (1, 49.9)
        assert [business.verifies(request) for request in business.requests] == [False, True]
        assert business.deliveries[0].attempts[0].faults == (fault.id,)
        assert b'"amount":49.90' in business.deliveries[0].event.body


async def test_tamper_makes_members_on_the_way(client: Client) -> None:
    """Missing objects on a path are created, and a plain value on it is replaced."""
    async with hooked(client, scenario="abandoned") as business:
        business.fault({"type": "tamper", "path": "x.y.z", "value": [1, None]}, times=1)
        await business.live()
        business.fault({"type": "tamper", "path": "api_version.major", "value": 2}, times=1)
        await business.live()

        made, replaced = business.documents
        assert made["x"] == {"y": {"z": [1, None]}}
        assert replaced["api_version"] == {"major": 2}


@pytest.mark.parametrize("mode", PAYLOADS)
async def test_a_payload_is_hard_to_digest_and_rightly_signed(client: Client, mode: str) -> None:
    """Whatever the body is, its length and its signature are right, and the next event is unchanged."""
    async with hooked(client, scenario="abandoned") as business:
        business.fault({"type": "payload", "mode": mode}, times=1)
        await business.live()
        await business.live()

        odd, plain = business.requests
        assert [business.verifies(each) for each in (odd, plain)] == [True, True]
        assert odd.header("Content-Length") == str(len(odd.body))
        assert odd.body != business.deliveries[0].event.body
        assert plain.body == business.deliveries[1].event.body
        assert business.deliveries[0].attempts[0].body == odd.body


@pytest.mark.parametrize("mode", sorted(READABLE))
async def test_a_readable_payload_holds_what_was_asked_for(client: Client, mode: str) -> None:
    """It is JSON with the unusual part in it, and keeps every number's digits."""
    async with hooked(client, scenario="abandoned") as business:
        business.fault({"type": "payload", "mode": mode})
        await business.live()

        (request,) = business.requests
        assert READABLE[mode](json.loads(request.body))
        assert b"49.90" in request.body


async def test_an_unreadable_payload_is_no_json(client: Client) -> None:
    """`empty` is nothing at all; `invalid_json` and `truncated` cannot be parsed."""
    async with hooked(client, scenario="abandoned") as business:
        for mode in ("empty", "invalid_json", "truncated"):
            business.fault({"type": "payload", "mode": mode}, times=1)
            await business.live()

        empty, invalid, truncated = [request.body for request in business.requests]
        assert empty == b""
        for body in (invalid, truncated):
            with pytest.raises(json.JSONDecodeError):
                json.loads(body)


async def test_escaped_is_ascii_with_every_character_escaped(client: Client) -> None:
    """Each character of each text but a time is an escape, and the event parses to the same value.

    Go's `time.Time` takes no escapes in a time, and no service writes any there.
    """
    async with hooked(client, scenario="abandoned") as business:
        business.fault({"type": "payload", "mode": "escaped"})
        await business.live(external_identifier="Zoë 🦄")

        (request,) = business.requests
        assert request.body.isascii()
        assert b'"\\u' in request.body
        event = json.loads(business.deliveries[0].event.body)
        assert json.loads(request.body) == event
        assert f'"created_at":"{event["created_at"]}"'.encode() in request.body


@pytest.mark.parametrize("mode", FORMATS)
async def test_another_formatting_is_the_same_json_and_verifies(client: Client, mode: str) -> None:
    """The document and its numbers' digits are the same, and the signature is over the bytes that were sent."""
    async with hooked(client, scenario="abandoned") as business:
        business.fault({"type": "formatting", "mode": mode})
        await business.live(external_identifier="a/b\\/c")

        (request,) = business.requests
        own = business.deliveries[0].event.body
        assert business.verifies(request)
        assert json_text.canonical(json_text.loads(request.body)) == json_text.canonical(json_text.loads(own))
        assert b"49.90" in request.body
        assert (request.body == own) == (mode == "compact")  # compact is how events are written anyway


async def test_each_formatting_looks_as_it_is_called(client: Client) -> None:
    """Indented, members reversed, slashes escaped, a newline at the end."""
    async with hooked(client, scenario="abandoned") as business:
        for mode in ("pretty", "key_order", "escaped_slashes", "trailing_newline"):
            business.fault({"type": "formatting", "mode": mode}, times=1)
            await business.live(external_identifier="order/1")

        pretty, order, slashes, newline = [request.body for request in business.requests]
        assert pretty.startswith(b'{\n  "id": "evt_')
        assert list(json.loads(order)) == list(reversed(json.loads(pretty)))
        assert b"order\\/1" in slashes
        assert newline.endswith(b"}\n")


async def test_a_resend_has_another_body(client: Client) -> None:
    """The first attempt is true, the second has the same id and another amount, and both are signed right."""
    async with hooked(client, status(500), status(200), scenario="abandoned") as business:
        fault = business.fault({"type": "change_on_resend", "path": "data.object.amount", "value": 1})
        await business.live()
        await business.box.advance(by="1m")

        first, second = business.documents
        assert first["id"] == second["id"]
        assert [each["data"]["object"]["amount"] for each in (first, second)] == [49.9, 1]
        assert [business.verifies(request) for request in business.requests] == [True, True]
        assert [each.faults for each in business.deliveries[0].attempts] == [(), (fault.id,)]
        assert fault.fired == 1


async def test_a_body_that_another_fault_has_broken_is_left_as_it_is(client: Client) -> None:
    """Combined faults never lose an event: an unreadable body is sent as it is."""
    async with hooked(client, scenario="abandoned") as business:
        business.fault({"type": "payload", "mode": "truncated"}, compose=True)
        others: list[dict[str, Any]] = [{"type": "payload", "mode": mode} for mode in PAYLOADS if mode != "empty"]
        others += [{"type": "formatting", "mode": mode} for mode in FORMATS if mode != "trailing_newline"]
        for effect in (*others, {"type": "tamper"}):
            business.fault(effect, compose=True)
        await business.live()

        (request,) = business.requests
        assert business.deliveries[0].status == "delivered"
        assert business.deliveries[0].event.body.startswith(request.body[:100])
        assert len(business.deliveries[0].attempts[0].faults) == len(others) + 2
