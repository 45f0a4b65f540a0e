"""The OpenAPI 3.1 document, put together from the operations table, the models and the events (contract section 6).

Every operation, member, status and header says with `x-provenance` whether the contract documents it or the double
assumes it (principle P1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from paydouble.api.openapi_errors import REQUEST_ID, error_responses, extra_headers
from paydouble.api.openapi_examples import KEY, examples
from paydouble.api.openapi_models import EVENTS
from paydouble.api.openapi_schemas import envelope_name, schemas
from paydouble.api.operations import PREFIX, Operation
from paydouble.config import Settings, WebhookSettings
from paydouble.core.durations import format_duration
from paydouble.core.json_schema import REF
from paydouble.payments.events import EVENT_TYPES
from paydouble.version import __version__
from paydouble.webhooks.signing import DEFAULT_HEADER_NAME

Document = dict[str, Any]
_DEFAULT: Final = Settings()
_SECURITY: Final = "business"
_TAGS: Final = {
    "pay-in": "Deposits: created by the business, completed by a payer.",
    "refund": "Money that goes back to the payer.",
    "dispute": "Chargebacks of pay-ins.",
    "payout": "Money to a beneficiary; without events.",
    "transaction": "Bookings without a life of their own; without events.",
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
Errors wear one of two envelopes, and a client must read both."""
# Canonical form, version 4, RFC variant: exactly what `guards.idempotency` takes.
_UUID4: Final = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$"


def document(operations: Sequence[Operation], *, server_url: str, settings: Settings = _DEFAULT) -> Document:
    """Return the document of these operations; `server_url` is where they are reached, without `/api/v1`.

    It follows what a business's settings say of statuses, headers, unknown members and deliveries; the examples are
    those of the default settings. It is plain JSON data, the same for the same arguments. Numbers in examples are
    ordinary floats, so a text made of it writes `1.0` where the wire has `1.00`.
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
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "paths": paths,
        "webhooks": {kind: {"post": _webhook(kind, settings.webhooks)} for kind in EVENT_TYPES},
        "components": {
            "schemas": schemas(operations, exact_requests=settings.unknown_fields == "refuse"),
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
            # Where the model asks for nothing, no body at all is the same as an empty object.
            "required": any(field.is_required() for field in operation.payload.model_fields.values()),
            "content": {"application/json": content},
        }
    status = str(settings.created_status if operation.creates else 200)
    described["responses"] = {status: _success(operation, status, settings), **error_responses(operation, settings)}
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
        "headers": {"X-Request-Id": dict(REQUEST_ID), **extra_headers(operation, status, settings)},
        "content": {
            "application/json": {
                "schema": {"$ref": REF + envelope_name(operation)},
                "example": examples().answers[operation.name],
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
    """Return what becomes of a delivery that was not acknowledged."""
    offsets = settings.offsets
    if len(offsets) == 1:
        return "Anything else counts as a failure, and is not retried."
    return f"Anything else counts as a failure and is retried for up to {_spoken(settings.window)}."


def _spoken(milliseconds: int) -> str:
    """Return a duration as the contract says it, where it is one of whole seconds or hours."""
    hours, below = divmod(milliseconds, 3_600_000)
    if hours and not below:
        return f"{hours} hour{'s' if hours > 1 else ''}"
    seconds, below = divmod(milliseconds, 1000)
    if 1 < seconds < 60 and not below:  # noqa: PLR2004 - a minute
        return f"{seconds} seconds"
    return format_duration(milliseconds)
