"""Takes the pictures of the inspector in the README. `python tools/pictures.py` writes them; it needs Chromium.

    python tools/pictures.py [FOLDER]        without a folder: docs/pictures

A shop loses the reply to a deposit and tries again with another body, and its receiver fails. The seed, all clocks and
what else differs from run to run are fixed: a picture changes only with its page, or with another Chromium or fonts.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, Literal
from unittest import mock
from uuid import UUID

import aiohttp
from aiohttp import web
from playwright.async_api import Browser, async_playwright

from paydouble.runtime import sender
from paydouble.server import Server, ServerOptions

FOLDER: Final = Path(__file__).resolve().parents[1] / "docs" / "pictures"
HEIGHTS: Final = {"inbox": 560, "payment": 900, "delivery": 900}
"""The pictures by name, and how much of each page they show, in CSS pixels."""
THEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
_WIDTH: Final = 1100
_SANDBOX: Final = {
    "id": "checkout-tests",
    "seed": 7,
    "business_key": "shop",
    "business_secret": "secret",
    "webhook_secret": "whsec_sandbox",
    "clock": {"mode": "manual", "start": "2026-01-15T09:00:00Z"},
}
ARGUMENTS: Final = (
    # Without a sandbox of its own, which needs rights that a container rarely has; it only opens our pages.
    "--no-sandbox",
    # What is drawn again is drawn whole: at the edges of a part its pixels could differ by a shade.
    "--disable-partial-raster",
)
_START_MS: Final = 1_768_467_600_000
_LATENCY_SECONDS: Final = 0.012
_BOX: Final = f"/_paydouble/sandboxes/{_SANDBOX['id']}"
# A free port is another one each time, and each release has another version.
_SAME_EACH_TIME: Final = """port => {
  document.querySelector('.version')?.remove();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(`:${port}/`, ':8081/');
}"""


class MachineTime:
    """The machine's time as paydouble sees it; moved by hand."""

    def __init__(self) -> None:
        self.now_ms = _START_MS
        self._seconds = 0.0

    def time_ns(self) -> int:
        """Return the time, as `time.time_ns` does."""
        return self.now_ms * 1_000_000

    def perf_counter(self) -> float:
        """Return a time that is later on each call, so that each attempt takes as long."""
        self._seconds += _LATENCY_SECONDS
        return self._seconds

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Let paydouble see this time."""
        stopwatch = SimpleNamespace(perf_counter=self.perf_counter)
        with mock.patch.object(time, "time_ns", self.time_ns), mock.patch.object(sender, "time", stopwatch):
            yield


@dataclass
class Shop:
    """A shop that speaks to a sandbox."""

    base_url: str
    time: MachineTime
    keys: int = 0

    async def pay(
        self, order: str, *, again: bool = False, secret: str = str(_SANDBOX["business_secret"]), **changes: object
    ) -> None:
        """Create a deposit; `again` sends the key of the one before."""
        self.keys += not again
        self.time.now_ms += 7_213
        body = {
            "amount": 49.9,
            "currency": "EUR",
            "external_identifier": order,
            "payment_method": {"type": "CREDIT_CARD"},
            "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"},
            **changes,
        }
        key = UUID(int=self.keys * 0x9E3779B97F4A7C15F39CC0605CEDC834 % 2**128, version=4)
        headers = {"Authorization": aiohttp.encode_basic_auth("shop", secret), "Idempotency-Key": str(key)}
        with suppress(aiohttp.ClientError):  # a reply that is lost
            # A new connection: on one that was used before, the client would try again by itself.
            async with (
                aiohttp.ClientSession(self.base_url) as session,
                session.post("/api/v1/pay-in/deposit-creation", json=body, headers=headers),
            ):
                pass

    async def control(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON is any
        """Make a control call and return its answer."""
        async with (
            aiohttp.ClientSession(self.base_url) as session,
            session.request(method, path, json=body) as response,
        ):
            response.raise_for_status()
            return await response.json()

    async def payment(self, order: str) -> str:
        """Return the id of the payment of an order."""
        items = (await self.control("GET", f"{_BOX}/pay-ins"))["items"]
        found: str = next(each["id"] for each in items if each["external_identifier"] == order)
        return found

    async def advance(self, duration: str) -> None:
        """Move the sandbox's clock."""
        await self.control("POST", f"{_BOX}/clock/advance", {"by": duration})


