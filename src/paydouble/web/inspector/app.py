"""From an HTTP request to a page and back. Every refusal is a page in plain words."""

from __future__ import annotations

import inspect
import logging
from functools import cached_property
from typing import Final
from urllib.parse import parse_qs

from aiohttp import web

from paydouble.api.routes import Routes
from paydouble.core.errors import ApiError, IllegalTransition, UnknownThing, UsageError
from paydouble.runtime.host import Host
from paydouble.version import __version__
from paydouble.web.addresses import CONTROL_PREFIX, HOME, PAGES, Addresses
from paydouble.web.bodies import read_body
from paydouble.web.control.access import Access, is_same_origin
from paydouble.web.control.replies import ControlError
from paydouble.web.inspector.live import Streams
from paydouble.web.inspector.login import Login
from paydouble.web.inspector.rendering import HEADERS, render, respond, static
from paydouble.web.inspector.routes import NAVIGATION, ROUTES
from paydouble.web.inspector.visits import (
    LOGIN,
    LOGOUT,
    Page,
    PageRoute,
    Refused,
    Shown,
    Visit,
    forget_notice,
    notice_of,
    path,
    see,
)
from paydouble.web.targets import origin_form, parse_query

_LOG: Final = logging.getLogger("paydouble.inspector")
_FORM_LIMIT: Final = 1024 * 1024
"""Bytes of a form. The signature doctor takes a pasted body."""
_MOST_FIELDS: Final = 100
_STATIC: Final = "static/"
_UNAUTHORIZED: Final = 401


class Inspector:
    """The pages of one server."""

    def __init__(self, host: Host, access: Access, addresses: Addresses) -> None:
        """Show a host to the browsers that the access rules allow."""
        self._host = host
        self._access = access
        self._addresses = addresses
        self._sessions = access.sessions

    @cached_property
    def _routes(self) -> Routes[PageRoute]:
        login = Login(self._sessions)
        streams = Streams()
        own = (
            PageRoute("GET", LOGIN.removeprefix(HOME), login.show, open_to_all=True),
            PageRoute("POST", LOGIN.removeprefix(HOME), login.enter, open_to_all=True),
            PageRoute("POST", LOGOUT.removeprefix(HOME), login.leave, open_to_all=True),
            PageRoute("GET", "inspector/inbox/stream", streams.follow_inbox),
            PageRoute("GET", "inspector/sandboxes/{s}/payments/{id}/stream", streams.follow_payment),
        )
        return Routes((*ROUTES, *own), HOME)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the page that a request asks for, or one that says why not."""
        target, _, query = origin_form(request).partition("?")
        try:
            self._access.check_origin(request)
            if target == CONTROL_PREFIX:
                return _with_headers(see(HOME))
            if target.startswith(PAGES + _STATIC):
                found = static(target.removeprefix(PAGES + _STATIC))
                return found or self._refusal(target, Refused(404, "There is no such file", f"{target[:200]}"))
            return await self._answer(request, target, query)
        except Exception as error:  # noqa: BLE001 - a bug of ours must not look like a lost connection
            return self._refusal(target, _refused(error, f"{request.method} {target}"))

    async def _answer(self, request: web.BaseRequest, target: str, query: str) -> web.StreamResponse:
        method = "GET" if request.method == "HEAD" else request.method
        found = self._routes.match(method, target)
        if found is None:
            if any(self._routes.match(each, target) for each in ("GET", "POST")):
                raise Refused(405, "This page has no such action", f"It does not take {method[:16]}.")
            raise Refused(404, "There is no such page", f"{target[:200]} is no page of the inspector.")
        route, params = found
        if not route.open_to_all and not self._sessions.holds(request):
            return self._lead_to_login(request, target, query)
        form: dict[str, str] = {}
        if method == "POST":
            if not is_same_origin(request):
                raise Refused(403, "This is refused", "A page of another site may not do anything here.")
            form = await self._form(request)
        reached = self._addresses.reached(request.headers, request.remote, at_control=True)
        visit = Visit(self._host, request, reached, params, parse_query(query), form)
        shown = route.handler(visit)
        shown = await shown if inspect.isawaitable(shown) else shown
        return self._respond(shown, target, logged_in=self._sessions.holds(request), notice=notice_of(request))

    def _lead_to_login(self, request: web.BaseRequest, target: str, query: str) -> web.StreamResponse:
        if request.method not in {"GET", "HEAD"} or "text/html" not in request.headers.get("Accept", "text/html"):
            raise Refused(_UNAUTHORIZED, "You are not logged in", "The session has ended. Log in, and try again.")
        return _with_headers(see(path("login", back=f"{target}?{query}" if query else target)))

    async def _form(self, request: web.BaseRequest) -> dict[str, str]:
        body, problem = await read_body(request, _FORM_LIMIT, self._host.bodies)
        if problem:
            raise Refused(400, "The form cannot be read", problem)
        try:
            given = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
        except ValueError:
            raise Refused(400, "The form cannot be read", "It is not an HTML form.") from None
        return {name: values[-1] for name, values in given.items()}

    def _respond(self, shown: Shown, target: str, *, logged_in: bool, notice: str = "") -> web.StreamResponse:
        if not isinstance(shown, Page):
            return _with_headers(shown)
        frame = {
            "static": f"{PAGES}{_STATIC}",
            "home": HOME,
            "docs": f"{CONTROL_PREFIX}/docs",
            "logout": LOGOUT if self._sessions.needed and logged_in else "",
            "navigation": [(label, url, target == url) for label, url in NAVIGATION] if logged_in else [],
            "version": __version__,
            "notice": notice,
            "offline": False,
        }
        response = respond(render(shown.template, {**frame, **shown.values}), shown.status)
        if notice:
            forget_notice(response)
        return response

    def _refusal(self, target: str, error: Refused) -> web.StreamResponse:
        values = {"title": error.title, "text": error.text, "login": LOGIN if error.status == _UNAUTHORIZED else ""}
        return self._respond(Page("refusal.html", values, error.status), target, logged_in=not self._sessions.needed)


def _refused(error: Exception, call: str) -> Refused:
    """Return the page for an error; one that is not expected is logged."""
    match error:
        case Refused():
            return error
        case UnknownThing():
            text = f"{error} It may have been deleted, or the server was started again."
            return Refused(404, "This is not here any more", text)
        case ControlError():
            return Refused(error.status, "This is refused", str(error))
        case ApiError():
            return Refused(404 if error.code == "NOT_FOUND" else 409, "This is not possible", error.message)
        case UsageError() | IllegalTransition():
            return Refused(409, "This is not possible now", f"{error}.")
        case _:
            _LOG.error("%s failed", call, exc_info=error)
            return Refused(500, "The page failed", "The log of the server says why.")


def _with_headers(response: web.StreamResponse) -> web.StreamResponse:
    """Return a response with the headers of all pages, where it has none of its own and has not been sent yet."""
    if not response.prepared:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
    return response
