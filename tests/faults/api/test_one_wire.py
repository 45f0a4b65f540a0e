"""One broken wire means one thing: a client has the same from every shell, with sockets and without.

Each way of breaking an answer, before and after the commit, is played through a real server and a client library,
through the in-process handle, its transports, the state machine's service, and the rehearsal of scenarios.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal, NamedTuple, get_args

import aiohttp
import httpx
import pytest
import requests
from drive import DEPOSITS, deposit_body, key

from paydouble.core.seeded_random import SeededRandom
from paydouble.faults.model import ApiFault, parse_fault
from paydouble.faults.plans import Plan
from paydouble.faults.seeded_values import SeededValues
from paydouble.faults.wire import WireKind
from paydouble.guards.credentials import basic_header
from paydouble.inprocess import InProcess
from paydouble.rehearsal.rehearsing import response_of
from paydouble.stateful.adapter_threads import AdapterThreads
from paydouble.stateful.play_server import PlayServer, ServedPlay
from paydouble.stateful.requests_adapter import RequestsAdapter
from paydouble.stateful.service import Service
from paydouble.testing import Paydouble, Sandbox
from paydouble.testing.aiohttp_connector import SandboxConnector
from paydouble.testing.transports import AsyncHttpxTransport, HttpxTransport

Phase = Literal["before_commit", "after_commit"]
Effect = dict[str, Any]
PATH: Final = f"/api/v1{DEPOSITS}"
BODY: Final = json.dumps(deposit_body()).encode()
# What comes in time comes at once, so that a slow machine is no reason to give up; what comes late comes far too late.
PATIENT: Final = 20.0
IMPATIENT: Final = 0.2

WAYS: Final[list[tuple[Effect, float]]] = [
    ({"type": "latency", "fixed": "10ms"}, PATIENT),
    ({"type": "latency", "fixed": "1h"}, IMPATIENT),
    ({"type": "no_response"}, IMPATIENT),
    ({"type": "no_response", "hold": "10ms"}, PATIENT),
    ({"type": "no_response", "hold": "1h"}, IMPATIENT),
    ({"type": "connection_reset"}, PATIENT),
    ({"type": "empty_response"}, PATIENT),
    ({"type": "truncate"}, PATIENT),
    ({"type": "truncate", "fraction": 0}, PATIENT),
    ({"type": "truncate", "fraction": 0.999999}, PATIENT),
    ({"type": "wrong_content_length", "by": 10}, PATIENT),
    ({"type": "wrong_content_length", "by": -10}, PATIENT),
    ({"type": "wrong_content_length", "by": -1_000_000}, PATIENT),
    ({"type": "slow_body", "chunks": 2, "over": "10ms"}, PATIENT),
    ({"type": "slow_body", "chunks": 2, "over": "2h"}, IMPATIENT),
    ({"type": "garbage"}, PATIENT),
]


class Had(NamedTuple):
    """What a client got for its request, in a form that fits every client library."""

    what: Literal["an answer", "no whole answer", "no answer in time"]
    status: int | None = None
    body: Literal["whole", "a part"] | None = None


def _answer(status: int, body: bytes) -> Had:
    try:
        json.loads(body)
    except ValueError:
        return Had("an answer", status, "a part")
    return Had("an answer", status, "whole")


LOST: Final = Had("no whole answer")
LATE: Final = Had("no answer in time")


def _headers(authorization: str) -> dict[str, str]:
    return {"Authorization": authorization, "Content-Type": "application/json", "Idempotency-Key": key(1)}


def _armed(effect: Effect, phase: Phase) -> Sandbox:
    box = Sandbox()
    box.faults.add(effect, phase=phase)
    return box


def _httpx(client: httpx.Client, url: str, authorization: str) -> Had:
    try:
        answer = client.post(url, content=BODY, headers=_headers(authorization))
    except httpx.TimeoutException:
        return LATE
    except httpx.TransportError:
        return LOST
    return _answer(answer.status_code, answer.content)


async def _aiohttp(session: aiohttp.ClientSession, url: str, authorization: str) -> Had:
    try:
        async with session.post(url, data=BODY, headers=_headers(authorization)) as answer:
            return _answer(answer.status, await answer.read())
    except TimeoutError:
        return LATE
    except aiohttp.ClientError:
        return LOST


@pytest.fixture(scope="module")
def server() -> Iterator[Paydouble]:
    """Return a server for all that use sockets."""
    with Paydouble.start() as started:
        yield started


def by_socket_and_httpx(server: Paydouble, effect: Effect, phase: Phase, patience: float) -> Had:
    """Call over a socket, with httpx."""
    box = server.sandbox(clock="manual")
    box.faults.add(effect, phase=phase)
    with httpx.Client(timeout=patience) as client:
        return _httpx(client, f"{box.base_url}{DEPOSITS}", box.auth.header)


def by_socket_and_aiohttp(server: Paydouble, effect: Effect, phase: Phase, patience: float) -> Had:
    """Call over a socket, with aiohttp."""
    box = server.sandbox(clock="manual")
    box.faults.add(effect, phase=phase)

    async def ask() -> Had:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(sock_read=patience)) as session:
            return await _aiohttp(session, f"{box.base_url}{DEPOSITS}", box.auth.header)

    return asyncio.run(ask())


def by_handle(_: Paydouble, effect: Effect, phase: Phase, patience: float) -> Had:
    """Call through the handle without sockets."""
    box = _armed(effect, phase)
    try:
        answer = box.handle("POST", PATH, body=BODY, key=key(1), patience=patience)
    except TimeoutError:
        return LATE
    except ConnectionError:
        return LOST
    return _answer(answer.status, answer.body)


def by_httpx_transport(_: Paydouble, effect: Effect, phase: Phase, patience: float) -> Had:
    """Call through the transport for httpx."""
    box = _armed(effect, phase)
    with httpx.Client(transport=HttpxTransport(box), timeout=patience) as client:
        return _httpx(client, f"http://shop.test{PATH}", box.auth.header)


def by_async_httpx_transport(_: Paydouble, effect: Effect, phase: Phase, patience: float) -> Had:
    """Call through the asynchronous transport for httpx."""
    box = _armed(effect, phase)

    async def ask() -> Had:
        async with httpx.AsyncClient(transport=AsyncHttpxTransport(box), timeout=patience) as client:
            try:
                answer = await client.post(f"http://shop.test{PATH}", content=BODY, headers=_headers(box.auth.header))
            except httpx.TimeoutException:
                return LATE
            except httpx.TransportError:
                return LOST
            return _answer(answer.status_code, answer.content)

    return asyncio.run(ask())


def by_aiohttp_connector(_: Paydouble, effect: Effect, phase: Phase, patience: float) -> Had:
    """Call through the connector for aiohttp."""

    async def ask() -> Had:
        box = _armed(effect, phase)
        timeout = aiohttp.ClientTimeout(sock_read=patience)
        async with aiohttp.ClientSession(connector=SandboxConnector(box), timeout=timeout) as session:
            return await _aiohttp(session, f"http://shop.test{PATH}", box.auth.header)

    return asyncio.run(ask())


def _double(effect: Effect, phase: Phase) -> InProcess:
    double = InProcess()
    double.sandbox.faults.add(parse_fault({"effect": effect, "phase": phase}), double.sandbox.now)
    return double


def by_machine(_: Paydouble, effect: Effect, phase: Phase, patience: float) -> Had:
    """Call as a merchant of the state machine does."""
    service = Service(_double(effect, phase), lambda _rule, text: pytest.fail(text))
    authorization = basic_header(service.business_key, service.business_secret)
    try:
        answer = service.call("POST", PATH, _headers(authorization), BODY, timeout=patience)
    except TimeoutError:
        return LATE
    except ConnectionError:
        return LOST
    return _answer(answer.status, answer.body)


def by_served_play(_: Paydouble, effect: Effect, phase: Phase, patience: float) -> Had:
    """Call over a socket as a merchant of the state machine in another process, with httpx."""
    return _in_served_play(effect, phase, lambda url, auth: _httpx_once(url, auth, patience))


def _httpx_once(url: str, authorization: str, patience: float) -> Had:
    with httpx.Client(timeout=patience) as client:
        return _httpx(client, f"{url}{DEPOSITS}", authorization)


def by_served_play_and_aiohttp(_: Paydouble, effect: Effect, phase: Phase, patience: float) -> Had:
    """Call over a socket as such a merchant that uses aiohttp."""

    async def ask(url: str, authorization: str) -> Had:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(sock_read=patience)) as session:
            return await _aiohttp(session, f"{url}{DEPOSITS}", authorization)

    return _in_served_play(effect, phase, lambda url, auth: asyncio.run(ask(url, auth)))


def _in_served_play(effect: Effect, phase: Phase, ask: Callable[[str, str], Had]) -> Had:
    server, threads, double = PlayServer(), AdapterThreads(10), _double(effect, phase)
    service = Service(double, lambda _rule, text: pytest.fail(text), server.url)
    server.serve(ServedPlay(double, service, threads))
    try:
        return threads.run(lambda: ask(service.base_url, double.authorization))
    finally:
        server.end()
        threads.close()
        server.stop()


def by_machine_and_aiohttp(_: Paydouble, effect: Effect, phase: Phase, patience: float) -> Had:
    """Call as a merchant of the state machine that uses aiohttp."""
    service = Service(_double(effect, phase), lambda _rule, text: pytest.fail(text))
    authorization = basic_header(service.business_key, service.business_secret)

    async def ask() -> Had:
        timeout = aiohttp.ClientTimeout(sock_read=patience)
        async with aiohttp.ClientSession(connector=SandboxConnector(service), timeout=timeout) as session:
            return await _aiohttp(session, f"{service.base_url}{DEPOSITS}", authorization)

    return asyncio.run(ask())


def by_requests_adapter(_: Paydouble, effect: Effect, phase: Phase, patience: float) -> Had:
    """Call through the adapter for requests."""
    box = _armed(effect, phase)
    with requests.Session() as session:
        session.mount("http://", RequestsAdapter(box))
        try:
            headers = _headers(box.auth.header)
            answer = session.post(f"http://shop.test{PATH}", data=BODY, headers=headers, timeout=patience)
        except requests.Timeout:
            return LATE
        except requests.RequestException:
            return LOST
        return _answer(answer.status_code, answer.content)


Ask = Callable[[Paydouble, Effect, Phase, float], Had]
# Each is compared with the same client library over a socket: aiohttp refuses bytes behind the announced length.
SHELLS: Final[dict[Ask, tuple[Ask, ...]]] = {
    by_socket_and_httpx: (
        by_handle,
        by_httpx_transport,
        by_async_httpx_transport,
        by_requests_adapter,
        by_machine,
        by_machine_and_aiohttp,
        by_served_play,
    ),
    by_socket_and_aiohttp: (by_aiohttp_connector, by_served_play_and_aiohttp),
}


def _name(value: object) -> str:
    return " ".join(map(str, value.values())) if isinstance(value, dict) else str(value)


@pytest.mark.parametrize("phase", get_args(Phase))
@pytest.mark.parametrize(("effect", "patience"), WAYS, ids=_name)
def test_a_client_has_the_same_from_every_shell(
    server: Paydouble, effect: Effect, patience: float, phase: Phase
) -> None:
    """As over a socket: a whole answer or a part, the end of the connection, or silence."""
    for over_a_socket, others in SHELLS.items():
        met = over_a_socket(server, effect, phase, patience)

        had = {shell.__name__: shell(server, effect, phase, patience) for shell in others}

        assert had == dict.fromkeys(had, met)


@pytest.mark.parametrize("phase", get_args(Phase))
@pytest.mark.parametrize("effect", [effect for effect, _ in WAYS], ids=_name)
def test_the_merchant_of_a_rehearsal_has_it_too(effect: Effect, phase: Phase) -> None:
    """It has no timeout, so it gets what a caller of the handle without one gets."""
    double = _double(effect, phase)

    got = response_of(double.handle(double.request("POST", PATH, BODY)))

    try:
        answer = _armed(effect, phase).handle("POST", PATH, body=BODY, key=key(1))
    except OSError:
        assert got.status is None
    else:
        assert got.status is not None
        assert _answer(got.status, got.body) == _answer(answer.status, answer.body)


def test_every_kind_of_wire_is_in_the_table() -> None:
    """Every kind of wire fault is among the effects above."""
    plans = []
    for effect, _ in WAYS:
        plans.append(Plan())
        fault = parse_fault({"effect": effect})
        assert isinstance(fault, ApiFault)
        fault.effect.apply(plans[-1], SeededValues(SeededRandom(1), "f", 1))

    assert {plan.wire.kind for plan in plans if plan.wire is not None} == set(get_args(WireKind))
