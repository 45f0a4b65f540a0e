"""The OpenAPI 3.1 document, put together from the operations table, the models and the events (contract section 6).

Every operation, member, status and header says with `x-provenance` whether the contract documents it or the double
assumes it (principle P1).
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Final

from paydouble.api.operations import PREFIX, Operation
from paydouble.config import Settings, WebhookSettings
from paydouble.core.durations import format_duration
from paydouble.core.errors import EDGE_CODES, STATUS
from paydouble.core.json_schema import REF
from paydouble.guards.credentials import CHALLENGE
from paydouble.openapi.components import EVENTS, envelope_name, schemas
from paydouble.openapi.examples import KEY, example_name, examples
from paydouble.payments.events import EVENT_TYPES, FAMILIES
from paydouble.version import __version__
from paydouble.webhooks.signing import DEFAULT_HEADER_NAME

Document = dict[str, Any]
_DEFAULT: Final = Settings()
_SECURITY: Final = "business"
_TAGS: Final = {
    "pay-in": "Deposits: created by the business, completed by a payer.",
    "refund": "Money that goes back to the payer.",
    "dispute": "Chargebacks of pay-ins.",
    "payout": "Money to a beneficiary.",
    "transaction": "Bookings that never change.",
    "webhooks": "What the service sends to the business's notification URL.",
}
_INTRODUCTION: Final = """\
An in-memory double of a payment service: nothing here moves money.

**Authorise** with HTTP Basic, the business key as user name and the business secret as password
(`sandbox_key` and `sandbox_secret`, unless the server was started with others). Every POST needs an
`Idempotency-Key` of its own, a UUID version 4.

`x-provenance` says of each operation, member, status and header whether the service's contract shows it
(`documented`) or the double had to assume it (`assumed`); a real deployment may differ in what is assumed.

