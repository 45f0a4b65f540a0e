"""JSON answers of the control API, and its refusals. Loaded when a server starts, so it imports no models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import web
from multidict import CIMultiDict

from paydouble.core import json_text
from paydouble.core.errors import PaydoubleError

if TYPE_CHECKING:
    from paydouble.core.documents import Document


class ControlError(PaydoubleError):
    """A refused control call: status, a stable code, a message, and the member that is wrong."""

    def __init__(self, status: int, code: str, message: str, member: str = "") -> None:
        """Take the status and the members of the answer."""
        super().__init__(message)
        self.status = status
        self.code = code
        self.member = member

    def document(self) -> Document:
        """Return the answer's body."""
        error = {"code": self.code, "message": str(self)}
        return {"error": {**error, "member": self.member} if self.member else error}


def reply(status: int, document: Document) -> web.Response:
    """Return a JSON answer that caches must not store.

    It ends with a newline, so that a shell prints its prompt on a new line.
    """
    headers = CIMultiDict(
        (("Content-Type", "application/json"), ("Server", "paydouble"), ("Cache-Control", "no-store"))
    )
    if status == 401:  # noqa: PLR2004 - HTTP
        headers["WWW-Authenticate"] = "Bearer"
    return web.Response(body=json_text.dumps(document) + b"\n", status=status, headers=headers)
