"""The URL of this server as each client reaches it.

A server only knows the port that it has bound. Behind a mapped port (`docker run -p 9000:8080`), another name or a
proxy its clients use another address. A URL in an answer must work for the client that gets it, so it is made from the
request's own `Host`, or from what the operator has configured.

The order is: `--public-url`; the `X-Forwarded-*` headers of a trusted proxy; `Host`; the address that was bound. A
client can send any `Host`, so one that is not a name of this server (`knows`) is never repeated in an answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from aiohttp.hdrs import HOST

from paydouble.guards.credentials import address_allowed

CONTROL_PREFIX: Final = "/_paydouble"
"""The prefix of all paths of the control API and the documents."""
HOME: Final = f"{CONTROL_PREFIX}/"
"""The inspector's first page."""
PAGES: Final = f"{CONTROL_PREFIX}/inspector/"
"""The prefix of the inspector's other pages."""
# The form of a host name; an address literal has its own form.
_NAME: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?")
_PORTS: Final = {"http": 80, "https": 443}
# Clients use few hosts, but anybody may invent others.
_MOST_KEPT: Final = 256


class Reached(NamedTuple):
    """The URLs of the API and the control API for one client, without a slash at the end."""

    api: str
    control: str

    @property
    def checkout(self) -> str:
        """Return the URL of the payer's page of a pay-in, without the pay-in's id."""
        return f"{self.control}{CONTROL_PREFIX}/checkout/"


class Authority(NamedTuple):
    """A scheme, a host name and a port, as a client has used them; `port` is None when it was left out."""

    scheme: str
    name: str
    port: int | None

    def url(self, port: int | None) -> str:
        """Return the URL of a port of this host; None is the scheme's default port."""
        name = f"[{self.name}]" if ":" in self.name else self.name
        return f"{self.scheme}://{name}" + ("" if port in {None, _PORTS[self.scheme]} else f":{port}")


class Addresses:
    """The addresses of one server. `bound` must be called once its ports are known."""

    def __init__(
        self,
        allowed_hosts: Collection[str] = (),
        *,
        public_url: str | None = None,
        trusted: Collection[IPv4Network | IPv6Network] = (),
    ) -> None:
        """Take further host names of the server, its public URL, and the networks of trusted proxies."""
        self._public = None if public_url is None else public_url.rstrip("/")
        names = {name.lower() for name in allowed_hosts}
        if self._public is not None:
            names.add(_name(urlsplit(self._public).netloc))
        self._names = frozenset(names)
        self._trusted = tuple(trusted)
        self._own = Reached("", "")
        self._ports: tuple[int, int] = (0, 0)
        self._kept: dict[tuple[str, str, bool], Reached] = {}

    def bound(self, host: str, port: int, control_port: int | None) -> None:
        """Note the ports that were bound, and the host by which this machine reaches them."""
        self._ports = (port, port if control_port is None else control_port)
        here = Authority("http", host, port)
        self._own = Reached(*(here.url(each) for each in self._ports))
        if self._public is not None:
            self._own = self._own._replace(api=self._public, control=self._public)
            if control_port is not None:  # it is not part of the public URL
                parts = urlsplit(self._public)
                public = Authority(parts.scheme, parts.hostname or "", None)
                self._own = Reached(self._public, public._replace(scheme="http").url(control_port))

    @property
    def own(self) -> Reached:
        """Return the URLs to use without a request."""
        return self._own

    def host_of(self, headers: Mapping[str, str], remote: str | None) -> str:
        """Return the host (and port) that a client has requested, from its `Host` or a trusted proxy."""
        return self._said(headers, remote)[1]

    def knows(self, host: str) -> bool:
        """Return whether a `Host` is one of the server's names.

        These are address literals, single labels such as `localhost`, `host.docker.internal`, and names that the
        operator has configured. A domain that somebody else points at this server (DNS rebinding) is not one.
        """
        name = _name(host)
        if not name:
            return False
        return "." not in name or name in self._names or name == "host.docker.internal" or _is_address(name)

    def reached(self, headers: Mapping[str, str], remote: str | None, *, at_control: bool) -> Reached:
        """Return the URLs for the client of a request; `at_control` says which side received the request."""
        if self._public is not None:
            return self._own
        scheme, host = self._said(headers, remote)
        key = (scheme, host, at_control)
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            found = self._kept[key] = self._reached(scheme, host, at_control=at_control)
        return found

    def _said(self, headers: Mapping[str, str], remote: str | None) -> tuple[str, str]:
        host = headers.get(HOST, "")
        if not self._trusted or remote is None or not address_allowed(remote, self._trusted):
            return "http", host
        # Each proxy on the way adds a value; the last one is from the trusted proxy.
        forwarded, scheme, port = (
            headers.get(f"X-Forwarded-{name}", "").rpartition(",")[2].strip() for name in ("Host", "Proto", "Port")
        )
        scheme = scheme.lower() if scheme.lower() in _PORTS else "http"
        host = forwarded or host
        if port and port != str(_PORTS[scheme]) and not re.search(r":\d+$", host):
            host = f"{host}:{port}"
        return scheme, host

    def _reached(self, scheme: str, host: str, *, at_control: bool) -> Reached:
        name = _name(host)
        if not self.knows(host) or "%" in name:  # an IPv6 zone means something on the client's machine only
            return self._own
        asked = Authority(scheme, name, urlsplit(f"//{host}").port)
        api, control = self._ports
        if api == control:
            return Reached(asked.url(asked.port), asked.url(asked.port))
        # The other side has another port, which this request does not contain.
        if at_control:
            return Reached(asked.url(api), asked.url(asked.port))
        return Reached(asked.url(asked.port), asked.url(control))


def _name(host: str) -> str:
    """Return the name or the address in a `Host`, or an empty text when it is malformed."""
    try:
        parts = urlsplit(f"//{host}")
        name, _ = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return ""
    if parts.netloc != host or "@" in host:
        return ""
    return name if _NAME.fullmatch(name) or _is_address(name) else ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True
