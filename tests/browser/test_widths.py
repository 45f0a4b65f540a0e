"""Every page at every width. The pages are taken from the table of routes, so a new one is looked at too."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import chromium
import pytest
from playwright.async_api import Browser
from receivers import raw, receiving, status
from servers import Client, running

from paydouble.server import ServerOptions
from paydouble.web.inspector.routes import ROUTES

ANSWER = b"HTTP/1.1 503 Busy\r\nX-Worker: %s\r\nContent-Length: 4\r\n\r\nbusy" % (b"w" * 300)
LONG = "x" * 128
NEEDED = {"inspector/sandboxes/{s}/faults/new": "?effect=api.latency"}
"""The query without which a page is refused."""


@asynccontextmanager
async def traffic(client: Client) -> AsyncIterator[dict[str, str]]:
    """Fill everything that pages show with long texts; yields the values of the variables of the paths."""
    async with receiving(raw(ANSWER), status(500)) as receiver:
        box = await client.sandbox(id="s" * 64, notification_url=f"{receiver.url}{LONG}?{LONG}")
        for fault in (
            {"name": LONG, "on": "api", "effect": {"type": "latency", "fixed": "1ms"}, "times": 1},
            {"on": "webhooks", "effect": {"type": "signature", "mode": "wrong_secret"}, "match": {"object_id": LONG}},
        ):
            assert (await box.control("POST", "/faults", fault)).status == 201
        pay_in = await box.deposit(external_identifier=LONG, metadata={"note": "y" * 500})
        await box.advance(by="1h")
        await box.control("POST", f"/pay-ins/{pay_in['id']}/disputes", {"amount": 20})
        await box.api("POST", "/pay-in/deposit-creation", {"amount": -1, "external_identifier": LONG})
        await client.call("GET", f"/api/v1/{LONG}", headers={"Authorization": "Basic YTpi"})
        unclaimed = (await client.control("GET", "/unclaimed-requests")).document["items"]
        yield {
            "sandboxes/{s}": f"sandboxes/{box.id}",
            "payments/{id}": f"payments/{pay_in['id']}",
            "deliveries/{id}": f"deliveries/{(await box.deliveries())[0]['id']}",
            "/requests/{id}": f"/requests/{(await box.get('/requests'))['items'][-1]['id']}",
            "unclaimed-requests/{id}": f"unclaimed-requests/{unclaimed[0]['id']}",
            "attempts/{number}": "attempts/1",
            "scenarios/{name}": "scenarios/payer-decides",
        }


async def pages(client: Client, values: dict[str, str]) -> list[str]:
    """Return the URLs of all pages, and of what is no page."""
    found = [f"{client.server.base_url}/_paydouble/{path}" for path in ("docs", "?q=nothing", "inspector/nothing")]
    for route in ROUTES:
        if route.method != "GET":
            continue
        path = route.path
        for variable, value in values.items():
            path = path.replace(variable, value)
        assert "{" not in path, f"{route.path}: this test has no value for a variable of this path"
        url = f"{client.server.base_url}/_paydouble/{path}{NEEDED.get(route.path, '')}"
        async with client.session.head(url, headers={"Accept": "text/html"}) as response:
            assert response.status == 200, url
            if response.content_type == "text/html" and "Content-Disposition" not in response.headers:
                found.append(url)
    return found


@pytest.mark.parametrize("width", [320, 1600, *(pytest.param(each, marks=pytest.mark.long) for each in (800, 3840))])
async def test_no_page_scrolls_sideways(client: Client, browser: Browser, width: int) -> None:
    """Neither on a small telephone nor on a very large screen, with everything open."""
    async with traffic(client) as values, chromium.window(browser, width=width) as window:
        urls = await pages(client, values)
        for url in urls:
            await window.page.goto(url)
            await window.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
            assert await window.width() == width, url
        async with running(ServerOptions(port=0, control_token="t0ken")) as other:
            await window.page.goto(f"{other.server.base_url}/_paydouble/")
            assert await window.width() == width

    assert len(urls) > 10
