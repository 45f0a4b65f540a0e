"""What a client gets of a reply without a network: an answer, or the error that a network would give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paydouble.api.values import Reply
from paydouble.core.documents import Headers, read_json
from paydouble.faults.wire import Lost, TimedOut, client_outcome
from paydouble.testing.errors import ReplyLost, ReplyTimeout


@dataclass(frozen=True, slots=True)
class Response:
    """An answer of the API, as a client gets it."""

    status: int
    headers: Headers
    body: bytes
    seconds: float = 0.0
    """How long the answer would have been delayed (seconds); nothing has waited."""

    def json(self) -> Any:  # noqa: ANN401 - JSON is any
        """Return the body as JSON; numbers with a fraction are `Decimal`."""
        return read_json(self.body)


def client_response(reply: Reply, patience: float | None = None, *, method: str = "GET") -> Response:
    """Return, without waiting, what a client gets that waits `patience` seconds for the next bytes (None: no limit).

    `ReplyTimeout` when the reply comes too late or never, `ReplyLost` when the connection ends without a whole one. The
    answer to the method HEAD has no body, so nothing can be lost after its headers.
    """
    bodiless = method == "HEAD"
    wire = None if bodiless and reply.wire is not None and reply.wire.sends_head else reply.wire
    outcome = client_outcome(reply.body, wire, delay_seconds=reply.delay_ms / 1000, quiet_limit=patience)
    if isinstance(outcome, TimedOut):
        raise ReplyTimeout(outcome.message)
    if isinstance(outcome, Lost):
        raise ReplyLost(outcome.how, outcome.message)
    body = outcome.body
    headers = (
        ("Content-Type", reply.content_type),
        ("X-Request-Id", reply.request_id),
        ("Server", "paydouble"),
        *reply.headers,
        ("Content-Length", str(len(body))),
    )
    return Response(reply.status, headers, b"" if bodiless else body, outcome.after_seconds)
