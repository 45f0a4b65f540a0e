"""Shared by the models of a scenario file: the base model, errors with a place, and event types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, WithJsonSchema

from paydouble.payments.events import EVENT_TYPES

Place = tuple[int | str, ...]


class FileModel(BaseModel):
    """A mapping of a scenario file: frozen, and unknown keys are refused."""

    # Deferred: a server that plays no scenario yet builds no validators for one.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, validate_by_name=False)


class PlacedError(NamedTuple):
    """One error in a part with its own parser; `place` is relative to that part."""

    place: Place
    text: str
    kind: str = "value_error"
    """pydantic's error type."""
    limits: Mapping[str, Any] = MappingProxyType({})
    """pydantic's error context: `min_length`, `ge`, `expected`."""


class PlacedErrors(ValueError):
    """The errors of a part with its own parser (settings, faults)."""

    def __init__(self, errors: Sequence[PlacedError]) -> None:
        """Take at least one error; the first one becomes the exception's message."""
        place, message, *_ = errors[0]
        super().__init__(f"{'.'.join(map(str, place))}: {message}" if place else message)
        self.errors = tuple(errors)


def _event_type(value: str) -> str:
    if value not in EVENT_TYPES:
        message = f"{value!r} is not an event type; there are: {', '.join(EVENT_TYPES)}"
        raise ValueError(message)
    return value


EventType = Annotated[str, AfterValidator(_event_type), WithJsonSchema({"type": "string", "enum": list(EVENT_TYPES)})]
