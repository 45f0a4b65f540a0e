"""A server for each test, in a thread, or of either kind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from paydouble.testing import AsyncPaydouble, Paydouble


@pytest.fixture
def server() -> Iterator[Paydouble]:
    """Give a server in a thread."""
    with Paydouble.start() as running:
        yield running


@pytest.fixture(params=["sync", "async"])
async def either(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    """Give a server's handle of either kind; what its calls give goes through `settle`."""
    if request.param == "sync":
        with Paydouble.start() as running:
            yield running
    else:
        async with AsyncPaydouble.start() as awaited:
            yield awaited
