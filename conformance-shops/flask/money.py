"""Exact amounts of money, with the digits of their currency."""

from decimal import Decimal, InvalidOperation

from settings import mistake

_WITHOUT_DIGITS = frozenset(
    [
        "BIF",
        "CLP",
        "DJF",
        "GNF",
        "ISK",
        "JPY",
        "KMF",
        "KRW",
        "PYG",
        "RWF",
        "UGX",
        "UYI",
        "VND",
        "VUV",
        "XAF",
        "XOF",
        "XPF",
    ]
)
_THREE_DIGITS = frozenset(["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"])


def digits(currency: str) -> int:
    if currency in _WITHOUT_DIGITS:
        return 0
    return 3 if currency in _THREE_DIGITS else 2


def parse(amount: object, currency: str) -> Decimal:
    """Return the amount, or raise ValueError when the currency has no such amount."""
    if not isinstance(amount, str | int | Decimal) or isinstance(amount, bool):
        raise ValueError(f"not an amount: {amount!r}")
    if mistake("float-cents"):
        factor = 10 ** digits(currency)
        return Decimal(int(float(amount) * factor)) / factor
    try:
        exact = Decimal(amount)
        if not exact.is_finite() or exact <= 0 or exact != round(exact, digits(currency)):
            raise ValueError(f"not an amount of {currency}: {amount}")
    except InvalidOperation:
        raise ValueError(f"not an amount: {amount!r}") from None
    return exact


def text(amount: Decimal, currency: str) -> str:
    return f"{amount:.{digits(currency)}f}"
