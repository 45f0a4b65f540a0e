"""Who may steer the double: a token, and no browser that was lured here.

Against DNS rebinding the `Host` of a control call must be an address literal, a single-label name (`localhost`, a
compose or CI service name), `host.docker.internal`, or a name that was configured; and a request from a page of
another origin is refused.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import urlsplit

from aiohttp import web

from paydouble.web.control.values import ControlError


class Access:
    """The rules of one server."""

    def __init__(self, token: str | None, allowed_hosts: Collection[str] = ()) -> None:
        """Demand a token, or none; accept further host names."""
        self._token = token
        self._allowed = frozenset(name.lower() for name in allowed_hosts)

    def check(self, request: web.BaseRequest, *, open_to_all: bool = False) -> None:
        """Raise `ControlError` for a call that may not be made; `open_to_all` ones need no token."""
        host = request.headers.get("Host", "")
        name = _name(host)
        if not self._known(name):
            message = f"Host {host[:100]!r} is not one of this server's; allow it with --allowed-host {name or 'NAME'}."
            raise ControlError(403, "foreign_host", message)
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            raise ControlError(403, "foreign_origin", f"Origin {origin[:100]!r} may not make control calls here.")
        if self._token is None or open_to_all:
            return
        given = request.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), f"Bearer {self._token}".encode()):
            what = "is missing" if not given else "is wrong"
            message = f"The control token {what}; send Authorization: Bearer with the token that serve was given."
            raise ControlError(401, "unauthorized", message)

    def _known(self, name: str) -> bool:
        if not name:
            return False
        single_label = "." not in name and ":" not in name
        if single_label or name in self._allowed or name == "host.docker.internal":
            return True
        try:
            ip_address(name.partition("%")[0])
        except ValueError:
            return False
        return True


def _name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""
