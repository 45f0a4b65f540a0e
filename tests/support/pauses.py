"""Requests that a server makes wait: they wait until the test lets them go on, however slow the machine is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from paydouble.runtime import host


class _Held:
    """Stands for `asyncio` in the module that makes requests wait."""

    def __init__(self) -> None:
        self.released = asyncio.Event()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever asyncio has
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        """Wait for the release in the place of some time; a turn of the loop stays one."""
        await (self.released.wait() if seconds else asyncio.sleep(0))


def hold_requests(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Keep requests with a latency or a processing time in flight until the event that is returned is set."""
    held = _Held()
    monkeypatch.setattr(host, "asyncio", held)
    return held.released
