"""Measures the inbox in a browser under load: payments by the thousand, and sandboxes that come and go.

    python tools/inbox_load.py [--payments 10000] [--sandboxes 500] [--quick]

It needs Chromium. A server in a process of its own gets payments as fast as it takes them, then sandboxes that eight
workers make and delete, as a parallel test run does; the inbox is open all the time. Printed are the time from one
frame of the page to the next, what the page holds before and after, and the server's memory. Exit status 1 when a bound
does not hold, with a line for each. On a busy machine a frame may be late though the page was not at work: the bound is
on the processor time of what the page does at one go. `--quick` sends less, and judges no time.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import aiohttp
from playwright.async_api import Browser, CDPSession, Page, async_playwright, expect

from paydouble.testing import AsyncPaydouble
from paydouble.web.control.stream import TICK_SECONDS
from paydouble.web.inspector.inbox import MOST_ROWS
from pictures import chromium

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

from ports import free_port

WORKERS: Final = 8
PAYMENTS_OF_A_SANDBOX: Final = 3
MOST_TASK_MS: Final = 100.0
"""Processor time of the page's thread between two moments at which it can show a frame or take a click."""
MOST_GROWTH: Final = 1.5
"""How much more the page may hold after the load than before it."""
MOST_SERVER_GROWTH: Final = 1.1
"""How much more memory the server may have after sandboxes that were deleted; payments it keeps."""
_PATIENCE_MS: Final = 120_000
# `serve` collects after deletions once it has been quiet for a moment.
_QUIET_SECONDS: Final = 2.0
_POLL_SECONDS: Final = 0.05
_RECORD_FRAMES: Final = """() => {
  const gaps = window.gaps = [];
  let before = performance.now();
  const frame = () => {
    const now = performance.now();
    gaps.push(now - before);
    before = now;
    window.next = requestAnimationFrame(frame);
  };
  window.next = requestAnimationFrame(frame);
}"""
_FRAMES: Final = """() => {
  cancelAnimationFrame(window.next);
  const gaps = window.gaps;
  delete window.gaps;
  return gaps;
}"""


@dataclass(frozen=True)
class Held:
    """What the page holds after its garbage was collected, and what it has worked until then."""

    heap: int
    nodes: int
    listeners: int
    work_seconds: dict[str, float]

    @staticmethod
    async def of(devtools: CDPSession) -> Held:
        """Return what a page holds."""
        await devtools.send("HeapProfiler.collectGarbage")
        metrics = {each["name"]: each["value"] for each in (await devtools.send("Performance.getMetrics"))["metrics"]}
        work = {name: metrics[f"{name}Duration"] for name in ("Script", "Layout", "RecalcStyle")}
        return Held(int(metrics["JSHeapUsedSize"]), int(metrics["Nodes"]), int(metrics["JSEventListeners"]), work)


@dataclass
class Figures:
    """What one load did."""

    what: str
    seconds: float
    frames: list[float]
    """Milliseconds from one frame of the page to the next."""
    empty_frames: list[float]
    """The same of an empty page in the same browser: what the machine alone does."""
    longest_task_ms: float
    """Processor time of the longest task of the page's thread."""
    before: Held
    after: Held
    messages: list[int]
    """The rows of each message of the stream."""
    rows: int
    click_ms: float
    server_before: int | None
    server_after: int | None

    def lines(self) -> list[str]:
        """Return the figures as text."""
        work = {name: self.after.work_seconds[name] - spent for name, spent in self.before.work_seconds.items()}
        return [
            f"{self.what}, in {self.seconds:.1f} s:",
            f"  frame to frame   {_spread(self.frames)}",
            f"  of an empty page {_spread(self.empty_frames)}",
            f"  longest task     {self.longest_task_ms:.0f} ms of processor time",
            f"  work of the page {', '.join(f'{name} {spent:.2f} s' for name, spent in work.items())}",
            f"  messages         {len(self.messages)}, {max(self.messages, default=0)} rows in the longest",
            f"  rows             {self.rows}",
            f"  JavaScript heap  {self.before.heap / 1e6:.2f} MB before, {self.after.heap / 1e6:.2f} MB after",
            f"  DOM nodes        {self.before.nodes:,} before, {self.after.nodes:,} after",
            f"  event listeners  {self.before.listeners} before, {self.after.listeners} after",
            f"  a click          {self.click_ms:.0f} ms until it is shown",
            f"  server           {_megabytes(self.server_before)} before, {_megabytes(self.server_after)} after",
        ]


