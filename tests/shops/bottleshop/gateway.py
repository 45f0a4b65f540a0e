"""The client of the payment service, on urllib3."""

import json
import time
from decimal import Decimal
from typing import Any, Protocol
from urllib.parse import urlencode

import urllib3

TIMEOUT = 10.0
LONGEST_WAIT = 60.0  # in a call; what takes longer is left to the worker
READ_TRIES = 3


class Pool(Protocol):
    """What we use of urllib3's PoolManager."""

    def request(self, method: str, url: str, **options: Any) -> Any:
        """Send a request."""


class Lost(Exception):
    """No usable answer came; the request may have been worked on."""


class Limited(Exception):
    """Too many requests; nothing was worked on."""

    def __init__(self, wait: float) -> None:
        super().__init__(f"rate limited for {wait} s")
        self.wait = wait


class Refused(Exception):
    """The service refused the request."""

    def __init__(self, status: int) -> None:
        super().__init__(f"refused with {status}")
        self.status = status


class Gateway:
    """Calls the payment service."""

    def __init__(self, pool: Pool, base_url: str, key: str, secret: str, bugs: frozenset[str] = frozenset()) -> None:
        self.pool = pool
        self.base_url = base_url
        self.headers = urllib3.make_headers(basic_auth=f"{key}:{secret}")
        self.bugs = bugs
        self.quiet_until = 0.0
        self.limits = 0

    def post(self, path: str, key: str, body: str) -> dict[str, Any]:
        """Send a request once, and return the resource that it made."""
        return self._send("POST", path, body, {"Idempotency-Key": key, "Content-Type": "application/json"})

    def get(self, path: str) -> dict[str, Any]:
        """Read something; a lost read is repeated."""
        for attempt in range(READ_TRIES):
            if attempt:
                time.sleep(2.0 ** (attempt - 1))
            try:
                return self._send("GET", path)
            except Lost:
                continue
            except Limited as limit:
                if limit.wait > LONGEST_WAIT:
                    raise
        raise Lost

    def all(self, path: str, **query: str) -> list[dict[str, Any]]:
        """Read a list, with all of its pages."""
        if "newest_only" in self.bugs:
            query["limit"] = "1"
            items: list[dict[str, Any]] = self.get(f"{path}?{urlencode(query)}")["items"]
            return items
        found, cursor = [], None
        while True:
            page = self.get(f"{path}?{urlencode({**query, 'limit': '100', **({'cursor': cursor} if cursor else {})})}")
            if not isinstance(page.get("items"), list):
                raise Lost
            found += page["items"]
            cursor = page.get("next_cursor")
            if not cursor:
                return found

    def _send(
        self, method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        wait = self.quiet_until - time.time()
        if wait > LONGEST_WAIT:
            raise Limited(wait)
        if wait > 0:
            time.sleep(wait)
        try:
            answer = self.pool.request(
                method,
                self.base_url + path,
                body=None if body is None else body.encode(),
                headers={**self.headers, **(headers or {})},
                timeout=TIMEOUT,
                retries=False,
                redirect=False,
            )
        except urllib3.exceptions.HTTPError as error:
            if "timeout_is_refusal" in self.bugs and isinstance(error, urllib3.exceptions.TimeoutError):
                raise Refused(408) from error
            raise Lost from error
        if answer.status == 429:
            self.limits += 1
            wait = self._pause(answer.headers.get("X-RateLimit-Reset"))
            self.quiet_until = time.time() + wait
            raise Limited(wait)
        self.limits = 0
        if answer.status == 409 and "conflict_is_success" in self.bugs:
            return {"id": None}
        if 400 <= answer.status < 500 and answer.status not in {408, 409, 425}:
            raise Refused(answer.status)
        if not 200 <= answer.status < 300:
            raise Lost
        try:
            data = json.loads(answer.data, parse_float=Decimal, parse_int=Decimal)["data"]
        except (ValueError, KeyError, TypeError) as error:
            raise Lost from error
        if not isinstance(data, dict) or not ("id" in data or "items" in data):
            raise Lost
        return data

    def _pause(self, reset: str | None) -> float:
        """Return the seconds to wait after a 429; the unit of the reset is not documented, so its size decides."""
        own = 5.0 * 2.0 ** min(self.limits, 8)
        try:
            number = float(reset or "")
        except ValueError:
            return own
        if number > 1e11 and "reset_never_ms" not in self.bugs:
            number /= 1000
        if number > 1e8:
            number -= time.time()
        if not 0 < number < 1e15:
            return own
        return number + 1
