"""The client of the payment service: credentials, retries with back-off, and what an answer means."""

from __future__ import annotations

import base64
import json
from decimal import Decimal
from typing import Any

from paydouble.stateful import Answer, ServiceLike

ATTEMPTS = 5
# A reset further away than this is a unit misread, or nothing to wait for.
LONGEST_WAIT = 300.0


class Unknown(Exception):
    """Nobody knows what became of the request: it has to be looked up, or sent again under its key."""


class Conflict(Exception):
    """The service says that the key belongs to another request."""


class Declined(Exception):
    """The service has refused the request for good."""


class Client:
    """Calls the service."""

    def __init__(self, service: ServiceLike) -> None:
        self.service = service
        credentials = f"{service.business_key}:{service.business_secret}".encode()
        self.authorization = "Basic " + base64.b64encode(credentials).decode()

    def post(self, path: str, key: str, body: bytes) -> dict[str, Any]:
        """Send a request under a key until an answer settles it; returns what was made."""
        for attempt in range(ATTEMPTS):
            if attempt:
                self.service.sleep(2.0 ** (attempt - 1))
            try:
                answer = self.send("POST", path, self.key_for(key, attempt), self.body_for(body, attempt))
            except OSError:
                continue
            if answer.status == 429:
                self.service.sleep(self.pause(answer, attempt))
            elif answer.status < 500:
                return self.outcome(answer)
        raise Unknown

    def get(self, path: str) -> dict[str, Any] | None:
        """Read something; None when it cannot be had now."""
        try:
            answer = self.send("GET", path)
            if answer.status != 200:
                return None
            found: dict[str, Any] = self.parse(answer.body)["data"]
        except (OSError, Unknown):
            return None
        return found

    def listing(self, path: str) -> list[dict[str, Any]] | None:
        """Read all pages of a list; None when one of them cannot be had now."""
        items: list[dict[str, Any]] = []
        after = ""
        while True:
            page = self.get(f"{path}&limit=100{after}")
            if page is None:
                return None
            items += page["items"]
            if page["next_cursor"] is None:
                return items
            after = f"&cursor={page['next_cursor']}"

    def send(self, method: str, path: str, key: str | None = None, body: bytes = b"") -> Answer:
        """Send one request, once."""
        headers = {"Authorization": self.authorization}
        if key is not None:
            headers |= {"Idempotency-Key": key, "Content-Type": "application/json"}
        return self.service.call(method, "/api/v1" + path, headers, body)

    def key_for(self, key: str, attempt: int) -> str:
        """Return the key of an attempt: always the same."""
        return key

    def body_for(self, body: bytes, attempt: int) -> bytes:
        """Return the body of an attempt: always the same."""
        return body

    def outcome(self, answer: Answer) -> dict[str, Any]:
        """Return what was made, or raise what an answer below 500 means."""
        if answer.status in {200, 201}:
            made: dict[str, Any] = self.parse(answer.body)["data"]
            return made
        if answer.status == 409:
            raise Conflict
        if answer.status in {400, 422}:
            raise Declined(self.code(answer))
        raise Unknown

    def code(self, answer: Answer) -> str:
        """Return the code of an error, in either envelope."""
        return str(self.parse(answer.body).get("error", {}).get("code", ""))

    def parse(self, body: bytes) -> dict[str, Any]:
        """Parse an answer; what cannot be parsed tells nothing."""
        try:
            document = json.loads(body, parse_float=Decimal, parse_int=Decimal)
        except ValueError:
            raise Unknown from None
        if not isinstance(document, dict):
            raise Unknown
        return document

    def pause(self, answer: Answer, attempt: int) -> float:
        """Return how long to wait after a 429; the unit of the reset is nowhere documented, so its size tells."""
        try:
            reset = float(answer.headers["X-RateLimit-Reset"])
        except (KeyError, ValueError):
            return 1.0
        now = self.service.now()
        wait = reset / 1000 - now if reset > 1e11 else reset - now if reset > 1e8 else reset
        return min(max(wait + 1, 1.0), LONGEST_WAIT)
