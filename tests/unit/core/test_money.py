"""Money: whole minor units, exact from the caller's digits to the wire (principle P4)."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paydouble.core.money import MINOR_DIGITS, MOST_DIGITS, json_amount, parse_amount, to_minor, write_amount
from paydouble.payments.events import freeze

currencies = st.sampled_from(sorted(MINOR_DIGITS))
minors = st.integers(-(10**MOST_DIGITS) + 1, 10**MOST_DIGITS - 1)


@given(minors, currencies)
def test_what_is_written_is_read_back(minor: int, currency: str) -> None:
    """For every currency, the written amount is the same when read."""
    text = write_amount(minor, currency)

    assert to_minor(Decimal(text), MINOR_DIGITS[currency]) == minor
    assert parse_amount(text, currency) == minor


@given(minors, currencies)
def test_an_amount_has_exactly_its_currencys_digits(minor: int, currency: str) -> None:
    """There are as many decimal places as the currency has minor digits, and no point if it has none."""
    _, point, places = write_amount(minor, currency).partition(".")

    assert (bool(point), len(places)) == (MINOR_DIGITS[currency] > 0, MINOR_DIGITS[currency])


@given(minors, currencies)
def test_no_binary_float_is_involved(minor: int, currency: str) -> None:
    """The bytes of an event have all the digits, however many there are."""
    body = freeze(
        event_id="evt_1",
        kind="pay-in.created",
        api_version="v1",
        created_at="",
        resource={"amount": json_amount(minor, MINOR_DIGITS[currency])},
        previous={},
        request_id=None,
        omit_request_id=True,
        livemode=False,
    )

    assert f'{{"amount":{write_amount(minor, currency)}}}'.encode() in body


@pytest.mark.parametrize(
    ("minor", "currency", "text"),
    [
        (4990, "EUR", "49.90"),
        (1500, "JPY", "1500"),
        (1250, "KWD", "1.250"),
        (0, "EUR", "0.00"),
        (5, "EUR", "0.05"),
        (-5, "EUR", "-0.05"),
        (-1500, "JPY", "-1500"),
    ],
)
def test_an_amount_is_written(minor: int, currency: str, text: str) -> None:
    """Zeros before and after the point are written, and a sign only for a negative amount."""
    assert write_amount(minor, currency) == text


@pytest.mark.parametrize(
    ("text", "digits", "minor"),
    [
        ("49.9", 2, 4990),
        ("4.99e1", 2, 4990),
        ("4990E-2", 2, 4990),
        ("1500.0", 0, 1500),
        ("1.5e3", 0, 1500),
        ("-0", 2, 0),
        ("0e-99", 2, 0),
        ("999999999999999999", 0, 10**18 - 1),
        ("9999999999999999.99", 2, 10**18 - 1),
        ("1." + "0" * 35, 2, 100),
    ],
)
def test_an_amount_is_read(text: str, digits: int, minor: int) -> None:
    """Exponents and redundant zeros are accepted."""
    assert to_minor(Decimal(text), digits) == minor


@pytest.mark.parametrize(
    ("text", "digits", "message"),
    [
        ("49.901", 2, "has more than 2 decimal places"),
        ("1500.5", 0, "has more than 0 decimal places"),
        ("1e-999999", 3, "has more than 3 decimal places"),
        ("1000000000000000000", 0, "has more than 18 digits"),
        ("10000000000000000", 2, "has more than 18 digits"),
        ("1e999999", 2, "has more than 18 digits"),
        ("NaN", 2, "has more than 18 digits"),
        ("Infinity", 2, "has more than 18 digits"),
        ("0." + "1" * 5000, 2, "has more than 2 decimal places"),
    ],
)
def test_an_amount_that_does_not_fit_is_refused(text: str, digits: int, message: str) -> None:
    """An amount that does not fit the currency or 64 bits is refused, quickly even if it is long."""
    with pytest.raises(ValueError, match=f"^{message}$"):
        to_minor(Decimal(text), digits)


@given(st.decimals(allow_nan=False, allow_infinity=False), st.integers(0, 3))
def test_reading_is_exact_or_refused(amount: Decimal, digits: int) -> None:
    """No amount is ever rounded: it is exact, or it is refused."""
    try:
        minor = to_minor(amount, digits)
    except ValueError:
        return

    assert Decimal(minor).scaleb(-digits) == amount


def test_the_currencies_are_those_of_iso_4217() -> None:
    """Codes are three capital letters; the yen has no minor digits, the dinars have three."""
    digits = [MINOR_DIGITS[currency] for currency in ("EUR", "USD", "JPY", "KRW", "CLP", "KWD", "BHD", "TND")]

    assert digits == [2, 2, 0, 0, 0, 3, 3, 3]
    assert all(len(code) == 3 and code.isalpha() and code.isupper() for code in MINOR_DIGITS)
