"""A server for each test, and a caller with a sandbox of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from servers import Client, running
from wires import Caller, caller


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """Give a client of a fresh server."""
    async with running() as started:
        yield started


@pytest.fixture
async def shop(client: Client) -> Caller:
    """Give a caller."""
    return await caller(client)