class Receiver:
    """Where the shop's webhooks arrive."""

    fails = False

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[int]:
        """Listen at a free port."""
        runner = web.ServerRunner(web.Server(self._answer))
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            yield runner.addresses[0][1]
        finally:
            await runner.cleanup()

    async def _answer(self, _request: web.BaseRequest) -> web.Response:
        headers = {"Server": "shop", "Date": "Thu, 15 Jan 2026 09:00:00 GMT"}
        if self.fails:
            return web.json_response({"error": "the database is read-only"}, status=503, headers=headers)
        return web.json_response({"received": True}, headers=headers)


async def trade(shop: Shop, receiver: Receiver) -> dict[str, str]:
    """Let the shop sell, with what can go wrong; returns the paths of the pages."""
    await shop.pay("order-1039", amount=120)
    await shop.pay("order-1040", amount=18.5, customer={**_ADA, "email": "card-declined@scenario.test"})
    await shop.advance("10m")
    paid = await shop.payment("order-1039")
    await shop.control("POST", f"{_BOX}/pay-ins/{paid}/disputes", {"amount": 120})
    await shop.pay("order-1041", amount=-5)
    await shop.pay("order-1041", secret="wrong")  # noqa: S106 - wrong on purpose
    lost = {"effect": {"type": "connection_reset"}, "phase": "after_commit", "times": 1}
    await shop.control("POST", f"{_BOX}/faults", lost)
    receiver.fails = True
    await shop.pay("order-1042", metadata={"attempt": "1"})
    await shop.pay("order-1042", metadata={"attempt": "2"}, again=True)
    await shop.advance("20s")
    await shop.pay("order-1043", amount=7.25)
    payment = await shop.payment("order-1042")
    deliveries = (await shop.control("GET", f"{_BOX}/deliveries"))["items"]
    delivery = next(each["id"] for each in deliveries if each["object_id"] == payment)
    own = f"/_paydouble/inspector/sandboxes/{_SANDBOX['id']}"
    return {
        "inbox": "/_paydouble/",
        "payment": f"{own}/payments/{payment}",
        "delivery": f"{own}/deliveries/{delivery}",
    }


_ADA: Final = {"first_name": "Ada", "last_name": "Lovelace"}


async def take(browser: Browser, base_url: str, paths: dict[str, str], port: int, folder: Path) -> None:
    """Write a picture of each page in each theme."""
    for theme in THEMES:
        context = await browser.new_context(color_scheme=theme, reduced_motion="reduce", device_scale_factor=1)
        page = await context.new_page()
        for name, height in HEIGHTS.items():
            await page.set_viewport_size({"width": _WIDTH, "height": height})
            await page.goto(base_url + paths[name])
            if name != "delivery":
                await page.get_by_text("Live", exact=True).wait_for()
            await page.evaluate(_SAME_EACH_TIME, port)
            await page.screenshot(path=folder / f"{name}-{theme}.png", animations="disabled")
        await context.close()


async def main(folder: Path) -> None:
    """Take the pictures."""
    machine, receiver = MachineTime(), Receiver()
    with machine.applied():
        async with (
            Server(ServerOptions(port=0)) as server,
            receiver.listening() as port,
            async_playwright() as playwright,
        ):
            base_url = f"http://127.0.0.1:{server.port}"
            shop = Shop(base_url, machine)
            target = {"notification_url": f"http://127.0.0.1:{port}/webhooks"}
            await shop.control("POST", "/_paydouble/sandboxes", {**_SANDBOX, **target})
            paths = await trade(shop, receiver)
            browser = await playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
            await take(browser, base_url, paths, port, folder)
            await browser.close()


def chromium() -> str:
    """Return the path of Chromium."""
    found = (os.environ.get("CHROMIUM"), *map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    path = next(filter(None, found), None)
    if path is None:
        raise SystemExit("pictures: no Chromium is installed here (Debian: apt-get install chromium)")
    return path


if __name__ == "__main__":
    target = Path(sys.argv[1]) if sys.argv[1:] else FOLDER
    target.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(target))