Amounts are JSON numbers, written with exactly their currency's minor digits: `49.90`, `1500` for JPY.
An error has one of two envelopes, and a client must read both."""
# Canonical form, version 4, RFC variant: exactly what `guards.idempotency` accepts.
_UUID4: Final = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$"

# code -> condition; contract section 7, word for word.
_CONDITIONS: Final = MappingProxyType(
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
# Codes that every request can get.
_ALWAYS: Final = frozenset(
    {"INVALID_INPUT", "UNAUTHORIZED", "FORBIDDEN", "NOT_FOUND", "RATE_LIMITED", "INTERNAL_ERROR"}
)
# The statuses of stored errors, which are replayed.
_STORED: Final = frozenset({"404", "422"})
_POST: Final = frozenset({"INVALID_IDEMPOTENCY_KEY", "IDEMPOTENCY_CONFLICT"})

_REQUEST_ID: Final = MappingProxyType(
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


def document(operations: Sequence[Operation], *, server_url: str, settings: Settings = _DEFAULT) -> Document:
    """Return the document of these operations; `server_url` is where they are reached, without `/api/v1`.

    It follows the settings for statuses, headers, unknown members and deliveries; the examples are those of the default
    settings. It is plain JSON data, the same for the same arguments. Numbers in examples are floats, so the
    document has `1.0` where an answer has `1.00`.
    """
    paths: Document = {}
    for operation in operations:
        paths.setdefault(PREFIX + operation.path, {})[operation.method.lower()] = _operation(operation, settings)
    made = examples()
    return {
        "openapi": "3.1.1",
        "info": {"title": "paydouble", "version": __version__, "description": _INTRODUCTION},
        "servers": [{"url": server_url}],
        "security": [{_SECURITY: []}],
        "tags": [{"name": name, "description": _tag(name, text)} for name, text in _TAGS.items()],
        "paths": paths,
        "webhooks": {kind: {"post": _webhook(kind, settings.webhooks)} for kind in EVENT_TYPES},
        "components": {
            "schemas": schemas(operations, settings),
            "examples": {name: {"value": made.errors[name]} for name in sorted(made.errors)},
            "securitySchemes": {
                _SECURITY: {
                    "type": "http",
                    "scheme": "basic",
                    "description": "The business key and the business secret.",
                    "x-provenance": "documented",
                }
            },
        },
    }


def _tag(name: str, text: str) -> str:
    """Return the description of a tag, which says when a kind of resource has no events."""
    return text if name == "webhooks" or name in FAMILIES else f"{text[:-1]}; without events."


def _operation(operation: Operation, settings: Settings) -> Document:
    made = examples()
    described: Document = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [next((tag for tag in _TAGS if operation.name.startswith(tag)), "pay-in")],
        "x-provenance": operation.path_provenance,
    }
    if operation.emits:
        described["description"] = f"Emits {', '.join(f'`{kind}`' for kind in operation.emits)}."
    described["parameters"] = _parameters(operation)
    if operation.payload is not None:
        content: Document = {
            "schema": {"$ref": REF + operation.payload.__name__},
            "example": made.requests[operation.name],
        }
        described["requestBody"] = {
            # Where the model requires nothing, no body is the same as an empty object.
            "required": any(field.is_required() for field in operation.payload.model_fields.values()),
            "content": {"application/json": content},
        }
    status = str(settings.created_status if operation.creates else 200)
    described["responses"] = {status: _success(operation, status, settings), **_error_responses(operation, settings)}
    return described


def _parameters(operation: Operation) -> list[Document]:
    parameters: list[Document] = []
    if "{id}" in operation.path:
        parameters.append(
            {
                "name": "id",
                "in": "path",
                "required": True,
                "description": "The resource's identifier.",
                "schema": {"type": "string", "minLength": 1},
                "example": examples().ids[operation.name],
                "x-provenance": "assumed",
            }
        )
    if operation.method == "POST":
        parameters.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": True,
                "description": "A UUID version 4, made once for each intended operation and sent with each retry.",
                "schema": {"type": "string", "format": "uuid", "pattern": _UUID4},
                "example": KEY,
                "x-provenance": "documented",
            }
        )
    parameters += [
        {
            "name": query.name,
            "in": "query",
            "description": query.description,
            "schema": dict(query.schema),
            "x-provenance": "assumed",
        }
        for query in operation.queries
    ]
    return parameters


def _success(operation: Operation, status: str, settings: Settings) -> Document:
    text = "Created; the setting `created_status` decides between 200 and 201." if operation.creates else "Done."
    return {
        "description": text if operation.method == "POST" else "Found.",
        "x-provenance": "assumed",  # the contract shows the success envelope, not its status
        "headers": {"X-Request-Id": dict(_REQUEST_ID), **_extra_headers(operation, status, settings)},
        "content": {
            "application/json": {
                "schema": {"$ref": REF + envelope_name(operation)},
                "example": examples().answers[operation.name],
            }
        },
    }


def _codes(operation: Operation) -> tuple[str, ...]:
    """Return the codes that an operation can answer with, in the order of the status table."""
    possible = {*_ALWAYS, *operation.errors, *(_POST if operation.method == "POST" else ())}
    return tuple(code for code in STATUS if code in possible)


def _header(description: str, schema: dict[str, str], *, required: bool, documented: bool = False) -> dict[str, Any]:
    provenance = "documented" if documented else "assumed"
    return {"description": description, "required": required, "schema": schema, "x-provenance": provenance}


def _extra_headers(operation: Operation, status: str, settings: Settings) -> dict[str, Any]:
    """Return the headers of an answer that its status requires or settings add."""
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
            # Documented on a 429; elsewhere it is there by a setting.
            on_429 = status == "429"
            headers[f"X-RateLimit-{name}"] = _header(meaning, _WHOLE, required=on_429, documented=on_429)
    if settings.retry_after and status == "429":
        text = "Seconds to wait; not with every answer that a fault makes up."
        headers["Retry-After"] = _header(text, _WHOLE, required=False)
    if settings.idempotent_replayed and operation.method == "POST" and (status.startswith("2") or status in _STORED):
        headers["Idempotent-Replayed"] = _header("`true` on a replay.", _TEXT, required=False)
    return headers


def _error_responses(operation: Operation, settings: Settings) -> dict[str, Any]:
    """Return an operation's error answers by status, with the headers that settings add."""
    by_status: dict[str, list[str]] = {}
    for code in _codes(operation):
        by_status.setdefault("5XX" if code == "INTERNAL_ERROR" else str(STATUS[code]), []).append(code)
    return {
        status: _response(found, _extra_headers(operation, status, settings)) for status, found in by_status.items()
    }


