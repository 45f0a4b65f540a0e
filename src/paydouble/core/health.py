"""The record of a server's state, apart from the other records: it is asked for first, and they take long to load."""

from __future__ import annotations

from dataclasses import dataclass, field

from paydouble.core.documents import SECONDS, member
from paydouble.core.json_schema import COUNT, TEXT


@dataclass(frozen=True, slots=True)
class Health:
    """The state of a server."""

    status: str = field(metadata=member(TEXT))
    version: str = field(metadata=member(TEXT))
    uptime_seconds: float = field(metadata=member(SECONDS))
    sandboxes: int = field(metadata=member(COUNT))
