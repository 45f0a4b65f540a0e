"""How the control API shows things; the shapes are promises (see docs/reference)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from orjson import Fragment

from paydouble.core.instants import write_instant
from paydouble.journal import RequestEntry
from paydouble.payments.events import Event
from paydouble.runtime.host import Host
from paydouble.sandbox import Sandbox
from paydouble.web.control.values import ControlError, Document
from paydouble.webhooks.deliveries import Attempt, Delivery

T = TypeVar("T")
LARGEST_PAGE = 1000
DEFAULT_PAGE = 100


def exact(body: bytes) -> str | Document:
    """Return bytes as text, or in base64 when they are not UTF-8."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}


def sandbox(host: Host, box: Sandbox) -> Document:
    """Return what a test needs to know of a sandbox."""
    identity = box.identity
    return {
        "id": identity.id,
        "base_url": f"{host.base_url}/api/v1",
        "business_key": identity.business_key,
        "business_secret": identity.business_secret,
        "webhook_secret": box.secrets.current,
        "notification_url": box.notification_url,
        "seed": identity.seed,
        "clock": clock(box),
        "scenario": box.settings.scenario,
        "settings": box.settings.model_dump(mode="json"),
    }


def scenario(box: Sandbox, name: str) -> Document:
    """Return what a scenario is for, where it comes from, and whether every new pay-in plays it."""
    return {
        "name": name,
        "summary": box.scenario(name).summary,
        "source": "uploaded" if name in box.scenarios.uploaded else box.scenarios.library.source(name),
        "active": name == box.active_scenario,
    }


def clock(box: Sandbox) -> Document:
    """Return where a clock stands and what it waits for."""
    due = box.timers.next_due()
    return {
        "mode": box.clock.mode,
        "now": write_instant(box.now),
        "rate": box.clock.rate,
        "next_due_at": None if due is None else write_instant(due),
        "pending": len(box.timers),
        "idle": box.idle,
    }


def request(entry: RequestEntry) -> Document:
    """Return one line of the request journal."""
    target, _, _ = entry.target.partition("?")
    return {
        "id": entry.id,
        "at": write_instant(entry.at),
        "method": entry.method,
        "path": target,
        "target": entry.target,
        "operation": entry.operation,
        "headers": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in entry.headers],
        "body": exact(entry.body),
        "status": entry.status,
        "response_body": exact(entry.response_body),
        "idempotency": {"key": entry.key, "verdict": entry.verdict, "bytes_differ": entry.bytes_differ},
        "faults": list(entry.faults),
        "events": list(entry.events),
    }


def event(record: Event) -> Document:
    """Return an event with its exact body."""
    return {
        "id": record.id,
        "type": record.type,
        "object_id": record.object_id,
        "created_at": write_instant(record.created_at),
        "request_id": record.request_id,
        "body": exact(record.body),
    }


def delivery(record: Delivery) -> Document:
    """Return a delivery with its attempts."""
    return {**summary(record), "attempts": [attempt(each) for each in record.attempts]}


def summary(record: Delivery) -> Document:
    """Return a delivery without its attempts."""
    due = record.next_due_at if record.status == "waiting" else None
    return {
        "id": record.id,
        "event_id": record.event.id,
        "event_type": record.event.type,
        "object_id": record.event.object_id,
        "target": record.target,
        "status": record.status,
        "next_due_at": None if due is None else write_instant(due),
        "faults": list(record.faults),
    }


def attempt(record: Attempt) -> Document:
    """Return one attempt, byte for byte; its outcome's members are null while it is in flight."""
    outcome = record.outcome
    error = outcome.error if outcome else None
    return {
        "number": record.number,
        "due_at": write_instant(record.due_at),
        "sent_at": write_instant(outcome.sent_at) if outcome else None,
        "signed_at": record.signed_at,
        "headers": [list(header) for header in record.headers],
        "body": exact(record.body),
        "status": outcome.status if outcome else None,
        "error": {"kind": error.kind, "message": error.message} if error else None,
        "latency_ms": Fragment(f"{outcome.latency_ms:.3f}") if outcome else None,
        "response_body": exact(outcome.response_body) if outcome else None,
        "faults": list(record.faults),
    }


def listing(
    items: Iterable[T], show: Callable[[T], Document], queries: Mapping[str, str], *, evicted: int = 0
) -> Document:
    """Return one page, oldest first; the cursor counts from the first entry ever, so that eviction shifts nothing."""
    limit = _whole(queries, "limit", DEFAULT_PAGE, 1, LARGEST_PAGE)
    start = _whole(queries, "cursor", 0, 0, 10**15)
    everything = list(items)
    first = max(0, start - evicted)
    chosen = everything[first : first + limit]
    more = first + limit < len(everything)
    return {
        "items": [show(item) for item in chosen],
        "next_cursor": str(evicted + first + limit) if more else None,
        "evicted": evicted,
    }


def _whole(queries: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = queries.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) <= 16 and low <= int(text) <= high):  # noqa: PLR2004
        raise ControlError(400, "invalid", f"{name}: must be a whole number from {low} to {high}.", name)
    return int(text)
