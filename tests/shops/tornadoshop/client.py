"""The client of the payment service, on httpx."""

import json
import time
from decimal import Decimal
from typing import Any

import httpx


class NoAnswer(Exception):
    """No usable answer came; what became of the request is not known."""

    def __init__(self, status: int = 0) -> None:
        super().__init__(f"no usable answer ({status})")
        self.status = status


class TooMany(Exception):
    """The request was refused by the rate limit, and not worked on."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"rate limited for {seconds} s")
        self.seconds = seconds


class Rejected(Exception):
    """The service said no."""

    def __init__(self, status: int) -> None:
        super().__init__(f"rejected with {status}")
        self.status = status


class Payments:
    """Calls the payment service; each call is one request."""

    def __init__(self, http: httpx.AsyncClient, bugs: frozenset[str] = frozenset()) -> None:
        self.http = http
        self.bugs = bugs
        self.limits = 0

    async def create(self, kind: str, key: str, body: str) -> dict[str, Any]:
        """Ask for a deposit or a refund."""
        path = "/pay-in/deposit-creation" if kind == "deposit" else "/refund/refund-creation"
        headers = {"Idempotency-Key": key, "Content-Type": "application/json"}
        data = await self._call("POST", path, content=body.encode(), headers=headers)
        if not isinstance(data.get("id"), str) and "any_200_is_created" not in self.bugs:
            raise NoAnswer
        return data

    async def payin(self, name: str) -> dict[str, Any]:
        """Read a pay-in."""
        return await self._call("GET", f"/pay-in/{name}")

    async def listed(self, kind: str, **query: str) -> list[dict[str, Any]]:
        """Read a list, page by page."""
        found: list[dict[str, Any]] = []
        cursor: str | None = ""
        while cursor is not None:
            data = await self._call(
                "GET", f"/{kind}", params={**query, "limit": "50", **({"cursor": cursor} if cursor else {})}
            )
            if not isinstance(data.get("items"), list):
                raise NoAnswer
            found += data["items"]
            cursor = data.get("next_cursor") or None
        return found

    async def _call(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        try:
            response = await self.http.request(method, path, **options)
        except httpx.HTTPError as error:
            raise NoAnswer from error
        status = response.status_code
        if status == 429:
            self.limits += 1
            raise TooMany(self._seconds(response.headers.get("X-RateLimit-Reset", "")))
        self.limits = 0
        transient = {408, 409, 425, *({401} if "unauthorized_retried" in self.bugs else ())}
        if 400 <= status < 500 and status not in transient:
            raise Rejected(status)
        if not response.is_success:
            raise NoAnswer(status)
        try:
            data = json.loads(response.content, parse_float=Decimal, parse_int=Decimal)["data"]
        except (ValueError, KeyError, TypeError) as error:
            if "any_200_is_created" in self.bugs:
                return {}
            raise NoAnswer from error
        if not isinstance(data, dict):
            raise NoAnswer
        return data

    def _seconds(self, reset: str) -> float:
        """Return how long to wait: the reset may be a time in seconds or milliseconds, or a number of seconds."""
        if reset.isascii() and reset.isdigit() and len(reset) < 16:
            number = float(reset)
            if number > 10**11:
                number = number / 1000 - time.time()
            elif number > 10**8:
                number -= time.time()
            if number > 0:
                return number + 0.5
        return 2.0 ** min(self.limits + 1, 10)
