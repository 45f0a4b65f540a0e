"""The private names of aiohttp that the fast path needs, and whether the installed version has them.

Any release may remove a private name. If one is missing, a server answers every request through aiohttp's public API:
more slowly, and otherwise the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from aiohttp import http_parser
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

NEEDED: Final[Mapping[type, tuple[str, ...]]] = MappingProxyType(
    {
        RequestHandler: (
            "_buffer_paused",
            "_keepalive_timeout",
            "_loop",
            "_manager",
            "_next_keepalive_close_time",
            "_parser",
            "_pause_transport_reading",
            "_reading_paused",
            "_resume_transport_reading",
            "_waiter",
            "finish_response",
            "peername",
            "resume_reading",
            "writing_paused",
        ),
        StreamReader: ("_buffer", "_eof"),
        http_parser.HttpRequestParser: ("feed_data", "message_consumed"),
    }
)


def has(owner: type, name: str) -> bool:
    """Return whether a class or its instances (`__slots__`) have an attribute."""
    return hasattr(owner, name)


def missing() -> list[str]:
    """Return the names that the installed aiohttp lacks, each with its class."""
    return [f"{owner.__name__}.{name}" for owner, names in NEEDED.items() for name in names if not has(owner, name)]
