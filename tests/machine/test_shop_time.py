from __future__ import annotations

import asyncio
import hmac
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from time import sleep as nap
from typing import Any

import pytest

from paydouble import Sandbox
from paydouble.core.errors import UsageError
from paydouble.stateful import Merchant, MerchantBug, Play, ServiceLike, Webhook
from paydouble.testing import shop_time
from paydouble.testing.shop_time import follow_time

START = datetime(2026, 1, 1, tzinfo=UTC)
LIBRARIES = ("time_machine", "freezegun")


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Install one of the libraries only."""
    _install(monkeypatch, request.param)
    yield request.param
    monkeypatch.undo()
    shop_time._library.cache_clear()  # noqa: SLF001 - the other tests find what is installed


@pytest.fixture
def no_library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install neither library."""
    _install(monkeypatch)
    yield
    monkeypatch.undo()
    shop_time._library.cache_clear()  # noqa: SLF001 - as above


def _install(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    monkeypatch.setattr(shop_time, "find_spec", lambda name: name if name in names else None)
    shop_time._library.cache_clear()  # noqa: SLF001 - as above


def _elapsed(work: Callable[[], object]) -> tuple[float, float, float]:
    """Return by how many seconds three clocks move while work is done, with seconds since 2026 first."""
    wall, monotonic = time.time(), time.monotonic()
    work()
    return time.time() - START.timestamp(), time.time() - wall, time.monotonic() - monotonic


def test_a_synchronous_shop_sees_the_time_of_the_sandbox(library: str) -> None:
    """Every way to read it agrees, a sleep moves it, and afterwards it is the real time again."""
    sandbox, before = Sandbox(), time.time()

    with follow_time(sandbox):
        seen = [time.time(), time.time_ns() / 1e9, datetime.now(UTC).timestamp()]
        seconds = _elapsed(lambda: time.sleep(90.5))
        sandbox.clock.advance("1h")
        later = datetime.now(UTC)

    assert seen == [START.timestamp()] * 3
    assert seconds == pytest.approx((90.5, 90.5, 90.5))
    assert later == sandbox.clock.now
    assert abs(time.time() - before) < 60


def test_an_asynchronous_shop_sleeps_without_waiting(library: str) -> None:
    """In an event loop of its own thread too; the timers of the loop stay real."""
    sandbox = Sandbox()

    async def work() -> str:
        await asyncio.sleep(0)
        answer = await asyncio.sleep(3600, "slept")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 0.01)
        return answer

    with follow_time(sandbox), ThreadPoolExecutor(1) as pool:
        answers = [asyncio.run(work()), pool.submit(asyncio.run, work()).result()]

    assert answers == ["slept", "slept"]
    assert sandbox.clock.now == datetime(2026, 1, 1, 2, tzinfo=UTC)


def test_what_was_there_before_keeps_real_sleeps(library: str) -> None:
    """A background thread or task of an earlier call must not move the clock."""
    sandbox = Sandbox()
    go, done = threading.Event(), threading.Event()

    def wait_in_background() -> None:
        go.wait()
        time.sleep(0.001)
        done.set()

    thread = threading.Thread(target=wait_in_background)
    thread.start()
    with follow_time(sandbox):
        go.set()
        done.wait()
    thread.join()

    assert sandbox.clock.now == START


def test_a_function_that_was_imported_by_name_follows(library: str) -> None:
    """Under its own name only."""
    sandbox = Sandbox()
    shop: Any = type(asyncio)("a_shop_of_this_test")
    exec("from time import sleep\ndef work(): sleep(5)", shop.__dict__)  # noqa: S102 - a module as a shop writes it
    import sys

    sys.modules[shop.__name__] = shop
    try:
        with follow_time(sandbox):
            shop.work()
    finally:
        del sys.modules[shop.__name__]

    assert sandbox.clock.now == datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)
    assert shop.sleep is nap


def test_without_a_library_the_error_says_what_to_install(no_library: None) -> None:
    """For a sandbox and for the adapter of a machine."""
    with pytest.raises(UsageError, match="pip install time-machine"), follow_time(Sandbox()):
        pass
    with pytest.raises(UsageError, match="pip install time-machine"):
        Play(PlainShop)


class PlainShop(Merchant):
    """Reads the computer's clock wherever it needs the time."""

    follows_time = True

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.known: dict[str, str] = {}
        self.seen: list[datetime] = []

    def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
        self.known[order_id] = "unpaid"
        self.seen.append(datetime.now(UTC))

    def pay(self, order_id: str) -> None:
        self.wait(600)

    def order_status(self, order_id: str) -> str:
        return self.known[order_id]

    def receive(self, webhook: Webhook) -> int:
        header = dict(webhook.headers)["X-Service-Signature"]
        at = int(header.removeprefix("t=").partition(",")[0])
        signed = str(at).encode() + b"." + webhook.body
        good = hmac.new(self.service.webhook_secret.encode(), signed, "sha256").hexdigest() in header
        return 200 if good and abs(time.time() - at) <= 300 else 400

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)


class AsyncShop(PlainShop):
    """Waits in an event loop."""

    interleaves = False

    def wait(self, seconds: float) -> None:
        asyncio.run(asyncio.sleep(seconds))


class OwnClockShop(PlainShop):
    """Does not follow."""

    follows_time = False

    def pay(self, order_id: str) -> None:
        body = (
            f'{{"amount":49.90,"currency":"EUR","external_identifier":"{order_id}",'
            '"payment_method":{"type":"CREDIT_CARD"},'
            '"customer":{"first_name":"Ada","last_name":"Lovelace","email":"ada@example.test"}}'
        )
        import base64

        credentials = base64.b64encode(f"{self.service.business_key}:{self.service.business_secret}".encode()).decode()
        headers = {"Authorization": f"Basic {credentials}", "Content-Type": "application/json"}
        headers["Idempotency-Key"] = "1f0e5b9c-7d1d-4a5e-9d5c-0e6a0f7f9d11"
        self.service.call("POST", "/api/v1/pay-in/deposit-creation", headers, body.encode())


@pytest.mark.parametrize("shop", [PlainShop, AsyncShop])
def test_a_merchant_that_follows_sees_the_time_of_the_play(library: str, shop: type[PlainShop]) -> None:
    """A sleep moves the play and takes no real time."""
    play, before = Play(shop), time.perf_counter()
    play.order()
    play.pay()
    play.order()
    play.close()

    merchant: Any = play._driver.merchant  # noqa: SLF001 - what the merchant has seen
    assert [(each - START).total_seconds() for each in merchant.seen] == [0.1, 600.3]
    assert time.perf_counter() - before < 60


def test_the_report_of_a_wrong_clock_names_the_remedy() -> None:
    """A merchant that verifies by the computer's clock refuses all webhooks of a play."""
    play = Play(OwnClockShop)
    play.order()

    with pytest.raises(MerchantBug, match="follows_time = True"):
        play.pay()
