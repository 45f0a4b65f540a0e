"""A server for each test, on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from servers import Client, running


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """Return a client of a new server."""
    async with running() as started:
        yield started
