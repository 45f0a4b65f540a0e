"""Sandboxes, scenarios and the payer's page in a real browser."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import chromium
import pytest
from bounds import AT_MOST_SECONDS
from chromium import Theme, Window
from playwright.async_api import Browser
from receivers import receiving, status
from servers import Box, Client

from paydouble.web.inspector import advances

MERCHANT = Path(__file__).parents[2] / "examples" / "merchant" / "merchant.py"
AT_MOST = f"{AT_MOST_SECONDS:.0f}s"
ORDER = {"id": "order-1", "amount": "49.90", "currency": "EUR", "email": "ada@example.test"}


def page_of(client: Client, *segments: str) -> str:
    """Return the URL of a page of the inspector."""
    return f"http://127.0.0.1:{client.server.port}/_paydouble/inspector/{'/'.join(segments)}"


async def filled(client: Client) -> tuple[Box, list[str]]:
    """Make sandboxes, faults and payments; returns the pages that show them."""
    box = await client.sandbox(id="shop-tests", notification_url="http://127.0.0.1:9/hook")
    for number in range(60):
        await client.sandbox(id=f"worker-{number}")
    for fault in (
        {"name": "x" * 200, "on": "api", "effect": {"type": "error", "status": 503}, "match": {"path": "y" * 200}},
        {"on": "webhooks", "enabled": False, "effect": {"type": "signature", "mode": "wrong_secret"}},
    ):
        assert (await box.control("POST", "/faults", fault)).status == 201
    pay_in = (await box.control("POST", "/scenarios/payer-decides/play", {})).document
    done = (await box.control("POST", "/scenarios/card-declined/play", {})).document
    await box.advance(by="1m")
    return box, [
        page_of(client, "sandboxes"),
        page_of(client, "sandboxes", f"{box.id}?show=secrets"),
        page_of(client, "sandboxes", box.id, "faults", "new?effect=api.latency"),
        page_of(client, "sandboxes", box.id, "faults", "new?effect=webhooks.tamper"),
        page_of(client, "scenarios"),
        page_of(client, "scenarios", "payer-decides"),
        page_of(client, "scenarios", "dispute-lost"),
        pay_in["payment_url"],
        done["payment_url"],
        f"{client.server.base_url}/_paydouble/checkout/payin_none",
    ]


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.long)])
async def test_no_page_has_a_barrier_or_scrolls_sideways(client: Client, browser: Browser, theme: Theme) -> None:
    """With everything open, wide and narrow."""
    _, pages = await filled(client)
    for width in (1280, 320):
        async with chromium.window(browser, theme=theme, width=width) as window:
            for url in pages:
                await window.page.goto(url)
                await window.page.evaluate(
                    "document.querySelectorAll('details').forEach(each => { each.open = true; })"
                )
                assert await window.barriers() == [], url
                assert await window.width() == width, url


async def test_a_long_advance_shows_its_progress(
    client: Client, window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page asks again by itself, and says what fired when it has ended."""
    monkeypatch.setattr(advances, "STEP_TIMERS", 5)
    monkeypatch.setattr(advances, "PATIENCE_SECONDS", 0.0)
    async with receiving(status(500)) as receiver:
        box = await client.sandbox(notification_url=receiver.url)
        for number in range(20):
            await box.deposit(external_identifier=f"order-{number}")
        await window.page.goto(page_of(client, "sandboxes", box.id))
        await window.page.get_by_role("button", name="+72 h").click()
        await window.says(".done", "The clock is moving by 72h")
        await window.says("#clock", "The last advance from this page")
        await window.says("#clock .counts", "pay-in.succeeded × 20")

    assert await window.page.locator("progress").count() == 0


async def test_a_fault_is_added_by_keyboard(client: Client, window: Window) -> None:
    """From the list of effects to the row of the fault."""
    box = await client.sandbox()
    await window.page.goto(page_of(client, "sandboxes", box.id))
    await window.page.focus("#effect")
    await window.page.select_option("#effect", "api.html_error")
    await window.page.keyboard.press("Tab")
    await window.page.keyboard.press("Enter")
    await window.says("h1", "Add the fault html_error")
    await window.page.focus('[name="match.operation"]')
    await window.page.keyboard.type("deposit-creation")
    await window.page.get_by_role("button", name="Add the fault").press("Enter")
    await window.says(".faults", "html_error, operation: deposit-creation")


@asynccontextmanager
async def shop(box: Box) -> AsyncIterator[aiohttp.ClientSession]:
    """Open the sample shop as a process of its own; it gets the events of the sandbox."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-u", str(MERCHANT)),
        stdout=asyncio.subprocess.PIPE,
        env={
            "PATH": os.defpath,
            "PORT": "0",
            "PAYMENT_URL": f"http://127.0.0.1:{box.client.server.port}/api/v1",
            "PAYMENT_KEY": box.document["business_key"],
            "PAYMENT_SECRET": box.document["business_secret"],
            "WEBHOOK_SECRET": box.document["webhook_secret"],
        },
    )
    assert process.stdout is not None
    try:
        found = re.search(rb":(\d+)\n", await process.stdout.readline())
        assert found
        url = f"http://127.0.0.1:{int(found[1])}"
        await box.control("PATCH", "/webhook", {"notification_url": f"{url}/webhooks"})
        async with aiohttp.ClientSession(url) as session:
            yield session
    finally:
        process.terminate()
        await process.communicate()


async def order(session: aiohttp.ClientSession) -> dict[str, Any]:
    """Return the order as the shop shows it."""
    async with session.get("/orders/order-1") as response:
        found: dict[str, Any] = json.loads(await response.read())
    return found


@pytest.mark.parametrize(
    ("button", "status"),
    [("Pay 49.90 EUR", "succeeded"), ("Decline", "failed"), ("Abandon", "cancelled")],
)
async def test_the_sample_shop_is_paid_in_a_browser(client: Client, window: Window, button: str, status: str) -> None:
    """The shop orders, the payer decides on the page, and the shop's order follows its webhooks."""
    box = await client.sandbox(clock={"mode": "real", "rate": 20}, scenario="payer-decides")
    async with shop(box) as session:
        async with session.post("/orders", json=ORDER) as response:
            assert response.status == 201
        waiting = {"match": {"event_type": "pay-in.pending", "status": "delivered"}, "timeout": AT_MOST}
        assert (await box.control("POST", "/deliveries/wait", waiting)).document["passed"]
        (pay_in,) = (await box.get("/pay-ins"))["items"]
        assert (await order(session))["status"] == "pending"

        await window.page.goto(pay_in["payment_url"])
        await window.page.get_by_role("button", name=button, exact=True).click()
        await window.says(".status", status)
        await window.says("h1", "Payment of 49.90 EUR")
        last = {"match": {"event_type": f"pay-in.{status}", "status": "delivered"}, "timeout": AT_MOST}
        assert (await box.control("POST", "/deliveries/wait", last)).document["passed"]

        assert (await order(session))["status"] == status
