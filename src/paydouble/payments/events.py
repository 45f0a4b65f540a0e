"""The events of contract section 6, and their frozen bytes (contract section 2.1, principle P4)."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

import orjson

from paydouble.payments import lifecycle
from paydouble.payments.resources import Document, Resource

# type -> (meaning, sent when); contract section 6, word for word.
EVENT_TYPES: Final = MappingProxyType(
    {
        "pay-in.created": ("Transaction created, awaiting payment", "Immediately after deposit creation"),
        "pay-in.pending": ("Payment initiated", "Payer begins the payment flow"),
        "pay-in.processing": ("Payment received, being verified", "Payment provider confirms receipt"),
        "pay-in.succeeded": ("Payment completed", "Funds confirmed and credited"),
        "pay-in.failed": ("Payment failed or declined", "Payment attempt unsuccessful"),
        "pay-in.cancelled": ("Cancelled or expired", "Timeout or explicit cancellation"),
        "refund.created": ("Refund initiated", "Refund request accepted"),
        "refund.processing": ("Refund in progress", "Funds being returned"),
        "refund.succeeded": ("Refund completed", "Funds returned to payer"),
        "refund.failed": ("Refund failed", "Refund could not be processed"),
        "dispute.created": ("Chargeback or dispute opened", "Dispute received from payment provider"),
        "dispute.updated": ("Dispute status changed", "New evidence or status update"),
        "dispute.closed": ("Dispute resolved", "Final decision reached"),
    }
)
_OF_PAY_IN: Final = {status: f"pay-in.{status}" for status in lifecycle.PAY_IN}
_DISPUTE_CLOSED: Final = frozenset(lifecycle.finals(lifecycle.DISPUTE))


class Event(NamedTuple):
    """A fact, with the exact bytes in which it is sent on every attempt."""

    id: str
    type: str
    object_id: str
    created_at: int
    request_id: str | None
    body: bytes
    sequence: int = 0
    """Its place among the requests, events and attempts of its sandbox."""

    def noted(self) -> tuple[Literal["event"], Event]:
        """Return what a note of it holds."""
        return "event", self


def event_type(resource: Resource, *, opened: bool) -> str | None:
    """Return the type of event that a resource gives off in its present state, or None for a payout.

    `opened` says that the resource was just made, which for a dispute is the only time that it is `created`.
    """
    match resource.OBJECT:
        case "payin":
            return _OF_PAY_IN[resource.status]
        case "refund":
            return f"refund.{resource.status}"
        case "dispute" if opened:
            return "dispute.created"
        case "dispute":
            return "dispute.closed" if resource.status in _DISPUTE_CLOSED else "dispute.updated"
        case _:
            return None


def changes(before: Document, after: Document) -> Document:
    """Return the members of `before` that differ in `after`: `data.previous_attributes` (contract section 2.1)."""
    return {
        name: value
        for name, value in before.items()
        if name not in after or _comparable(value) != _comparable(after[name])
    }


def _comparable(value: Any) -> Any:  # noqa: ANN401 - JSON is any
    # A Fragment (an amount) compares by identity; what counts is what is sent.
    return orjson.dumps(value) if isinstance(value, orjson.Fragment) else value


def freeze(  # noqa: PLR0913 - the members of contract section 2.1, one by one
    *,
    event_id: str,
    kind: str,
    api_version: str,
    created_at: str,
    resource: Document,
    previous: Document,
    request_id: str | None,
    omit_request_id: bool,
    livemode: bool,
) -> bytes:
    """Return an event's body. It is a copy, since orjson's own buffer keeps ten times its size alive.

    It is copied by joining it with nothing, which is the quickest way.
    """
    body: Document = {
        "id": event_id,
        "object": "event",
        "type": kind,
        "api_version": api_version,
        "created_at": created_at,
        "data": {"object": resource, "previous_attributes": previous},
    }
    if request_id is not None or not omit_request_id:
        body["request_id"] = request_id
    body["livemode"] = livemode
    return b"".join((orjson.dumps(body), b""))
