"""A merchant's own HTTP client in a play: requests, and httpx with and without async."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import pytest
import requests
from bugzoo.adapter import ZooMerchant
from bugzoo.client import Client

from paydouble.faults.model import parse_fault
from paydouble.inprocess import InProcess
from paydouble.stateful import Answer, MerchantBug, Play
from paydouble.stateful.catalogue import CataloguePlay, CatalogueRun, step
from paydouble.stateful.requests_adapter import RequestsAdapter
from paydouble.stateful.service import Response, Service
from paydouble.stateful.troubles import POST_TROUBLES, documents_of
from paydouble.testing.transports import AsyncHttpxTransport, HttpxTransport

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


def adapter(send: Send) -> type[ZooMerchant]:
    """Return the correct merchant with another HTTP client; what it calls must not be entered twice."""

    class Sends(Client):
        def send(self, method: str, path: str, key: str | None = None, body: bytes = b"") -> Answer:
            headers = {"Authorization": self.authorization}
            if key is not None:
                headers |= {"Idempotency-Key": key, "Content-Type": "application/json"}
            return send(self.service, method, f"{self.service.base_url}/api/v1{path}", headers, body)

    return type("ShopAdapter", (ZooMerchant,), {"client_part": Sends, "interleaves": False})


@pytest.mark.parametrize("send", [by_requests, by_httpx, by_async_httpx])
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
