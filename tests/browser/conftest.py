"""A server and a browser for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import chromium
import pytest
from playwright.async_api import Browser
from servers import Client, running


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """Return a client of a new server."""
    async with running() as made:
        yield made


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    """Return Chromium."""
    async with chromium.started() as made:
        yield made


@pytest.fixture
async def window(browser: Browser) -> AsyncIterator[chromium.Window]:
    """Return a window."""
    async with chromium.window(browser) as made:
        yield made
