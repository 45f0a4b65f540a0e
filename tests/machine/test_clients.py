"""A merchant's own HTTP client in a play: requests, httpx with and without async, and aiohttp."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import pytest
import requests
from bugzoo.adapter import ZooMerchant
from bugzoo.client import Client

from paydouble import Sandbox
from paydouble.faults.model import parse_fault
from paydouble.guards.credentials import basic_header
from paydouble.inprocess import InProcess
from paydouble.stateful import Answer, MerchantBug, Play
from paydouble.stateful.catalogue_run import CatalogueRun
from paydouble.stateful.requests_adapter import RequestsAdapter
from paydouble.stateful.service import Response, Service
from paydouble.stateful.steps import CataloguePlay, step
from paydouble.stateful.troubles import POST_TROUBLES, documents_of
from paydouble.stateful.verdicts import ProcessKilled, Runaway
from paydouble.testing.aiohttp_connector import SandboxConnector
from paydouble.testing.transports import AsyncHttpxTransport, HttpxTransport

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "prepare-a-shop.md"
Send = Callable[[Any, str, str, Mapping[str, str], bytes], Answer]


def by_requests(service: Any, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:  # noqa: ANN401
    """Send with requests."""
    with requests.Session() as session:
        session.mount("http://", RequestsAdapter(service))
        try:
            answer = session.request(method, url, headers=headers, data=body, timeout=30, allow_redirects=False)
        except requests.Timeout as error:
            raise TimeoutError from error
        except requests.ConnectionError as error:
            raise ConnectionError from error
        return Response(answer.status_code, answer.headers, answer.content)  # type: ignore[arg-type]


def by_httpx(service: Any, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:  # noqa: ANN401
    """Send with httpx."""
    with httpx.Client(transport=HttpxTransport(service), timeout=30) as client:
        try:
            answer = client.request(method, url, headers=headers, content=body)
        except httpx.TimeoutException as error:
            raise TimeoutError from error
        except httpx.TransportError as error:
            raise ConnectionError from error
        return Response(answer.status_code, answer.headers, answer.content)  # type: ignore[arg-type]


def by_async_httpx(service: Any, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:  # noqa: ANN401
    """Send with httpx in a loop of its own."""

    async def send() -> httpx.Response:
        async with httpx.AsyncClient(transport=AsyncHttpxTransport(service), timeout=30) as client:
            return await client.request(method, url, headers=headers, content=body)

    try:
        answer = asyncio.run(send())
    except httpx.TimeoutException as error:
        raise TimeoutError from error
    except httpx.TransportError as error:
        raise ConnectionError from error
    return Response(answer.status_code, answer.headers, answer.content)  # type: ignore[arg-type]


def by_aiohttp(service: Any, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:  # noqa: ANN401
    """Send with aiohttp in a loop of its own."""

    async def send() -> Answer:
        timeout = aiohttp.ClientTimeout(total=30)
        async with (
            aiohttp.ClientSession(connector=SandboxConnector(service), timeout=timeout) as session,
            session.request(method, url, headers=headers, data=body, allow_redirects=False) as answer,
        ):
            return Response(answer.status, answer.headers, await answer.read())

    try:
        return asyncio.run(send())
    except TimeoutError:
        raise
    except aiohttp.ClientError as error:
        raise ConnectionError from error


def adapter(send: Send) -> type[ZooMerchant]:
    """Return the correct merchant with another HTTP client; what it calls must not be entered twice."""

    class Sends(Client):
        def send(self, method: str, path: str, key: str | None = None, body: bytes = b"") -> Answer:
            headers = {"Authorization": self.authorization}
            if key is not None:
                headers |= {"Idempotency-Key": key, "Content-Type": "application/json"}
            return send(self.service, method, f"{self.service.base_url}/api/v1{path}", headers, body)

    return type("ShopAdapter", (ZooMerchant,), {"client_part": Sends, "interleaves": False})


@pytest.mark.parametrize("send", [by_requests, by_httpx, by_async_httpx, by_aiohttp])
@pytest.mark.parametrize("trouble", POST_TROUBLES)
def test_a_merchant_keeps_its_own_client(send: Send, trouble: str) -> None:
    """Every trouble reaches it as its client's own error or answer, and it survives."""
    with Play(adapter(send)) as play:
        play.order()
        play.pay(1, trouble)
        play.wait("10s")
        assert play.trials[1][:2] == ("POST", trouble)


