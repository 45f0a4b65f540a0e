"""A server, and a browser without a screen."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from inspecting import Browser
from servers import Client, running


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """Return a client of a new server."""
    async with running() as made:
        yield made


@pytest.fixture
def browser(client: Client) -> Browser:
    """Return a browser for the server."""
    return Browser(client)
