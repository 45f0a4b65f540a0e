"""Authentication and permission (contract section 5; assumptions, "Order of checks")."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Final

# Required of a 401 (RFC 9110, RFC 7617). Without it the JDK's client fails, and clients that send credentials only
# after a 401 (`curl --anyauth`, Python's urllib) never authenticate.
CHALLENGE: Final = (("WWW-Authenticate", 'Basic realm="paydouble", charset="UTF-8"'),)


def basic_header(key: str, secret: str) -> str:
    """Return the value of the Authorization header for a business key and secret."""
    return "Basic " + base64.b64encode(f"{key}:{secret}".encode()).decode()


def parse_basic(header: str) -> tuple[str, str] | None:
    """Return key and secret of an Authorization header, or None when it is not HTTP Basic."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        text = base64.b64decode(encoded.strip().encode(), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeError):
        return None
    key, colon, secret = text.partition(":")
    return (key, secret) if colon else None


@lru_cache(maxsize=1024)
def address_allowed(address: str, networks: tuple[IPv4Network | IPv6Network, ...]) -> bool:
    """Return whether an address is in one of the networks; an IPv4 address mapped to IPv6 counts as IPv4."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(ip, "ipv4_mapped", None)
    return any((mapped or ip) in network for network in networks)


def permitted(operation: str, permissions: Sequence[str]) -> bool:
    """Return whether an operation's name matches one of the permissions; `*` matches any run of characters."""
    return any(fnmatchcase(operation, permission) for permission in permissions)
