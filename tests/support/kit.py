"""For tests of `paydouble.testing`: a deposit over HTTP, and one way to call synchronous and asynchronous handles."""

from __future__ import annotations

import asyncio
import http.client
import inspect
import json
from typing import Any
from urllib.parse import urlsplit

from bounds import AT_MOST_SECONDS
from drive import deposit_body, key

from paydouble.testing import Async, SandboxHandle, Sync

# A handle of either kind, or the result of a call; the type of one does not fit the other.
Either = Any


async def settle(answer: Either) -> Either:
    """Return the result of a call, awaited where it has to be."""
    return await answer if inspect.isawaitable(answer) else answer


def deposit(box: SandboxHandle[Sync] | SandboxHandle[Async], number: int = 1, **changes: object) -> tuple[int, Either]:
    """Create a deposit over HTTP; return the status and the document."""
    parts = urlsplit(box.base_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=AT_MOST_SECONDS)
    headers = {"Authorization": box.auth.header, "Content-Type": "application/json", "Idempotency-Key": key(number)}
    try:
        path = f"{parts.path}/pay-in/deposit-creation"
        connection.request("POST", path, json.dumps(deposit_body(**changes)), headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


async def deposited(box: Either, number: int = 1) -> tuple[int, Either]:
    """Do the same in a thread, since the server may run in this event loop."""
    return await asyncio.to_thread(deposit, box, number)
