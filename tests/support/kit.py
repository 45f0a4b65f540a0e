"""What the tests of the testing kit share: a deposit over HTTP, and one way to call handles of both kinds."""

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

# A handle of either kind, whose types only fit one of them; or what its calls give.
Either = Any


async def settle(answer: Either) -> Either:
    """Return what a call gives, now or when it is awaited."""
    return await answer if inspect.isawaitable(answer) else answer


def deposit(box: SandboxHandle[Sync] | SandboxHandle[Async], number: int = 1, **changes: object) -> tuple[int, Either]:
    """Create a deposit as a merchant's code would; returns the status and the document."""
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
    """Do the same beside the event loop, in which the server may live."""
    return await asyncio.to_thread(deposit, box, number)
