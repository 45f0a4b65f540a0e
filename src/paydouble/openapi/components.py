"""`components/schemas`: one JSON Schema for each model, and the envelopes around every answer.

Events, pages and envelopes have models here, which only the document and the tests need. For speed the service writes
them without models (`api.envelopes`, `payments.events`); tests compare what it sends with these models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field, GetCoreSchemaHandler, WithJsonSchema, create_model
from pydantic.json_schema import JsonSchemaMode
from pydantic_core import CoreSchema, core_schema

from paydouble.api.operations import Operation
from paydouble.api.schemas import (
    Answer,
    DepositRequest,
    DisputeView,
    PayInObject,
    RefundView,
    Timestamp,
    assumed,
    documented,
)
from paydouble.config import Settings
from paydouble.core.errors import STATUS
from paydouble.core.json_schema import REF, Schema
from paydouble.openapi.dialect import components, not_null
from paydouble.payments.events import EVENT_TYPES, FAMILIES
from paydouble.payments.resources import Dispute, PayIn, Refund

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


class Page(Answer):
    """The members of a page of a list; `items` are the list's own."""

    items: list[Any] = assumed(description="Newest first.")
    next_cursor: str | None = assumed(..., description="Pass it as `cursor` for the next page; null on the last.")


class Success(Answer):
    """The success envelope (contract section 2.4); `data` is the operation's own."""

    success: Literal[True] = documented()
    data: Any = documented(description="The created or returned resource.")


class _TypesOf:
    """Restricts a string to the types of events of a family."""

    def __init__(self, family: str) -> None:
        self.types = [kind for kind in EVENT_TYPES if kind.startswith(f"{family}.")]

    def __get_pydantic_core_schema__(self, _: object, __: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema(self.types)


_SHOWN: Final[Mapping[type, type[Answer]]] = MappingProxyType(
    {PayIn: PayInObject, Refund: RefundView, Dispute: DisputeView}
)


def _event(family: str, kind: type[PayIn | Refund | Dispute]) -> type[Event]:
    """Return the model of the events of a family; `kind` is the class of the objects that they are about."""
    name, described = kind.__name__, f"a {family}"
    data = create_model(
        f"{name}EventData",
        __base__=EventData,
        __doc__=f"{described.capitalize()}, and what changed.",
        object=(_SHOWN[kind], documented()),
    )
    return create_model(
        f"{name}Event",
        __base__=Event,
        __doc__=f"Something happened to {described}.",
        type=(Annotated[str, _TypesOf(family)], documented()),
        data=(data, documented()),
    )


EVENTS: Final[Mapping[str, type[Event]]] = MappingProxyType(
    {family: _event(family, kind) for family, kind in FAMILIES.items()}
)
"""By family, as `payments.events` has them."""


def schemas(operations: Sequence[Operation], settings: Settings) -> Schema:
    """Return the component schemas of the operations, the events and the errors, sorted by name.

    By the settings the schema of a request forbids other members than the described ones, and a deposit may lack some.
    """
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = []
    for operation in operations:
        if operation.payload is not None:
            models.append((operation.payload, "validation"))
        models.append((operation.answer, "serialization"))
    others: tuple[type[BaseModel], ...] = (*EVENTS.values(), EnvelopeA, EnvelopeB, Page, Success)
    models += [(model, "serialization") for model in others]
    found = components(models)
    for name, schema in found.items():
        # An answer leaves out a member without a value; a request may also have null.
        if schema.get("additionalProperties") is False:
            found[name] = _without_null(schema)
        elif settings.unknown_fields == "refuse":
            found[name] = {**schema, "additionalProperties": False}
    deposit = found[DepositRequest.__name__]
    required = [name for name in deposit["required"] if name not in settings.optional_members]
    found[DepositRequest.__name__] = {**deposit, "required": required}
    page, success = found.pop("Page"), found.pop("Success")
    for operation in operations:
        view = operation.answer.__name__
        if operation.listed:
            found[page_name(view)] = _with(page, "items", {"type": "array", "items": {"$ref": REF + view}})
        data = {"$ref": REF + (page_name(view) if operation.listed else view)}
        found[envelope_name(operation)] = _with(success, "data", data)
    return dict(sorted(found.items()))


def page_name(view: str) -> str:
    """Return the name of the schema of a page."""
    return f"{view.removesuffix('View')}Page"


def envelope_name(operation: Operation) -> str:
    """Return the name of the schema of an operation's whole answer."""
    return f"{operation.answer.__name__.removesuffix('View')}{'Page' if operation.listed else ''}Answer"


def _with(schema: Schema, member: str, value: Schema) -> Schema:
    properties = schema["properties"]
    return {**schema, "properties": {**properties, member: {**properties[member], **value}}}


def _without_null(schema: Schema) -> Schema:
    """Return a schema without null for the members that an answer leaves out."""
    required = schema.get("required", ())
    members = {name: member if name in required else not_null(member) for name, member in schema["properties"].items()}
    return {**schema, "properties": members}
