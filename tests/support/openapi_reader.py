"""Reads the OpenAPI document as somebody outside would: through JSON, with an independent validator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from paydouble.api.operations import OPERATIONS
from paydouble.openapi.document import document

URL = "http://127.0.0.1:8080"
Json = dict[str, Any]


@cache
def made() -> Json:
    """Return the document as a reader gets it: through JSON."""
    text: Json = json.loads(json.dumps(document(OPERATIONS, server_url=URL)))
    return text


def api_operations() -> Iterator[tuple[str, Json]]:
    """Yield `METHOD /path` and the operation."""
    for path, methods in made()["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def all_operations() -> Iterator[tuple[str, Json]]:
    """Yield the operations of the API and those of the webhooks."""
    yield from api_operations()
    for name, methods in made()["webhooks"].items():
        yield name, methods["post"]


def validator(schema: Json) -> Draft202012Validator:
    """Return a validator of a schema that may refer to the document's components."""
    resource = Resource.from_contents(made(), default_specification=DRAFT202012)
    registry = Registry().with_resource("urn:document", resource)
    text = json.dumps(schema).replace('"#/components', '"urn:document#/components')
    return Draft202012Validator(json.loads(text), registry=registry, format_checker=FormatChecker())


def problems(schema: Json, value: object) -> list[str]:
    """Return what a value has against a schema."""
    return [f"{error.json_path}: {error.message}" for error in validator(schema).iter_errors(value)]


def nodes(value: object, path: str = "$") -> Iterator[tuple[str, Json]]:
    """Yield every object of the document with its place."""
    if isinstance(value, dict):
        yield path, value
        for name, member in value.items():
            yield from nodes(member, f"{path}.{name}")
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from nodes(member, f"{path}[{index}]")


def headers_of(operation: Json) -> Iterator[tuple[str, Json]]:
    """Yield the headers that an operation takes and gives."""
    yield from ((each["name"], each) for each in operation.get("parameters", []) if each["in"] == "header")
    for response in operation["responses"].values():
        yield from response.get("headers", {}).items()
