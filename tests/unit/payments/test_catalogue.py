"""What is on offer, and what one currency is worth in another."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paydouble.core.errors import ApiError
from paydouble.core.money import MINOR_DIGITS, MOST_DIGITS
from paydouble.core.seeded_random import SeededRandom
from paydouble.payments.catalogue import RATE_WINDOW_MS, Method, convert, load_catalogue, rate

CATALOGUE = load_catalogue()
currencies = st.sampled_from(sorted(CATALOGUE.per_dollar))
seeds = st.integers(0, 2**64 - 1)
times = st.integers(0, 10**14)


def test_every_currency_on_offer_has_a_rate_and_minor_digits() -> None:
    """No currency can be paid in that cannot be converted and written."""
    assert CATALOGUE.currencies <= set(CATALOGUE.per_dollar) <= set(MINOR_DIGITS)


@pytest.mark.parametrize("method", CATALOGUE.methods, ids=lambda method: f"{method.type}-{method.code}")
def test_the_limits_of_a_method_are_in_order(method: Method) -> None:
    """The smallest amount is more than nothing and at most the largest, for each currency."""
    assert all(0 < low <= high < 10**MOST_DIGITS for low, high in method.limits.values())


def test_cards_come_first_and_no_method_twice() -> None:
    """The order of the catalogue is the order of the answer; CREDIT_CARD, the documented one, leads."""
    methods = [(method.type, method.code) for method in CATALOGUE.methods]

    assert methods[0] == ("CREDIT_CARD", "card")
    assert len(set(methods)) == len(methods)


@pytest.mark.parametrize(
    ("code", "currency", "country", "amount", "takes"),
    [
        ("card", "EUR", None, None, True),
        ("card", "EUR", "DE", 1, True),
        ("card", "XOF", None, None, True),
        ("twint", "EUR", None, None, False),
        ("sepa", "EUR", "DE", 100, True),
        ("sepa", "EUR", "US", 100, False),
        ("sepa", "EUR", None, 99, False),
        ("sepa", "EUR", None, 100_000_000, True),
        ("sepa", "EUR", None, 100_000_001, False),
    ],
)
def test_a_method_takes_its_currencies_countries_and_amounts(
    code: str, currency: str, country: str | None, amount: int | None, takes: bool
) -> None:
    """A method without countries serves all; both limits belong to what it takes."""
    method = next(method for method in CATALOGUE.methods if method.code == code)

    assert method.takes(currency, country, amount) == takes


@given(seeds, currencies, currencies, times)
def test_a_rate_is_the_same_until_it_expires(seed: int, source: str, target: str, now: int) -> None:
    """A quote holds to the end of its quarter of an hour, for everyone with the same seed."""
    value, expires_at = rate(CATALOGUE, SeededRandom(seed), source, target, now)

    assert 0 < expires_at - now <= RATE_WINDOW_MS
    assert rate(CATALOGUE, SeededRandom(seed), source, target, expires_at - 1) == (value, expires_at)
    assert rate(CATALOGUE, SeededRandom(seed), source, target, expires_at)[1] == expires_at + RATE_WINDOW_MS


@given(seeds, currencies, currencies, times)
def test_a_rate_stays_near_the_table(seed: int, source: str, target: str, now: int) -> None:
    """The rate is within half a percent of the table's (and its rounding), and exactly one to itself."""
    value, _ = rate(CATALOGUE, SeededRandom(seed), source, target, now)

    table = Fraction(CATALOGUE.per_dollar[target]) / Fraction(CATALOGUE.per_dollar[source])
    assert abs(Fraction(value) / table - 1) <= (Fraction(0) if source == target else Fraction(501, 100_000))


def test_rates_move() -> None:
    """A merchant who keeps a quote for a day sees another one in nearly every window."""
    values = {rate(CATALOGUE, SeededRandom(1), "EUR", "JPY", window * RATE_WINDOW_MS)[0] for window in range(96)}

    assert len(values) > 90


@given(seeds, currencies, currencies, times, st.integers(0, 10**14))
def test_conversion_is_exact_and_rounds_half_to_even(
    seed: int, source: str, target: str, now: int, amount: int
) -> None:
    """The converted amount is the exact fraction, rounded once."""
    value, _ = rate(CATALOGUE, SeededRandom(seed), source, target, now)
    exact = Fraction(amount, 10 ** MINOR_DIGITS[source]) * Fraction(value) * 10 ** MINOR_DIGITS[target]

    assert convert(CATALOGUE, amount, value, source, target) == round(exact)


@given(currencies, currencies, st.integers(1, 10**MOST_DIGITS - 1), seeds)
def test_even_the_largest_amounts_convert_exactly_or_are_refused(
    source: str, target: str, amount: int, seed: int
) -> None:
    """What does not fit the wire in the target's units is a refusal, never a crash and never a wrong amount."""
    value, _ = rate(CATALOGUE, SeededRandom(seed), source, target, 0)
    expected = round(Fraction(amount, 10 ** MINOR_DIGITS[source]) * Fraction(value) * 10 ** MINOR_DIGITS[target])

    try:
        converted: int | str = convert(CATALOGUE, amount, value, source, target)
    except ApiError as error:
        converted = error.code

    assert converted == (expected if expected < 10**MOST_DIGITS else "VALIDATION_ERROR")


@pytest.mark.parametrize(("amount", "converted"), [(5, 0), (15, 2), (25, 2), (35, 4)])
def test_a_tie_goes_to_the_even_neighbour(amount: int, converted: int) -> None:
    """At a rate of one tenth, 0.05 is 0.00 and 0.15 is 0.02."""
    assert convert(CATALOGUE, amount, Decimal("0.1"), "EUR", "USD") == converted


def test_a_converted_amount_that_is_too_large_is_refused() -> None:
    """The refusal names the currency in which it does not fit."""
    with pytest.raises(ApiError) as caught:
        convert(CATALOGUE, 10**MOST_DIGITS - 1, Decimal(1500), "EUR", "KRW")

    assert caught.value.message == "amount: in KRW it has more than 18 digits."
