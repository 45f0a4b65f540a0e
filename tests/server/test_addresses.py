"""Every URL in an answer works for the client that gets it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from drive import deposit_body, key
from servers import CONTROL, Box, Client, running

from paydouble.core.errors import UsageError
from paydouble.server import Server, ServerOptions
from paydouble.testing import Paydouble

Headers = dict[str, str]
DEPOSITS = "/api/v1/pay-in/deposit-creation"


@asynccontextmanager
async def forwarded(port: int) -> AsyncIterator[int]:
    """Forward another port to a server's, as a container engine does: bytes both ways, unread."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                writer.write(data)
        finally:
            writer.close()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(copy(reader, far_writer), copy(far_reader, writer), return_exceptions=True)

    mapped = await asyncio.start_server(connect, "127.0.0.1", 0)
    try:
        yield mapped.sockets[0].getsockname()[1]
    finally:
        mapped.close()


def addresses(document: object) -> set[str]:
    """Return the origin of every URL of this server in an answer."""
    return set(re.findall(r'"(https?://[^"/]+)(?:/[^"]*)?/(?:api/v1|_paydouble)\b', json.dumps(document)))


async def told(client: Client, headers: Headers, *, port: int | None = None) -> dict[str, set[str]]:
    """Return the addresses in each kind of answer to a client that sends these headers."""
    box = Box(client, (await client.call("GET", f"{CONTROL}/sandboxes/default", port=port)).document)
    sent = {**box.credentials, **headers, "Idempotency-Key": key(next(client.keys))}
    made = await client.call("POST", DEPOSITS, deposit_body(), headers=sent, port=port)
    pay_in = made.document["data"]["id"]
    reads = {
        "retrieval": f"/api/v1/pay-in/{pay_in}",
        "list": "/api/v1/pay-in",
        "sandbox": f"{CONTROL}/sandboxes/default",
        "sandboxes": f"{CONTROL}/sandboxes",
        "pay-in": f"{CONTROL}/sandboxes/default/pay-ins/{pay_in}",
        "pay-ins": f"{CONTROL}/sandboxes/default/pay-ins",
    }
    found = {"creation": addresses(made.document)}
    for name, path in reads.items():
        found[name] = addresses(
            (await client.call("GET", path, headers={**box.credentials, **headers}, port=port)).document
        )
    described = (await client.call("GET", f"{CONTROL}/openapi.json", headers=headers, port=port)).document
    found["document"] = {server["url"] for server in described["servers"]}
    return found


def everywhere(origin: str) -> dict[str, set[str]]:
    """Return what `told` gives when all answers name one address."""
    kinds = ("creation", "retrieval", "list", "sandbox", "sandboxes", "pay-in", "pay-ins", "document")
    return {kind: {origin} for kind in kinds}


async def test_a_mapped_port_leads_back_to_itself(client: Client) -> None:
    """Behind another port every address in an answer has that port, and each of them answers."""
    async with forwarded(client.server.port) as port, aiohttp.ClientSession() as session:
        outside = Client(client.server, session)

        assert await told(outside, {}, port=port) == everywhere(f"http://127.0.0.1:{port}")

        made = await outside.call("POST", f"{CONTROL}/sandboxes", {}, port=port)
        shop = Box(outside, made.document)
        headers = {**shop.credentials, "Idempotency-Key": key(1)}
        async with session.post(
            f"{made.document['base_url']}/pay-in/deposit-creation", json=deposit_body(), headers=headers
        ) as response:
            page = (await response.json())["data"]["payment_url"]
        async with session.get(page) as response:
            assert (page.startswith(f"http://127.0.0.1:{port}/"), response.status) == (True, 200)


async def test_the_python_handle_follows_a_mapped_port(client: Client) -> None:
    """A test that connects through the mapped port gets a sandbox that it can reach."""
    async with forwarded(client.server.port) as port:

        def base_url() -> str:
            with Paydouble.connect(f"http://127.0.0.1:{port}") as server:
                return server.sandbox().base_url

        assert await asyncio.to_thread(base_url) == f"http://127.0.0.1:{port}/api/v1"


OWN = {
    "localhost:9000": "http://localhost:9000",
    "LocalHost:9000": "http://localhost:9000",
    "paydouble": "http://paydouble",
    "paydouble:80": "http://paydouble",
    "host.docker.internal:8080": "http://host.docker.internal:8080",
    "192.0.2.7:9000": "http://192.0.2.7:9000",
    "[::1]:9000": "http://[::1]:9000",
    "pay.test": "http://pay.test",
}


@pytest.mark.parametrize(("host", "origin"), OWN.items())
async def test_a_host_of_ours_is_repeated(host: str, origin: str) -> None:
    """The names that control calls may use are those that answers repeat."""
    async with running(ServerOptions(port=0, allowed_hosts=("Pay.Test",))) as client:
        assert await told(client, {"Host": host}) == everywhere(origin)


