"""Amounts in a file that is written before anybody knows the deposit: `45.00`, `50%`, `+0.10`, `-2%`.

Kept as the text that was written, so that nothing is rounded before the currency is known.
"""

from __future__ import annotations

import re
from decimal import ROUND_DOWN, Decimal
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

_TEXT = re.compile(r"(?P<sign>[+-]?)(?P<number>[0-9]{1,12}(\.[0-9]{1,6})?)(?P<percent>%?)")

_LARGEST_EXPONENT = 20


def _portion(value: object) -> str:
    # Written out, a large exponent could fill any memory; as it came it does not fit the pattern.
    is_short = isinstance(value, Decimal) and abs(value.adjusted()) <= _LARGEST_EXPONENT
    text = format(value, "f") if is_short else str(value)
    # A number is an amount itself; what is less or more than another amount needs its sign kept, so it is a text.
    is_number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    if not (is_number or isinstance(value, str)) or not _TEXT.fullmatch(text) or (is_number and text[0] in "+-"):
        message = f"{value!r} is not an amount; write a number such as 45.00, a share '50%', or a difference '+0.10'"
        raise ValueError(message)
    return text


Portion = Annotated[
    str,
    BeforeValidator(_portion),
    WithJsonSchema(
        {
            "anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": rf"^{_TEXT.pattern}$"}],
            "examples": [45.00, "50%", "+0.10", "-2%"],
        }
    ),
]


def minor_units_of(portion: str, whole: int, digits: int) -> int:
    """Return a portion of `whole` (minor units of a currency with so many digits); at least one minor unit.

    What is finer than the currency is cut off.
    """
    match = _TEXT.fullmatch(portion)
    assert match is not None  # noqa: S101 - the validator saw to it
    number = Decimal(match["number"])
    size = Decimal(whole) * number / 100 if match["percent"] else number.scaleb(digits)
    units = int(size.to_integral_value(ROUND_DOWN))
    if match["sign"]:
        # A difference that is finer than the currency is still a difference.
        units = whole + (max(units, 1) if match["sign"] == "+" else -max(units, 1))
    return max(1, units)
