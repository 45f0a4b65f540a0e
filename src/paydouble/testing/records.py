"""What happened in a sandbox, as plain values: requests, events, deliveries and their attempts. Bytes are exact."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from paydouble.testing.results import Document, Headers, perhaps_instant, read_instant, read_json


def _bytes(value: str | Document) -> bytes:
    return value.encode() if isinstance(value, str) else base64.b64decode(value["base64"])


def _pairs(headers: list[list[str]]) -> Headers:
    return tuple((name, value) for name, value in headers)


@dataclass(frozen=True, slots=True)
class Request:
    """One request of the API, as it came and as it was answered. `status` is None while it is in flight."""

    id: str
    at: datetime
    method: str
    path: str
    target: str
    """The path with its query."""
    operation: str | None
    headers: Headers
    body: bytes
    status: int | None
    response_body: bytes
    idempotency_key: str | None
    verdict: str
    """What idempotency made of it: `new`, `replay`, `joined`, `conflict` or `none`."""
    bytes_differ: bool
    faults: tuple[str, ...]
    """Ids of the faults that acted on it."""
    events: tuple[str, ...]
    """Ids of the events that it caused."""

    @classmethod
    def read(cls, shown: Document) -> Request:
        """Read what the control API shows."""
        key = shown["idempotency"]
        return cls(
            shown["id"],
            read_instant(shown["at"]),
            shown["method"],
            shown["path"],
            shown["target"],
            shown["operation"],
            _pairs(shown["headers"]),
            _bytes(shown["body"]),
            shown["status"],
            _bytes(shown["response_body"]),
            key["key"],
            key["verdict"],
            key["bytes_differ"],
            tuple(shown["faults"]),
            tuple(shown["events"]),
        )

    def json(self) -> Any:  # noqa: ANN401 - JSON is any
        """Return the request's body as JSON."""
        return read_json(self.body)


@dataclass(frozen=True, slots=True)
class Event:
    """A fact that the service tells, with the exact bytes in which it is sent."""

    id: str
    type: str
    object_id: str
    created_at: datetime
    request_id: str | None
    """The request that caused it, if one did."""
    body: bytes

    @classmethod
    def read(cls, shown: Document) -> Event:
        """Read what the control API shows."""
        return cls(
            shown["id"],
            shown["type"],
            shown["object_id"],
            read_instant(shown["created_at"]),
            shown["request_id"],
            _bytes(shown["body"]),
        )

    def json(self) -> Any:  # noqa: ANN401 - JSON is any
        """Return the body as JSON."""
        return read_json(self.body)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One POST to a receiver; `due_at` is on the sandbox's clock, `sent_at` and `signed_at` are real."""

    number: int
    due_at: datetime
    sent_at: datetime | None
    signed_at: int
    """The signature's `t`, in Unix seconds."""
    headers: Headers
    body: bytes
    status: int | None
    error_kind: str | None
    """Why no answer came (`refused`, `timeout`, `reset`, …), None when one did."""
    error: str | None
    """The same as a sentence."""
    latency_ms: float | None
    response_body: bytes | None
    faults: tuple[str, ...]

    @classmethod
    def read(cls, shown: Document) -> Attempt:
        """Read what the control API shows."""
        error = shown["error"]
        latency, response = shown["latency_ms"], shown["response_body"]
        return cls(
            shown["number"],
            read_instant(shown["due_at"]),
            perhaps_instant(shown["sent_at"]),
            shown["signed_at"],
            _pairs(shown["headers"]),
            _bytes(shown["body"]),
            shown["status"],
            error["kind"] if error else None,
            error["message"] if error else None,
            None if latency is None else float(latency),
            None if response is None else _bytes(response),
            tuple(shown["faults"]),
        )


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event on its way to one target, with its attempts so far."""

    id: str
    event_id: str
    event_type: str
    object_id: str
    target: str | None
    status: str
    """`waiting`, `held`, `delivered`, `exhausted`, `dropped` or `no_endpoint`."""
    next_due_at: datetime | None
    faults: tuple[str, ...]
    attempts: tuple[Attempt, ...]

    @classmethod
    def read(cls, shown: Document) -> Delivery:
        """Read what the control API shows."""
        return cls(
            shown["id"],
            shown["event_id"],
            shown["event_type"],
            shown["object_id"],
            shown["target"],
            shown["status"],
            perhaps_instant(shown["next_due_at"]),
            tuple(shown["faults"]),
            tuple(Attempt.read(each) for each in shown["attempts"]),
        )
