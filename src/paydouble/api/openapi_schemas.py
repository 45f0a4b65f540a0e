"""`components/schemas`: one JSON Schema a model, and the success envelopes around them."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode

from paydouble.api.openapi_dialect import components, not_null
from paydouble.api.openapi_models import EVENTS, EnvelopeA, EnvelopeB, Page, Success
from paydouble.api.operations import Operation
from paydouble.core.json_schema import REF, Schema


def schemas(operations: Sequence[Operation], *, exact_requests: bool) -> Schema:
    """Return the component schemas that the operations, the events and the errors need, by name and in its order.

    `exact_requests` says that a request may hold nothing but the members that are described.
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
        # Only answers are exact; a request may say null instead of leaving a member out.
        if schema.get("additionalProperties") is False:
            found[name] = _without_null(schema)
        elif exact_requests:
            found[name] = {**schema, "additionalProperties": False}
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
    """Take null from the members that an answer leaves out when they have no value."""
    required = schema.get("required", ())
    members = {name: member if name in required else not_null(member) for name, member in schema["properties"].items()}
    return {**schema, "properties": members}
