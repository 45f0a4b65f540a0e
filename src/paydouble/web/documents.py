"""The documents that a server hands out: OpenAPI, and a docs page that needs no network."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

import orjson
from aiohttp import web

from paydouble.runtime.host import Host

_STATIC: Final[Mapping[str, str]] = {
    "swagger-ui.css": "text/css",
    "swagger-ui-bundle.js": "text/javascript",
    "docs.js": "text/javascript",
    "docs.css": "text/css",
}
# The docs page loads nothing from elsewhere; its library sets styles from script.
_POLICY: Final = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"


class Documents:
    """The pages of one server; made when they are first asked for."""

    def __init__(self, host: Host) -> None:
        """Describe a host."""
        self._host = host
        self._openapi_of: tuple[str, bytes] | None = None
        self._control: bytes | None = None

    def find(self, method: str, target: str) -> web.Response | None:
        """Return the page at a path, or None."""
        if method != "GET" or not target.startswith("/_paydouble/"):
            return None
        name = target.removeprefix("/_paydouble/")
        if name == "openapi.json":
            return _respond(self._openapi(), "application/json")
        if name == "control-openapi.json":
            return _respond(self._control_openapi(), "application/json")
        if name in {"docs", "docs/"}:
            return _respond(_static("docs.html"), "text/html")
        if name.startswith("checkout/"):  # where `payment_url` leads, for any pay-in
            return _respond(_static("checkout.html"), "text/html")
        kind = _STATIC.get(name.removeprefix("docs/")) if name.startswith("docs/") else None
        return _respond(_static(name.removeprefix("docs/")), kind) if kind else None

    def _openapi(self) -> bytes:
        base_url = self._host.base_url
        if self._openapi_of is None or self._openapi_of[0] != base_url:
            from paydouble.api.openapi import document  # noqa: PLC0415 - a third of a second that no deposit needs

            self._openapi_of = base_url, _written(document(self._host.operations, server_url=base_url))
        return self._openapi_of[1]

    def _control_openapi(self) -> bytes:
        if self._control is None:
            from paydouble.web.control.openapi import document  # noqa: PLC0415 - likewise

            self._control = _written(document())
        return self._control


def _written(document: dict[str, Any]) -> bytes:
    # With a newline at the end, as every JSON answer of the control API: a shell's prompt would stick to it.
    return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)


@cache
def _static(name: str) -> bytes:
    return (files("paydouble.web") / "static" / name).read_bytes()


def _respond(body: bytes, kind: str) -> web.Response:
    return web.Response(
        body=body,
        headers={
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Security-Policy": _POLICY,
            "X-Content-Type-Options": "nosniff",
            "Server": "paydouble",
        },
    )
