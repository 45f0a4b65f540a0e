"""What a client perceives of a reply when the wire is only thought of: an answer, or the error that a network gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paydouble.api.values import Reply
from paydouble.faults.plan import Wire
from paydouble.testing.errors import ReplyLost, ReplyTimeout
from paydouble.testing.results import Headers, read_json


@dataclass(frozen=True, slots=True)
class Response:
    """An answer of the API, as a client gets it."""

    status: int
    headers: Headers
    body: bytes
    seconds: float = 0.0
    """How long it would have been kept back; nobody has waited for it."""

    def json(self) -> Any:  # noqa: ANN401 - JSON is any
        """Return the body as JSON; numbers with a fraction are `Decimal`."""
        return read_json(self.body)


def perceive(reply: Reply, patience: float | None = None) -> Response:
    """Return what a client that waits `patience` seconds (None: for ever) gets, without waiting.

    `ReplyTimeout` when the reply comes too late or never, `ReplyLost` when the connection ends without a whole one.
    """
    seconds = reply.delay_ms / 1000
    _endure(seconds, patience)
    wire = reply.wire
    body = reply.body
    if wire is not None:
        body = _mangled(body, wire, patience)
        seconds += wire.seconds or 0.0
    headers = (
        ("Content-Type", reply.content_type),
        ("X-Request-Id", reply.request_id),
        ("Server", "paydouble"),
        *reply.headers,
        ("Content-Length", str(len(body))),
    )
    return Response(reply.status, headers, body, seconds)


def _mangled(body: bytes, wire: Wire, patience: float | None) -> bytes:
    match wire.kind:
        case "silence":
            if wire.seconds is None:
                raise ReplyTimeout("the service takes the request and never answers")
            _endure(wire.seconds, patience)
            raise ReplyLost("empty", "the service closed the connection without an answer")
        case "empty":
            raise ReplyLost("empty", "the service closed the connection without an answer")
        case "reset":
            raise ReplyLost("reset", "the service reset the connection")
        case "garbage":
            raise ReplyLost("garbage", "what the service answered is not HTTP")
        case "drip":
            _endure((wire.seconds or 0.0) / wire.chunks, patience)
            return body
        case "length" if wire.by <= 0:
            return body[: max(0, len(body) + wire.by)]
        case "cut" if not body:
            return body
        case _:  # cut, or announced as longer than it is
            raise ReplyLost("cut", "the service closed the connection in the middle of its answer")


def _endure(seconds: float, patience: float | None) -> None:
    if patience is not None and seconds >= patience > 0:
        raise ReplyTimeout(f"the service answers after {seconds:g} s, and the caller waits {patience:g} s")
