"""Credentials are hidden in a file that others may read: a CI system may publish what a failed test has written."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from paydouble.guards.credentials import parse_basic

HIDDEN: Final = "(hidden)"
_CREDENTIALS: Final = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})


def masked_header(value: str, name: str) -> str:
    """Return the value of a header without its credentials: of HTTP Basic the key, of other schemes their name."""
    if name.lower() not in _CREDENTIALS:
        return value
    credentials = parse_basic(value)
    if credentials is not None:
        return f"Basic (key {credentials[0]}, secret hidden)"
    scheme, space, _ = value.partition(" ")
    return f"{scheme} {HIDDEN}" if space and "=" not in scheme else HIDDEN


def masked_url(url: str) -> str:
    """Return a URL without its user and password."""
    user, at, _ = urlsplit(url).netloc.rpartition("@")
    return url.replace(f"{user}{at}", f"{HIDDEN}@", 1) if at else url
