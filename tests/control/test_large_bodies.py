"""Bodies of control calls that are deep, or have very many members: refused with a sentence, and soon."""

from __future__ import annotations

import json
import logging
from typing import NamedTuple

import pytest
from servers import CONTROL, Answer, Client

BOX = "/sandboxes/{id}"


class Call(NamedTuple):
    """A control call, and its body around the large part."""

    method: str
    path: str
    before: str
    after: str

    async def made(self, client: Client, large: str) -> Answer:
        """Make the call about a new sandbox."""
        box = await client.sandbox()
        data = f"{self.before}{large}{self.after}".encode()
        return await client.call(self.method, CONTROL + self.path.format(id=box.id), data=data)


CALLS = [
    Call("POST", f"{BOX}/requests/verify", '{"match":{"body":', "}}"),
    Call("POST", f"{BOX}/requests/wait", '{"match":{"body":', "}}"),
    Call("POST", f"{BOX}/deliveries/verify", '{"match":', "}"),
    Call("POST", f"{BOX}/faults", '{"effect":{"type":"unknown_members","members":', "}}"),
    Call("POST", f"{BOX}/faults", '{"effect":{"type":"unknown_members"},"match":', "}"),
    Call("POST", f"{BOX}/scenarios", "", ""),
    Call("POST", f"{BOX}/scenarios/happy-path/play", '{"deposit":{"metadata":', "}}"),
    Call("PUT", f"{BOX}/rate-limit", '{"limit":', "}"),
    Call("PATCH", BOX, '{"settings":{"webhooks":', "}}"),
    Call("POST", "/sandboxes", '{"settings":', "}"),
]


def deep(levels: int) -> str:
    """Return objects in one another."""
    return '{"a":' * levels + "1" + "}" * levels


@pytest.mark.parametrize("levels", [95, 101, 250, 490, 900, 5_000, 100_000])
@pytest.mark.parametrize("call", CALLS)
async def test_a_deep_body_is_no_failure_of_ours(
    call: Call, levels: int, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """However deep it is: 400 with the place, or taken, and never a traceback."""
    before = call.before
    with caplog.at_level(logging.ERROR):
        answer = await call.made(client, deep(levels))

    assert not caplog.records
    if levels > 100:
        column = len(before) + 5 * (100 - before.count("{") + before.count("}")) + 1
        assert answer.error == (400, "invalid", None)
        message = f"The body is not valid JSON: nested more than 100 levels deep at line 1, column {column}."
        assert answer.document["error"]["message"] == message
    else:
        assert answer.status in {200, 201, 400}


@pytest.mark.parametrize(
    ("levels", "shown"),
    [
        (95, json.loads('{"a":' * 94 + "1" + "}" * 94)),
        (101, json.loads('{"a":' * 100 + "1" + "}" * 100)),
        (254, "(nested too deeply to be shown)"),
        (300, None),
        (900, None),
    ],
    ids=["shown", "as deep as shown", "too deep to be shown", "no JSON of ours", "no JSON at all"],
)
async def test_a_deep_body_in_the_journal_can_be_asked_about(levels: int, shown: object, client: Client) -> None:
    """A body that the API has refused for its depth can still be verified and listed."""
    box = await client.sandbox()
    key = "00000000-0000-4000-8000-000000000001"
    headers = {**box.credentials, "Idempotency-Key": key}
    sent = await client.call("POST", "/api/v1/pay-in/deposit-creation", data=deep(levels).encode(), headers=headers)

    answer = await box.control("POST", "/requests/verify", {"match": {"body": {"a": 5}}})

    assert (sent.status, answer.status) == (400, 200)
    (miss,) = answer.document["closest"]
    (difference,) = miss["differences"]
    assert difference["got"] == shown


@pytest.mark.parametrize("call", CALLS)
async def test_a_body_of_very_many_values_is_refused(call: Call, client: Client) -> None:
    """A model would tell of each of them."""
    members = ",".join(f'"member-{number}":0' for number in range(50_001))
    answer = await call.made(client, f"{{{members}}}")

    assert answer.error == (400, "invalid", None)
    assert answer.document["error"]["message"] == "The body has more than 50000 values."
