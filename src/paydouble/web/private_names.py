"""What the fast path uses of aiohttp that has no public name, and whether this aiohttp has it.

A private name can go with any release. Without one of these a server answers every request by aiohttp's own way, which
needs none of them: more slowly, and otherwise the same.
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
    """Return whether a class has a name, for itself or for its instances (`__slots__`)."""
    return hasattr(owner, name)


def missing() -> list[str]:
    """Return the names that this aiohttp lacks, each with its class."""
    return [f"{owner.__name__}.{name}" for owner, names in NEEDED.items() for name in names if not has(owner, name)]
