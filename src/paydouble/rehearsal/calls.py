"""The requests and responses of a scenario's merchant, as plain values that any transport can carry."""

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
"""The default path of each operation, below `/api/v1`."""
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
    """What a timeline shows besides the operation, such as `5.00 EUR`."""


@dataclass(slots=True, frozen=True)
class Response:
    """What a client got; without a status no whole answer arrived."""

    status: int | None
    body: bytes = b""
    why: str = ""
    """Why no whole answer arrived, in a word or two."""


@dataclass(slots=True, frozen=True)
class Answer:
    """The response to a call, as the merchant reads it."""

    call: Call
    status: int | Literal["lost"]
    data: Document | None = None
    """The `data` of a 2xx."""
    summary: str = ""
    """The status of the resource, the code of the error, or why the response was lost."""
    message: str = ""
    """The error's message."""

    @property
    def failed(self) -> bool:
        """Return whether the merchant repeats the call: no response, 5xx or 429."""
        return self.status == "lost" or self.status >= 500 or self.status == _TOO_MANY  # noqa: PLR2004 - HTTP

    @property
    def good(self) -> bool:
        """Return whether it was a 2xx."""
        return self.data is not None


def parse(call: Call, response: Response) -> Answer:
    """Return the response as the merchant reads it; a 2xx whose body is not JSON counts as lost."""
    if response.status is None:
        return Answer(call, "lost", summary=response.why)
    try:
        document = json_text.loads(response.body)
    except JsonTextError:
        document = None
    if response.status < 300:  # noqa: PLR2004 - HTTP
        data = document.get("data") if isinstance(document, dict) else None
        if not isinstance(data, dict):
            return Answer(call, "lost", summary="unreadable")
        return Answer(call, response.status, data, summary=str(data.get("status", "")))
    error = document.get("error") if isinstance(document, dict) else None
    error = error if isinstance(error, dict) else {}
    return Answer(call, response.status, summary=str(error.get("code", "")), message=str(error.get("message", "")))


def encoded(document: Any) -> bytes:  # noqa: ANN401 - JSON is any
    """Return a JSON body, with the digits of its numbers."""
    return json_text.dumps(document)
