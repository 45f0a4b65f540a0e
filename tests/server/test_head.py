"""HEAD answers as GET without a body, wherever GET answers (RFC 9110)."""

from __future__ import annotations

import pytest
from servers import CONTROL, Client
from wires import caller

from paydouble.api.operations import OPERATIONS, PREFIX
from paydouble.web.control.routes import ROUTES

READS = [PREFIX + each.path for each in OPERATIONS if each.method == "GET"]
CONTROLS = [CONTROL + each.path for each in ROUTES if each.method == "GET" and not each.path.endswith("/stream")]
PAGES = [f"{CONTROL}/{name}" for name in ("openapi.json", "control-openapi.json", "docs", "docs/docs.js")]
PAGES += [f"{CONTROL}/checkout/x", f"{CONTROL}/checkout/{{id}}"]
ELSEWHERE = ["/", "/nowhere", f"{PREFIX}/pay-in/deposit-creation", f"{CONTROL}/nowhere", f"{CONTROL}/sandboxes?x=1"]
# What differs between any two answers of the same kind.
OF_THE_MOMENT = {"date", "x-request-id"}

# They show the moment, and the calls before this one.
OF_ITS_OWN_LENGTH = ("/health", "/metrics", "/requests")


@pytest.mark.parametrize("path", [*READS, *CONTROLS, *PAGES, *ELSEWHERE])
@pytest.mark.parametrize("accept", ["*/*", "text/html"])
async def test_head_says_what_get_says(client: Client, path: str, accept: str) -> None:
    """The same status and the same headers, Content-Length included, and nothing after them."""
    box = await client.sandbox(id="shop", seed=7)
    pay_in = await box.deposit()
    target = path.replace("{s}", "shop").replace("{id}", pay_in["id"]).replace("{name}", "happy-path")
    url = f"http://127.0.0.1:{client.server.port}{target}"
    told = []

    for method in ("GET", "HEAD", "GET"):
        headers = {"Accept": accept, **box.credentials}
        async with client.session.request(method, url, headers=headers, allow_redirects=False) as response:
            body = await response.read()
            sent = {name.lower(): value for name, value in response.headers.items()}
            for name in OF_THE_MOMENT | ({"content-length"} if path.endswith(OF_ITS_OWN_LENGTH) else set()):
                sent.pop(name, None)
            sent.setdefault("content-length", "0")  # aiohttp leaves it out where there is nothing to announce
            told.append((response.status, sent, bool(body)))

    (status, sent, whole), head, after = told
    assert head == (status, sent, False)
    assert after == (status, sent, whole)


@pytest.mark.parametrize("path", ["/sandboxes/default/stream", "/stream"])
async def test_head_of_a_stream_ends(client: Client, path: str) -> None:
    """A stream's headers alone, and the connection is free again."""
    answer = await client.call("HEAD", f"{CONTROL}{path}")

    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/event-stream")
    assert (await client.call("GET", f"{CONTROL}/health")).status == 200


@pytest.mark.parametrize("effect", ["truncate", "wrong_content_length", "slow_body"])
async def test_a_broken_answer_to_head_has_no_body_either(client: Client, effect: str) -> None:
    """A fault on the body leaves nothing to be read here."""
    shop = await caller(client)
    shop.arm(effect)

    seen = await shop.ask("HEAD", "/pay-in")

    assert (seen.status, seen.body) == (200, b"")
