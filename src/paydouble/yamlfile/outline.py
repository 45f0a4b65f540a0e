"""What a place in a file holds, and what it could hold by the schema: keys, their meanings, which are required."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from paydouble.yamlfile.places import Place

_Schema = dict[str, Any]
_CHOICES: Final = ("anyOf", "oneOf")


class Outline:
    """What a kind of file can hold, by its JSON Schema."""

    def __init__(self, schema: Callable[[], _Schema]) -> None:
        """Take what returns the schema; it is called when the first error is explained."""
        self._schema = schema

    def keys_at(self, place: Place, data: object) -> dict[str, str]:
        """Return the keys that the schema allows in the mapping at a place of a file, each with its description.

        Where the schema allows several mappings (a step, an effect), the one most similar to the data is used.
        """
        return {
            key: str(below.get("description", ""))
            for schema in self._at(place, data)
            for key, below in schema.get("properties", {}).items()
        }

    def required_at(self, place: Place, data: object) -> list[str]:
        """Return the keys that the schema requires in the mapping at a place."""
        return [key for schema in self._at(place, data) for key in schema.get("required", [])]

    def _at(self, place: Place, data: object) -> list[_Schema]:
        schemas = self._most_similar([self._schema()], data)
        for part in place:
            data = value_at(data, (part,))
            schemas = self._most_similar([below for each in schemas for below in _below(each, part)], data)
        return schemas

    def _most_similar(self, schemas: Sequence[_Schema], data: object) -> list[_Schema]:
        options = [option for each in schemas for option in self._options(each)]
        if not isinstance(data, dict):
            return options
        mappings = [each for each in options if "properties" in each]
        costs = [self._distance(each, data) for each in mappings]
        return [each for each, cost in zip(mappings, costs, strict=True) if cost == min(costs)]

    def _options(self, schema: _Schema) -> Iterator[_Schema]:
        if "$ref" in schema:
            yield from self._options(self._schema()["$defs"][schema["$ref"].rpartition("/")[2]])
        elif any(choice in schema for choice in _CHOICES):
            for choice in _CHOICES:
                for each in schema.get(choice, []):
                    yield from self._options(each)
        else:
            yield schema

    def _distance(self, schema: _Schema, data: dict[str, Any]) -> tuple[int, int, int]:
        known = schema["properties"]
        other = [
            key for key, below in known.items() if "const" in below and data.get(key, below["const"]) != below["const"]
        ]
        # Effects differ by their type, which is one level below the fault.
        other += [key for key in known if key == "effect" and not self._has_effect(known[key], data.get(key))]
        missing = [key for key in schema.get("required", []) if key not in data]
        return len(other), len(missing), len(data.keys() - known.keys())

    def _has_effect(self, schema: _Schema, effect: object) -> bool:
        kind = effect.get("type") if isinstance(effect, dict) else None
        return any(each["properties"]["type"]["const"] == kind for each in self._options(schema))


def value_at(data: object, place: Place) -> Any:  # noqa: ANN401 - whatever a file holds
    """Return the value at a place of a file's data, or None where there is none."""
    for part in place:
        if isinstance(data, dict):
            data = data.get(str(part))
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            return None
    return data


def _below(schema: _Schema, part: int | str) -> Iterator[_Schema]:
    if isinstance(part, int):
        yield from [schema["items"]] if "items" in schema else schema.get("prefixItems", [])[part : part + 1]
    elif part in schema.get("properties", {}):
        yield schema["properties"][part]
