"""What the models of a scenario file have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, WithJsonSchema

from paydouble.payments.events import EVENT_TYPES

Place = tuple[int | str, ...]


class FileModel(BaseModel):
    """A mapping of a scenario file. Unknown keys are refused; nothing changes once it is read."""

    # Deferred: a server that plays no scenario yet builds no validators for one.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, validate_by_name=False)


class PlacedError(NamedTuple):
    """One error of a part that has a parser of its own: where in the part, and what is wrong there."""

    place: Place
    text: str
    kind: str = "value_error"
    """What pydantic calls it."""
    limits: Mapping[str, Any] = MappingProxyType({})
    """What pydantic tells with it."""


class PlacedErrors(ValueError):
    """Errors of a part that has a parser of its own: where in the part, and what is wrong there."""

    def __init__(self, errors: Sequence[PlacedError]) -> None:
        """Take at least one error; the first speaks where only one can."""
        place, message, *_ = errors[0]
        super().__init__(f"{'.'.join(map(str, place))}: {message}" if place else message)
        self.errors = tuple(errors)


def _event_type(value: str) -> str:
    if value not in EVENT_TYPES:
        message = f"{value!r} is no event type; there are: {', '.join(EVENT_TYPES)}"
        raise ValueError(message)
    return value


EventType = Annotated[str, AfterValidator(_event_type), WithJsonSchema({"type": "string", "enum": list(EVENT_TYPES)})]
