"""What happened, bounded: requests and events, the newest kept, and a count of what was let go."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Generic, Literal, TypeVar

from paydouble.payments.events import Event

T = TypeVar("T")
# What idempotency made of a request; `none` when it never got that far.
Verdict = Literal["new", "replay", "joined", "conflict", "none"]


class Log(Generic[T]):
    """The newest `limit` entries, and how many older ones are gone."""

    __slots__ = ("entries", "total")

    def __init__(self, limit: int) -> None:
        """Start empty."""
        self.entries: deque[T] = deque(maxlen=limit)
        self.total = 0
        """How many entries there have been."""

    def add(self, entry: T) -> None:
        """Append an entry; at the limit the oldest goes."""
        self.total += 1
        self.entries.append(entry)

    @property
    def evicted(self) -> int:
        """Count the older entries that were let go."""
        return self.total - len(self.entries)

    def resize(self, limit: int) -> None:
        """Change the limit of a living log."""
        if limit != self.entries.maxlen:
            self.entries = deque(self.entries, maxlen=limit)

    def clear(self) -> int:
        """Forget everything; returns how many entries that were."""
        count = len(self.entries)
        self.entries.clear()
        self.total = 0
        return count


@dataclass(slots=True, eq=False)
class RequestEntry:
    """One request of the API, as it came and as it was answered. `status` is None while it is in flight."""

    id: str
    at: int
    method: str
    target: str
    operation: str | None
    header_block: bytes
    """Names and values in turn, NUL between them: one object to keep for each request instead of dozens."""
    body: bytes
    status: int | None = None
    response_body: bytes = b""
    key: str | None = None
    verdict: Verdict = "none"
    bytes_differ: bool = False
    events: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    external_identifier: str | None = None
    object_id: str | None = None
    """The object that the request named or made."""

    def noted(self) -> tuple[Literal["request"], RequestEntry]:
        """Return what a note of it holds."""
        return "request", self

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers as they came: order, case and repetitions kept."""
        parts = self.header_block.split(b"\0") if self.header_block else []
        return list(zip(parts[::2], parts[1::2], strict=True))


def header_block(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Return headers in the form in which they are kept; HTTP has no NUL in any of them."""
    return b"\0".join(chain.from_iterable(headers))


class Journal:
    """The logs of one sandbox."""

    __slots__ = ("events", "requests")

    def __init__(self, limit: int) -> None:
        """Keep at most `limit` entries of each kind."""
        self.requests: Log[RequestEntry] = Log(limit)
        self.events: Log[Event] = Log(limit)
