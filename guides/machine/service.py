"""The payment service as the shop sees it: requests that are tried again, and answers that mean something."""

import base64
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Protocol
from urllib.parse import urlencode

ATTEMPTS = 5
LONGEST_PAUSE = 300.0


class Unknown(Exception):
    """Nobody knows what became of a request."""


class Refused(Exception):
    """The service has said no, and would say so again."""


class Answer(Protocol):
    """An HTTP answer."""

    @property
    def status(self) -> int:
        """The status."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers."""

    @property
    def body(self) -> bytes:
        """The body."""


class Line(Protocol):
    """What carries requests; in production a few lines around your HTTP client, `time.time` and `time.sleep`."""

    business_key: str
    business_secret: str

    def call(self, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> Answer:
        """Send a request; raises an OSError when no answer came."""

    def now(self) -> float:
        """Return the time."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class Service:
    """The payment service."""

    def __init__(self, line: Line) -> None:
        """Speak through a line."""
        self.line = line
        credentials = f"{line.business_key}:{line.business_secret}".encode()
        self.headers = {"Authorization": f"Basic {base64.b64encode(credentials).decode()}"}

    def create(self, key: str, body: bytes) -> dict[str, Any]:
        """Create a deposit; the same key and the same bytes on every attempt."""
        headers = {**self.headers, "Content-Type": "application/json", "Idempotency-Key": key}
        for attempt in range(ATTEMPTS):
            if attempt:
                self.line.sleep(2.0 ** (attempt - 1))
            try:
                answer = self.line.call("POST", "/api/v1/pay-in/deposit-creation", headers, body)
            except OSError:
                continue
            if answer.status == 429:
                self.line.sleep(self.pause(answer.headers.get("X-RateLimit-Reset")))
            elif answer.status in {400, 422}:
                raise Refused
            elif answer.status < 500:
                return self.data(answer)
        raise Unknown

    def find(self, kind: str, **query: str) -> list[dict[str, Any]]:
        """Return the deposits (`pay-in`) or disputes that a query names, the newest first."""
        try:
            answer = self.line.call("GET", f"/api/v1/{kind}?{urlencode(query)}&limit=100", self.headers)
        except OSError:
            raise Unknown from None
        items: list[dict[str, Any]] = self.data(answer)["items"]
        return items

    def data(self, answer: Answer) -> dict[str, Any]:
        """Return what an answer holds; one that cannot be read tells nothing."""
        try:
            data = json.loads(answer.body, parse_float=Decimal, parse_int=Decimal)["data"]
        except (ValueError, KeyError, TypeError):
            raise Unknown from None
        if answer.status not in {200, 201} or not isinstance(data, dict):
            raise Unknown
        return data

    def pause(self, reset: str | None) -> float:
        """Return how long to wait after a 429. No page says what the reset counts, so its size has to tell."""
        try:
            number = float(reset or "")
        except ValueError:
            return 1.0
        now = self.line.now()
        seconds = number / 1000 - now if number > 1e11 else number - now if number > 1e8 else number
        return min(max(seconds + 1, 1.0), LONGEST_PAUSE)
