"""`match`: which new pay-ins play a scenario by what their deposit contains."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from paydouble.core.globs import fits
from paydouble.yamlfile.places import FileModel


def _number(value: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        message = f"{value!r} is not a number"
        raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError, not TypeError, into a located error
    return value if isinstance(value, Decimal) else Decimal(value)


Exact = Annotated[Decimal, BeforeValidator(_number), WithJsonSchema({"type": "number"})]
Glob = Annotated[str, Field(min_length=1, max_length=256)]
"""A text; `*` matches any run of characters."""


class NumberChoice(FileModel):
    """One of several numbers, or a range that includes both ends."""

    one_of: tuple[Exact, ...] | None = Field(None, min_length=1)
    between: tuple[Exact, Exact] | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.one_of is None) == (self.between is None):
            message = "give one_of or between, and not both"
            raise ValueError(message)
        if self.between is not None and self.between[0] > self.between[1]:
            message = "between is [low, high], and low is above high"
            raise ValueError(message)
        return self


class TextChoice(FileModel):
    """One of several texts."""

    one_of: tuple[Glob, ...] = Field(min_length=1)


NumberMatch = Annotated[Exact | NumberChoice, Field(union_mode="left_to_right")]
TextMatch = Annotated[Glob | TextChoice, Field(union_mode="left_to_right")]


class MethodMatch(FileModel):
    """How the payer pays."""

    type: TextMatch | None = None
    code: TextMatch | None = None


class CustomerMatch(FileModel):
    """The payer."""

    first_name: TextMatch | None = None
    last_name: TextMatch | None = None
    email: TextMatch | None = None


class Match(FileModel):
    """Conditions on the deposit request; all that are given must hold."""

    amount: NumberMatch | None = None
    currency: TextMatch | None = None
    country: TextMatch | None = None
    external_identifier: TextMatch | None = None
    payment_method: MethodMatch | None = None
    customer: CustomerMatch | None = None
    metadata: dict[str, TextMatch] | None = Field(None, min_length=1)

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_fields_set:
            message = "matches every pay-in; add a condition, or leave match out"
            raise ValueError(message)
        return self

    def takes(self, deposit: Mapping[str, Any]) -> bool:
        """Return whether a deposit request (parsed JSON) matches."""
        return _takes(self, deposit)


def _takes(model: FileModel, given: object) -> bool:
    if not isinstance(given, Mapping):
        return False
    return all(_holds(getattr(model, name), given.get(name)) for name in model.model_fields_set)


def _between(low: Decimal, given: object, high: Decimal) -> bool:
    return isinstance(given, int | Decimal) and not isinstance(given, bool) and bool(low <= given <= high)


def _holds(wanted: Any, given: object) -> bool:  # noqa: ANN401 - one of the match types
    match wanted:
        case Decimal():
            return _between(wanted, given, wanted)
        case NumberChoice(between=(low, high)):
            return _between(low, given, high)
        case str():
            return isinstance(given, str) and fits(given, wanted)
        case NumberChoice() | TextChoice():
            return any(_holds(each, given) for each in wanted.one_of or ())
        case dict():
            return isinstance(given, Mapping) and all(_holds(each, given.get(name)) for name, each in wanted.items())
        case _:
            return wanted is None or _takes(wanted, given)
