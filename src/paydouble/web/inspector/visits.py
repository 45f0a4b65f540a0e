"""A request for a page, what a page is made of, and why one is refused."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple
from urllib.parse import quote, unquote, urlencode

from aiohttp import web

from paydouble.web.addresses import HOME, PAGES, Reached

if TYPE_CHECKING:
    from paydouble.runtime.host import Host
    from paydouble.sandbox import Sandbox


_NOTICE: Final = "paydouble_notice"
"""The cookie in which an action leaves a notice for the next page, so that no link can make a page say something."""
_LONGEST_NOTICE: Final = 600


class Page(NamedTuple):
    """What a handler shows: a template, and the values that it uses."""

    template: str
    values: Mapping[str, Any]
    status: int = 200


@dataclass(slots=True)
class Visit:
    """One request for a page."""

    host: Host
    request: web.BaseRequest
    reached: Reached
    """The addresses at which the browser reaches the server."""
    params: Mapping[str, str]
    """The variables of the path."""
    query: Mapping[str, str]
    form: Mapping[str, str] = field(default_factory=dict)
    """The fields of a form that was sent with POST."""

    @property
    def sandbox(self) -> Sandbox:
        """Return the sandbox that the path names as `{s}`; `UnknownThing` when there is none."""
        return self.host.find(self.params["s"])


Shown = Page | web.StreamResponse
Handler = Callable[[Visit], Shown | Awaitable[Shown]]


class PageRoute(NamedTuple):
    """One row of the table of pages."""

    method: Literal["GET", "POST"]
    path: str
    """Below `/_paydouble/`, with `{name}` for a segment that varies."""
    handler: Handler
    open_to_all: bool = False
    """Whether it is shown without a login."""


class Refused(Exception):
    """A page that cannot be shown: a status, a title, and what to do instead."""

    def __init__(self, status: int, title: str, text: str) -> None:
        """Take what the page says."""
        super().__init__(text)
        self.status = status
        self.title = title
        self.text = text


def path(*segments: str, **query: str) -> str:
    """Return the URL of a page below `/_paydouble/inspector/`; every segment and value is escaped."""
    below = "/".join(quote(segment, safe="") for segment in segments)
    return f"{PAGES}{below}" + (f"?{urlencode(query)}" if query else "")


def home(**query: str) -> str:
    """Return the URL of the inbox, without the parameters that are empty."""
    given = {name: value for name, value in query.items() if value}
    return HOME + (f"?{urlencode(given)}" if given else "")


def see(url: str, notice: str = "") -> web.Response:
    """Return an answer that leads the browser to another page; that page shows the notice, once."""
    response = web.Response(status=303, headers={"Location": url})
    if notice:
        value = quote(notice[:_LONGEST_NOTICE], errors="replace")
        response.set_cookie(_NOTICE, value, max_age=60, path=HOME, httponly=True, samesite="Strict")
    return response


def notice_of(request: web.BaseRequest) -> str:
    """Return the notice that an action has left for the next page; empty without one."""
    return unquote(request.cookies.get(_NOTICE, ""), errors="replace")


def forget_notice(response: web.Response) -> None:
    """Delete the notice, which has been shown."""
    response.del_cookie(_NOTICE, path=HOME)


# Where the pages are


def payment_url(sandbox: str, pay_in: str) -> str:
    """Return the URL of the page of a payment."""
    return path("sandboxes", sandbox, "payments", pay_in)


def sandboxes_url(**query: str) -> str:
    """Return the URL of the list of sandboxes, without the parameters that are empty."""
    return path("sandboxes", **{name: value for name, value in query.items() if value})


def sandbox_url(sandbox: str, *segments: str, **query: str) -> str:
    """Return the URL of the page of a sandbox, or of one below it."""
    return path("sandboxes", sandbox, *segments, **query)


def scenarios_url(*segments: str, **query: str) -> str:
    """Return the URL of the library of scenarios, or of a scenario, without the parameters that are empty."""
    return path("scenarios", *segments, **{name: value for name, value in query.items() if value})


def request_url(sandbox: str, request: str) -> str:
    """Return the URL of the page of a request; an empty `sandbox` is for one that no sandbox claims."""
    if not sandbox:
        return path("unclaimed-requests", request)
    return path("sandboxes", sandbox, "requests", request)


def delivery_url(sandbox: str, delivery: str) -> str:
    """Return the URL of the page of a delivery."""
    return path("sandboxes", sandbox, "deliveries", delivery)


def doctor_url(**query: str) -> str:
    """Return the URL of the page that says why a signature does not verify; `query` names an attempt to check."""
    return path("signature", **query)


LOGIN: Final = path("login")
LOGOUT: Final = path("logout")
