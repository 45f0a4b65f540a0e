"""What effects have in common: their base class, and the types of their attributes."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator

from paydouble.config import Duration, Real
from paydouble.core import json_text
from paydouble.faults.seeded_values import SeededValues


class Effect(BaseModel):
    """Base of all effects; `type` names one, the other members are its attributes, with their units."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    exposes: ClassVar[str]
    """The merchant's bug that this effect exposes; the reference page prints it."""


class Lognormal(BaseModel):
    """A lognormal distribution, the shape of real latencies: most are short, a few are very long."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    median: Duration
    sigma: Real = Field(gt=0, le=10, allow_inf_nan=False)
    max: Duration


class Delaying(Effect):
    """An effect that takes time: exactly one of `fixed`, `uniform` and `lognormal`."""

    fixed: Duration | None = None
    uniform: Annotated[tuple[Duration, Duration], Field()] | None = None
    lognormal: Lognormal | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [name for name in ("fixed", "uniform", "lognormal") if getattr(self, name) is not None]
        if len(given) != 1:
            message = f"give exactly one of fixed, uniform, lognormal, not {' and '.join(given) or 'none'}"
            raise ValueError(message)
        if self.uniform is not None and self.uniform[0] > self.uniform[1]:
            message = "uniform is [low, high], and low is above high"
            raise ValueError(message)
        return self

    def milliseconds(self, seeded: SeededValues) -> int:
        """Return the milliseconds that this firing takes."""
        if self.fixed is not None:
            return self.fixed
        if self.uniform is not None:
            low, high = self.uniform
            return low + int(seeded.unit("uniform") * (high - low + 1))
        assert self.lognormal is not None  # noqa: S101 - the validator has checked it
        # A normal deviate by the Box-Muller transform; 1 - u, since u may be 0 and has no logarithm then.
        radius = math.sqrt(-2 * math.log(1 - seeded.unit("radius")))
        normal = radius * math.cos(2 * math.pi * seeded.unit("angle"))
        drawn = self.lognormal.median * math.exp(self.lognormal.sigma * normal)
        return int(min(drawn, self.lognormal.max))


def _path(value: object) -> object:
    if not isinstance(value, str) or not value or any(not part for part in value.split(".")):
        message = "is a dotted path of members, such as data.object.amount"
        raise ValueError(message)
    return value


def _json(value: Any) -> Any:  # noqa: ANN401 - JSON is any
    """Return a JSON value as it will be written; `ValueError` if it cannot be, instead of an error when it fires."""
    match value:
        case dict():
            value = {name: _json(member) for name, member in value.items()}
        case list():
            value = [_json(member) for member in value]
        case int() if value.bit_length() > _WORD_BITS:
            value = json_text.Number(str(value))
    try:
        json_text.dumps(value)
    except TypeError as error:  # orjson's own error is one
        message = f"is not JSON: {error}"
        raise ValueError(message) from None
    return value


def _shown(value: Any) -> Any:  # noqa: ANN401 - JSON is any
    match value:
        case dict():
            return {name: _shown(member) for name, member in value.items()}
        case list():
            return [_shown(member) for member in value]
        case json_text.Number():
            return float(value)
        case _:
            return value


# The JSON writer takes integers up to this size; longer ones are written as text.
_WORD_BITS = 63
Path = Annotated[str, BeforeValidator(_path)]
Json = Annotated[Any, AfterValidator(_json), PlainSerializer(_shown, when_used="json")]
"""Any JSON value; its numbers keep their digits."""
