"""Placeholders in the calls of a merchant file: `{order}` stands for the order's id.

`{{` and `}}` are braces. A value that consists of one placeholder alone keeps its type, so `"{minor}"` in a JSON body
is a number; inside a longer text everything is text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from paydouble.core.likeness import nearest
from paydouble.yamlfile.places import Place, PlacedError

SERVICE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "base_url": "the URL of the API, which ends with /api/v1",
        "root_url": "the same without /api/v1, for a shop that adds it to each path",
        "business_key": "the name for HTTP Basic",
        "business_secret": "the password for HTTP Basic",
        "webhook_secret": "the secret that signs webhooks",
        "clock_url": "where the shop can ask for the time and sleep; empty when the time is real",
    }
)
"""What every call and the environment of the shop can contain."""
RUN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "port": "a free port of 127.0.0.1 for the shop, the same one at each of its starts",
        "temporary_folder": "a folder for the shop's data, new in each run, and emptied for each play without `reset`",
    }
)
"""What each run has of its own, for a shop that it starts."""
ORDER: Final[Mapping[str, str]] = MappingProxyType({"order": "the order's id, to be sent as external_identifier"})
MONEY: Final[Mapping[str, str]] = MappingProxyType(
    {
        "amount": "the amount as a text with all digits of its currency: 49.90",
        "minor": "the amount in minor units, as a whole number: 4990",
        "currency": "the currency: EUR",
    }
)
REFUND: Final[Mapping[str, str]] = MappingProxyType({"refund": "the id of the refund; the same id is the same refund"})
TIME: Final[Mapping[str, str]] = MappingProxyType(
    {
        "now": "the time as ISO 8601 in UTC: 2026-01-01T00:00:00.000Z",
        "unix": "the time in whole Unix seconds, as a number",
    }
)
_PARTS: Final = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def problem(text: str, known: Collection[str]) -> str | None:
    """Return what is wrong with the placeholders of a text, or None."""
    for found in _PARTS.finditer(text):
        whole, name = found[0], found[1]
        if whole in {"{", "}"}:
            return f"has a single {whole}; write {whole * 2} for a brace"
        if name is not None and name not in known:
            near = nearest(name, known)
            meant = f"did you mean {{{near}}}?" if near else f"there are: {', '.join(known)}"
            return f"has the unknown placeholder {{{name}}}; {meant}"
    return None


def problems(value: object, known: Collection[str], place: Place = ()) -> Iterator[PlacedError]:
    """Yield what is wrong with the placeholders of plain data, each at its place in the data."""
    match value:
        case str():
            wrong = problem(value, known)
            if wrong is not None:
                yield PlacedError(place, wrong)
        case dict():
            for key, each in value.items():
                yield from problems(key, known, (*place, key))
                yield from problems(each, known, (*place, key))
        case list():
            for index, each in enumerate(value):
                yield from problems(each, known, (*place, index))


def places_of(value: object, names: Collection[str], place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Yield where plain data has placeholders of some names, each with its name."""
    match value:
        case str():
            yield from ((place, found[1]) for found in _PARTS.finditer(value) if found[1] in names)
        case dict():
            for key, each in value.items():
                yield from places_of(key, names, (*place, key))
                yield from places_of(each, names, (*place, key))
        case list() | tuple():
            for index, each in enumerate(value):
                yield from places_of(each, names, (*place, index))


def fill_some(text: str, values: Mapping[str, str]) -> str:
    """Return a text with some placeholders replaced; the others, and doubled braces, stay for `fill`."""

    def filled(found: re.Match[str]) -> str:
        value = values.get(found[1])
        return found[0] if value is None else value.replace("{", "{{").replace("}", "}}")

    return _PARTS.sub(filled, text)


def fill(value: Any, values: Mapping[str, Any]) -> Any:  # noqa: ANN401 - plain data
    """Return plain data with its placeholders replaced."""
    match value:
        case str():
            alone = re.fullmatch(r"\{(\w+)\}", value)
            return values[alone[1]] if alone else fill_text(value, values)
        case dict():
            return {fill_text(key, values): fill(each, values) for key, each in value.items()}
        case list() | tuple():
            return [fill(each, values) for each in value]
        case _:
            return value


def fill_text(text: str, values: Mapping[str, Any]) -> str:
    """Return a text with its placeholders replaced."""
    return _PARTS.sub(lambda found: found[0][0] if found[1] is None else str(values[found[1]]), text)