def _spread(frames: list[float]) -> str:
    ordered = sorted(frames)
    p50, p99 = (ordered[int(len(ordered) * part)] for part in (0.5, 0.99))
    return f"p50 {p50:.0f} ms, p99 {p99:.0f} ms, longest {ordered[-1]:.0f} ms of {len(ordered):,}"


def _megabytes(size: int | None) -> str:
    return "unknown" if size is None else f"{size / 1e6:.1f} MB"


@dataclass
class Watched:
    """A server whose inbox is open in a browser."""

    url: str
    pid: int
    browser: Browser
    page: Page
    empty: Page
    devtools: CDPSession
    session: aiohttp.ClientSession
    messages: list[int] = field(default_factory=list)
    numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def note_message(self, event: dict[str, Any]) -> None:
        """Count a message of the stream."""
        if event["eventName"] == "rows":
            self.messages.append(len(json.loads(event["data"])["rows"]))

    async def pay(self, authorization: str) -> str:
        """Create a deposit with a key and an order of its own; returns the order."""
        number = next(self.numbers)
        order = f"order-{number}"
        body = {
            "amount": 49.9,
            "currency": "EUR",
            "external_identifier": order,
            "payment_method": {"type": "CREDIT_CARD"},
            "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"},
        }
        headers = {"Authorization": authorization, "Idempotency-Key": str(UUID(int=number, version=4))}
        url = f"{self.url}/api/v1/pay-in/deposit-creation"
        async with self.session.post(url, json=body, headers=headers) as response:
            response.raise_for_status()
            await response.read()
        return order

    async def pay_often(self, count: int) -> None:
        """Create payments of one sandbox, as fast as the server takes them; ends when the page shows the last."""
        authorization = aiohttp.encode_basic_auth("sandbox_key", "sandbox_secret")
        left = itertools.count(1)

        async def work() -> None:
            while next(left) <= count - 1:
                await self.pay(authorization)

        await asyncio.gather(*(work() for _ in range(WORKERS)))
        await self._shows(await self.pay(authorization))
        await expect(self.page.locator("tbody tr")).to_have_count(MOST_ROWS, timeout=_PATIENCE_MS)

    async def test_often(self, count: int) -> None:
        """Make sandboxes, use them and delete them; ends when the page shows none of them any more."""
        left = itertools.count(1)
        async with AsyncPaydouble.connect(self.url) as server:

            async def work() -> None:
                while (number := next(left)) <= count:
                    async with await server.sandbox(id=f"test-{number}", clock="manual") as sandbox:
                        for _ in range(PAYMENTS_OF_A_SANDBOX):
                            await self.pay(sandbox.auth.header)
                        await sandbox.clock.advance("1m")

            await asyncio.gather(*(work() for _ in range(WORKERS)))
        await self._shows(await self.pay(aiohttp.encode_basic_auth("sandbox_key", "sandbox_secret")))
        await expect(self.page.locator("tr[data-sandbox^=test-]")).to_have_count(0, timeout=_PATIENCE_MS)

    async def _shows(self, order: str) -> None:
        """Wait until an order is in the first row."""
        await expect(self.page.locator("tbody tr .open").first).to_have_text(order, timeout=_PATIENCE_MS)

    async def measured(self, what: str, load: Awaitable[None]) -> Figures:
        """Return what a load did."""
        before, server_before = await Held.of(self.devtools), resident_bytes(self.pid)
        self.messages.clear()
        await self.browser.start_tracing(page=self.page, categories=["-*", "toplevel"])
        for each in (self.page, self.empty):
            await each.evaluate(_RECORD_FRAMES)
        began = time.monotonic()
        await load
        seconds = time.monotonic() - began
        frames, empty_frames = [await each.evaluate(_FRAMES) for each in (self.page, self.empty)]
        task_ms = longest_task_ms(json.loads(await self.browser.stop_tracing()))
        messages = list(self.messages)
        click_ms = await self._click()
        await asyncio.sleep(_QUIET_SECONDS)
        return Figures(
            what,
            seconds,
            frames,
            empty_frames,
            task_ms,
            before,
            await Held.of(self.devtools),
            messages,
            await self.page.locator("tbody tr").count(),
            click_ms,
            server_before,
            resident_bytes(self.pid),
        )

    async def _click(self) -> float:
        """Pause the list and go on; returns the milliseconds until the page had done the first."""
        button = self.page.locator("#pause")
        began = time.monotonic()
        await button.click(timeout=_PATIENCE_MS)
        await expect(button).to_have_attribute("aria-pressed", "true", timeout=_PATIENCE_MS)
        took = (time.monotonic() - began) * 1000
        await button.click(timeout=_PATIENCE_MS)
        return took


