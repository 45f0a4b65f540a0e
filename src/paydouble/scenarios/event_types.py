"""The type of an event in a scenario file."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, WithJsonSchema

from paydouble.payments.events import EVENT_TYPES


def _event_type(value: str) -> str:
    if value not in EVENT_TYPES:
        message = f"{value!r} is not an event type; there are: {', '.join(EVENT_TYPES)}"
        raise ValueError(message)
    return value


EventType = Annotated[str, AfterValidator(_event_type), WithJsonSchema({"type": "string", "enum": list(EVENT_TYPES)})]
