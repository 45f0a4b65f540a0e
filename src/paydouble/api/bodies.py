"""A request's body, parsed strictly and at most once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paydouble.api.values import CONTENT_TYPE
from paydouble.config import Settings
from paydouble.core import json_text

if TYPE_CHECKING:
    from paydouble.api.values import Request


@dataclass(slots=True)
class Body:
    """A body's value, or why it is refused."""

    parsed: Any = None
    problem: str | None = None
    incomparable: bool = False
    """Whether it cannot be compared with another body, since it was not read or is not JSON."""


EMPTY = Body({})


def parse(request: Request, settings: Settings) -> Body:
    """Return a request's body, parsed."""
    if request.body_error:
        return Body(problem=request.body_error, incomparable=True)
    if len(request.body) > settings.body_limit:
        return Body(problem=f"The body is larger than {settings.body_limit} bytes.")
    if not request.body:
        return EMPTY  # for operations without members; many clients then send some other Content-Type
    content_type = request.headers.get(CONTENT_TYPE, "")
    if content_type != "application/json" and content_type.partition(";")[0].strip().lower() != "application/json":
        problem = f"The Content-Type is {content_type[:64]!r}; it must be application/json."
        return Body(problem=problem, incomparable=True)
    try:
        return Body(json_text.read(request.body))
    except json_text.JsonTextError as error:
        return Body(problem=f"The body is not valid JSON: {error}.")