def longest_task_ms(trace: dict[str, Any]) -> float:
    """Return the processor time of the longest task of any page's main thread, in milliseconds."""
    events = trace["traceEvents"]
    pages = {
        (each["pid"], each["tid"])
        for each in events
        if each["name"] == "thread_name" and each["args"]["name"] == "CrRendererMain"
    }
    tasks = (each for each in events if each["name"] == "ThreadControllerImpl::RunTask")
    longest: float = max(each.get("tdur", 0) for each in tasks if (each["pid"], each["tid"]) in pages)
    return longest / 1000


def resident_bytes(pid: int) -> int | None:
    """Return a process's resident memory, or None where the system does not tell."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return None


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[tuple[str, int]]:
    """Run `serve`; yields its URL and the id of its process."""
    port = free_port()
    program = (sys.executable, "-m", "paydouble", "serve", "--quiet", "--clock", "manual", "--port", str(port))
    process = await asyncio.create_subprocess_exec(*program)
    try:
        while process.returncode is None and not await _listens(port):  # noqa: ASYNC110 - of another process
            await asyncio.sleep(_POLL_SECONDS)
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


@contextlib.asynccontextmanager
async def watching() -> AsyncIterator[Watched]:
    """Run a server, and open its inbox."""
    async with serving() as (url, pid), async_playwright() as playwright, aiohttp.ClientSession() as session:
        # Without a sandbox of its own, which needs rights that a container rarely has; it only opens our pages.
        browser = await playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = await browser.new_page(viewport={"width": 1280, "height": 900})
        devtools = await page.context.new_cdp_session(page)
        watched = Watched(url, pid, browser, page, await browser.new_page(), devtools, session)
        devtools.on("Network.eventSourceMessageReceived", watched.note_message)
        await devtools.send("Network.enable")
        await devtools.send("Performance.enable")
        await page.goto(f"{url}/_paydouble/")
        await page.get_by_text("Live", exact=True).wait_for()
        yield watched
        await browser.close()


def judge(figures: Figures, *, timed: bool, keeps: bool) -> list[str]:
    """Return the bounds that do not hold; `keeps` is for a load of which the server keeps records."""
    before, after = figures.before, figures.after
    ours, theirs = figures.server_before or 0, figures.server_after or 0
    bounds = [
        (figures.rows <= MOST_ROWS, f"{figures.rows} rows are on the page, at most {MOST_ROWS} should be"),
        (
            len(figures.messages) <= figures.seconds / TICK_SECONDS + 1,
            f"{len(figures.messages)} messages in {figures.seconds:.1f} s are more than one in {TICK_SECONDS} s",
        ),
        (max(figures.messages, default=0) <= MOST_ROWS, "a message has more rows than the page keeps"),
        (after.heap <= before.heap * MOST_GROWTH, "the JavaScript heap has grown"),
        (after.nodes <= before.nodes * MOST_GROWTH, "the page holds more DOM nodes than before"),
        (after.listeners <= before.listeners, "the page holds more event listeners than before"),
        (keeps or theirs <= ours * MOST_SERVER_GROWTH, "the server has more memory than before"),
        (
            not timed or figures.longest_task_ms <= MOST_TASK_MS,
            f"a task of the page takes {MOST_TASK_MS:.0f} ms or more",
        ),
    ]
    return [f"{figures.what}: {text}" for holds, text in bounds if not holds]


async def main(payments: int, sandboxes: int, *, timed: bool) -> int:
    """Measure, print, and return the exit status."""
    problems: list[str] = []
    async with watching() as watched:
        # What a page and a server take once: a full list, and the memory of a first round.
        await watched.pay_often(MOST_ROWS + 100)
        await watched.test_often(2 * WORKERS)
        for what, load, keeps in (
            (f"{payments:,} payments", watched.pay_often(payments), True),
            (f"{sandboxes:,} sandboxes made and deleted", watched.test_often(sandboxes), False),
        ):
            figures = await watched.measured(what, load)
            print(*figures.lines(), sep="\n", flush=True)
            problems += judge(figures, timed=timed, keeps=keeps)
        async with watched.session.get(f"{watched.url}/_paydouble/sandboxes") as response:
            left = len((await response.json())["items"])
        if left != 1:
            problems.append(f"the server still has {left - 1} of the sandboxes that were deleted")
    for each in problems:
        print(f"inbox_load: {each}", file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--payments", type=int, default=10_000)
    parser.add_argument("--sandboxes", type=int, default=500)
    parser.add_argument("--quick", action="store_true", help="1,000 payments and 40 sandboxes; no time is judged")
    given = parser.parse_args()
    counts = (1_000, 40) if given.quick else (given.payments, given.sandboxes)
    sys.exit(asyncio.run(main(*counts, timed=not given.quick)))
