"""A server for each test, and one browser for all: its start takes longer than most tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import chromium
import pytest
import pytest_asyncio
from playwright.async_api import Browser
from servers import Client, running


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests in one event loop, to which the browser belongs."""
    for item in items:
        if item.nodeid.startswith("tests/browser/") and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(loop_scope="session")
async def client() -> AsyncIterator[Client]:
    """Return a client of a new server."""
    async with running() as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Return Chromium; each window in it has cookies and settings of its own."""
    async with chromium.started() as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def window(browser: Browser) -> AsyncIterator[chromium.Window]:
    """Return a window."""
    async with chromium.window(browser) as made:
        yield made
