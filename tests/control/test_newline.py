"""The last byte of an answer: a shell's prompt must not stick to what `curl` has printed."""

from __future__ import annotations

import json

import pytest
from servers import CONTROL, Client, exchange

CALLS = [
    ("GET", "/health", "", 200),
    ("GET", "/sandboxes", "", 200),
    ("POST", "/sandboxes", '{"id": "fresh"}', 201),
    ("POST", "/sandboxes/default/requests/verify", "{}", 200),
    ("POST", "/sandboxes/default/faults", "{}", 400),
    ("GET", "/sandboxes/nobody", "", 404),
    ("GET", "/nothing", "", 404),
    ("PUT", "/health", "", 405),
    ("GET", "/openapi.json", "", 200),
    ("GET", "/control-openapi.json", "", 200),
]


def asked(method: str, path: str, body: str) -> bytes:
    """Return a request as it goes over the wire."""
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


@pytest.mark.parametrize(("method", "path", "body", "status"), CALLS)
async def test_a_control_answer_ends_with_one_newline(
    client: Client, method: str, path: str, body: str, status: int
) -> None:
    """Whatever it says; the next answer of the connection begins right behind it."""
    call = asked(method, CONTROL + path, body)

    both = await exchange(client.server.port, call + asked("GET", f"{CONTROL}/health", ""), answers=2)
    answer, _, following = both.removeprefix(b"HTTP/1.1 ").partition(b"HTTP/1.1 ")

    text = answer.partition(b"\r\n\r\n")[2]
    assert answer.startswith(str(status).encode())
    assert isinstance(json.loads(text), dict)
    assert text.endswith(b"}\n")
    assert text.count(b"\n") == 1
    assert following.startswith(b"200")


async def test_the_service_s_own_answers_stay_as_they_are(client: Client) -> None:
    """What a real service would not send is not sent."""
    answer = await exchange(client.server.port, asked("GET", "/api/v1/pay-in", ""))

    assert answer.endswith(b"}")
