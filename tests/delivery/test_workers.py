"""Tasks that send: no more of them than there are endpoints to serve."""

from __future__ import annotations

import pytest
from receivers import receiving, status
from servers import Client

from paydouble.runtime.pump import Pump


async def test_one_worker_sends_all_that_is_due(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker looks for the next attempt itself, so no other one is started for its endpoint meanwhile."""
    started: list[str] = []
    work = Pump._work  # noqa: SLF001 - a task has no other name

    async def counted(pump: Pump, endpoint: str) -> None:
        started.append(endpoint)
        await work(pump, endpoint)

    async with receiving(status(500)) as receiver:
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned")
        for _ in range(5):
            await box.deposit(expires_in=86_400)
        await box.advance(by="1s")
        monkeypatch.setattr(Pump, "_work", counted)

        await box.advance(by="1m")  # the retry of each of them

        assert len(receiver.requests) == 10
        assert len(started) == 1
