"""Amounts are integers in the smallest unit of their currency."""

from decimal import Decimal, InvalidOperation

from .conf import bugs

NO_DIGITS = frozenset(
    ["BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF"]
)
THREE_DIGITS = frozenset(["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"])


def digits(currency: str) -> int:
    """Return the number of decimal digits of a currency."""
    if currency in NO_DIGITS:
        return 0
    if currency in THREE_DIGITS and "kwd_two_digits" not in bugs:
        return 3
    return 2


def to_minor(amount: object, currency: str) -> int | None:
    """Return a decimal amount in minor units, or None when it is not an amount of this currency."""
    try:
        scaled = Decimal(str(amount)).scaleb(digits(currency))
        if "kwd_two_digits" in bugs:
            return round(scaled)
        return int(scaled) if scaled == int(scaled) else None
    except (InvalidOperation, ValueError, OverflowError):
        return None


def to_text(minor: int, currency: str) -> str:
    """Return minor units as a decimal number with the digits of the currency."""
    return f"{to_decimal(minor, currency):f}"


def to_decimal(minor: int, currency: str) -> Decimal:
    """Return minor units as a Decimal."""
    return Decimal(minor).scaleb(-digits(currency))
