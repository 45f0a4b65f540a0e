"""The JSON Schemas of simple values, and functions that combine schemas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

Schema = dict[str, Any]
REF: Final = "#/components/schemas/"
ANYTHING: Final[Schema] = {}
TEXT: Final[Schema] = {"type": "string"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
TIME: Final[Schema] = {"type": "string", "format": "date-time"}
FLAG: Final[Schema] = {"type": "boolean"}
INTEGER: Final[Schema] = {"type": "integer"}
NUMBER: Final[Schema] = {"type": "number"}
AMOUNT: Final[Schema] = {"type": "number", "minimum": 0}
OBJECT: Final[Schema] = {"type": "object", "additionalProperties": True}


def described(text: str, schema: Schema) -> Schema:
    """Return a schema with a description; without a text, the schema itself."""
    return {"description": text, **schema} if text else schema


def choice(names: Iterable[str]) -> Schema:
    """Return the schema of one of several names."""
    return {"type": "string", "enum": list(names)}


def one_of(meanings: Mapping[Any, str]) -> Schema:
    """Return the schema of one of several names, each with its meaning."""
    listed = "; ".join(f"`{name}`: {meaning}" for name, meaning in meanings.items())
    return {"type": "string", "enum": list(meanings), "description": f"{listed}."}


def or_null(schema: Schema) -> Schema:
    """Return the schema of a value that may be null."""
    return {"anyOf": [schema, {"type": "null"}]}


def list_of(items: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def reference(name: str) -> Schema:
    """Return a reference to a component schema."""
    return {"$ref": REF + name}


def object_of(required: Mapping[str, Schema], **optional: Schema) -> Schema:
    """Return the schema of an object: its required members, and those that may be absent."""
    return {"type": "object", "required": list(required), "properties": {**required, **optional}}


def open_object(required: Mapping[str, Schema]) -> Schema:
    """Return the schema of an object that has more members than are described."""
    return {**object_of(required), "additionalProperties": True}
