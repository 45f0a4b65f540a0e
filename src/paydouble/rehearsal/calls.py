"""What the merchant of a scenario sends, and what it hears: plain values, so that any transport can carry them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

from paydouble.api.operations import OPERATIONS
from paydouble.core import json_text
from paydouble.core.json_text import JsonTextError
from paydouble.payments.resources import Document

PATHS: Final[Mapping[str, str]] = MappingProxyType({each.name: each.path for each in OPERATIONS})
"""Where each operation is, below `/api/v1`, when nothing was moved."""
_TOO_MANY: Final = 429


@dataclass(slots=True, frozen=True)
class Call:
    """One request; `path` comes after `/api/v1`, and a POST has a `key`."""

    operation: str
    method: Literal["GET", "POST"]
    path: str
    body: bytes = b""
    key: str | None = None
    about: str = ""
    """What a person needs to know of it beyond the operation, such as `5.00 EUR`."""


@dataclass(slots=True, frozen=True)
class Heard:
    """What arrived in answer to a call; without a status nothing whole did."""

    status: int | None
    body: bytes = b""
    why: str = ""
    """Why nothing whole arrived, in a word or two."""


@dataclass(slots=True, frozen=True)
class Answer:
    """What a call got, as the merchant understands it."""

    call: Call
    status: int | Literal["lost"]
    data: Document | None = None
    """What a 2xx carries."""
    told: str = ""
    """The state of what came back, the error's code, or why it was lost."""
    message: str = ""
    """The error's message."""

    @property
    def failed(self) -> bool:
        """Return whether the merchant makes the call again: no answer, 5xx or 429."""
        return self.status == "lost" or self.status >= 500 or self.status == _TOO_MANY  # noqa: PLR2004 - HTTP

    @property
    def good(self) -> bool:
        """Return whether it was a 2xx."""
        return self.data is not None


def understand(call: Call, heard: Heard) -> Answer:
    """Return what a merchant makes of what it hears: a 2xx that is no JSON tells it nothing, and is lost."""
    if heard.status is None:
        return Answer(call, "lost", told=heard.why)
    try:
        document = json_text.loads(heard.body)
    except JsonTextError:
        document = None
    if heard.status < 300:  # noqa: PLR2004 - HTTP
        data = document.get("data") if isinstance(document, dict) else None
        if not isinstance(data, dict):
            return Answer(call, "lost", told="unreadable")
        return Answer(call, heard.status, data, told=str(data.get("status", "")))
    error = document.get("error") if isinstance(document, dict) else None
    error = error if isinstance(error, dict) else {}
    return Answer(call, heard.status, told=str(error.get("code", "")), message=str(error.get("message", "")))


def encoded(document: Any) -> bytes:  # noqa: ANN401 - JSON is any
    """Return a body, its numbers as they were written."""
    return json_text.dumps(document)
