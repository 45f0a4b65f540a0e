"""The control API, the documents and the inspector, loaded with their first request; health is answered without them.

The control API has more models than everything else together. A container that gets only health checks, and a test that
only uses the API, start faster without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from paydouble.runtime.host import Host
from paydouble.web.addresses import CONTROL_PREFIX, HOME, PAGES, Addresses
from paydouble.web.control.access import Access
from paydouble.web.control.health import health_of
from paydouble.web.control.replies import ControlError, reply
from paydouble.web.targets import origin_form

if TYPE_CHECKING:
    from paydouble.web.control.app import Control
    from paydouble.web.control.calls import TimelineOf
    from paydouble.web.inspector.app import Inspector

HEALTH: Final = f"{CONTROL_PREFIX}/health"
_FIRST: Final = frozenset({CONTROL_PREFIX, HOME})


class LazyControl:
    """The control side of a server."""

    def __init__(self, host: Host, access: Access, addresses: Addresses, *, inspector: bool = True) -> None:
        """Control a host, for the requests that the access rules allow; with or without the inspector's pages."""
        self._host = host
        self._access = access
        self._addresses = addresses
        self._control: Control | None = None
        self._inspector: Inspector | None = None
        self.with_inspector = inspector

    @property
    def home(self) -> str:
        """Return the path of the first page for a person with a browser."""
        return HOME if self.with_inspector else f"{CONTROL_PREFIX}/docs"

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the answer to a control call."""
        if request.method in {"GET", "HEAD"} and origin_form(request) == HEALTH and not request.body_exists:
            try:
                self._access.check(request, open_to_all=True)
            except ControlError as error:
                return reply(error.status, error.document())
            return reply(200, health_of(self._host))
        if self.with_inspector and _is_page(request):
            return await self._pages().answer(request)
        if self.with_inspector and request.method in {"GET", "HEAD"} and origin_form(request) in _FIRST:
            return self._first(request)
        return await self._loaded().answer(request)

    def _first(self, request: web.BaseRequest) -> web.Response:
        """Return the addresses of what is here, for a client that is no browser, such as curl."""
        try:
            self._access.check(request, open_to_all=True)
        except ControlError as error:
            return reply(error.status, error.document())
        base = self._addresses.reached(request.headers, request.remote, at_control=True).control + CONTROL_PREFIX
        return reply(
            200,
            {
                "message": "This is the control API of paydouble. Open `inspector` in a browser.",
                "inspector": f"{base}/",
                "docs": f"{base}/docs",
                "control_openapi": f"{base}/control-openapi.json",
                "health": f"{base}/health",
            },
        )

    def _pages(self) -> Inspector:
        if self._inspector is None:
            from paydouble.web.inspector.app import Inspector  # noqa: PLC0415 - see above

            self._inspector = Inspector(self._host, self._access, self._addresses)
        return self._inspector

    def _loaded(self) -> Control:
        if self._control is None:
            from paydouble.web.control.app import Control  # noqa: PLC0415 - see above
            from paydouble.web.documents import Documents  # noqa: PLC0415
            from paydouble.web.payer import PREFIX, PayerPages  # noqa: PLC0415

            documents = Documents(self._host, _control_openapi)
            payers = PayerPages(self._host)
            self._control = Control(
                self._host,
                self._access,
                documents.find,
                self._addresses,
                own_pages={PREFIX: payers.answer},
                timeline=_timeline,
            )
        return self._control


def _is_page(request: web.BaseRequest) -> bool:
    """Return whether a request is for the inspector; at the prefix itself only a browser is, which asks for HTML."""
    target = origin_form(request).partition("?")[0]
    if target in _FIRST:
        return "text/html" in request.headers.get("Accept", "")
    return target.startswith(PAGES)


def _control_openapi() -> dict[str, Any]:
    from paydouble.web.control.openapi import document  # noqa: PLC0415 - most servers never need it

    return document()


def _timeline(wanted: TimelineOf) -> web.Response:
    from paydouble.web.inspector.timeline import timeline_response  # noqa: PLC0415 - the templates, which few tests need

    return timeline_response(wanted)
