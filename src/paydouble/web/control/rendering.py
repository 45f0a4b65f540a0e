"""A control call's answer as HTTP."""

from __future__ import annotations

from aiohttp import web
from multidict import CIMultiDict

from paydouble.core import json_text
from paydouble.web.control.values import Document


def reply(status: int, document: Document) -> web.Response:
    """Return a JSON answer; nobody may keep it, since the next one may differ.

    It ends with a newline, so that a shell's prompt stands on a line of its own.
    """
    headers = CIMultiDict(
        (("Content-Type", "application/json"), ("Server", "paydouble"), ("Cache-Control", "no-store"))
    )
    if status == 401:  # noqa: PLR2004 - HTTP
        headers["WWW-Authenticate"] = "Bearer"
    return web.Response(body=json_text.dumps(document) + b"\n", status=status, headers=headers)
