"""The client of the payment service, on aiohttp."""

from __future__ import annotations

import asyncio
import base64
import json
import time
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import aiohttp

ATTEMPTS = 5
TIMEOUT_SECONDS = 10.0
LONGEST_WAIT_SECONDS = 120.0


class Unanswered(Exception):
    """The outcome of a request is unknown."""


class Postponed(Exception):
    """The request was not carried out this time: a rate limit, or credentials."""


class Declined(Exception):
    """The service refused the request for good."""

    def __init__(self, reason: str, *, is_after_loss: bool) -> None:
        """Say why, and whether an earlier request of the same call got no answer."""
        super().__init__(reason)
        self.is_after_loss = is_after_loss


class Gateway:
    """Sends requests to the payment service, with retries."""

    def __init__(
        self,
        base_url: str,
        auth: tuple[str, str],
        connector: Callable[[], aiohttp.BaseConnector] | None = None,
        bugs: frozenset[str] = frozenset(),
    ) -> None:
        """Take the address with `/api/v1`, and the business key and secret."""
        self.base_url = base_url.rstrip("/")
        self.authorization = "Basic " + base64.b64encode(":".join(auth).encode()).decode()
        self.connector = connector
        self.bugs = bugs
        self.closed_until = 0.0
        self.session: aiohttp.ClientSession | None = None

    def client(self) -> aiohttp.ClientSession:
        """Return the session, opened in the running loop."""
        if self.session is None or self.session.closed:
            self.session = aiohttp.ClientSession(
                headers={"Authorization": self.authorization},
                timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS),
                connector=self.connector() if self.connector else None,
            )
        return self.session

    async def close(self) -> None:
        """Close the session."""
        if self.session is not None:
            await self.session.close()

    async def post(self, path: str, key: str, body: bytes) -> dict[str, Any]:
        """POST with one key and the same bytes each time; returns `data`."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        is_lost = False
        for attempt in range(ATTEMPTS):
            if attempt and "retries_without_pause" not in self.bugs:
                await asyncio.sleep(2.0 ** (attempt - 1))
            self.check_limit(is_lost=is_lost)
            if "key_per_send" in self.bugs:
                headers["Idempotency-Key"] = str(uuid.uuid4())
            try:
                async with self.client().post(
                    self.base_url + path, data=body, headers=headers, allow_redirects=False
                ) as response:
                    status, content = response.status, await response.read()
                    reset = response.headers.get("X-RateLimit-Reset")
            except (aiohttp.ClientError, TimeoutError, OSError):
                is_lost = True
                continue
            if status == 429:
                await self.wait_for_reset(reset)
                continue
            answer = parse(content)
            if status in {200, 201} and isinstance(answer.get("data"), dict):
                data: dict[str, Any] = answer["data"]
                return data
            if status >= 500 or status in {200, 201}:
                is_lost = True
                continue
            if status in {400, 404, 422} and "error" in answer:
                raise Declined(str(answer["error"]), is_after_loss=is_lost)
            if status in {401, 403} and "error" in answer and not is_lost:
                raise Postponed(status)
            raise Unanswered(status)  # a conflict of keys, or something between us and the service
        if is_lost:
            raise Unanswered(path)
        raise Postponed(path)

    def check_limit(self, *, is_lost: bool) -> None:
        """Send nothing before the rate limit is reset."""
        if time.time() < self.closed_until:
            if is_lost:
                raise Unanswered("rate limit")
            raise Postponed("rate limit")

    async def wait_for_reset(self, reset: str | None) -> None:
        """Wait until the rate limit is reset; a reset that is far away is remembered instead."""
        if "reset_as_seconds" in self.bugs:
            await asyncio.sleep(float(reset or 1))
            return
        now = time.time()
        try:
            number = float(reset or "")
        except ValueError:
            number = 1.0
        # The unit is documented nowhere, but the size tells.
        seconds = number / 1000 - now if number > 1e11 else number - now if number > 1e8 else number
        seconds = max(seconds, 0.0) + 1.0
        if seconds > LONGEST_WAIT_SECONDS:
            self.closed_until = now + seconds
        else:
            await asyncio.sleep(seconds)

    async def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        """Return all items of a list, page by page; Unanswered when any page is missing."""
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            self.check_limit(is_lost=True)
            params = {**query, "limit": "100", **({"cursor": cursor} if cursor else {})}
            try:
                async with self.client().get(self.base_url + path, params=params, allow_redirects=False) as response:
                    status, content = response.status, await response.read()
                    reset = response.headers.get("X-RateLimit-Reset")
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise Unanswered(path) from error
            if status == 429:
                await self.wait_for_reset(reset)
                raise Unanswered(path)
            data = parse(content).get("data")
            if status != 200 or not isinstance(data, dict) or not isinstance(data.get("items"), list):
                raise Unanswered(path)
            found += data["items"]
            cursor = data.get("next_cursor")
            if not cursor:
                return found


def parse(content: bytes) -> dict[str, Any]:
    """Return a JSON object with exact amounts; empty for anything else."""
    try:
        value = json.loads(content, parse_float=Decimal, parse_int=Decimal)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
