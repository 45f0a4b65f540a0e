"""What could stand at a place of a file, by the schema: the keys that are known there, and what they mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from paydouble.scenarios.base import Place
from paydouble.scenarios.schema import committed

_Schema = dict[str, Any]
_CHOICES: Final = ("anyOf", "oneOf")


def keys_at(place: Place, data: object) -> dict[str, str]:
    """Return the keys of the mapping at a place of a file, each with its meaning.

    Where one of several mappings could stand (a step, an effect) it is the one that the data looks most like.
    """
    return {
        key: str(below.get("description", ""))
        for schema in _at(place, data)
        for key, below in schema.get("properties", {}).items()
    }


def required_at(place: Place, data: object) -> list[str]:
    """Return the keys that the mapping at a place must have."""
    return [key for schema in _at(place, data) for key in schema.get("required", [])]


def _at(place: Place, data: object) -> list[_Schema]:
    schemas = _most_alike([committed()], data)
    for part in place:
        data = _member(data, part)
        schemas = _most_alike([below for each in schemas for below in _below(each, part)], data)
    return schemas


def _member(data: object, part: int | str) -> object:
    if isinstance(data, dict):
        return data.get(part)
    return data[part] if isinstance(data, list) and isinstance(part, int) and part < len(data) else None


def _below(schema: _Schema, part: int | str) -> Iterator[_Schema]:
    if isinstance(part, int):
        yield from [schema["items"]] if "items" in schema else schema.get("prefixItems", [])[part : part + 1]
    elif part in schema.get("properties", {}):
        yield schema["properties"][part]


def _most_alike(schemas: Sequence[_Schema], data: object) -> list[_Schema]:
    options = [option for each in schemas for option in _options(each)]
    if not isinstance(data, dict):
        return options
    mappings = [each for each in options if "properties" in each]
    costs = [_distance(each, data) for each in mappings]
    return [each for each, cost in zip(mappings, costs, strict=True) if cost == min(costs)]


def _options(schema: _Schema) -> Iterator[_Schema]:
    if "$ref" in schema:
        yield from _options(committed()["$defs"][schema["$ref"].rpartition("/")[2]])
    elif any(choice in schema for choice in _CHOICES):
        for choice in _CHOICES:
            for each in schema.get(choice, []):
                yield from _options(each)
    else:
        yield schema


def _distance(schema: _Schema, data: dict[str, Any]) -> tuple[int, int, int]:
    known = schema["properties"]
    other = [
        key for key, below in known.items() if "const" in below and data.get(key, below["const"]) != below["const"]
    ]
    # An effect is told by its type, which lies a level below the fault that has it.
    other += [key for key in known if key == "effect" and not _has_effect(known[key], data.get(key))]
    missing = [key for key in schema.get("required", []) if key not in data]
    return len(other), len(missing), len(data.keys() - known.keys())


def _has_effect(schema: _Schema, effect: object) -> bool:
    kind = effect.get("type") if isinstance(effect, dict) else None
    return any(each["properties"]["type"]["const"] == kind for each in _options(schema))
