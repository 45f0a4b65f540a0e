"""A server for each test, on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from bounds import AT_MOST_SECONDS
from servers import Client, running

from paydouble.runtime import sender


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """Return a client of a new server."""
    async with running() as started:
        yield started


@pytest.fixture
def kept_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep connections to receivers for longer than a busy machine needs from one attempt to the next."""
    monkeypatch.setattr(sender, "KEEP_ALIVE_SECONDS", AT_MOST_SECONDS)
