"""The prices of the orders in plays, in the currencies in which a merchant sells."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from paydouble.core.errors import UsageError
from paydouble.core.likeness import nearest
from paydouble.core.money import MINOR_DIGITS

PRICES: Final = (
    ("49.90", "EUR"),
    ("19.99", "USD"),
    ("4.35", "GBP"),
    ("1500", "JPY"),
    ("1.005", "KWD"),
    ("1234.56", "EUR"),
)
"""Amount and currency: of two digits, of none and of three, and such that binary fractions cannot hold.

The last one is written with a separator of thousands by code that writes amounts for people.
"""

MOST_THAT_IS_SOLD: Final = 10_000
"""In minor units. A merchant may decline an order of more."""

_FOREIGN: Final = ("USD", "EUR")
"""What a merchant is paid in that sells in one currency only: the first that is not its own."""


def sells_in(currencies: Sequence[str], currency: str) -> bool:
    """Return whether a merchant of these currencies sells in one; with none it sells in all."""
    return not currencies or currency in currencies


def other_than(currencies: Sequence[str], currency: str) -> str:
    """Return another currency in which a merchant sells, of as many digits where it can be.

    A merchant that sells in no other one does not know it, whichever it is.
    """
    sold = [each for each in currencies or [each for _, each in PRICES] if each != currency]
    alike = [each for each in sold if MINOR_DIGITS.get(each) == MINOR_DIGITS.get(currency)]
    return next(each for each in (*alike, *sold, *_FOREIGN) if each != currency)


def price_for(currencies: Sequence[str], amount: str, currency: str) -> tuple[str, str]:
    """Return a price in a currency in which a merchant sells: the given one if it can be, else one in its first.

    That one has the same number of minor units, so amounts that binary fractions cannot hold stay such.
    `UsageError` when the service does not know one.
    """
    if sells_in(currencies, currency):
        return amount, currency
    sold = currencies[0]
    if sold not in MINOR_DIGITS:
        near = nearest(sold, MINOR_DIGITS)
        meant = f"did you mean {near}?" if near else "the codes of ISO 4217 are known"
        raise UsageError(f"the merchant's currencies have {sold!r}, which the service does not know; {meant}")
    minor = Decimal(amount).scaleb(MINOR_DIGITS[currency])
    return str(minor.scaleb(-MINOR_DIGITS[sold])), sold