HOSTILE = [
    "evil.test",
    "evil.test:80",
    "user@127.0.0.1",
    "127.0.0.1:99999",
    "127.0.0.1:x",
    '"><script>alert(1)</script>',
    "a b",
    "a/../b",
    "a?b",
    "a#b",
    "a\\b",
    "[::1",
    "[a:b]",
    "[fe80::1%eth0]",
    "localhost.",
    "-",
    "é",
]


@pytest.mark.parametrize("host", HOSTILE)
async def test_a_foreign_host_is_not_repeated(client: Client, host: str) -> None:
    """An invented host is in no answer; the API answers with the address that was bound."""
    box = await client.sandbox()
    headers = {**box.credentials, "Host": host, "Idempotency-Key": key(1)}

    made = await client.call("POST", DEPOSITS, deposit_body(), headers=headers)
    control = await client.call("GET", f"{CONTROL}/sandboxes/{box.id}", headers={"Host": host})

    assert addresses(made.document) == {client.server.base_url}
    assert control.status == 403 or addresses(control.document) == {client.server.base_url}


async def test_many_hosts_are_not_kept(client: Client) -> None:
    """However many names a client invents, the server keeps few of them and answers each."""
    box = await client.sandbox()
    for number in range(600):
        client.server.addresses.reached({"Host": f"name-{number}"}, None, at_control=False)

    answer = await client.call("GET", f"{CONTROL}/sandboxes/{box.id}", headers={"Host": "name-1"})

    assert answer.document["base_url"] == "http://name-1/api/v1"
    assert len(client.server.addresses._kept) <= 256  # noqa: SLF001 - what is bounded is what nobody else sees


async def test_a_replay_is_the_first_answer(client: Client) -> None:
    """A stored answer is sent again byte for byte, also to a client that uses another address."""
    box = await client.sandbox()
    sent = {**box.credentials, "Idempotency-Key": key(1)}

    answers = [
        await client.call("POST", DEPOSITS, deposit_body(), headers={**sent, "Host": host}) for host in ("one", "other")
    ]

    assert answers[0].document == answers[1].document
    assert addresses(answers[1].document) == {"http://one"}


FORWARDED: list[tuple[Headers, str]] = [
    ({"X-Forwarded-Host": "pay.test", "X-Forwarded-Proto": "https"}, "https://pay.test"),
    ({"X-Forwarded-Host": "pay.test:8443", "X-Forwarded-Proto": "HTTPS"}, "https://pay.test:8443"),
    ({"X-Forwarded-Host": "pay.test", "X-Forwarded-Proto": "https", "X-Forwarded-Port": "443"}, "https://pay.test"),
    ({"X-Forwarded-Host": "pay.test", "X-Forwarded-Port": "9000"}, "http://pay.test:9000"),
    ({"X-Forwarded-Host": "evil.test, pay.test", "X-Forwarded-Proto": "http, https"}, "https://pay.test"),
    ({"Host": "pay.test", "X-Forwarded-Proto": "https"}, "https://pay.test"),
    ({"Host": "pay.test", "X-Forwarded-Proto": "gopher"}, "http://pay.test"),
    ({"Host": "pay.test", "X-Forwarded-Port": "9000"}, "http://pay.test:9000"),
]


@pytest.mark.parametrize(("headers", "origin"), FORWARDED)
async def test_a_trusted_proxy_is_believed(headers: Headers, origin: str) -> None:
    """Answers use the host that a trusted proxy reports."""
    options = ServerOptions(port=0, allowed_hosts=("pay.test",), trust_forwarded=("127.0.0.0/8",))
    async with running(options) as client:
        assert await told(client, headers) == everywhere(origin)


async def test_a_page_behind_a_trusted_proxy_may_make_control_calls() -> None:
    """Its origin is compared with the host that the browser has requested, not with the proxy's name for the server."""
    options = ServerOptions(port=0, allowed_hosts=("pay.test",), trust_forwarded=("127.0.0.1",))
    headers = {"X-Forwarded-Host": "pay.test", "X-Forwarded-Proto": "https", "X-Forwarded-Port": "443"}
    async with running(options) as client:
        own = await client.call("GET", f"{CONTROL}/sandboxes", headers={**headers, "Origin": "https://pay.test"})
        foreign = await client.call("GET", f"{CONTROL}/sandboxes", headers={**headers, "Origin": "https://evil.test"})
        rebound = await client.call("GET", f"{CONTROL}/sandboxes", headers={"X-Forwarded-Host": "evil.test"})

    assert (own.status, foreign.error[1], rebound.error[1]) == (200, "foreign_origin", "foreign_host")


