"""What every answer must be."""

from __future__ import annotations

from typing import Any, Final

import orjson

STATUSES: Final = frozenset({200, 201, 400, 401, 403, 404, 409, 422, 429})
CONTROL_STATUSES: Final = STATUSES | {204, 405, 410, 413}
_A: Final = frozenset({"code", "message", "status", "request_id", "docs"})
_B: Final = frozenset({"code", "message"})
# A refusal of a control call that is not about one of its members.
_ABOUT_THE_CALL: Final = ("The body", "The Content-Type", "This call takes no body")


class Violation(AssertionError):
    """Something does not hold."""


def must(holds: object, what: str) -> None:
    """Raise `Violation` unless something holds."""
    if not holds:
        raise Violation(what)


def check_answer(status: int, body: bytes, request_id: str | None) -> Any:  # noqa: ANN401 - JSON is any
    """Check the status and the envelope of an answer of the API; return its `data`, None for a refusal."""
    must(status in STATUSES, f"the status {status} is not one of the contract")
    try:
        document = orjson.loads(body)
    except ValueError:
        document = None
    must(isinstance(document, dict), f"{status} with a body that is no JSON object: {body[:200]!r}")
    if status < 400:
        must(set(document) == {"success", "data"} and document["success"] is True, f"{status} without its envelope")
        return document["data"]
    error = document.get("error")
    must(isinstance(error, dict), f"{status} without an error: {body[:200]!r}")
    members = set(error) - {"details"}
    if "success" in document:
        must(set(document) == {"success", "error", "request_id"}, f"envelope B has {sorted(document)}")
        must(document["success"] is False and members == _B, f"envelope B has an error with {sorted(members)}")
        shown = document["request_id"]
    else:
        must(set(document) == {"error"} and members == _A, f"envelope A has {sorted(document)} with {sorted(members)}")
        must(error["status"] == status, f"envelope A says {error['status']} in an answer with {status}")
        shown = error["request_id"]
    must(error["message"] and error["code"], "an error without a message or a code")
    must(request_id is None or shown == request_id, f"the envelope has {shown}, the header {request_id}")
    return None


def check_control(status: int, document: Any) -> None:  # noqa: ANN401 - JSON is any
    """Check the answer to a control call: a refusal has a code and a message, and names the member that is wrong."""
    must(status in CONTROL_STATUSES, f"a control call was answered {status}: {str(document)[:200]}")
    if status < 400:
        return
    error = document["error"]
    must(set(document) == {"error"}, f"a refusal has {sorted(document)}")
    must(error["code"] and error["message"], "a refusal without a code or a message")
    if status == 400 and not error["message"].startswith(_ABOUT_THE_CALL):
        named = f"{error.get('member')}:"
        must(error["message"].startswith(named), f"a refusal does not begin with {named!r}: {error['message']!r}")
