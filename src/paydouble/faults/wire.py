"""What a fault does to an answer on the wire, and what a client then gets.

The core decides how an answer is broken and describes it with a `Wire`. Two kinds of shell carry it out:

    Wire ──► web/wire_faults.perform    writes the bytes to a socket, and closes it
         └─► client_outcome             returns what a client of that socket would get

Every shell without sockets (the in-process handle, its transports, the rehearsal of a scenario, the state machine) uses
`client_outcome`, so that a fault has the same effect everywhere. A test plays each kind through all of them and through
a real socket, and compares (`tests/faults/api/test_one_wire.py`).

A client measures two times. The *quiet* time is how long nothing arrives (a read timeout: httpx, requests, Go's
`ResponseHeaderTimeout`). The *total* time is how long the whole answer takes (`aiohttp.ClientTimeout.total`, Go's
`Client.Timeout`). A body that arrives slowly passes the first limit and exceeds the second:

    request ──── delay ────► head ── pause ─► part ── pause ─► part … end
            └─ quiet time ─┘     └─ quiet ─┘
            └───────────────────── total time ──────────────────────┘
"""

from __future__ import annotations

from math import inf
from typing import Literal, NamedTuple, assert_never

WireKind = Literal["reset", "empty", "silence", "cut", "length", "drip", "garbage"]
Loss = Literal["reset", "empty", "garbage", "cut"]


class Wire(NamedTuple):
    """What the shell does to the bytes of an answer.

    `reset` aborts with RST, `empty` closes without a byte, `silence` never answers (and closes after `seconds`, if
    given), `cut` sends the head and a `fraction` of the body, `length` announces a Content-Length that is wrong by `by`
    bytes, `drip` sends the body in `chunks` parts over `seconds`, `garbage` sends `data` in place of the answer.
    """

    kind: WireKind
    seconds: float | None = None
    fraction: float = 0.0
    by: int = 0
    chunks: int = 1
    data: bytes = b""

    @property
    def sends_head(self) -> bool:
        """Return whether the status and the headers of the answer are sent."""
        match self.kind:
            case "cut" | "length" | "drip":
                return True
            case "reset" | "empty" | "silence" | "garbage":
                return False
            case _:
                assert_never(self.kind)

    @property
    def pause_seconds(self) -> float:
        """Return the seconds before each part of the body."""
        return (self.seconds or 0.0) / self.chunks

    def announced(self, length: int) -> int:
        """Return the Content-Length that is sent for a body of `length` bytes."""
        return max(0, length + self.by)

    def sent(self, body: bytes) -> bytes:
        """Return the part of a body that is sent; a `cut` leaves out at least one byte."""
        match self.kind:
            case "cut":
                return body[: min(int(len(body) * self.fraction), max(0, len(body) - 1))]
            case "length" | "drip":
                return body
            case "reset" | "empty" | "silence" | "garbage":
                return b""
            case _:
                assert_never(self.kind)


class Received(NamedTuple):
    """The client got an answer that looks complete to it, though its body may have been cut."""

    body: bytes
    after_seconds: float


class Lost(NamedTuple):
    """The connection ended before the answer was complete."""

    how: Loss
    message: str
    after_seconds: float


class TimedOut(NamedTuple):
    """The client stopped waiting; `after_seconds` is None for a client that has no limit and would wait forever."""

    message: str
    after_seconds: float | None


Outcome = Received | Lost | TimedOut


def client_outcome(
    body: bytes,
    wire: Wire | None,
    *,
    delay_seconds: float = 0.0,
    quiet_limit: float | None = None,
    total_limit: float | None = None,
) -> Outcome:
    """Return what a client gets of an answer with this body, which is sent after `delay_seconds`, broken by `wire`.

    `quiet_limit` and `total_limit` are the client's timeouts in seconds; None or 0 is a client without that limit.
    """
    first_byte, pause, total = _timing(wire, delay_seconds)
    ends = []
    if quiet_limit and first_byte >= quiet_limit:
        ends.append(quiet_limit)
    elif quiet_limit and pause >= quiet_limit:
        # The first byte came in time; after it, the limit applies to each pause.
        ends.append(first_byte + quiet_limit)
    if total_limit and total >= total_limit:
        ends.append(total_limit)
    if ends:
        answers = "never answers" if total == inf else f"answers after {total:g} s"
        return TimedOut(f"the service {answers}, and the caller waits {min(ends):g} s", min(ends))
    if total == inf:
        return TimedOut("the service takes the request and never answers", None)
    return Received(body, total) if wire is None else _end(body, wire, total)


def _end(body: bytes, wire: Wire, total: float) -> Received | Lost:
    """Return what a client gets that waits until the end."""
    match wire.kind:
        case "silence" | "empty":
            return Lost("empty", "the service closed the connection without an answer", total)
        case "reset":
            return Lost("reset", "the service reset the connection", total)
        case "garbage":
            return Lost("garbage", "what the service answered is not HTTP", total)
        case "cut" | "length" | "drip":
            sent, announced = wire.sent(body), wire.announced(len(body))
            if len(sent) < announced:
                return Lost("cut", "the service closed the connection in the middle of its answer", total)
            return Received(sent[:announced], total)
        case _:
            assert_never(wire.kind)


def _timing(wire: Wire | None, delay: float) -> tuple[float, float, float]:
    """Return when the first byte or the end comes, the longest pause after it, and when the answer ends, in seconds."""
    if wire is None:
        return delay, 0.0, delay
    match wire.kind:
        case "silence":
            end = inf if wire.seconds is None else delay + wire.seconds
            return end, 0.0, end
        case "drip":
            return delay, wire.pause_seconds, delay + (wire.seconds or 0.0)
        case "reset" | "empty" | "garbage" | "cut" | "length":
            return delay, 0.0, delay
        case _:
            assert_never(wire.kind)
