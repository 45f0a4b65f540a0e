"""Forms made from JSON Schemas of the control API's OpenAPI document, and what is given in them as a JSON body.

A form has a field for each member that has a value of its own; members of inner objects are named by their path, such
as `match.operation`. An empty field leaves its member out. What does not fit its schema is sent as it is: the control
API refuses it, with the words that it has for every client.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from paydouble.core import json_text
from paydouble.core.json_schema import REF, Schema
from paydouble.faults.model import ApiFault, WebhookFault
from paydouble.web.control.app import DEEPEST
from paydouble.web.control.faults import Quota
from paydouble.web.control.sandboxes import ClockBody
from paydouble.web.control.scenarios import PlayedDeposit

Kind = Literal["text", "number", "choice", "list", "json"]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a form."""

    name: str
    """The path of the member."""
    kind: Kind
    schema: Schema
    required: bool
    value: str
    """What it shows: what was given before."""

    @property
    def description(self) -> str:
        """Return what the schema says about the member."""
        return str(self.schema.get("description", ""))

    @property
    def options(self) -> list[str]:
        """Return the values of a choice."""
        if "enum" in self.schema:
            return [each if isinstance(each, str) else json.dumps(each) for each in self.schema["enum"]]
        return ["true", "false"]

    @property
    def hint(self) -> str:
        """Return what a value looks like."""
        schema = self.schema
        if self.kind == "list":
            schema = schema.get("items", {})
        examples = ", ".join(map(str, schema.get("examples", ())[:3]))
        if self.kind == "list":
            return f"Several are separated by commas{f', such as {examples}' if examples else ''}."
        if self.kind == "json":
            return 'JSON, such as {"name": 1}.' if "object" in _types(schema) else "JSON, or a text."
        return f"Such as {examples}." if examples else ""

    @property
    def low(self) -> object:
        """Return the smallest number, or None."""
        return self.schema.get("minimum")

    @property
    def high(self) -> object:
        """Return the largest number, or None."""
        return self.schema.get("maximum")

    @property
    def whole(self) -> bool:
        """Return whether a number must be whole."""
        return "integer" in _types(self.schema)


@cache
def _components() -> Mapping[str, Schema]:
    from paydouble.web.control.openapi import described_models  # noqa: PLC0415 - few pages have a form

    return described_models((ApiFault, WebhookFault, ClockBody, Quota, PlayedDeposit))


def component(name: str) -> Schema:
    """Return the schema of a body for which there are forms, or of what is inside one.

    They are those of the control API's OpenAPI document, of which the rest is not needed here.
    """
    return _components()[name]


def effects(side: str) -> Mapping[str, Schema]:
    """Return the schemas of the effects on a side, `api` or `webhooks`, by their names."""
    fault = component("ApiFault" if side == "api" else "WebhookFault")
    mapping: Mapping[str, str] = fault["properties"]["effect"]["discriminator"]["mapping"]
    return {name: component(each.removeprefix(REF)) for name, each in mapping.items()}


def resolved(schema: Schema) -> Schema:
    """Return a schema without a reference at its top, and without the alternative null."""
    while True:
        if "$ref" in schema:
            schema = component(schema["$ref"].removeprefix(REF))
            continue
        others = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
        if len(others) != 1:
            return schema
        texts = {"description": schema["description"]} if "description" in schema else {}
        schema = {**resolved(others[0]), **texts}


def fields(
    schema: Schema, given: Mapping[str, str], *, within: str = "", skip: Iterable[str] = (), optional: bool = False
) -> Iterator[Field]:
    """Yield the fields of an object's schema; `within` is the path of the object, and `skip` names members.

    No member of an `optional` object is required, since the whole object may be left out.
    """
    required = () if optional else schema.get("required", ())
    for member, raw in schema.get("properties", {}).items():
        if member in skip:
            continue
        own, name = resolved(raw), f"{within}{member}"
        if "properties" in own:
            yield from fields(own, given, within=f"{name}.", optional=member not in required)
        elif "const" not in own:
            yield Field(name, _kind(own), own, member in required, given.get(name, ""))


def body(wanted: Iterable[Field], fixed: Mapping[str, str] | None = None, *, within: str = "") -> bytes:
    """Return what was given in fields as a JSON object; `fixed` are further members with text values, by path.

    `within` is the path that the names of the fields begin with, and the object does not have.
    """
    members: dict[str, Any] = {}
    for name, text in (fixed or {}).items():
        _put(members, name, json.dumps(text))
    for field in wanted:
        if field.value:
            _put(members, field.name.removeprefix(within), _value(field.schema, field.value))
    return _object(members).encode("utf-8", "replace")


def _put(members: dict[str, Any], name: str, value: str) -> None:
    *path, last = name.split(".")
    for each in path:
        members = members.setdefault(each, {})
    members[last] = value


def _object(members: Mapping[str, Any]) -> str:
    written = (
        f"{json.dumps(name)}:{_object(value) if isinstance(value, dict) else value}" for name, value in members.items()
    )
    return f"{{{','.join(written)}}}"


def _kind(schema: Schema) -> Kind:
    types = _types(schema)
    if "enum" in schema or types == {"boolean"}:
        return "choice"
    if types <= {"integer", "number"} and types:
        return "number"
    if types == {"array"}:
        return "list"
    return "text" if types == {"string"} else "json"


def _types(schema: Schema) -> set[str]:
    given = schema.get("type", ())
    return {given} - {"null"} if isinstance(given, str) else set(given) - {"null"}


def _value(schema: Schema, text: str) -> str:
    """Return the JSON of what was given in a field."""
    types = _types(schema)
    if types == {"string"}:
        return json.dumps(text)
    if types == {"array"} and not text.lstrip().startswith("["):
        items = resolved(schema.get("items", {}))
        return f"[{','.join(_value(items, part.strip()) for part in text.split(','))}]"
    return text if _is_json(text) else json.dumps(text)


def _is_json(text: str) -> bool:
    try:
        json_text.loads(text.encode("utf-8", "replace"), deepest=DEEPEST)
    except json_text.JsonTextError:
        return False
    return True
