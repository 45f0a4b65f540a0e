"""The error answers of the document: the status table of contract section 7, a row an operation."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

from paydouble.api.openapi_schemas import REF
from paydouble.api.operations import Operation
from paydouble.core.errors import EDGE_CODES, STATUS

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
_POST: Final = frozenset({"INVALID_IDEMPOTENCY_KEY", "IDEMPOTENCY_CONFLICT"})

REQUEST_ID: Final = MappingProxyType(
    {
        "description": "The same value as `request_id` in errors and in the events that the request caused.",
        "required": True,
        "schema": {"type": "string"},
        "x-provenance": "assumed",
    }
)
_QUOTA: Final = MappingProxyType(
    {
        "X-RateLimit-Limit": "Request quota.",
        "X-RateLimit-Remaining": "Requests left.",
        "X-RateLimit-Reset": "Reset indicator; its unit is assumed to be epoch seconds, which is a setting.",
    }
)


def codes(operation: Operation) -> tuple[str, ...]:
    """Return the codes that an operation can answer with, in the order of the status table."""
    possible = {*_ALWAYS, *operation.errors, *(_POST if operation.method == "POST" else ())}
    return tuple(code for code in STATUS if code in possible)


def error_responses(operation: Operation) -> dict[str, Any]:
    """Return an operation's error answers by status."""
    by_status: dict[str, list[str]] = {}
    for code in codes(operation):
        by_status.setdefault("5XX" if code == "INTERNAL_ERROR" else str(STATUS[code]), []).append(code)
    return {status: _response(status, found) for status, found in by_status.items()}


def example_name(code: str, envelope: str) -> str:
    """Return the name of an error's example in `components/examples`."""
    return f"{code}.{envelope}"


def _response(status: str, found: list[str]) -> dict[str, Any]:
    headers: dict[str, Any] = {"X-Request-Id": dict(REQUEST_ID)}
    if status == "429":
        for name, meaning in _QUOTA.items():
            headers[name] = {
                "description": meaning,
                "required": True,
                "schema": {"type": "integer"},
                "x-provenance": "documented",
            }
    # The envelope that a code wears by default comes first.
    names = [example_name(code, envelope) for code in found for envelope in ("AB" if code in EDGE_CODES else "BA")]
    return {
        "description": " ".join(f"`{code}`: {CONDITIONS[code]}." for code in found),
        "x-provenance": "documented",
        "headers": headers,
        "content": {
            "application/json": {
                "schema": {"oneOf": [{"$ref": f"{REF}EnvelopeA"}, {"$ref": f"{REF}EnvelopeB"}]},
                "examples": {name: {"$ref": f"#/components/examples/{name}"} for name in names},
            }
        },
    }
