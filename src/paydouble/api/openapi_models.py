"""Models that only the OpenAPI document and the tests need: events, pages and the envelopes around every answer.

The service writes these by hand for speed (`envelopes`, `payments.events`), so the models are held against what it
really sends by the tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

from pydantic import Field, WithJsonSchema

from paydouble.api.schemas import Answer, DisputeView, PayInObject, RefundView, Timestamp, assumed, documented
from paydouble.core.errors import STATUS

Status = Annotated[int, Field(ge=400, le=599)]


class ErrorA(Answer):
    """What went wrong, as the edge of the service says it."""

    code: str = documented(description="The code in snake case.", examples=["invalid_request"])
    message: str = documented(description="For a person.")
    status: Status = documented(description="The HTTP status.")
    request_id: str = documented()
    docs: str = documented(description="URL of an explanation.")
    details: ConflictDetails = assumed(None, description="With idempotency_conflict alone, as in envelope B.")


class EnvelopeA(Answer):
    """Error envelope A (contract section 7)."""

    error: ErrorA = documented()


class ErrorB(Answer):
    """What went wrong, as an operation says it."""

    code: Annotated[str, WithJsonSchema({"type": "string", "enum": list(STATUS)})] = documented()
    message: str = documented(description="For a person.")
    details: ConflictDetails = documented(None, description="With IDEMPOTENCY_CONFLICT alone.")


class ConflictDetails(Answer):
    """Whose key it is."""

    original_request_id: str = documented()
    key: str = documented()


class EnvelopeB(Answer):
    """Error envelope B (contract section 7)."""

    success: Literal[False] = documented()
    error: ErrorB = documented()
    request_id: str = documented()


class Event(Answer):
    """The body of a webhook (contract section 2.1)."""

    id: str = documented(description="Unique, and the same on every delivery: de-duplicate on it.")
    object: Literal["event"] = documented()
    type: str = documented()
    api_version: str = documented(description="The API version that generated the event.")
    created_at: Timestamp = documented(description="Compare it with your stored state: events can arrive out of order.")
    data: Any = documented()
    request_id: str | None = documented(
        ..., description="The API request that caused the event; null (assumed) when none did."
    )
    livemode: bool = documented(description="true in production, false in a sandbox.")


class EventData(Answer):
    """What the event is about."""

    object: Any = documented()
    previous_attributes: dict[str, Any] = documented(
        description="The members that changed, with the values that they had."
    )


class PayInEventData(EventData):
    """A pay-in, and what changed."""

    object: PayInObject = documented()


class RefundEventData(EventData):
    """A refund, and what changed."""

    object: RefundView = documented()


class DisputeEventData(EventData):
    """A dispute, and what changed."""

    object: DisputeView = documented()


class PayInEvent(Event):
    """Something happened to a pay-in."""

    type: Literal[
        "pay-in.created", "pay-in.pending", "pay-in.processing", "pay-in.succeeded", "pay-in.failed", "pay-in.cancelled"
    ] = documented()
    data: PayInEventData = documented()


class RefundEvent(Event):
    """Something happened to a refund."""

    type: Literal["refund.created", "refund.processing", "refund.succeeded", "refund.failed"] = documented()
    data: RefundEventData = documented()


class DisputeEvent(Event):
    """Something happened to a dispute."""

    type: Literal["dispute.created", "dispute.updated", "dispute.closed"] = documented()
    data: DisputeEventData = documented()


class Page(Answer):
    """The members of a page of a list; `items` are the list's own."""

    items: list[Any] = assumed(description="Newest first.")
    next_cursor: str | None = assumed(..., description="Pass it as `cursor` for the next page; null on the last.")


class Success(Answer):
    """The success envelope (contract section 2.4); `data` is the operation's own."""

    success: Literal[True] = documented()
    data: Any = documented(description="The created or returned resource.")


EVENTS: Final[Mapping[str, type[Event]]] = MappingProxyType(
    {"pay-in": PayInEvent, "refund": RefundEvent, "dispute": DisputeEvent}
)
