"""72 hours of refused webhooks by one advance, against a loop that only signs and posts, one after the other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from statistics import median

import aiohttp
from multidict import CIMultiDict

from benchmarks.load import DEPOSIT, KEY, SECRET
from benchmarks.machine import on_server_core
from benchmarks.receiver import receiving
from benchmarks.rows import Benchmark, Effort, Row, Target, ratios, write
from paydouble.api.values import Request
from paydouble.guards.credentials import basic_header
from paydouble.runtime.host import ClockSpec, Host, HostOptions, SandboxSpec
from paydouble.webhooks.signing import signature_header

NAME = "72 hours of retries for 100 events (800 attempts)"
_DEPOSITS, _EVENTS, _ATTEMPTS = 25, 100, 800
_START, _HOURS_80 = 1_767_225_600_000, 80 * 3_600_000


def measure(effort: Effort) -> Iterator[Row]:
    """Yield attempts a second, both loops in one process and on one core, the receiver in another."""
    with receiving() as receiver, on_server_core():
        ours, bare = asyncio.run(_compare(receiver.urls[0], effort.retries))
    target = Target(0.8, at_least=True)
    yield Row(NAME, write(median(ours), "/s"), write(median(bare), "/s"), ratios(ours, bare), "×", target)


async def _compare(url: str, rounds: int) -> tuple[list[float], list[float]]:
    ours: list[float] = []
    bare: list[float] = []
    host = Host(HostOptions())
    for _ in range(rounds):
        rate, bodies = await send_all(host, url)
        ours.append(rate)
        bare.append(await _post_only(url, bodies))
    await host.close()
    return ours, bare


async def send_all(host: Host, url: str) -> tuple[float, list[bytes]]:
    """Let every event of a fresh sandbox fail until it is given up; return attempts a second, and the bodies."""
    clock = ClockSpec("manual", _START)
    box = host.create(SandboxSpec(clock=clock, notification_url=url, business_key=KEY, business_secret=SECRET))
    for number in range(_DEPOSITS):
        headers = CIMultiDict(
            {
                "Authorization": basic_header(KEY, SECRET),
                "Idempotency-Key": f"00000000-0000-4000-8000-{number:012d}",
                "Content-Type": "application/json",
            }
        )
        request = Request("POST", "/api/v1/pay-in/deposit-creation", headers, DEPOSIT)
        await host.finish(host.pipeline.handle(request))
    # Nothing has been sent yet: no await above gave way to the event loop.
    start = time.perf_counter()
    await host.pump(box).advance(to=_START + _HOURS_80)
    seconds = time.perf_counter() - start
    attempts = sum(len(delivery.attempts) for delivery in box.outbox.deliveries.values())
    bodies = [event.body for event in box.journal.events.entries]
    await host.delete(box)
    if (len(bodies), attempts) != (_EVENTS, _ATTEMPTS):
        raise SystemExit(f"benchmarks: {len(bodies)} events and {attempts} attempts where 100 and 800 were due")
    return attempts / seconds, bodies


async def _post_only(url: str, bodies: Sequence[bytes]) -> float:
    async with aiohttp.ClientSession() as session:
        start = time.perf_counter()
        for _ in range(_ATTEMPTS // len(bodies)):
            for body in bodies:
                signature = signature_header(body, (SECRET,), int(time.time()))
                headers = {"Content-Type": "application/json", "X-Service-Signature": signature}
                async with session.post(url, data=body, headers=headers) as response:
                    await response.read()
        return _ATTEMPTS / (time.perf_counter() - start)


BENCHMARK = Benchmark((NAME,), measure)
