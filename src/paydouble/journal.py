"""The newest requests and events of a sandbox, and how many older ones were evicted."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final, Generic, Literal, TypeVar

from paydouble.core import json_text
from paydouble.payments.events import Event

T = TypeVar("T")
# Limits for requests that belong to no sandbox; together they stay below three megabytes.
MOST_UNCLAIMED: Final = 100
MOST_UNCLAIMED_BODY_BYTES: Final = 4096
_MOST_HEADER_BYTES: Final = 16_384
_AUTHENTICATE: Final = frozenset({b"authorization", b"cookie", b"proxy-authorization"})
# What idempotency made of a request; `none` when it never got that far.
Verdict = Literal["new", "replay", "joined", "conflict", "none"]


class Log(Generic[T]):
    """The newest `limit` entries, and how many older ones were evicted."""

    __slots__ = ("entries", "total")

    def __init__(self, limit: int) -> None:
        """Start empty."""
        self.entries: deque[T] = deque(maxlen=limit)
        self.total = 0
        """How many entries there have been."""

    def add(self, entry: T) -> None:
        """Append an entry; at the limit the oldest is evicted."""
        self.total += 1
        self.entries.append(entry)

    def evict(self) -> T:
        """Remove and return the oldest entry; there must be one."""
        return self.entries.popleft()

    @property
    def evicted(self) -> int:
        """Return how many entries were evicted."""
        return self.total - len(self.entries)

    def since(self, start: int, end: int | None = None) -> Iterator[T]:
        """Return the entries from one position on, up to another one, without those that were evicted.

        The position of an entry is how many there have been before it.
        """
        return (entry for _, entry in self.numbered(start, end))

    def numbered(self, start: int = 0, end: int | None = None) -> Iterator[tuple[int, T]]:
        """Return the same with the position of each."""
        first = max(start, self.evicted)
        last = None if end is None else max(0, end - self.evicted)
        return enumerate(islice(self.entries, first - self.evicted, last), first)

    def resize(self, limit: int) -> None:
        """Change the limit; the newest entries stay."""
        if limit != self.entries.maxlen:
            self.entries = deque(self.entries, maxlen=limit)

    def clear(self) -> int:
        """Remove all entries; returns how many they were."""
        count = len(self.entries)
        self.entries.clear()
        self.total = 0
        return count


@dataclass(slots=True, eq=False)
class RequestEntry:
    """One request of the API and its answer. `status` is None while it is in flight."""

    id: str
    at: int
    method: str
    target: str
    operation: str | None
    header_block: bytes
    """Names and values in turn, separated by NUL: one object in memory per request instead of dozens."""
    body: bytes
    status: int | None = None
    response_body: bytes = b""
    key: str | None = None
    verdict: Verdict = "none"
    bytes_differ: bool = False
    events: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    order: str | None = None
    """The `external_identifier` that the request is about, as far as the body has been read."""
    unread: bool = False
    """Whether it was refused before its body was read; then `external_identifier` reads it on first use."""
    object_id: str | None = None
    """The object that the request named or created."""
    sequence: int = 0
    """Its place among the requests, events and attempts of its sandbox; see `Journal.next`."""
    arrived: int = 0
    """When it arrived in real time (milliseconds); 0 without a server."""
    # Apart, since a tuple of them would be one more object for each request.
    answer_type: str = ""
    """The media type of the answer; empty until there is one."""
    answer_id: str = ""
    """The request id of the answer."""
    answer_headers: tuple[tuple[str, str], ...] = ()
    """The other headers of the answer."""
    # What only the recording of the sandbox needs (`sandbox/recording.py`).
    remote: str | None = None
    """The address of the client."""
    body_error: str | None = None
    """Why its body could not be read, when it could not."""
    whole_body: bytes | None = None
    """Its body, if `body` is only the beginning."""
    checkout: str | None = None
    """The base URL of the payers' pages as its client reaches them, when it was answered with one that is not the
    sandbox's."""

    @property
    def external_identifier(self) -> str | None:
        """Return the `external_identifier` that the request is about, or None."""
        if self.unread:
            self.unread = False
            if self.order is None and self.body:
                with suppress(json_text.JsonTextError):
                    self.order = named_in(json_text.read(self.body))
        return self.order

    @property
    def note_kind(self) -> Literal["request"]:
        """Return the kind of its note."""
        return "request"

    def noted(self) -> RequestEntry:
        """Return the record of its note: the entry."""
        return self

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers as they arrived, with their order, case and repetitions."""
        parts = self.header_block.split(b"\0") if self.header_block else []
        return list(zip(parts[::2], parts[1::2], strict=True))

    @property
    def response_headers(self) -> tuple[tuple[str, str], ...]:
        """Return the headers of the answer, without `Server`, `Date` and its length, which the connection adds."""
        if not self.answer_type:
            return ()
        return (("Content-Type", self.answer_type), ("X-Request-Id", self.answer_id), *self.answer_headers)


def named_in(parsed: object) -> str | None:
    """Return the `external_identifier` of a parsed body, or None."""
    named = parsed.get("external_identifier") if isinstance(parsed, dict) else None
    return named if isinstance(named, str) else None


def header_block(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Return headers in the form of `RequestEntry.header_block`; HTTP allows no NUL in them."""
    return b"\0".join(chain.from_iterable(headers))


