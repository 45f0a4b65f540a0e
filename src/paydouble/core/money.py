"""Money as a whole number of minor units, exact from the caller's digits to the sent ones (principle P4).

An amount is written with exactly its currency's minor digits (`49.90`, `1500` for JPY, `1.250` for KWD) as a JSON
number. It is never converted to a binary float: text -> Decimal -> int on the way in, int -> text on the way out.
"""

from __future__ import annotations

from decimal import Context, Decimal, Inexact
from types import MappingProxyType
from typing import Final

from orjson import Fragment

_TWO_DIGITS = (
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY "
    "COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS "
    "INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR "
    "MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP "
    "STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG"
)
_NO_DIGITS = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
_THREE_DIGITS = "BHD IQD JOD KWD LYD OMR TND"
_FOUR_DIGITS = "CLF UYW"
# ISO 4217, list one: the minor digits of each currency. Metals, bond units and the codes for tests and for no currency
# have none there, so there are no amounts in them.
MINOR_DIGITS: Final = MappingProxyType(
    {
        **dict.fromkeys(_TWO_DIGITS.split(), 2),
        **dict.fromkeys(_NO_DIGITS.split(), 0),
        **dict.fromkeys(_THREE_DIGITS.split(), 3),
        **dict.fromkeys(_FOUR_DIGITS.split(), 4),
    }
)
# Eighteen digits fit into a signed 64-bit integer, which receivers use.
MOST_DIGITS: Final = 18
# Wide enough for any real amount; a longer one raises Inexact.
_EXACT: Final = Context(prec=100, Emin=-999_999, Emax=999_999, traps=[Inexact])


def to_minor(amount: Decimal, digits: int) -> int:
    """Return the minor units of an amount; `ValueError` if it has more decimal places than the currency.

    More trailing zeros than the currency's digits are accepted (`1500.0` JPY is 1500).
    """
    if not amount.is_finite() or amount.adjusted() + digits >= MOST_DIGITS:
        message = f"has more than {MOST_DIGITS} digits"
        raise ValueError(message)
    try:
        scaled = amount.scaleb(digits, _EXACT)
        minor = int(scaled)
    except Inexact:
        minor, scaled = 0, amount
    if minor != scaled:
        message = f"has more than {digits} decimal places"
        raise ValueError(message)
    return minor


def write_minor(minor: int, digits: int) -> str:
    """Return the amount with exactly its currency's digits."""
    if not digits:
        return str(minor)
    text = str(minor)
    if len(text) <= digits or minor < 0:
        text = f"{'-' if minor < 0 else ''}{str(abs(minor)).rjust(digits + 1, '0')}"
    return f"{text[:-digits]}.{text[-digits:]}"


def json_amount(minor: int, digits: int) -> Fragment:
    """Return the amount as a JSON number that keeps its digits."""
    return Fragment(write_minor(minor, digits))


def write_amount(minor: int, currency: str) -> str:
    """Return an amount with its currency's digits by ISO 4217."""
    return write_minor(minor, MINOR_DIGITS[currency])


def parse_amount(text: str, currency: str) -> int:
    """Return the minor units of a decimal text in an ISO 4217 currency."""
    return to_minor(Decimal(text), MINOR_DIGITS[currency])
