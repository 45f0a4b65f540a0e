"""Places in a file, errors that have one, and the base of the models of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

Place = tuple[int | str, ...]
"""The keys and indexes that lead to a value."""


class FileModel(BaseModel):
    """A mapping of a file: frozen, and unknown keys are refused."""

    # Deferred: a server that reads no file yet builds no validators for one.
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
