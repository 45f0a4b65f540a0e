"""`components/schemas`: one JSON Schema a model, and the success envelopes around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, models_json_schema

from paydouble.api.openapi_models import EVENTS, EnvelopeA, EnvelopeB, Page, Success
from paydouble.api.operations import Operation

Schema = dict[str, Any]
REF: Final = "#/components/schemas/"


class _Plain(GenerateJsonSchema):
    """Without a title on each member, which would only repeat its name."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401, ARG002 - pydantic's signature
        return False


def schemas(operations: Sequence[Operation]) -> Schema:
    """Return the component schemas that the operations, the events and the errors need, by name and in its order."""
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = []
    for operation in operations:
        if operation.payload is not None:
            models.append((operation.payload, "validation"))
        models.append((operation.answer, "serialization"))
    others: tuple[type[BaseModel], ...] = (*EVENTS.values(), EnvelopeA, EnvelopeB, Page, Success)
    models += [(model, "serialization") for model in others]
    _, made = models_json_schema(list(dict.fromkeys(models)), ref_template=REF + "{model}", schema_generator=_Plain)
    found: Schema = made["$defs"]
    for schema in found.values():
        schema.pop("title", None)
        # Only answers are exact; a request may say null instead of leaving a member out.
        _tidy(schema, keeps_null=schema.get("additionalProperties") is not False)
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


def _tidy(schema: Schema, *, keeps_null: bool) -> None:
    """Leave out `default: null`; a member that an answer leaves out when it has no value is never null there."""
    for member in schema.get("properties", {}).values():
        if "default" in member and member["default"] is None:
            del member["default"]
            if not keeps_null and "anyOf" in member:
                (only,) = (each for each in member.pop("anyOf") if each != {"type": "null"})
                member.update(only)
