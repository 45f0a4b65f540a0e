"""A server for each test, with its ports at this machine's loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from servers import Client, running


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """Give a client of a fresh server."""
    async with running() as started:
        yield started
