"""The service's client on requests. The session, base address, clock and secrets come from outside."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

import requests

ATTEMPTS = 5
LONGEST_WAIT = 45.0


class Refused(Exception):
    """The service surely did nothing."""


class Unknown(Exception):
    """No answer that says what happened; ask again later, with the same key."""


def loads(text: str | bytes) -> Any:
    """Parse JSON with exact numbers."""
    return json.loads(text, parse_float=Decimal)


def millis(text: str) -> int:
    """Return an ISO 8601 time in milliseconds."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)


class Gateway:
    """The client."""

    def __init__(
        self,
        session: requests.Session,
        base_url: str,
        business_key: str,
        business_secret: str,
        now: Callable[[], float],
        sleep: Callable[[float], None],
        bugs: frozenset[str],
        timeout: float = 10.0,
    ) -> None:
        self.session = session
        self.base_url = base_url.rstrip("/")
        self.auth = (business_key, business_secret)
        self.now = now
        self.sleep = sleep
        self.limited_until = 0.0
        """Until when the last 429 of a POST asks to wait."""
        self.bugs = bugs
        self.timeout = timeout

    def create_deposit(self, key: str, body: str) -> dict[str, Any]:
        return self._post("/api/v1/pay-in/deposit-creation", key, body)

    def create_refund(self, key: str, body: str) -> dict[str, Any]:
        return self._post("/api/v1/refund/refund-creation", key, body)

    def payin(self, payin_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self._get(f"/api/v1/pay-in/{payin_id}")["data"]
        return found

    def payins(self, **filters: str) -> Iterator[dict[str, Any]]:
        return self._all("/api/v1/pay-in", filters)

    def refunds(self, payin_id: str) -> Iterator[dict[str, Any]]:
        return self._all("/api/v1/refund", {"payin_id": payin_id})

    def disputes(self, payin_id: str) -> Iterator[dict[str, Any]]:
        return self._all("/api/v1/dispute", {"payin_id": payin_id})

    def _wait_for(self, reply: requests.Response, backoff: float) -> float:
        """What a 429 asks for. The header's unit is not shown: guess by its size."""
        try:
            reset = float(reply.headers.get("X-RateLimit-Reset", ""))
        except ValueError:
            return backoff
        if reset > 1e11:
            reset = reset / 1000 - self.now()
        elif reset > 1e9:
            reset -= self.now()
        return max(backoff, reset)

    def _post(self, path: str, key: str, body: str) -> dict[str, Any]:
        if self.now() < self.limited_until:
            raise Unknown(path)
        wait = 0.0
        for attempt in range(ATTEMPTS):
            if wait > LONGEST_WAIT:
                break
            if wait:
                self.sleep(wait)
            wait = float(1 << attempt)
            try:
                reply = self.session.post(
                    self.base_url + path,
                    data=body.encode(),
                    auth=self.auth,
                    timeout=self.timeout,
                    allow_redirects=False,
                    headers={"Content-Type": "application/json", "Idempotency-Key": key},
                )
            except requests.RequestException:
                continue
            code = reply.status_code
            if code // 100 == 2:
                parsed = self._parsed(reply)
                data = None if parsed is None else parsed.get("data")
                if isinstance(data, dict) and "id" in data:
                    return data
                if "unreadable_success_is_refusal" in self.bugs:
                    raise Refused("not the answer we expected")
                continue
            if code == 429:
                wait = self._wait_for(reply, wait)
                self.limited_until = self.now() + wait
                continue
            if code in (400, 404, 422):
                raise Refused(reply.text[:200])
            if code in (401, 403) and "auth_error_is_refusal" in self.bugs:
                raise Refused(reply.text[:200])
            if code // 100 == 4:
                break  # our set-up is wrong, or the key is in use: nothing is known about an earlier attempt
        if "refund_gives_up_as_refused" in self.bugs and "/refund/" in path:
            raise Refused("no answer")
        raise Unknown(path)

    @staticmethod
    def _parsed(reply: requests.Response) -> dict[str, Any] | None:
        try:
            parsed = loads(reply.content)
        except ValueError:
            return None
        return parsed if isinstance(parsed, dict) and parsed.get("success") is True else None

    def _get(self, path: str, params: dict[str, str] | None = None) -> dict[str, Any]:
        wait = 0.0
        for attempt in range(3):
            if wait > LONGEST_WAIT:
                break
            if wait:
                self.sleep(wait)
            wait = float(1 << attempt)
            try:
                reply = self.session.get(
                    self.base_url + path, params=params, auth=self.auth, timeout=self.timeout, allow_redirects=False
                )
            except requests.RequestException:
                continue
            if reply.status_code == 200:
                parsed = self._parsed(reply)
                if parsed is not None:
                    return parsed
            elif reply.status_code == 429:
                wait = self._wait_for(reply, wait)
            elif reply.status_code < 500:
                break
        raise Unknown(path)

    def _all(self, path: str, filters: dict[str, str]) -> Iterator[dict[str, Any]]:
        params = {**filters, "limit": "50"}
        while True:
            reply = self._get(path, params)
            items, cursor = self._page(reply)
            yield from items
            if not cursor:
                return
            params["cursor"] = cursor

    @staticmethod
    def _page(reply: dict[str, Any]) -> tuple[list[dict[str, Any]], str | None]:
        data = reply["data"]
        if isinstance(data, list):
            return data, reply.get("next_cursor")
        return data["items"], data.get("next_cursor")
