"""Allowed targets: decided by the addresses to connect to. No test here connects to a foreign host."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

import aiohappyeyeballs
import pytest
from aiohttp.abc import ResolveResult
from aiohttp.resolver import ThreadedResolver
from receivers import receiving
from servers import Client


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the foreign addresses that would be connected to; each connection is refused instead."""
    addresses: list[str] = []
    dial = aiohappyeyeballs.start_connection

    async def refuse(addr_infos: Sequence[Any], **rest: Any) -> socket.socket:  # noqa: ANN401 - passed on as it is
        if all(info[4][0] == "127.0.0.1" for info in addr_infos):
            return await dial(addr_infos, **rest)  # the calls of the test itself
        addresses.extend(info[4][0] for info in addr_infos)
        raise ConnectionRefusedError

    monkeypatch.setattr(aiohappyeyeballs, "start_connection", refuse)
    return addresses


def _resolve_to(monkeypatch: pytest.MonkeyPatch, *answers: Sequence[str]) -> None:
    """Make the system's resolver return these addresses, one answer per look-up, then the last one again."""
    left = list(answers)

    async def resolve(_: ThreadedResolver, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        addresses = left.pop(0) if len(left) > 1 else left[0]
        return [
            ResolveResult(hostname=host, host=each, port=port, family=_family(each), proto=0, flags=0)
            for each in addresses
        ]

    monkeypatch.setattr(ThreadedResolver, "resolve", resolve)


def _family(address: str) -> int:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


async def _outcome(client: Client, url: str, **webhooks: object) -> str:
    box = await client.sandbox(notification_url=url, scenario="abandoned", settings={"webhooks": webhooks})
    await box.deposit()
    await box.advance(by="0s")
    (delivery,) = await box.deliveries()
    (attempt,) = delivery["attempts"]
    kind: str = attempt["error"]["kind"]
    return kind


NEVER = [
    "169.254.169.254",
    "169.254.0.1",
    "[fe80::1]",
    "[fd00:ec2::254]",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    "[::ffff:169.254.169.254]",
    "[64:ff9b::169.254.169.254]",
    "[64:ff9b:1::169.254.169.254]",
    "[2002:a9fe:a9fe::]",
    "0.0.0.0",  # noqa: S104 - a target, not bound to
    "[::]",
    "224.0.0.1",
    "255.255.255.255",
    "2852039166",
    "169.16689662",
]
PUBLIC = ["192.88.99.1", "[2620:0:2d0:200::7]", "[::ffff:192.88.99.1]", "100.64.0.1"]
# Documentation, benchmarking, Teredo and other special ranges; `ipaddress.is_private` is true for most of them.
NOT_PRIVATE = [
    "192.0.2.1",
    "198.51.100.1",
    "203.0.113.9",
    "198.18.0.1",
    "198.19.255.254",
    "192.0.0.1",
    "0.1.2.3",
    "[2001:0:1::1]",
    "[2001:2::1]",
    "[2001:db8::1]",
    "[3fff::1]",
    "[fec0::1]",
    "[::ffff:198.18.0.1]",
    "[2002:c612:1::]",
    "[64:ff9b::192.0.2.1]",
]
PRIVATE = [
    "10.1.2.3",
    "172.16.0.9",
    "172.31.255.254",
    "192.168.1.1",
    "[fd12:3456::1]",
    "[::ffff:10.1.2.3]",
    "127.9.9.9",
]


@pytest.mark.parametrize("host", NEVER)
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_some_addresses_are_never_a_target(client: Client, dialled: list[str], host: str, scheme: str) -> None:
    """Link-local, metadata and host-less addresses are refused in every spelling, with public targets allowed too."""
    outcome = await _outcome(client, f"{scheme}://{host}/", allow_public_targets=True)

    assert (outcome in {"policy", "bad_url"}, dialled) == (True, [])


@pytest.mark.parametrize("host", PUBLIC + NOT_PRIVATE)
async def test_public_addresses_are_refused_by_default(client: Client, dialled: list[str], host: str) -> None:
    """Addresses that are neither loopback nor private are refused unless a setting allows them."""
    assert (await _outcome(client, f"https://{host}/"), dialled) == ("policy", [])


@pytest.mark.parametrize("host", PUBLIC)
async def test_allowed_public_targets_need_https(client: Client, dialled: list[str], host: str) -> None:
    """With `allow_public_targets` a public address is allowed for https, and still refused for http."""
    assert (await _outcome(client, f"http://{host}/", allow_public_targets=True), dialled) == ("policy", [])
    assert await _outcome(client, f"https://{host}/", allow_public_targets=True) == "refused"
    assert list(map(ip_address, dialled)) == [ip_address(host.strip("[]"))]


@pytest.mark.parametrize("host", PRIVATE)
async def test_private_addresses_are_targets(client: Client, dialled: list[str], host: str) -> None:
    """Private addresses are allowed for plain http, because the code under test runs there."""
    assert await _outcome(client, f"http://{host}/") == "refused"
    assert list(map(ip_address, dialled)) == [ip_address(host.strip("[]"))]


@pytest.mark.parametrize("address", ["169.254.169.254", "fe80::1%2", "::ffff:169.254.169.254", "192.88.99.1"])
async def test_a_name_is_checked_by_its_addresses(
    client: Client, dialled: list[str], monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """A name with a forbidden address is refused like that address."""
    _resolve_to(monkeypatch, [address])

    assert (await _outcome(client, "http://shop.test/"), dialled) == ("policy", [])


@pytest.mark.parametrize("address", ["0.250.250.254", "192.0.2.1"])
async def test_the_containers_machine_may_have_any_hosts_address(
    client: Client, dialled: list[str], monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """`host.docker.internal` is allowed with any address, because some engines do not use a private one."""
    _resolve_to(monkeypatch, [address])

    assert (await _outcome(client, "http://host.docker.internal/"), dialled) == ("refused", [address])


@pytest.mark.parametrize("address", ["169.254.169.254", "fd00:ec2::254", "224.0.0.1"])
async def test_the_containers_machine_is_never_link_local(
    client: Client, dialled: list[str], monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """The name does not allow addresses that are never a target."""
    _resolve_to(monkeypatch, [address])

    assert (await _outcome(client, "http://host.docker.internal/"), dialled) == ("policy", [])


async def test_only_the_permitted_addresses_of_a_name_are_used(
    client: Client, dialled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a name with several addresses the forbidden ones are left out."""
    _resolve_to(monkeypatch, ["169.254.169.254", "10.1.2.3", "192.88.99.1"])

    assert (await _outcome(client, "http://shop.test/"), dialled) == ("refused", ["10.1.2.3"])


async def test_a_name_is_checked_at_each_look_up(
    client: Client, dialled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is private at one attempt and link-local at the next is refused at the next."""
    _resolve_to(monkeypatch, ["10.1.2.3"], ["169.254.169.254"])
    box = await client.sandbox(notification_url="http://shop.test/", scenario="abandoned")
    await box.deposit()
    await box.advance(by="1m")

    (delivery,) = await box.deliveries()
    assert [attempt["error"]["kind"] for attempt in delivery["attempts"]] == ["refused", "policy"]
    assert dialled == ["10.1.2.3"]


async def test_require_https_refuses_plain_http(client: Client) -> None:
    """With `require_https` an http target is refused before anything is sent, even on loopback."""
    async with receiving() as receiver:
        assert await _outcome(client, receiver.url, require_https=True) == "policy"
        assert receiver.connections == 0


async def test_a_name_of_this_machine_is_a_target(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that resolves to loopback is allowed, and `Host` has that name."""
    _resolve_to(monkeypatch, ["127.0.0.1"])
    async with receiving() as receiver:
        url = f"http://host.docker.internal:{receiver.port}/"
        box = await client.sandbox(notification_url=url, scenario="abandoned")
        await box.deposit()
        await box.advance(by="0s")

        (delivery,) = await box.deliveries()
        assert delivery["status"] == "delivered"
        assert receiver.requests[0].header("Host") == f"host.docker.internal:{receiver.port}"
