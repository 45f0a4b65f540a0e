"""What differs between two JSON objects, member by member."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from paydouble.core import json_text

_LONGEST_VALUE: Final = 200


@dataclass(frozen=True, slots=True)
class Difference:
    """One member with its value before and after, as JSON; None where it was absent."""

    member: str
    before: str | None
    after: str | None


def differences(before: Mapping[str, Any], after: Mapping[str, Any], above: str = "") -> Iterator[Difference]:
    """Yield the members that differ between two JSON objects, those of inner objects by their path."""
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name, _ABSENT), after.get(name, _ABSENT)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from differences(old, new, f"{above}{name}.")
        elif not _same(old, new):
            yield Difference(f"{above}{name}", _value(old), _value(new))


def _same(one: object, other: object) -> bool:
    """Return whether two JSON values are the same; unlike in Python, a number is never a boolean (`1 == True`)."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


_ABSENT: Final = object()


def _value(value: object) -> str | None:
    return None if value is _ABSENT else shown_value(value)


def shown_value(value: object) -> str:
    """Return a JSON value as text, cut if it is long."""
    text = json_text.dumps(value).decode("utf-8", "replace")
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
