"""What control calls are made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from aiohttp import web
from pydantic import BaseModel

from paydouble.core.errors import PaydoubleError
from paydouble.web.addresses import Reached

if TYPE_CHECKING:
    from paydouble.runtime.host import Host
    from paydouble.sandbox import Sandbox

Document = dict[str, Any]
Answer = Document | web.StreamResponse
"""What a handler gives: a document, or a response of its own where the answer is no JSON document."""


class ControlError(PaydoubleError):
    """A refused control call: status, a stable code, a sentence, and the member that it speaks of."""

    def __init__(self, status: int, code: str, message: str, member: str = "") -> None:
        """Take what the answer says."""
        super().__init__(message)
        self.status = status
        self.code = code
        self.member = member

    def document(self) -> Document:
        """Return the answer's body."""
        error = {"code": self.code, "message": str(self)}
        return {"error": {**error, "member": self.member} if self.member else error}


@dataclass(slots=True)
class ControlCall:
    """One control call, checked: its sandbox (if its path names one), path variables, query, body, and as it came."""

    host: Host
    params: Mapping[str, str]
    queries: Mapping[str, str]
    body: Any
    request: web.BaseRequest | None
    """The HTTP request that it came by, if it came by one."""
    reached: Reached
    """Where the caller reaches the server."""
    named: Sandbox | None = None

    @property
    def sandbox(self) -> Sandbox:
        """Return the sandbox of a path that names one."""
        if self.named is None:
            message = "this call's path names no sandbox"
            raise RuntimeError(message)
        return self.named

    @property
    def http(self) -> web.BaseRequest:
        """Return the HTTP request, of a call whose answer is a stream."""
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
    payload: type[BaseModel | Document] | None = None
    """The body's model; `dict` where the handler itself reads the object."""
    status: int = 200
    queries: tuple[str, ...] = ()
    open_to_all: bool = False
