"""The payment service over http.client: one request, one outcome. Retries belong to the queue."""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

TIMEOUT_SECONDS = 10.0


class Unclear(Exception):
    """No answer, or none that tells the outcome."""


class Later(Exception):
    """Not carried out; may be sent again at `seconds` from now."""

    def __init__(self, reset: str | None = None) -> None:
        super().__init__(reset)
        self.reset = reset


class Refusal(Exception):
    """Refused, and it would be refused again."""


class Conflict(Exception):
    """The key has been used with another body."""


class Wire(Protocol):
    """What carries bytes."""

    def send(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Send a request; OSError or HTTPException when no whole answer came."""


class HttpWire:
    """A connection for each request."""

    def __init__(self, base_url: str) -> None:
        self.url = urlsplit(base_url)

    def send(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Send a request; OSError or HTTPException when no whole answer came."""
        kind = http.client.HTTPSConnection if self.url.scheme == "https" else http.client.HTTPConnection
        connection = kind(self.url.netloc, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(method, self.url.path.rstrip("/") + path, body or None, headers)
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()


class Service:
    """Calls with a meaning."""

    def __init__(self, wire: Wire, auth: tuple[str, str]) -> None:
        self.wire = wire
        self.authorization = "Basic " + base64.b64encode(":".join(auth).encode()).decode()

    def post(self, path: str, key: str, body: str) -> dict[str, Any]:
        """POST once."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        return self.call("POST", path, headers, body.encode())

    def listing(self, path: str, **query: str) -> list[dict[str, Any]]:
        """Return all pages of a list."""
        found: list[dict[str, Any]] = []
        while True:
            data = self.call("GET", f"{path}?{urlencode({**query, 'limit': 100})}", {}, b"")
            found += data.get("items", [])
            if not data.get("next_cursor"):
                return found
            query["cursor"] = data["next_cursor"]

    def call(self, method: str, path: str, headers: dict[str, str], body: bytes) -> dict[str, Any]:
        """Send once, and sort the outcomes."""
        try:
            status, answered, content = self.wire.send(
                method, path, {**headers, "Authorization": self.authorization}, body
            )
        except (OSError, http.client.HTTPException) as error:
            raise Unclear(str(error)) from error
        if status == 429:
            raise Later({name.lower(): value for name, value in answered.items()}.get("x-ratelimit-reset"))
        try:
            answer = json.loads(content, parse_float=Decimal, parse_int=Decimal)
        except ValueError:
            raise Unclear(f"{status} without JSON") from None
        if not isinstance(answer, dict):
            raise Unclear(str(status))
        if status in {200, 201} and isinstance(answer.get("data"), dict):
            data: dict[str, Any] = answer["data"]
            return data
        if "error" not in answer:
            raise Unclear(str(status))
        if status == 409:
            raise Conflict
        if status in {401, 403}:
            raise Later
        if status in {400, 404, 422}:
            raise Refusal(str(answer["error"]))
        raise Unclear(str(status))
