"""The success envelope and the two error envelopes (contract sections 2.4 and 7; assumptions, "Envelopes")."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final, Literal

import orjson

from paydouble.core import json_text
from paydouble.core.errors import STATUS, ApiError
from paydouble.payments.resources import Document

# Envelope A spells codes in snake case; the contract shows `invalid_request` for INVALID_INPUT.
SNAKE_CODES: Final = MappingProxyType(
    {code: "invalid_request" if code == "INVALID_INPUT" else code.lower() for code in STATUS}
)


def success(data: Document) -> bytes:
    """Return the body of a 2xx answer, as a copy (see `events.freeze`), since it is kept under its idempotency key."""
    return b"".join((orjson.dumps({"success": True, "data": data}), b""))


def choose(mode: str, error: ApiError, errors_before: int) -> Literal["A", "B"]:
    """Return the envelope of an error; `mode` is the setting `envelope`, which `alternate` flips with each error."""
    match mode:
        case "A":
            return "A"
        case "B":
            return "B"
        case "alternate":
            return "B" if errors_before % 2 else "A"
        case _:
            return "A" if error.edge else "B"


def failure(error: ApiError, envelope: Literal["A", "B"], *, request_id: str, docs_url: str) -> bytes:
    """Return the body of an error answer."""
    return spell(
        code=error.code,
        message=error.message,
        status=error.status,
        details=error.details,
        envelope=envelope,
        request_id=request_id,
        docs_url=docs_url,
    )


def spell(  # noqa: PLR0913 - the members of an envelope
    *,
    code: str,
    message: str,
    status: int,
    details: Document | None,
    envelope: Literal["A", "B"],
    request_id: str,
    docs_url: str,
) -> bytes:
    """Return the body of an error answer; a fault may give a code that the contract does not have."""
    inner: dict[str, Any]
    if envelope == "A":
        inner = {
            "code": SNAKE_CODES.get(code, code.lower()),
            "message": message,
            "status": status,
            "request_id": request_id,
            "docs": docs_url,
        }
        body: dict[str, Any] = {"error": inner}
    else:
        inner = {"code": code, "message": message}
        body = {"success": False, "error": inner, "request_id": request_id}
    if details is not None:
        inner["details"] = details
    return json_text.dumps(body)  # keeps the digits of numbers in the details of a fault
