"""The client of the payment service."""

from __future__ import annotations

import json
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import httpx

MAX_TRIES = 4
TRANSIENT = {408, 409, 425, 429, 500, 502, 503, 504}


class Rejected(Exception):
    """A definite no."""


class Unclear(Exception):
    """It may have been executed, or not."""


class KeepsFailing(Unclear):
    """The last answer was an error of the server, which may be stored under the key."""


class AlreadyDone(Exception):
    """The service is believed to have done this before."""


@dataclass
class PaymentClient:
    """Talks to the payment service."""

    make_client: Callable[[], httpx.AsyncClient]
    now: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    bugs: frozenset[str] = frozenset()

    async def create(self, path: str, key: str, body: str) -> dict[str, Any]:
        """POST until there is an answer."""
        tries, status = 0, 0
        async with self.make_client() as client:
            while tries < MAX_TRIES:
                tries += 0 if "retries_for_ever" in self.bugs else 1
                status = 0
                headers = {"Idempotency-Key": key, "Content-Type": "application/json"}
                try:
                    response = await client.post(path, content=body.encode(), headers=headers)
                except httpx.HTTPError as error:
                    if isinstance(error, httpx.ReadTimeout) and "timeout_gets_a_new_key" in self.bugs:
                        key = str(uuid.uuid4())
                    await self.sleep(2.0**tries)
                    continue
                status = response.status_code
                if status in {200, 201}:
                    data = self.read(response)
                    if data is not None:
                        return data
                    if "cut_reply_is_a_failure" in self.bugs:
                        raise Rejected("unreadable answer")
                elif response.status_code == 409 and "conflict_is_success" in self.bugs:
                    raise AlreadyDone
                elif response.status_code in {400, 422}:
                    raise Rejected(response.text)
                elif response.status_code not in TRANSIENT:
                    break
                await self.sleep(self.pause(response) if response.status_code == 429 else 2.0**tries)
        raise KeepsFailing(path) if status == 500 else Unclear(path)

    async def collect(self, path: str, **query: str) -> list[dict[str, Any]]:
        """GET all pages of a list."""
        found: list[dict[str, Any]] = []
        async with self.make_client() as client:
            while True:
                try:
                    response = await client.get(path, params=query)
                except httpx.HTTPError as error:
                    raise Unclear(path) from error
                if response.status_code == 429:
                    await self.sleep(self.pause(response))
                data = self.read(response) if response.status_code == 200 else None
                if data is None or not isinstance(data.get("items"), list):
                    raise Unclear(path)
                found.extend(data["items"])
                cursor = data.get("next_cursor")
                if not cursor or ("external_identifier" not in query and path.endswith("/pay-in")):
                    return found
                query["cursor"] = cursor

    @staticmethod
    def read(response: httpx.Response) -> dict[str, Any] | None:
        """Return what an answer holds, with exact amounts."""
        try:
            document = json.loads(response.content, parse_float=Decimal)
            data = document["data"]
        except (ValueError, KeyError, TypeError):
            return None
        return data if isinstance(data, dict) else None

    def pause(self, response: httpx.Response) -> float:
        """Return the seconds to wait after a 429: the header may count seconds, or name a time in one of two units."""
        header = response.headers.get("x-ratelimit-reset", "")
        if not header.isdecimal():
            return 5.0
        reset = int(header)
        if "reset_in_milliseconds" in self.bugs:
            return max(reset / 1000 - self.now(), 0.0)
        for unit in (1000, 1):
            if reset > 10**9 * unit:
                return min(max(reset / unit - self.now(), 0.0) + 1.0, 180.0)
        return min(reset + 1.0, 180.0)