@pytest.mark.parametrize("trusted", [(), ("192.0.2.0/24",)])
async def test_nobody_else_is_believed(trusted: tuple[str, ...]) -> None:
    """Without trust, or from another address, the headers of a proxy change nothing."""
    options = ServerOptions(port=0, allowed_hosts=("pay.test",), trust_forwarded=trusted)
    async with running(options) as client:
        expected = everywhere(client.server.base_url)

        assert await told(client, FORWARDED[0][0]) == expected


@pytest.mark.parametrize(
    "public", ["https://pay.example.test", "http://pay.example.test:9000/", "https://x.test/double"]
)
async def test_a_public_url_stands_in_every_answer(public: str) -> None:
    """It has precedence over every header, and its host is one of the server's names."""
    async with running(ServerOptions(port=0, public_url=public, trust_forwarded=("127.0.0.1",))) as client:
        found = await told(client, {"X-Forwarded-Host": "localhost"})
        name = public.split("/")[2]
        control = await client.call("GET", f"{CONTROL}/health", headers={"Host": name})

    assert control.status == 200
    assert found["document"] == {public.rstrip("/")}
    assert {each for urls in found.values() for each in urls} <= {public.rstrip("/"), "/".join(public.split("/")[:3])}


async def test_two_ports_lead_to_each_other() -> None:
    """Each side's own address is the requested one; the other's is the bound port at the same host."""
    async with running(ServerOptions(port=0, control_port=0)) as client:
        server = client.server
        box = Box(client, (await client.control("GET", "/sandboxes/default")).document)
        headers = {**box.credentials, "Host": "shop:9000", "Idempotency-Key": key(1)}
        made = await client.call("POST", DEPOSITS, deposit_body(), headers=headers)
        shown = await client.call(
            "GET", f"{CONTROL}/sandboxes/default", headers={"Host": "shop:9001"}, port=server.control_port
        )

    assert addresses(made.document) == {f"http://shop:{server.control_port}"}
    assert shown.document["base_url"] == f"http://shop:{server.port}/api/v1"


async def test_a_public_url_says_nothing_of_a_control_port() -> None:
    """With a separate control port, pages for payers are at the public host and that port."""
    async with running(ServerOptions(port=0, control_port=0, public_url="https://pay.test:444")) as client:
        box = Box(client, (await client.control("GET", "/sandboxes/default")).document)
        pay_in = await box.deposit()

    assert box.document["base_url"] == "https://pay.test:444/api/v1"
    assert pay_in["payment_url"].startswith(f"http://pay.test:{client.server.control_port}/_paydouble/checkout/")


async def test_a_played_scenario_leads_back_as_well(client: Client) -> None:
    """A pay-in that a control call makes or moves has its page at the address of that call's client."""
    headers = {"Host": "shop:9000"}
    path = f"{CONTROL}/sandboxes/default"

    played = await client.call("POST", f"{path}/scenarios/abandoned/play", {}, headers=headers)
    moved = await client.call(
        "POST", f"{path}/pay-ins/{played.document['id']}/transition", {"to": "pending"}, headers=headers
    )

    assert [addresses(played.document), addresses(moved.document)] == [{"http://shop:9000"}] * 2


async def test_a_client_without_a_host_gets_the_address_that_was_bound(client: Client) -> None:
    """HTTP/1.0 needs no Host."""
    reader, writer = await asyncio.open_connection("127.0.0.1", client.server.port)
    box = Box(client, (await client.control("GET", "/sandboxes/default")).document)
    await box.deposit()
    writer.write(f"GET /api/v1/pay-in HTTP/1.0\r\nAuthorization: {box.credentials['Authorization']}\r\n\r\n".encode())
    body = (await reader.read()).partition(b"\r\n\r\n")[2]
    writer.close()

    assert addresses(json.loads(body)) == {client.server.base_url}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"public_url": "pay.test"}, r"^--public-url: 'pay.test' is not a URL such as https"),
        ({"public_url": "ftp://pay.test"}, "^--public-url: "),
        ({"public_url": "http://"}, "^--public-url: "),
        ({"public_url": "http://["}, "^--public-url: "),
        ({"public_url": "http://a:99999"}, "^--public-url: "),
        ({"public_url": "http://user@a"}, "^--public-url: "),
        ({"public_url": "http://a?b"}, "^--public-url: "),
        ({"public_url": "http://a b"}, "^--public-url: "),
        ({"trust_forwarded": ("proxy",)}, "^--trust-forwarded: 'proxy' is neither an address nor a network"),
    ],
)
def test_what_cannot_be_an_address_is_refused(options: dict[str, Any], message: str) -> None:
    """One line names the option and what is allowed."""
    with pytest.raises(UsageError, match=message):
        Server(ServerOptions(**options))