class Journal:
    """The logs of one sandbox, and the numbers of what happens in it."""

    __slots__ = ("events", "grown", "most_bytes", "requests", "sequence", "stripped")

    def __init__(self, limit: int, most_bytes: int) -> None:
        """Keep at most `limit` entries of each kind; `most_bytes` is for all of them and the deliveries together."""
        self.most_bytes = most_bytes
        self.grown = 0
        """The last exact count of bytes plus those added since; `sandbox/trimming.py` counts."""
        self.requests: Log[RequestEntry] = Log(limit)
        self.events: Log[Event] = Log(limit)
        self.stripped = False
        """Whether attempts that are kept have lost bytes, since there was no room for them."""
        self.sequence = 0
        """The latest number of `next`."""

    def next(self) -> int:
        """Return the next number in the order of what happens.

        Requests are numbered when they arrive, events when they are made, attempts when they are sent. While a manual
        clock stands still, everything has the same instant, and only this number says what came first.
        """
        self.sequence += 1
        return self.sequence


@dataclass(slots=True, eq=False)
class UnclaimedEntry(RequestEntry):
    """A request that belongs to no sandbox, or bytes that are not a request, without a method and a target.

    `sequence` counts only such requests.
    """

    business_key: str | None = None
    """The business key that it came with; None without one."""


class Unclaimed:
    """The newest requests that belong to no sandbox: without credentials, with those of no business, or unreadable.

    Anybody can send them. So few are kept, and of each only what helps to find its sender: the beginning of its headers
    and of its body. Credentials are not kept, since a secret that was sent here may be a real one.
    """

    __slots__ = ("_listener", "_now", "log")

    def __init__(self, now: Callable[[], int], listener: Callable[[UnclaimedEntry], object] | None = None) -> None:
        """Start empty; `now` returns the time in milliseconds, `listener` is called for each request."""
        self._now = now
        self._listener = listener
        self.log: Log[UnclaimedEntry] = Log(MOST_UNCLAIMED)

    def add(self, entry: UnclaimedEntry) -> None:
        """Record a request that was refused."""
        entry.at = entry.arrived = self._now()
        entry.sequence = self.log.total + 1
        self.log.add(entry)
        if self._listener is not None:
            self._listener(entry)


def without_secrets(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of an unclaimed request as they are kept: the first 16 KiB, without credentials."""
    kept: list[tuple[bytes, bytes]] = []
    size = 0
    for name, value in headers:
        size += len(name) + len(value)
        if size > _MOST_HEADER_BYTES:
            break
        kept.append((name, b"(not kept)" if name.lower() in _AUTHENTICATE else value))
    return kept
