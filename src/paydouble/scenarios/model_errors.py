"""pydantic's errors as problems of a file.

pydantic places an error by a path of its own, on which the kinds of steps and the members of unions are steps too; a
part with a parser of its own (settings, faults) brings a list of errors. Here both become places in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from paydouble.core.refusals import sentence
from paydouble.scenarios.base import Place, PlacedErrors


@dataclass(frozen=True, slots=True)
class ModelError:
    """An error of pydantic's, or of a part's own parser, with its place in the file."""

    place: Place
    kind: str
    """Its type, as pydantic calls it."""
    text: str
    limits: Mapping[str, Any]
    """What pydantic tells with it: `min_length`, `ge`, `expected`."""
    value: Any
    choice: str = ""
    """Which member of a union it speaks for."""

    @property
    def is_idle(self) -> bool:
        """Return whether it only follows from another."""
        if self.kind == "too_short":
            return bool(len(self.value) >= self.limits["min_length"])  # pydantic counts the items that are right
        # A union tells a mapping that it is no scalar, and goes on with what is wrong with the mapping.
        return bool(self.choice) and isinstance(self.value, dict) and not re.search("[A-Z]", self.choice)


def model_errors(error: ValidationError, data: object) -> Iterator[ModelError]:
    """Yield the errors of some data, each at its place in the data."""
    for each in error.errors(include_url=False):
        place, choice = _place(each["loc"], data)
        limits = each.get("ctx", {})
        cause = limits.get("error")
        if isinstance(cause, PlacedErrors):
            for inner in cause.errors:
                within = (*place, *inner.place)
                yield ModelError(within, inner.kind, inner.text, inner.limits, value_at(data, within))
        else:
            value = value_at(data, place)
            text = sentence(each["type"], value, limits, each["msg"])
            yield ModelError(place, each["type"], text, limits, value, choice)


def value_at(data: object, place: Place) -> Any:  # noqa: ANN401 - whatever a file holds
    """Return the value at a place, or None where there is none."""
    for part in place:
        if isinstance(data, dict):
            data = data.get(str(part))
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            return None
    return data


def _place(location: Place, data: object) -> tuple[Place, str]:
    """Return the place in the data of pydantic's path, and the member of a union that is on it."""
    place: Place = ()
    choice = ""
    for number, part in enumerate(location):
        if number and isinstance(part, str) and location[0] == "lifecycle" and isinstance(location[number - 1], int):
            continue  # the kind of a step
        here = value_at(data, place)
        is_member = part in here if isinstance(here, dict) else isinstance(part, int)
        is_missing = number == len(location) - 1 and isinstance(here, dict) and re.fullmatch(r"[a-z_]+", str(part))
        if is_member or is_missing:
            place = (*place, part)
        else:
            choice = str(part)
    return place, choice
