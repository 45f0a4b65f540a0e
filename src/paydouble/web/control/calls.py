"""What every control call is made of: the call and its route, the base of bodies, answers, pages and refusals."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, TypeVar

from aiohttp import web
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from paydouble.core.documents import Document, component
from paydouble.core.instants import parse_instant
from paydouble.core.json_schema import COUNT, TEXT, Schema, described, list_of, object_of, or_null, reference
from paydouble.web.addresses import Reached
from paydouble.web.control.replies import ControlError

if TYPE_CHECKING:
    from paydouble.payments.resources import PayIn
    from paydouble.runtime.host import Host
    from paydouble.sandbox import Sandbox

T = TypeVar("T")
Instant = Annotated[int, BeforeValidator(parse_instant), WithJsonSchema({"type": "string", "format": "date-time"})]
# The pattern: a blank secret cannot sign.
Secret = Annotated[str, Field(min_length=1, max_length=256, pattern=r"\S")]


class TimelineOf(NamedTuple):
    """A payment whose timeline is the answer. The caller of the handler draws it: the pages are above this package."""

    sandbox: Sandbox
    pay_in: PayIn
    reached: Reached


Answer = Document | web.StreamResponse | TimelineOf
"""What a handler returns: a document, or something else when the answer is not a JSON document."""
SANDBOX: Final = "/sandboxes/{s}"
"""The path of a sandbox."""
PAGE: Final = ("limit", "cursor")
"""The query parameters of a list."""
LARGEST_PAGE: Final = 1000
DEFAULT_PAGE: Final = 100


REFUSAL: Final[Mapping[str, Schema]] = {
    "Refusal": object_of({"error": reference("RefusalReason")}),
    "RefusalReason": object_of(
        {
            "code": described("A stable name.", TEXT),
            "message": described("For a person: what is wrong, and how to fix it.", TEXT),
        },
        member=described("The member that it is about.", TEXT),
    ),
}
"""The schemas of `ControlError.document`."""


class Body(BaseModel):
    """Base of control bodies. Unknown members are refused with the path of the member."""

    # Built when first used, so that a server starts without them.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


@dataclass(slots=True)
class ControlCall:
    """One validated control call: its path variables, query and body, its sandbox if the path names one."""

    host: Host
    params: Mapping[str, str]
    queries: Mapping[str, str]
    body: Any
    request: web.BaseRequest | None
    """The HTTP request, of a call that came over HTTP."""
    reached: Reached
    """The addresses at which the caller reaches the server."""
    named: Sandbox | None = None

    @property
    def sandbox(self) -> Sandbox:
        """Return the sandbox that the path names."""
        if self.named is None:
            message = "this call's path names no sandbox"
            raise RuntimeError(message)
        return self.named

    @property
    def http(self) -> web.BaseRequest:
        """Return the HTTP request; `ControlError` for a call that did not come over HTTP."""
        if self.request is None:
            raise ControlError(400, "invalid", "A stream is followed over HTTP; here read events and deliveries.")
        return self.request


class ControlRoute(NamedTuple):
    """One row of the control table."""

    name: str
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    summary: str
    handler: Callable[[ControlCall], Answer | Awaitable[Answer]]
    answer: Schema
    """The JSON Schema of the answer."""
    payload: type[BaseModel | Document] | None = None
    """The body's model; `dict` where the handler reads the object itself."""
    status: int = 200
    queries: tuple[str, ...] = ()
    body: str = ""
    """The component that describes the body, where `payload` is `dict`."""
    advice: str = ""
    """The description of the call in the OpenAPI document, besides the summary."""
    media: str = "application/json"
    """The media type of the answer."""
    open_to_all: bool = False
    takes_login: bool = False
    """Whether a browser that is logged in at the inspector can make it without the token."""


class Noun(NamedTuple):
    """The calls about one kind of thing."""

    routes: tuple[ControlRoute, ...]
    tags: Mapping[str, str] = {}
    """The tags of the OpenAPI document: the first part of the calls' names, and a description."""
    components: Mapping[str, Schema] = {}
    """The schemas that the answers refer to."""


def shown(kind: type[Any]) -> Schema:
    """Return the schema of an answer that is a record."""
    return reference(component(kind))


def listed(items: Schema) -> Schema:
    """Return the schema of a page of a list."""
    return object_of({"items": list_of(items), "next_cursor": or_null(TEXT), "evicted": COUNT})


def listing(
    items: Iterable[T], show: Callable[[T], Document], queries: Mapping[str, str], *, evicted: int = 0
) -> Document:
    """Return one page, oldest first. The cursor counts evicted entries too, so it stays valid after an eviction."""
    limit = _whole(queries, "limit", DEFAULT_PAGE, 1, LARGEST_PAGE)
    start = _whole(queries, "cursor", 0, 0, 10**15)
    everything = list(items)
    first = max(0, start - evicted)
    chosen = everything[first : first + limit]
    more = first + limit < len(everything)
    return {
        "items": [show(item) for item in chosen],
        "next_cursor": str(evicted + first + limit) if more else None,
        "evicted": evicted,
    }


def _whole(queries: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = queries.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) <= 16 and low <= int(text) <= high):  # noqa: PLR2004
        raise ControlError(400, "invalid", f"{name}: must be a whole number from {low} to {high}.", name)
    return int(text)