def test_a_whole_catalogue_goes_through_a_client() -> None:
    """A new key after a lost reply is found there as well."""

    class NewKey(adapter(by_requests).client_part):  # type: ignore[misc]
        def key_for(self, key: str, attempt: int) -> str:
            return key[:-1] + str(attempt)

    merchant = type("ShopAdapter", (adapter(by_requests),), {"client_part": NewKey})
    with pytest.raises(MerchantBug, match="took a new Idempotency-Key"):
        CatalogueRun(merchant).one(CataloguePlay((step("order"), step("pay", 1, "reply lost"))))


@pytest.mark.parametrize("prefix", ["", "/api/v1"])
@pytest.mark.parametrize("send", [by_requests, by_httpx, by_async_httpx, by_aiohttp])
def test_the_base_url_ends_with_the_prefix(send: Send, prefix: str) -> None:
    """A path is put behind it; a client that adds the prefix itself can be given the same URL."""
    service = Service(InProcess(shares_clock=True), lambda _rule, text: pytest.fail(text))
    headers = {"Authorization": basic_header(service.business_key, service.business_secret)}

    answer = send(service, "GET", f"{service.base_url}{prefix}/pay-in", headers, b"")

    assert service.base_url == Sandbox().base_url == "http://paydouble.test/api/v1"
    assert answer.status == 200


@pytest.mark.parametrize("interrupted", [ProcessKilled, Runaway])
def test_what_ends_a_merchant_passes_through_aiohttp(interrupted: type[BaseException]) -> None:
    """It is raised where the merchant waits for its answer, and does not stay in a task of the connector."""

    class Dies:
        def call(self, *_: object) -> Answer:
            raise interrupted

    with pytest.raises(interrupted):
        by_aiohttp(Dies(), "GET", "http://paydouble.test/api/v1/pay-in", {}, b"")


def test_requests_ask_a_sandbox() -> None:
    """The same adapter takes one: nothing is added to a request, and a lost answer raises what requests raises."""
    box = Sandbox()
    session = requests.Session()
    session.mount("http://", RequestsAdapter(box))
    listed = session.get(f"{box.base_url}/pay-in", params={"limit": "5"}, auth=box.auth)
    refused = session.get(f"{box.base_url}/pay-in")
    box.faults.add("no_response")
    with pytest.raises(requests.ReadTimeout):
        session.get(f"{box.base_url}/pay-in", auth=box.auth, timeout=3)
    box.down()
    with pytest.raises(requests.ConnectionError):
        session.get(f"{box.base_url}/pay-in", auth=box.auth)
    session.close()

    assert (listed.status_code, listed.json()["data"]["items"], refused.status_code) == (200, [], 401)
    assert box.requests[0].target == "/api/v1/pay-in?limit=5"


def test_requests_without_a_session_use_the_adapter_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the line that the page about preparing a shop has; there `close` puts the old method back."""
    line = "requests.Session.get_adapter = lambda _, url: RequestsAdapter(service)"
    assert line in PAGE.read_text("utf-8")
    monkeypatch.setattr(requests.Session, "get_adapter", requests.Session.get_adapter)
    service = Sandbox()

    exec(line, {"requests": requests, "RequestsAdapter": RequestsAdapter, "service": service})  # noqa: S102 - the page's

    assert requests.get(f"{service.base_url}/pay-in", auth=service.auth, timeout=1).status_code == 200


def test_what_requests_and_httpx_raise() -> None:
    """A reset, a cut reply and a late one, each as the client's own error; texts and tuples are taken."""
    double = InProcess(shares_clock=True)
    service = Service(double, lambda _rule, text: pytest.fail(text))
    session = requests.Session()
    session.mount("http://", RequestsAdapter(service))
    client = httpx.Client(transport=HttpxTransport(service))
    url = f"{service.base_url}/api/v1/pay-in"
    auth = (service.business_key, service.business_secret)
    raised: list[type] = []
    for name, timeout in (("closed", None), ("request lost", None), ("reply too late", 5.0)):
        (document,) = documents_of(POST_TROUBLES[name])
        for ask in (
            lambda: session.get(url, auth=auth, data="text", timeout=(3, timeout)),  # noqa: B023 - called at once
            lambda: client.get(url, auth=auth, timeout=timeout),  # noqa: B023 - called at once
        ):
            double.sandbox.faults.add(parse_fault({**document, "phase": "before_commit"}), double.sandbox.now)
            with pytest.raises((requests.RequestException, httpx.TransportError)) as caught:
                ask()
            raised.append(caught.type)

    assert raised == [
        requests.ConnectionError,
        httpx.RemoteProtocolError,
        requests.ConnectionError,
        httpx.ReadError,
        requests.ReadTimeout,
        httpx.ReadTimeout,
    ]
    session.close()
    client.close()
