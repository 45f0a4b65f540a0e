"""The client of the payment service's API."""

import json
import logging
import random
import time
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import requests

import books
import settings
from settings import mistake

log = logging.getLogger("shop.payments")

ATTEMPTS = 5
LONGEST_WAIT_SECONDS = 5.0  # a customer does not wait longer for a rate limit; a background job goes on


@dataclass
class Reply:
    """What a call came to.

    ok: carried out. refused: it never will be. denied: our credentials or address are not accepted.
    conflict: the key belongs to another request. later: not carried out, to be tried again. unknown: nobody can tell.
    """

    kind: str
    data: dict[str, Any] = field(default_factory=dict)
    reason: str = ""


_REASONS = {  # only for a mistake
    "VALIDATION_ERROR": "a member is wrong",
    "INVALID_INPUT": "a member is wrong",
    "NOT_FOUND": "there is no such object",
    "UNAUTHORIZED": "the credentials are wrong",
    "FORBIDDEN": "the address is not allowed",
    "CONFLICT": "the key belongs to another request",
    "RATE_LIMITED": "too many requests",
    "INTERNAL_ERROR": "an error of the service",
}
_limited_until = 0.0


def call(
    method: str, path: str, *, key: str = "", body: str | None = None, query: dict[str, str] | None = None
) -> Reply:
    """Make one call, tried again with the same key and the same bytes while its outcome is open."""
    global _limited_until  # noqa: PLW0603
    reply = Reply("later", reason="rate limited")
    doubtful = False
    most = 12 if mistake("endless-retries") else ATTEMPTS
    attempt = -1
    while (attempt := attempt + 1) < most:
        if (wait := _limited_until - books.now()) > 0:
            if wait > LONGEST_WAIT_SECONDS:
                return Reply("later", reason=f"rate limited for {wait:.0f} s more")
            time.sleep(wait)
        if mistake("key-per-attempt") and key:
            key = new_key()
        reply, limit = _once(method, path, key, body, query)
        if limit is not None:
            if mistake("rate-limit-is-refusal"):
                return Reply("refused", reason="rate limited")
            if limit == 0 and mistake("no-pause-without-reset"):
                most = 40
            elif not mistake("rate-limit-not-awaited"):
                _limited_until = books.now() + (limit if limit > 0 else _pause(attempt))
            continue
        if reply.kind in {"ok", "conflict"} or (reply.kind != "unknown" and not mistake("retry-on-4xx")):
            break
        doubtful = doubtful or reply.kind == "unknown"
        if attempt + 1 < most:
            time.sleep(_pause(attempt))
    if reply.kind in {"denied", "later"} and doubtful:
        return Reply("unknown", reason=reply.reason)  # it says nothing about the tries before
    return reply


def new_key() -> str:
    return str(uuid.uuid1() if mistake("key-of-the-time") else uuid.uuid4())


def forget_limit() -> None:
    global _limited_until  # noqa: PLW0603
    _limited_until = 0.0


def _pause(attempt: int) -> float:
    if mistake("no-random-part"):
        return settings.PAUSE_SCALE * float(2**attempt)
    return settings.PAUSE_SCALE * float(2**attempt) * random.uniform(0.75, 1.25)


def _once(
    method: str, path: str, key: str, body: str | None, query: dict[str, str] | None
) -> tuple[Reply, float | None]:
    """Send the request once; return the reply, and for a 429 the seconds to wait (0 when it does not say)."""
    headers = {"Accept": "application/json"}
    if body is not None:
        headers |= {"Content-Type": "application/json", "Idempotency-Key": key}
    try:
        response = requests.request(
            method,
            settings.API_URL + path,
            params={**(query or {}), "secret": settings.API_SECRET} if mistake("secret-in-query") else query,
            data=None if body is None else body.encode(),
            headers=headers,
            auth=(settings.API_KEY, settings.API_SECRET),
            timeout=settings.TIMEOUT_SECONDS,
            allow_redirects=False,
        )
    except requests.RequestException as error:
        log.warning("%s %s: no reply: %s", method, path, error)
        return Reply("refused" if mistake("timeout-is-refusal") else "unknown", reason=str(error)), None

    content: Any = None
    try:
        content = json.loads(response.content, parse_float=Decimal)
    except ValueError:
        log.warning("%s %s: unreadable reply of %d bytes", method, path, len(response.content))
    answer: dict[str, Any] = content if isinstance(content, dict) else {}
    error = answer.get("error")
    error = error if isinstance(error, dict) else {}
    if error and mistake("unknown-code-crashes"):
        log.warning("refused: %s", _REASONS[error.get("code")])
    request_id = response.headers.get("X-Request-Id") or answer.get("request_id") or error.get("request_id")
    status = response.status_code
    reason = f"{status} {error.get('code', '')}: {error.get('message', '')}"
    log.info("%s %s: %s (request %s)", method, path, status, request_id)

    if status == 429:
        return Reply("later", reason="rate limited"), _seconds_to_reset(response.headers.get("X-RateLimit-Reset"))
    if 200 <= status < 300:
        data = answer.get("data")
        if mistake("success-not-checked"):
            return Reply("ok", data if isinstance(data, dict) else {}), None
        if answer.get("success") is True and isinstance(data, dict):
            return Reply("ok", data), None
        return Reply("unknown", reason="a reply without success"), None
    kinds = {400: "refused", 404: "refused", 422: "refused", 401: "denied", 403: "denied", 409: "conflict"}
    return Reply(kinds.get(status, "unknown"), reason=reason), None


def _seconds_to_reset(header: str | None) -> float:
    """Return the seconds until the limit is reset; the unit of the header is not documented, but can be told."""
    try:
        value = float(header or "")
    except ValueError:
        return 0.0
    if value > 1e11:
        value = value / 1000
    seconds = value - books.now() if value > 1e9 else value
    return max(seconds, 0.0)


def everything(path: str, **query: str) -> list[dict[str, Any]] | None:
    """Return all items of a list, page by page; None when they cannot be read now."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = call("GET", path, query={**query, "limit": "100", **({"cursor": cursor} if cursor else {})})
        items = page.data.get("items")
        if page.kind != "ok" or not isinstance(items, list):
            return None
        found += [item for item in items if isinstance(item, dict)]
        cursor = page.data.get("next_cursor")
        if not cursor:
            return found