def _response(found: list[str], headers: dict[str, Any]) -> dict[str, Any]:
    # The default envelope of a code comes first.
    names = [example_name(code, envelope) for code in found for envelope in ("AB" if code in EDGE_CODES else "BA")]
    return {
        "description": " ".join(f"`{code}`: {_CONDITIONS[code]}." for code in found),
        "x-provenance": "documented",
        "headers": {"X-Request-Id": dict(_REQUEST_ID), **headers},
        "content": {
            "application/json": {
                "schema": {"oneOf": [{"$ref": f"{REF}EnvelopeA"}, {"$ref": f"{REF}EnvelopeB"}]},
                "examples": {name: {"$ref": f"#/components/examples/{name}"} for name in names},
            }
        },
    }


def _webhook(kind: str, settings: WebhookSettings) -> Document:
    meaning, sent_when = EVENT_TYPES[kind]
    family = EVENTS[kind.partition(".")[0]].__name__
    this_type = {
        "type": "object",
        "properties": {"type": {"type": "string", "const": kind, "x-provenance": "documented"}},
    }
    return {
        "operationId": kind,
        "summary": f"{meaning}.",
        "description": f"Sent when: {sent_when}. Any 2xx within {_spoken(settings.timeout)} acknowledges it.",
        "tags": ["webhooks"],
        "security": [],
        "x-provenance": "documented",
        "parameters": [
            {
                "name": settings.signature_header,
                "in": "header",
                "required": True,
                "description": (
                    "`t` is the Unix time of signing in seconds, `v1` the hex HMAC-SHA256 of `<t>.<raw body>` "
                    "with the webhook secret. While a secret is being rotated a second `v1` follows (assumed)."
                ),
                "schema": {"type": "string", "pattern": "^t=[0-9]+(,v1=[0-9a-f]{64})+$"},
                "example": examples().signatures[kind],
                "x-provenance": "documented" if settings.signature_header == DEFAULT_HEADER_NAME else "assumed",
            }
        ],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"allOf": [{"$ref": REF + family}, this_type]},
                    "example": examples().events[kind],
                }
            },
        },
        "responses": {
            "2XX": {"description": "Received. The body is not looked at.", "x-provenance": "documented"},
            "default": {
                "description": _retries(settings),
                "x-provenance": "documented",
            },
        },
    }


def _retries(settings: WebhookSettings) -> str:
    """Return what happens to a delivery that was not acknowledged."""
    offsets = settings.offsets
    if len(offsets) == 1:
        return "Anything else counts as a failure, and is not retried."
    return f"Anything else counts as a failure and is retried for up to {_spoken(settings.window)}."


def _spoken(milliseconds: int) -> str:
    """Return a duration in words, as the contract does, where it is one of whole seconds or hours."""
    hours, below = divmod(milliseconds, 3_600_000)
    if hours and not below:
        return f"{hours} hour{'s' if hours > 1 else ''}"
    seconds, below = divmod(milliseconds, 1000)
    if 1 < seconds < 60 and not below:  # noqa: PLR2004 - a minute
        return f"{seconds} seconds"
    return format_duration(milliseconds)
