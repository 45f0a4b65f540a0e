"""What the guides say about work after the answer, with FastAPI itself."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import fastapi
import httpx
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "prepare-a-shop.md"


def test_background_tasks_wait_for_drain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer comes without them, and each is run once."""
    kept, drained = re.findall(
        r"^```python\n(.*?)^```$",
        PAGE.read_text("utf-8").partition("### Work after the answer")[2],
        re.MULTILINE | re.DOTALL,
    )[:2]
    monkeypatch.setattr(fastapi.BackgroundTasks, "__call__", fastapi.BackgroundTasks.__call__)  # put back at the end
    names: dict[str, Any] = {"run": asyncio.run}
    exec(f"{kept}\n\nclass Adapter:\n{drained}", names)  # noqa: S102 - the code of our own page
    done: list[str] = []
    app = fastapi.FastAPI()

    async def later(what: str) -> None:
        done.append(what)

    @app.post("/webhooks")
    async def receive(tasks: fastapi.BackgroundTasks) -> None:
        tasks.add_task(later, "in a loop")
        tasks.add_task(done.append, "in a thread")

    async def post() -> int:
        async with httpx.AsyncClient(base_url="http://shop", transport=httpx.ASGITransport(app)) as client:
            return (await client.post("/webhooks")).status_code

    assert (asyncio.run(post()), done) == (200, [])
    names["Adapter"]().drain()
    assert done == ["in a loop", "in a thread"]
