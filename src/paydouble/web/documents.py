"""The documents that a server serves: OpenAPI, its page that needs no network, and the pages of the documentation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

import orjson
from aiohttp import web

from paydouble.config import Settings
from paydouble.core.ids import DEFAULT_ID
from paydouble.runtime.host import Host
from paydouble.web.addresses import CONTROL_PREFIX
from paydouble.web.pages import shipped_pages

_STATIC: Final[Mapping[str, str]] = {
    "swagger-ui.css": "text/css",
    "swagger-ui-bundle.js": "text/javascript",
    "docs.js": "text/javascript",
    "docs.css": "text/css",
    "colours.css": "text/css",
    "payer.css": "text/css",
}
# The docs page loads nothing from elsewhere; its library sets styles from script.
_MOST_DOCUMENTS: Final = 8
_POLICY: Final = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"


class Documents:
    """The documents of one server; each is made when it is first requested."""

    def __init__(self, host: Host, control_openapi: Callable[[], dict[str, Any]]) -> None:
        """Describe a host; `control_openapi` returns the document of the control API."""
        self._host = host
        self._make_control_openapi = control_openapi
        self._openapi: dict[str, dict[str, Any]] = {}
        """The documents that were requested last, by the settings that they describe."""
        self._control: bytes | None = None

    def find(self, method: str, target: str, authorization: str | None, server_url: str) -> web.Response | None:
        """Return the document at a path, or None.

        The API's document describes the settings of the sandbox whose credentials are in the request, otherwise those
        of the default sandbox. `server_url` is the URL of the API in it.
        """
        if method not in {"GET", "HEAD"} or not target.startswith(f"{CONTROL_PREFIX}/"):
            return None
        name = target.removeprefix(f"{CONTROL_PREFIX}/")
        if name == "openapi.json":
            document = self._describe(self._settings(authorization))
            return _respond(_written({**document, "servers": [{"url": server_url}]}), "application/json")
        if name == "control-openapi.json":
            return _respond(self._control_openapi(), "application/json")
        found = _file(name)
        return None if found is None else _respond(*found)

    def _settings(self, authorization: str | None) -> Settings:
        registry = self._host.registry
        box, authentic = registry.find(authorization)
        if box is None or not authentic:
            box = registry.get(DEFAULT_ID) if DEFAULT_ID in registry else None
        return self._host.options.settings if box is None else box.settings

    def _describe(self, settings: Settings) -> dict[str, Any]:
        from paydouble.openapi.document import document  # noqa: PLC0415 - it takes a third of a second to import

        key = settings.model_dump_json()
        made = self._openapi.pop(key, None) or document(self._host.operations, server_url="", settings=settings)
        self._openapi[key] = made
        if len(self._openapi) > _MOST_DOCUMENTS:
            del self._openapi[next(iter(self._openapi))]
        return made

    def _control_openapi(self) -> bytes:
        if self._control is None:
            self._control = _written(self._make_control_openapi())
        return self._control


def _written(document: dict[str, Any]) -> bytes:
    # With a newline at the end, as every JSON answer of the control API, so that a shell's prompt begins a new line.
    return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)


def _file(name: str) -> tuple[bytes, str] | None:
    """Return the content and the media type of a file by its path below the prefix; None for others."""
    if name in {"docs", "docs/"}:
        return _static("docs.html"), "text/html"
    if name == "llms.txt":
        return _static(name), "text/plain"
    folder, _, below = name.partition("/")
    if folder != "docs":
        return None
    if below in _STATIC:
        return _static(below), _STATIC[below]
    page = shipped_pages().get(below)
    return None if page is None else (page.read_bytes(), "text/markdown")


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
