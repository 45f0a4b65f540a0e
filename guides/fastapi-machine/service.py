"""The client of the payment service, on httpx."""

import asyncio
import json
import time
from decimal import Decimal
from typing import Any

import httpx

ATTEMPTS = 5
LONGEST_PAUSE = 300.0


class Unknown(Exception):
    """It is not known what became of a request."""


class KeepsFailing(Unknown):
    """The last answer was an error of the server, which may be stored under the key."""


class Refused(Exception):
    """The service refused the request, and would refuse it again."""


class PaymentService:
    """Calls the payment service."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        """Take a client that has the URL of the API, our credentials, and a timeout."""
        self.client = client

    async def create_deposit(self, key: str, body: str) -> dict[str, Any]:
        """Create a deposit; the key and the body are the same in every attempt."""
        headers = {"Idempotency-Key": key, "Content-Type": "application/json"}
        status = 0
        for attempt in range(ATTEMPTS):
            status = 0
            if attempt:
                await asyncio.sleep(2.0 ** (attempt - 1))
            try:
                response = await self.client.post("/pay-in/deposit-creation", content=body.encode(), headers=headers)
            except httpx.HTTPError:
                continue
            status = response.status_code
            if status == 429:
                await asyncio.sleep(pause(response.headers.get("X-RateLimit-Reset")))
            elif status in {400, 422}:
                raise Refused
            elif status < 500:
                return data_of(response)
        raise KeepsFailing if status == 500 else Unknown

    async def find(self, kind: str, **query: str) -> list[dict[str, Any]]:
        """Return the deposits (`pay-in`) or disputes that a query names, the newest first."""
        try:
            response = await self.client.get(f"/{kind}", params={**query, "limit": "100"})
        except httpx.HTTPError:
            raise Unknown from None
        items: list[dict[str, Any]] = data_of(response)["items"]
        return items


def data_of(response: httpx.Response) -> dict[str, Any]:
    """Return the data of an answer, with exact amounts."""
    try:
        data = json.loads(response.content, parse_float=Decimal, parse_int=Decimal)["data"]
    except (ValueError, KeyError, TypeError):
        raise Unknown from None
    if response.status_code not in {200, 201} or not isinstance(data, dict):
        raise Unknown
    return data


def pause(reset: str | None) -> float:
    """Return how long to wait after a 429. The unit of the reset is not documented, so its size decides."""
    try:
        number = float(reset or "")
    except ValueError:
        return 1.0
    seconds = number / 1000 - time.time() if number > 1e11 else number - time.time() if number > 1e8 else number
    return min(max(seconds + 1, 1.0), LONGEST_PAUSE)
