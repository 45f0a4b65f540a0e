"""Rewrites the JSON Schemas of pydantic so that all generators of clients read them in the same way.

pydantic's schemas are valid, but generators differ in how they read them:

- openapi-typescript takes a member with a `default` as required, also in a request. So the default is only described.
- Some make a class of an `anyOf` of a type and null. All take a list of a type and null as a nullable member.
- A number without a format is a `float32` in Go, which turns 131072.99 into 131072.98.
- A whole number without a format is 32 bits wide in Java.
- A discriminator that may be absent does not distinguish anything, so it is required.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, models_json_schema

from paydouble.core.durations import format_duration
from paydouble.core.json_schema import REF, Schema

_NULL: Final[Schema] = {"type": "null"}
_INT32: Final = 2**31
_OF_MEMBERS: Final = frozenset({"properties", "patternProperties"})
_OF_SCHEMAS: Final = frozenset({"anyOf", "oneOf", "allOf"})
_A_SCHEMA: Final = frozenset({"items", "additionalProperties", "propertyNames", "not"})
# The constraints of types with their own validators have pydantic's names.
_RENAMED: Final = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}


class _Plain(GenerateJsonSchema):
    """Writes schemas without a title for each member, which would only repeat its name."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401, ARG002 - pydantic's signature
        return False


def components(models: Iterable[tuple[type[BaseModel], JsonSchemaMode]]) -> dict[str, Schema]:
    """Return the schemas of models and of the models inside them, by the names of their classes."""
    _, made = models_json_schema(list(dict.fromkeys(models)), ref_template=REF + "{model}", schema_generator=_Plain)
    found: dict[str, Schema] = made["$defs"]
    # pydantic adds the module to the names of two classes of one name, so references to the plain name would be broken.
    if doubled := [name for name in found if "__" in name]:
        message = f"two models share a name: {', '.join(doubled)}"
        raise ValueError(message)
    return {name: portable(schema) for name, schema in found.items()}


def portable(schema: Schema) -> Schema:
    """Return a schema that accepts the same values, and that all generators read in the same way."""
    made: Schema = {}
    for keyword, value in schema.items():
        if keyword in _OF_MEMBERS:
            made[keyword] = {name: portable(member) for name, member in value.items()}
        elif keyword in _OF_SCHEMAS:
            made[keyword] = [portable(each) for each in value]
        elif keyword in _A_SCHEMA and isinstance(value, dict):
            made[keyword] = portable(value)
        elif keyword == "prefixItems":
            made |= _items_of(value)
        elif keyword == "pattern":
            made[keyword] = re.sub(r"\?P<\w+>", "", value)  # only Python has named groups in this form
        elif keyword not in {"title", "default"}:
            made[_RENAMED.get(keyword, keyword)] = value
    if "default" in schema:
        _describe_default(made, schema["default"])
    if isinstance(made.get("const"), str):
        made.setdefault("type", "string")
    _fold_null(made)
    _widen(made)
    _require_the_name(made)
    return made


def _items_of(places: list[Schema]) -> Schema:
    """Return the keyword for a list whose items all have one schema, such as a pair of durations."""
    first = places[0]
    if any(each != first for each in places):
        message = "a list with places of different kinds has no portable schema"
        raise ValueError(message)
    return {"items": portable(first)}


def _describe_default(made: Schema, default: Any) -> None:  # noqa: ANN401 - JSON is any
    if default is None or default in ({}, []) or isinstance(default, dict) or made.get("const") == default:
        return
    if made.get("type") == "string" and isinstance(default, int):
        default = format_duration(default)  # the default of a duration is in milliseconds
    text = f"`{json.dumps(default, ensure_ascii=False)}` when absent."
    made["description"] = f"{made['description']} {text}" if "description" in made else text


def _fold_null(made: Schema) -> None:
    options = [each for each in made.get("anyOf", ()) if each != _NULL]
    if len(options) == len(made.get("anyOf", ())) or len(options) != 1:
        return
    (only,) = options
    if isinstance(only.get("type"), str) and not {"enum", "const"} & only.keys():
        del made["anyOf"]
        made |= {**only, **made, "type": [only["type"], "null"]}


def _widen(made: Schema) -> None:
    kinds = made.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "number" in kinds:
        made.setdefault("format", "double")
    if "integer" in kinds and not _fits_32_bits(made.get("minimum"), made.get("maximum")):
        made.setdefault("format", "int64")


def _fits_32_bits(low: int | None, high: int | None) -> bool:
    return low is not None and high is not None and low >= -_INT32 and high < _INT32


def _require_the_name(made: Schema) -> None:
    """Require the member that distinguishes the types of a union, even if the model has a default for it."""
    kind = made.get("properties", {}).get("type", {})
    if "const" in kind and "type" not in made.get("required", ()):
        made["required"] = ["type", *made.get("required", ())]


def not_null(member: Schema) -> Schema:
    """Return the schema of a member without null, for a member that is never null but may be absent."""
    kinds = member.get("type")
    if isinstance(kinds, list):
        (only,) = (kind for kind in kinds if kind != "null")
        return {**member, "type": only}
    options = [each for each in member.get("anyOf", ()) if each != _NULL]
    if len(options) != 1:
        return member
    return {**options[0], **{name: value for name, value in member.items() if name != "anyOf"}}
