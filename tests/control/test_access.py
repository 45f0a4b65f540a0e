"""Who may make control calls: holders of the token, and no page of another site."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import pytest
from servers import CONTROL, Answer, Client, running

from paydouble.core.errors import UsageError
from paydouble.server import Server, ServerOptions


@pytest.fixture
async def guarded() -> AsyncIterator[Client]:
    """Give a client of a server that wants a token and knows one more host."""
    async with running(ServerOptions(port=0, control_token="t0k€n", allowed_hosts=("Pay.Test",))) as client:
        yield client


async def _list(client: Client, headers: Mapping[str, str]) -> Answer:
    return await client.call("GET", f"{CONTROL}/sandboxes", headers=headers)


@pytest.mark.parametrize(
    ("given", "says"),
    [(None, "is missing"), ("Bearer wrong", "is wrong"), ("t0k€n", "is wrong"), ("Basic t0k€n", "is wrong")],
)
async def test_a_call_without_the_token_is_refused(guarded: Client, given: str | None, says: str) -> None:
    """Without exactly the token a call is 401, says which scheme is wanted, and does nothing."""
    answer = await _list(guarded, {"Authorization": given} if given else {})

    assert answer.error == (401, "unauthorized", None)
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert f"The control token {says};" in answer.document["error"]["message"]


async def test_the_token_opens(guarded: Client) -> None:
    """`Authorization: Bearer` with the token lets a call through."""
    assert (await _list(guarded, {"Authorization": "Bearer t0k€n"})).status == 200


async def test_health_needs_no_token(guarded: Client) -> None:
    """An orchestrator may ask whether the server is well."""
    assert (await guarded.control("GET", "/health")).document["status"] == "ok"


async def test_the_api_needs_no_control_token(guarded: Client) -> None:
    """The token guards control calls alone."""
    assert (await guarded.call("GET", "/api/v1/pay-in")).status == 401


OWN = ["127.0.0.1", "127.0.0.1:8080", "[::1]:8080", "localhost", "LOCALHOST:1", "paydouble", "host.docker.internal:80"]
FOREIGN = ["evil.test", "evil.test:8080", "127.0.0.1.evil.test", "localhost.", "", "user@127.0.0.1.x", "[::1"]


@pytest.mark.parametrize("host", OWN)
async def test_own_names_may_call(client: Client, host: str) -> None:
    """Addresses, single labels and Docker's name for the host are names of ours."""
    assert (await _list(client, {"Host": host})).status == 200


@pytest.mark.parametrize("host", FOREIGN)
async def test_a_foreign_name_is_rebinding(client: Client, host: str) -> None:
    """A page whose own domain was pointed at us sends that domain as Host, and is refused."""
    assert (await _list(client, {"Host": host})).error == (403, "foreign_host", None)


async def test_a_configured_name_may_call(guarded: Client) -> None:
    """`allowed_hosts` adds names, in any case of letters."""
    headers = {"Authorization": "Bearer t0k€n"}

    assert (await _list(guarded, {**headers, "Host": "pay.test:8080"})).status == 200
    assert (await _list(guarded, {**headers, "Host": "x.pay.test"})).status == 403


# What cannot even be taken apart.
NO_ORIGINS = ["http://[", "http://[::1", "http://[x]/", "//[", ""]


@pytest.mark.parametrize(
    "origin", ["https://evil.test", "null", "http://127.0.0.1:1", "http://localhost", "file://", *NO_ORIGINS]
)
async def test_a_foreign_origin_is_refused(client: Client, origin: str) -> None:
    """A page of another origin may not steer the double, even by a call without preflight."""
    headers = {"Host": f"127.0.0.1:{client.server.port}", "Origin": origin}

    assert (await _list(client, headers)).error == (403, "foreign_origin", None)


async def test_our_own_pages_may_call(client: Client) -> None:
    """A page that we served has our origin."""
    host = f"127.0.0.1:{client.server.port}"

    assert (await _list(client, {"Host": host, "Origin": f"http://{host}"})).status == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "pay.test", ""])  # noqa: S104 - refused, not bound
def test_a_reachable_address_needs_a_token(host: str) -> None:
    """Control calls from other machines need a token, or the word that none is meant."""
    with pytest.raises(UsageError, match=r"^--host: .* set --control-token, or --insecure-control"):
        Server(ServerOptions(host=host))

    assert Server(ServerOptions(host=host, control_token="t")).options.host == host
    assert Server(ServerOptions(host=host, insecure_control=True)).options.host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "::1", "localhost"])
def test_loopback_needs_no_token(host: str) -> None:
    """What only this machine reaches needs none."""
    assert Server(ServerOptions(host=host)).options.host == host
