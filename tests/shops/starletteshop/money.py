"""Amounts are kept in minor units (int); on the wire they are exact decimal numbers."""

from __future__ import annotations

from decimal import Decimal

DIGITS = {"JPY": 0, "KRW": 0, "CLP": 0, "VND": 0, "ISK": 0, "KWD": 3, "BHD": 3, "OMR": 3, "TND": 3, "JOD": 3}


def digits(currency: str) -> int:
    """Return how many digits a currency has after the point."""
    return DIGITS.get(currency, 2)


def to_minor(amount: object, currency: str) -> int:
    """Return an amount in minor units; ValueError when it has too many digits."""
    scaled = Decimal(str(amount)).scaleb(digits(currency))
    whole = int(scaled)
    if scaled != whole:
        raise ValueError(f"{amount} has more digits than {currency} has")
    return whole


def to_text(minor: int, currency: str) -> str:
    """Return an amount as it is written in JSON."""
    places = digits(currency)
    return str(Decimal(minor).scaleb(-places)) if places else str(minor)
