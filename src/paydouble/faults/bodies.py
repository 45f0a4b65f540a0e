"""Changes to an event's bytes. Each of them leaves the digits of numbers as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

from paydouble.core import json_text

HUGE_BYTES: Final = 1_048_576
# Names that break code which assumes ASCII, one byte per letter, or code points below U+10000.
UNICODE_NAME: Final = {"first_name": "Zoë 🦄", "last_name": "李 – O\u2019Brien\u00a0Ñandú \u202e"}


def set_path(body: bytes, path: str, value: Any) -> bytes:  # noqa: ANN401 - JSON is any
    """Return the body with the member at a dotted path set; missing objects on the way are created.

    A body that another fault has made unreadable is returned unchanged.
    """
    document = _members(body)
    if document is None:
        return body
    inner = document
    *above, last = path.split(".")
    for name in above:
        below = inner.get(name)
        if not isinstance(below, dict):
            below = inner[name] = {}
        inner = below
    inner[last] = value
    return json_text.dumps(document)


def with_new_id(body: bytes, old: str, new: str) -> bytes:
    """Return the same event with another id."""
    return body.replace(old.encode(), new.encode(), 1)


def payload(body: bytes, mode: str) -> bytes:
    """Return a body that is hard to process; it is signed as it is."""
    return _PAYLOADS[mode](body)


def _members(body: bytes) -> dict[str, Any] | None:
    # Faults can be combined, so another one may have broken the JSON already.
    try:
        document: dict[str, Any] = json_text.loads(body)
    except json_text.JsonTextError:
        return None
    return document


def _null_members(body: bytes) -> bytes:
    return set_path(set_path(body, "data.previous_attributes", None), "data.object.customer", None)


def _extra_members(body: bytes) -> bytes:
    wider = set_path(body, "x_future", {"nested": [1, "two", None]})
    return set_path(wider, "data.object.x_future", ["new", {"in": "v1"}])


def _unicode(body: bytes) -> bytes:
    for member, text in UNICODE_NAME.items():
        body = set_path(body, f"data.object.customer.{member}", text)
    return body


_PAYLOADS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "invalid_json": lambda body: body[:-1] + b",}",
    "empty": lambda _: b"",
    "truncated": lambda body: body[: len(body) // 2],
    "unknown_type": lambda body: set_path(body, "type", "pay-in.teleported"),
    "extra_members": _extra_members,
    "null_members": _null_members,
    "huge": lambda body: set_path(body, "x_padding", "x" * HUGE_BYTES),
    "escaped": lambda body: _escape_everything(body),  # noqa: PLW0108 - defined below
    "unicode": _unicode,
    "big_number": lambda body: set_path(body, "x_sequence", 2**53 + 1),
}


def formatting(body: bytes, mode: str) -> bytes:
    """Return the same JSON in another spelling; a body that is no JSON object is returned unchanged."""
    document = _members(body)
    if document is None:
        return body
    match mode:
        case "compact":
            return json_text.dumps(document)
        case "pretty":
            return json_text.dumps(document, indent=True)
        case "key_order":
            return json_text.dumps(_reversed_members(document))
        case "escaped_slashes":
            return re.sub(rb"(?<!\\)/", rb"\\/", body)  # not twice, when the fault is combined with itself
        case _:
            return body + b"\n"


def _reversed_members(value: Any) -> Any:  # noqa: ANN401 - JSON is any
    if isinstance(value, dict):
        return {name: _reversed_members(value[name]) for name in reversed(value)}
    return value


# Parsers of times read the raw text: Go's time.Time takes no escapes, and no service writes any there.
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z", re.ASCII)


def _escape_everything(body: bytes) -> bytes:
    document = _members(body)
    if document is None:
        return body

    def spell(value: Any) -> str:  # noqa: ANN401 - JSON is any
        if isinstance(value, dict):
            return "{" + ",".join(f"{json.dumps(name)}:{spell(member)}" for name, member in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ",".join(map(spell, value)) + "]"
        if isinstance(value, str) and not _TIME.fullmatch(value):
            units = value.encode("utf-16-be")
            return '"' + "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2)) + '"'
        return value.lexeme if isinstance(value, json_text.Number) else json.dumps(value)

    return spell(document).encode()
