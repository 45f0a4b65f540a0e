"""The events of contract section 6, and their frozen bytes (contract section 2.1, principle P4)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

import orjson

from paydouble.payments import lifecycle
from paydouble.payments.resources import Dispute, Document, PayIn, Refund, Resource

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
FAMILIES: Final[Mapping[str, type[PayIn | Refund | Dispute]]] = MappingProxyType(
    {"pay-in": PayIn, "refund": Refund, "dispute": Dispute}
)
"""What events are about, by what their types begin with. Others have no events (contract section 6)."""


def _types_by_state(family: str, kind: type[PayIn | Refund | Dispute]) -> Mapping[str, str]:
    if kind is Dispute:
        closed = lifecycle.finals(kind.TABLE)
        return {state: "dispute.closed" if state in closed else "dispute.updated" for state in kind.TABLE}
    return {state: f"{family}.{state}" for state in kind.TABLE}


# A dispute's events are not named after its states.
_STATES: Final = MappingProxyType(
    {"dispute.created": lifecycle.first(lifecycle.DISPUTE), "dispute.updated": "under_review", "dispute.closed": "won"}
)
_TYPES: Final = {kind.OBJECT: _types_by_state(family, kind) for family, kind in FAMILIES.items()}


class Event(NamedTuple):
    """Something that happened, with the exact bytes that every attempt sends."""

    id: str
    type: str
    object_id: str
    created_at: int
    request_id: str | None
    body: bytes
    sequence: int = 0
    """Its place among the requests, events and attempts of its sandbox."""

    @property
    def note_kind(self) -> Literal["event"]:
        """Return the kind of its note in the feed."""
        return "event"

    def noted(self) -> Event:
        """Return the record of its note: the event."""
        return self


def event_type(resource: Resource, *, opened: bool) -> str | None:
    """Return the type of the event for a resource in its present state, or None when it has no events.

    `opened` says that the resource was just made, which for a dispute is the only time that it is `created`.
    """
    if opened and resource.OBJECT == "dispute":
        return "dispute.created"
    types = _TYPES.get(resource.OBJECT)
    return None if types is None else types[resource.status]


def reported_state(kind: str) -> str:
    """Return the state that an event of a documented type reports; where it can report several, one of them."""
    return _STATES.get(kind) or kind.partition(".")[2]


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
    """Return an event's body (contract section 2.1).

    It is a copy, since orjson's own buffer keeps ten times its size in memory; `join` copies the quickest.
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
