"""The payment service over httpx; every call ends in an outcome, none in an exception."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

import httpx

SENDS = 5
LONGEST_WAIT_SECONDS = 300.0
PAGE = "20"


class Clock(Protocol):
    """The time, and a way to let it pass."""

    def now(self) -> float:
        """Return the seconds since the epoch."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


@dataclass(frozen=True)
class Outcome:
    """What became of a POST: `made`, `refused`, `unsent` (certainly not carried out), or `unknown`."""

    kind: str
    data: dict[str, Any] = field(default_factory=dict)


class Service:
    """The calls that the shop makes."""

    def __init__(self, client: httpx.Client, clock: Clock, bugs: frozenset[str] = frozenset()) -> None:
        """Take a client that has the base address and the credentials."""
        self.client = client
        self.clock = clock
        self.bugs = bugs
        self.closed_until = 0.0

    def post(self, path: str, key: str, body: str) -> Outcome:
        """Send a request up to five times, with one key."""
        headers = {"Idempotency-Key": key, "Content-Type": "application/json"}
        is_lost = False
        for number in range(SENDS):
            if number:
                self.clock.sleep(2.0 ** (number - 1))
            if self.clock.now() < self.closed_until:
                break
            try:
                response = self.client.post(path, content=body.encode(), headers=headers)
            except httpx.HTTPError:
                is_lost = True
                continue
            answer = read(response)
            if response.status_code == 429:
                if "limit_is_refusal" in self.bugs:
                    return Outcome("refused")
                self.wait(response.headers.get("X-RateLimit-Reset"))
            elif response.is_success and isinstance(answer.get("data"), dict):
                return Outcome("made", answer["data"])
            elif response.is_success or response.is_server_error or "retries_refusals" in self.bugs:
                is_lost = True
            elif response.status_code in {400, 404, 422} and "error" in answer:
                return Outcome("unknown" if is_lost else "refused")
            elif response.status_code in {401, 403} and "error" in answer:
                break
            else:
                return Outcome("unknown")
        return Outcome("unknown" if is_lost else "unsent")

    def wait(self, reset: str | None) -> None:
        """Wait for the end of a rate limit, or remember it when it is far away."""
        now = self.clock.now()
        try:
            number = float(reset or "")
        except ValueError:
            number = 30.0
        end = number / 1000 if number > 1e11 else number if number > 1e8 else now + number
        if end - now > LONGEST_WAIT_SECONDS:
            self.closed_until = end + 1
        else:
            self.clock.sleep(max(end - now, 0.0) + 1)

    def everything(self, path: str, **query: str) -> list[dict[str, Any]] | None:
        """Return all items of a list, from all pages; None when a page is missing."""
        found: list[dict[str, Any]] = []
        cursor = ""
        while self.clock.now() >= self.closed_until:
            try:
                response = self.client.get(
                    path, params={**query, "limit": PAGE, **({"cursor": cursor} if cursor else {})}
                )
            except httpx.HTTPError:
                return None
            if response.status_code == 429:
                self.wait(response.headers.get("X-RateLimit-Reset"))
                return None
            data = read(response).get("data")
            if response.status_code != 200 or not isinstance(data, dict) or "items" not in data:
                return None
            found += data["items"]
            cursor = data.get("next_cursor") or ""
            if not cursor or "settlement_first_page" in self.bugs:
                return found
        return None


def read(response: httpx.Response) -> dict[str, Any]:
    """Return the JSON object of an answer, with exact amounts; empty for anything else."""
    try:
        value = json.loads(response.content, parse_float=Decimal, parse_int=Decimal)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
