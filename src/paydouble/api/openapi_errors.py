"""The error answers of the document: the status table of contract section 7, a row an operation."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

from paydouble.api.operations import Operation
from paydouble.config import Settings
from paydouble.core.errors import EDGE_CODES, STATUS
from paydouble.core.json_schema import REF
from paydouble.guards.credentials import CHALLENGE

# code -> condition; contract section 7, word for word.
CONDITIONS: Final = MappingProxyType(
    {
        "INVALID_INPUT": "Malformed JSON or missing fields",
        "INVALID_IDEMPOTENCY_KEY": "Idempotency-Key header missing or not a valid UUID v4",
        "UNAUTHORIZED": "Bad credentials",
        "FORBIDDEN": "IP not allow-listed or permission denied",
        "NOT_FOUND": "Resource or endpoint not found",
        "IDEMPOTENCY_CONFLICT": "Same Idempotency-Key used with a different body",
        "VALIDATION_ERROR": "Business rule violation",
        "RATE_LIMITED": "Too many requests",
        "INTERNAL_ERROR": "Transient; client retries with backoff",
    }
)
# What every request can meet, whatever the operation.
_ALWAYS: Final = frozenset(
    {"INVALID_INPUT", "UNAUTHORIZED", "FORBIDDEN", "NOT_FOUND", "RATE_LIMITED", "INTERNAL_ERROR"}
)
# Error answers of an operation itself, which are replayed.
_STORED: Final = frozenset({"404", "422"})
_POST: Final = frozenset({"INVALID_IDEMPOTENCY_KEY", "IDEMPOTENCY_CONFLICT"})

REQUEST_ID: Final = MappingProxyType(
    {
        "description": "The same value as `request_id` in errors and in the events that the request caused.",
        "required": True,
        "schema": {"type": "string"},
        "x-provenance": "assumed",
    }
)
_TEXT: Final = {"type": "string"}
_WHOLE: Final = {"type": "integer", "format": "int64"}
_RESET: Final = MappingProxyType(
    {
        "epoch_seconds": "the Unix time in seconds at which the window ends",
        "epoch_milliseconds": "the Unix time in milliseconds at which the window ends",
        "delta_seconds": "the seconds until the window ends",
    }
)


def codes(operation: Operation) -> tuple[str, ...]:
    """Return the codes that an operation can answer with, in the order of the status table."""
    possible = {*_ALWAYS, *operation.errors, *(_POST if operation.method == "POST" else ())}
    return tuple(code for code in STATUS if code in possible)


def _header(description: str, schema: dict[str, str], *, required: bool, documented: bool = False) -> dict[str, Any]:
    provenance = "documented" if documented else "assumed"
    return {"description": description, "required": required, "schema": schema, "x-provenance": provenance}


def extra_headers(operation: Operation, status: str, settings: Settings) -> dict[str, Any]:
    """Return the headers that settings add to an answer of an operation, or that its status has by itself."""
    headers: dict[str, Any] = {}
    if status == "401":
        text = "What HTTP Basic, which the contract documents, requires of a 401 (RFC 9110)."
        headers |= {name: {**_header(text, _TEXT, required=True), "example": value} for name, value in CHALLENGE}
    rule = settings.rate_limit
    always = rule is not None and rule.headers == "always" and status not in {"401", "403", "5XX"}
    if always or status == "429":
        unit = _RESET["epoch_seconds" if rule is None else rule.reset_unit]
        meanings = {
            "Limit": "Request quota.",
            "Remaining": "Requests left.",
            "Reset": f"Reset indicator, assumed to be {unit}.",
        }
        for name, meaning in meanings.items():
            # Documented on a 429; elsewhere a setting has asked for it.
            on_429 = status == "429"
            headers[f"X-RateLimit-{name}"] = _header(meaning, _WHOLE, required=on_429, documented=on_429)
    if settings.retry_after and status == "429":
        text = "Seconds to wait; not with every answer that a fault makes up."
        headers["Retry-After"] = _header(text, _WHOLE, required=False)
    if settings.idempotent_replayed and operation.method == "POST" and (status.startswith("2") or status in _STORED):
        headers["Idempotent-Replayed"] = _header("`true` on a replay.", _TEXT, required=False)
    return headers


def error_responses(operation: Operation, settings: Settings) -> dict[str, Any]:
    """Return an operation's error answers by status, with the headers that settings add."""
    by_status: dict[str, list[str]] = {}
    for code in codes(operation):
        by_status.setdefault("5XX" if code == "INTERNAL_ERROR" else str(STATUS[code]), []).append(code)
    return {status: _response(found, extra_headers(operation, status, settings)) for status, found in by_status.items()}


def example_name(code: str, envelope: str) -> str:
    """Return the name of an error's example in `components/examples`."""
    return f"{code}.{envelope}"


def _response(found: list[str], headers: dict[str, Any]) -> dict[str, Any]:
    # The envelope that a code wears by default comes first.
    names = [example_name(code, envelope) for code in found for envelope in ("AB" if code in EDGE_CODES else "BA")]
    return {
        "description": " ".join(f"`{code}`: {CONDITIONS[code]}." for code in found),
        "x-provenance": "documented",
        "headers": {"X-Request-Id": dict(REQUEST_ID), **headers},
        "content": {
            "application/json": {
                "schema": {"oneOf": [{"$ref": f"{REF}EnvelopeA"}, {"$ref": f"{REF}EnvelopeB"}]},
                "examples": {name: {"$ref": f"#/components/examples/{name}"} for name in names},
            }
        },
    }
