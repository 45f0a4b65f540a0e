"""Attempts that are sent in an unusual way: chunked, slowly in parts, or reset in the middle."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import pytest
import trustme
from half_requests import overhearing
from hooked import SIGNATURE, hooked
from receivers import closed_port
from servers import Client, running

from paydouble.runtime.host import HostOptions
from paydouble.server import ServerOptions

CA = trustme.CA()
PLAIN = ["Content-Length", "Content-Type", "Host", SIGNATURE]


def _tls(name: str = "127.0.0.1") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    CA.issue_cert(name).configure_cert(context)
    return context


async def test_chunked_has_no_length_and_the_same_bytes(client: Client) -> None:
    """The body comes in chunks without a Content-Length, unchanged, and verifies; the next comes with one."""
    async with hooked(client, scenario="abandoned") as business:
        fault = business.fault({"type": "chunked"}, times=1)
        await business.live()
        await business.live()

        chunked, plain = business.requests
        names = [sorted(name for name, _ in each.headers) for each in (chunked, plain)]
        assert names == [["Content-Type", "Host", "Transfer-Encoding", SIGNATURE], PLAIN]
        assert chunked.header("Transfer-Encoding") == "chunked"
        assert chunked.body == business.deliveries[0].event.body
        assert business.verifies(chunked)
        assert business.deliveries[0].attempts[0].faults == (fault.id,)


async def test_a_slow_body_takes_its_time_and_keeps_its_length(client: Client) -> None:
    """In parts over a fifth of a second, with its Content-Length and the same bytes."""
    async with hooked(client, scenario="abandoned") as business:
        business.fault({"type": "slow_body", "chunks": 4, "over": "200ms"}, times=1)
        await business.live()
        await business.live()

        slow, plain = business.requests
        assert [sorted(name for name, _ in each.headers) for each in (slow, plain)] == [PLAIN, PLAIN]
        assert slow.body == business.deliveries[0].event.body
        assert business.verifies(slow)
        outcome = business.deliveries[0].attempts[0].outcome
        assert outcome is not None
        assert outcome.latency_ms >= 190


@pytest.mark.parametrize("transport", [{"type": "chunked"}, {"type": "slow_body", "over": "20ms"}])
async def test_an_empty_body_travels_so_as_well(client: Client, transport: dict[str, str]) -> None:
    """Combined with an empty payload there is nothing to send, and it arrives."""
    async with hooked(client, scenario="abandoned") as business:
        business.fault({"type": "payload", "mode": "empty"}, compose=True)
        business.fault(transport)
        await business.live()

        assert [request.body for request in business.requests] == [b""]
        assert business.verifies(business.requests[0])
        assert business.deliveries[0].status == "delivered"


async def test_a_reset_breaks_off_in_the_middle_of_the_body(client: Client) -> None:
    """The receiver gets the whole head and half of the body, then an RST; the outcome says that a fault did it."""
    async with overhearing() as overheard:
        box = await client.sandbox(notification_url=overheard.url, scenario="abandoned")
        async with hooked(client) as business:
            business.box, business.sandbox = box, client.server.host.registry.get(box.id)
            fault = business.fault({"type": "connection_reset"})
            await business.live()
            await overheard.ended.wait()

            (delivery,) = business.deliveries
            head, _, half = overheard.data[0].partition(b"\r\n\r\n")
            lines = head.decode().split("\r\n")
            assert lines[0] == "POST /hooks?shop=1 HTTP/1.1"
            assert sorted(line.partition(":")[0] for line in lines[1:]) == PLAIN
            assert f"Content-Length: {len(delivery.event.body)}" in lines
            assert half == delivery.event.body[: len(delivery.event.body) // 2]
            assert overheard.ends == ["reset"]
            (shown,) = (await box.deliveries())[0]["attempts"]
            assert (shown["error"]["kind"], shown["faults"]) == ("reset", [fault.id])
            assert "a fault" in shown["error"]["message"]
            assert delivery.status == "waiting"


async def test_after_a_reset_the_next_attempt_arrives(client: Client) -> None:
    """A reset is a failed attempt like any other: a minute later the same bytes are sent again."""
    async with hooked(client, scenario="abandoned") as business:
        business.fault({"type": "connection_reset"}, times=1)
        await business.live()
        before = len(business.requests)
        await business.box.advance(by="1m")

        assert (before, [request.body for request in business.requests]) == (0, [business.deliveries[0].event.body])
        assert business.deliveries[0].status == "delivered"


async def test_a_reset_breaks_off_tls_as_well(tmp_path: Path) -> None:
    """Over https the half request is encrypted, after a handshake that the receiver accepted."""
    ca_file = tmp_path / "ca.pem"
    CA.cert_pem.write_to_path(str(ca_file))
    options = ServerOptions(port=0, shared=HostOptions(ca_file=ca_file))
    async with overhearing(tls=_tls()) as overheard, running(options) as client:
        box = await client.sandbox(notification_url=overheard.url, scenario="abandoned")
        await box.control("POST", "/faults", {"on": "webhooks", "effect": {"type": "connection_reset"}})
        await box.deposit()
        await box.advance(by="0s")
        await overheard.ended.wait()

        assert overheard.data[0].startswith(b"POST /hooks?shop=1 HTTP/1.1\r\n")
        assert overheard.ends == ["reset"]
        (delivery,) = await box.deliveries()
        assert delivery["attempts"][0]["error"]["kind"] == "reset"


async def test_a_reset_needs_a_certificate_that_holds(client: Client) -> None:
    """The fault skips no check: an unknown certificate is a `tls` failure, and nothing is sent."""
    async with overhearing(tls=_tls()) as overheard:
        error = await _reset_error(client, overheard.url)

        assert error["kind"] == "tls"
        assert overheard.data in ([], [b""])


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("http://169.254.169.254/x", "policy"),
        ("http://8.8.8.8/x", "policy"),
        ("http://nowhere.invalid/x", "dns"),
    ],
)
async def test_a_reset_dials_no_address_that_is_forbidden(client: Client, url: str, kind: str) -> None:
    """The target policy applies to a reset as to any attempt."""
    assert (await _reset_error(client, url))["kind"] == kind


async def test_a_reset_where_nobody_listens_is_refused(client: Client) -> None:
    """The attempt fails with `refused`, as it would have without the fault."""
    assert (await _reset_error(client, f"http://127.0.0.1:{closed_port()}/"))["kind"] == "refused"


async def test_a_reset_dials_a_name_through_the_policy(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that resolves to a public address is refused; one of this machine is connected to."""
    async with overhearing() as overheard:
        local = (await _reset_error(client, overheard.url.replace("127.0.0.1", "localhost")))["kind"]

        def lookup(host: str, port: int, *_: object, **__: object) -> list[object]:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("8.8.8.8", port))]

        monkeypatch.setattr(socket, "getaddrinfo", lookup)
        public = (await _reset_error(client, "http://rebound.test/"))["kind"]

        assert (local, public) == ("reset", "policy")


async def test_a_reset_tries_an_address_after_another(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the first address of a name refuses, the next is tried; without any address it is unreachable."""
    async with overhearing() as overheard:
        addresses = ["127.0.0.2", "127.0.0.1"]

        async def resolve(_: object, host: str, port: int, family: int) -> list[dict[str, str]]:
            return [{"hostname": host, "host": each} for each in addresses]

        monkeypatch.setattr("aiohttp.resolver.ThreadedResolver.resolve", resolve)
        second = (await _reset_error(client, overheard.url.replace("127.0.0.1", "two.test")))["kind"]
        addresses.clear()
        none = (await _reset_error(client, overheard.url.replace("127.0.0.1", "two.test")))["kind"]

        assert (second, none) == ("reset", "unreachable")


async def _reset_error(client: Client, url: str) -> dict[str, str]:
    box = await client.sandbox(notification_url=url, scenario="abandoned")
    await box.control("POST", "/faults", {"on": "webhooks", "effect": {"type": "connection_reset"}})
    await box.deposit()
    await box.advance(by="0s")
    (delivery,) = await box.deliveries()
    error: dict[str, str] = delivery["attempts"][0]["error"]
    return error
