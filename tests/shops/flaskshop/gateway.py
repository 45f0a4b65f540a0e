"""The client of the payment service."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import requests

ATTEMPTS = 5
TIMEOUT = (3.05, 12)
LONGEST_WAIT = 120.0


class PaymentDeclined(Exception):
    """The service has said no."""


class OutcomeUnknown(Exception):
    """Nobody can say whether the request was executed."""


class KeepsFailing(OutcomeUnknown):
    """The last answer was an error of the server, which may be stored under the key."""


class Gateway:
    """Calls the payment service."""

    def __init__(
        self,
        base_url: str,
        auth: tuple[str, str],
        now: Callable[[], float],
        sleep: Callable[[float], None],
        bugs: frozenset[str],
    ) -> None:
        self.base_url = base_url
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.auth = auth
        self.now = now
        self.sleep = sleep
        self.bugs = bugs

    def post(self, path: str, key: str, body: str) -> dict[str, Any]:
        """Send a request until its outcome is known or the attempts are used up."""
        is_answered = False
        for attempt in range(ATTEMPTS):
            is_answered = False
            if "key_made_in_the_loop" in self.bugs:
                key = str(uuid.uuid4())
            if "body_holds_the_attempt" in self.bugs and attempt:
                body = json.dumps({**json.loads(body), "metadata": {"attempt": str(attempt)}})
            headers = {"Idempotency-Key": key, "Content-Type": "application/json"}
            try:
                response = self.session.post(
                    self.base_url + path, data=body.encode(), headers=headers, timeout=TIMEOUT, allow_redirects=False
                )
            except requests.RequestException as error:
                if "timeout_is_a_failure" in self.bugs:
                    raise PaymentDeclined("network error") from error
                self.sleep(2**attempt)
                continue
            if "expects_success_member" in self.bugs and not response.json()["success"] and response.status_code == 429:
                self.sleep(self.wait_after_429(response))
                continue
            if response.status_code == 429:
                self.sleep(self.wait_after_429(response))
            elif response.status_code in (400, 422):
                raise PaymentDeclined(response.text[:200])
            elif response.status_code >= 500 or response.status_code in (408, 409):
                if "server_error_is_a_decline" in self.bugs and response.status_code >= 500:
                    raise PaymentDeclined("server error")
                is_answered = response.status_code == 500
                self.sleep(2**attempt)
            elif response.status_code in (200, 201):
                data = self.data_of(response)
                if data is not None:
                    return data
                self.sleep(2**attempt)
            else:
                break
        raise KeepsFailing(path) if is_answered else OutcomeUnknown(path)

    def list_all(self, path: str, **params: str) -> list[dict[str, Any]]:
        """Return all items of a list, page by page."""
        items: list[dict[str, Any]] = []
        while True:
            try:
                response = self.session.get(
                    self.base_url + path,
                    params={**params, "limit": "100"},
                    timeout=TIMEOUT,
                    allow_redirects=False,
                )
            except requests.RequestException as error:
                raise OutcomeUnknown(path) from error
            if response.status_code == 429:
                self.sleep(self.wait_after_429(response))
                raise OutcomeUnknown(path)
            page = self.data_of(response) if response.status_code == 200 else None
            if page is None or not isinstance(page.get("items"), list):
                raise OutcomeUnknown(path)
            items += page["items"]
            if not page.get("next_cursor"):
                return items
            params["cursor"] = page["next_cursor"]

    def data_of(self, response: requests.Response) -> dict[str, Any] | None:
        """Return the `data` of an answer, or None when it cannot be read."""
        try:
            document = json.loads(response.content, parse_float=Decimal)
        except ValueError:
            return None
        data = document.get("data") if isinstance(document, dict) else None
        return data if isinstance(data, dict) else None

    def wait_after_429(self, response: requests.Response) -> float:
        """Return how long to wait; the unit of the reset is not documented, so it is told by its size."""
        if "hammers_on_429" in self.bugs:
            return 0.0
        try:
            reset = float(response.headers["X-RateLimit-Reset"])
        except (KeyError, ValueError):
            return 2.0
        if "reset_is_a_delay" in self.bugs:
            return reset
        if reset > 1e12:
            reset = reset / 1000 - self.now()
        elif reset > 1e9:
            reset -= self.now()
        return min(max(reset, 0.0) + 1.0, LONGEST_WAIT)
