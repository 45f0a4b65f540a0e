"""Who may make control calls: a token is checked, and requests that a foreign page has started are refused.

A browser's `EventSource` cannot send the token. So a stream also takes the cookie of the inspector's login.

Against DNS rebinding the `Host` of a control call must be an address literal, a single-label name (`localhost`, a
compose or CI service name), `host.docker.internal`, or a name that was configured; and a request from a page of
another origin is refused.
"""

from __future__ import annotations

import hmac
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from paydouble.web.addresses import Addresses
from paydouble.web.control.replies import ControlError
from paydouble.web.sessions import Sessions


class Access:
    """The access rules of one server."""

    def __init__(self, token: str | None, addresses: Addresses) -> None:
        """Require a token, unless it is None, and one of the server's own host names."""
        self._token = token
        self._addresses = addresses
        self.sessions: Final = Sessions(token)
        """The browsers that are logged in at the inspector."""

    def check(self, request: web.BaseRequest, *, open_to_all: bool = False, takes_login: bool = False) -> None:
        """Raise `ControlError` for a call that is not allowed.

        With `open_to_all` no token is needed. With `takes_login` none is needed by a browser that is logged in.
        """
        self.check_origin(request)
        if self._token is None or open_to_all:
            return
        if takes_login and is_same_origin(request) and self.sessions.holds(request):
            return
        given = request.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), f"Bearer {self._token}".encode()):
            what = "is missing" if not given else "is wrong"
            message = f"The control token {what}; send Authorization: Bearer with the token that serve was given."
            raise ControlError(401, "unauthorized", message)

    def check_origin(self, request: web.BaseRequest) -> None:
        """Raise `ControlError` for a request to another host, or from a page of another origin."""
        host = self._addresses.host_of(request.headers, request.remote)
        if not self._addresses.knows(host):
            message = f"Host {host[:100]!r} is not one of this server's; allow it with --allowed-host NAME."
            raise ControlError(403, "foreign_host", message)
        origin = request.headers.get("Origin")
        if origin is not None and _authority(origin) != host.lower():
            raise ControlError(403, "foreign_origin", f"Origin {origin[:100]!r} may not make control calls here.")


def is_same_origin(request: web.BaseRequest) -> bool:
    """Return whether the browser says that a page of this server, or its user, has made a request."""
    return request.headers.get("Sec-Fetch-Site", "same-origin") in {"same-origin", "none"}


def _authority(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:  # for instance `http://[`
        return ""
