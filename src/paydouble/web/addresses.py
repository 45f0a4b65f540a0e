"""Where this server is, as each client reaches it.

A server knows the port that it has bound, and no more: behind a mapped port (`docker run -p 9000:8080`), another name
or a proxy its clients use another address. An answer has to lead back to where its request came from, so every address
in an answer is made of the request's own `Host`, or of what the operator has said.

In this order: `--public-url`; the `X-Forwarded-*` headers of a proxy that the operator trusts; `Host`; the address that
was bound. A client chooses its own `Host`, so one that is none of this server's names (`knows`) is not repeated.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from paydouble.guards.credentials import address_allowed

CONTROL_PREFIX: Final = "/_paydouble"
"""What the paths of the control API and of the documents begin with."""
# What a name of a host may hold; an address literal has its own form.
_NAME: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?")
_PORTS: Final = {"http": 80, "https": 443}
# Answers are made for few hosts, but anybody may make up another.
_MOST_KEPT: Final = 256


class Reached(NamedTuple):
    """Where one client reaches the two sides of the server: URLs without a slash at the end."""

    api: str
    control: str

    @property
    def checkout(self) -> str:
        """Return where the page for the payer of a pay-in begins; the pay-in's id follows."""
        return f"{self.control}{CONTROL_PREFIX}/checkout/"


class Authority(NamedTuple):
    """A scheme, a host name and a port, as a client has used them; `port` is None where it left it out."""

    scheme: str
    name: str
    port: int | None

    def url(self, port: int | None) -> str:
        """Return the URL of another port of the same host; None is the scheme's own."""
        name = f"[{self.name}]" if ":" in self.name else self.name
        return f"{self.scheme}://{name}" + ("" if port in {None, _PORTS[self.scheme]} else f":{port}")


class Addresses:
    """The addresses of one server. `bound` is to be called once its ports are known."""

    def __init__(
        self,
        allowed_hosts: Collection[str] = (),
        *,
        public_url: str | None = None,
        trusted: Collection[IPv4Network | IPv6Network] = (),
    ) -> None:
        """Take further host names of the server, its public URL, and the networks of proxies that are believed."""
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
        """Note which ports were bound, and by which name this machine reaches them."""
        self._ports = (port, port if control_port is None else control_port)
        here = Authority("http", host, port)
        self._own = Reached(*(here.url(each) for each in self._ports))
        if self._public is not None:
            self._own = self._own._replace(api=self._public, control=self._public)
            if control_port is not None:  # which the public URL says nothing of
                parts = urlsplit(self._public)
                public = Authority(parts.scheme, parts.hostname or "", None)
                self._own = Reached(self._public, public._replace(scheme="http").url(control_port))

    @property
    def own(self) -> Reached:
        """Return where the server is reached when no request says otherwise."""
        return self._own

    def host_of(self, headers: Mapping[str, str], remote: str | None) -> str:
        """Return the host (and port) that a client has asked for, as it or a trusted proxy says."""
        return self._said(headers, remote)[1]

    def knows(self, host: str) -> bool:
        """Return whether a `Host` is one of the server's names.

        That is an address literal, a single label such as `localhost`, `host.docker.internal`, or a name that the
        operator has given. A domain that a stranger points at this server (DNS rebinding) is none.
        """
        name = _name(host)
        if not name:
            return False
        return "." not in name or name in self._names or name == "host.docker.internal" or _is_address(name)

    def reached(self, headers: Mapping[str, str], remote: str | None, *, at_control: bool) -> Reached:
        """Return where the client of a request reaches the server, whose request came in at one of its sides."""
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
        host = headers.get("Host", "")
        if not self._trusted or remote is None or not address_allowed(remote, self._trusted):
            return "http", host
        # Each proxy on the way adds a value; the last is by the one that is trusted.
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
        if not self.knows(host) or "%" in name:  # an IPv6 zone is a matter of the client's machine
            return self._own
        asked = Authority(scheme, name, urlsplit(f"//{host}").port)
        api, control = self._ports
        if api == control:
            return Reached(asked.url(asked.port), asked.url(asked.port))
        # The other side has a port of its own, of which this request says nothing.
        if at_control:
            return Reached(asked.url(api), asked.url(asked.port))
        return Reached(asked.url(asked.port), asked.url(control))


def _name(host: str) -> str:
    """Return the name or the address of a `Host`, or nothing when it is none."""
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
