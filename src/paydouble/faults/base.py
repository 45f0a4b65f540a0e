"""What effects have in common, and how a fault draws its numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from paydouble.config import Duration
from paydouble.core.draws import Draws


class Effect(BaseModel):
    """Base of all effects; `type` names one, the other members are its attributes, with their units."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    exposes: ClassVar[str]
    """The merchant's bug that this effect brings to light; the reference page prints it."""


@dataclass(slots=True, frozen=True)
class Roll:
    """The draws of one firing: the same for the same seed, fault and number of firing."""

    draws: Draws
    fault_id: str
    number: int

    def unit(self, purpose: str) -> float:
        """Return a number in [0, 1)."""
        return self.draws.unit(f"fault-{purpose}", self.fault_id, self.number)

    def order(self, purpose: str, count: int) -> list[int]:
        """Return a permutation of 0 … count - 1."""
        keys = [self.draws.whole(f"fault-{purpose}-{index}", self.fault_id, self.number) for index in range(count)]
        return sorted(range(count), key=keys.__getitem__)

    def text(self, purpose: str) -> str:
        """Return 48 hexadecimal digits."""
        return self.draws.digest(f"fault-{purpose}", self.fault_id, self.number).hex()


class Lognormal(BaseModel):
    """Most are quick, a few are very slow: the shape of real latencies."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    median: Duration
    sigma: float = Field(gt=0, le=10, allow_inf_nan=False)
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

    def milliseconds(self, roll: Roll) -> int:
        """Return the time that this firing takes."""
        if self.fixed is not None:
            return self.fixed
        if self.uniform is not None:
            low, high = self.uniform
            return low + int(roll.unit("uniform") * (high - low + 1))
        assert self.lognormal is not None  # noqa: S101 - the validator saw to it
        # Box and Muller's normal deviate; 1 - u keeps the logarithm away from zero.
        radius = math.sqrt(-2 * math.log(1 - roll.unit("radius")))
        normal = radius * math.cos(2 * math.pi * roll.unit("angle"))
        drawn = self.lognormal.median * math.exp(self.lognormal.sigma * normal)
        return int(min(drawn, self.lognormal.max))


def _path(value: object) -> object:
    if not isinstance(value, str) or not value or any(not part for part in value.split(".")):
        message = "is a dotted path of members, such as data.object.amount"
        raise ValueError(message)
    return value


Path = Annotated[str, BeforeValidator(_path)]
Json = Any
