"""Exchange rates and payment methods for a deposit (contract section 4): what they answer and refuse."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from drive import DEPOSITS, MINUTE, Business, data, deposit_body

RATES = f"{DEPOSITS}/exchange-rates"
METHODS = f"{DEPOSITS}/available-payment-methods"


def test_rates_are_quoted_for_every_currency() -> None:
    """Without a target all others come, each positive and good until the end of its quarter of an hour."""
    business = Business()

    rates = data(business.post(RATES, {"source_currency": "EUR"}))["rates"]

    targets = [each["target_currency"] for each in rates]
    assert len(targets) == len(set(targets)) > 10
    assert "EUR" not in targets
    assert all(
        each["rate"] > 0 and set(each) == {"source_currency", "target_currency", "rate", "expires_at"} for each in rates
    )
    assert {each["expires_at"] for each in rates} == {"2026-01-01T00:15:00.000Z"}


def test_a_rate_converts_an_amount() -> None:
    """With an amount both sides are given in their currency's digits, and agree with the rate."""
    reply = Business().post(RATES, {"source_currency": "EUR", "target_currency": "JPY", "amount": 10})

    (quote,) = json.loads(reply.body, parse_float=Decimal)["data"]["rates"]
    expected = (Decimal(10) * quote["rate"]).quantize(Decimal(1))
    assert (quote["source_amount"], expected) == (Decimal("10.00"), quote["target_amount"])
    assert b'"source_amount":10.00,' in reply.body


def test_a_rate_lasts_for_its_window_and_not_longer() -> None:
    """The same quarter of an hour quotes the same, a later one something else, another seed too."""
    business = Business()

    def quote(of: Business) -> dict[str, object]:
        rates: list[dict[str, object]] = data(of.post(RATES, {"source_currency": "EUR", "target_currency": "USD"}))[
            "rates"
        ]
        return rates[0]

    first = quote(business)
    business.advance(15 * MINUTE - 1)
    second = quote(business)
    business.advance(1)
    third = quote(business)

    assert first == second
    assert first["rate"] != third["rate"]
    assert first["rate"] != quote(Business(seed=2))["rate"]
    assert first == quote(Business())


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (RATES, {}, 400),
        (RATES, {"source_currency": "euro"}, 400),
        (RATES, {"source_currency": "EUR", "amount": 0}, 400),
        (RATES, {"source_currency": "EUR", "amount": 1.001}, 400),
        (RATES, {"source_currency": "ZZZ"}, 422),
        (RATES, {"source_currency": "EUR", "target_currency": "ZZZ"}, 422),
        (METHODS, {}, 400),
        (METHODS, {"currency": "EUR", "country": "x"}, 400),
        (METHODS, {"currency": "EUR", "amount": "1"}, 400),
        (METHODS, {"currency": "JPY", "amount": 1.5}, 400),
        (METHODS, {"currency": "ZZZ"}, 422),
    ],
)
def test_questions_of_the_wrong_shape_or_against_a_rule_are_refused(path: str, body: object, status: int) -> None:
    """400 for a shape, 422 for a currency that is not on offer."""
    assert Business().post(path, body).status == status


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            {"currency": "EUR"},
            (
                "card debit sepa wallet apple_pay google_pay paypal sepa_transfer sepa_instant sepa_debit ideal "
                "bancontact eps multibanco mb_way bizum p24 mobilepay klarna alipay wechat_pay"
            ),
        ),
        (
            {"currency": "EUR", "country": "DE"},
            (
                "card debit sepa wallet apple_pay google_pay paypal sepa_transfer sepa_instant sepa_debit klarna "
                "alipay wechat_pay"
            ),
        ),
        (
            {"currency": "EUR", "country": "BR"},
            "card debit wallet apple_pay google_pay paypal alipay wechat_pay",
        ),
        (
            {"currency": "EUR", "amount": 0.02},
            (
                "card debit apple_pay google_pay paypal sepa_transfer sepa_instant sepa_debit ideal bancontact "
                "multibanco p24 alipay wechat_pay"
            ),
        ),
        ({"currency": "EUR", "amount": 249_999}, "card sepa sepa_transfer"),
        ({"currency": "EUR", "amount": 9_999_999}, ""),
        ({"currency": "KWD"}, "card debit apple_pay google_pay paypal"),
    ],
)
def test_payment_methods_are_those_that_would_be_taken(body: object, expected: str) -> None:
    """Currency, country and amount decide; the card comes first."""
    methods = data(Business().post(METHODS, body))["payment_methods"]

    assert expected == " ".join(method["code"] for method in methods)


def test_a_method_that_is_offered_is_taken() -> None:
    """A deposit at either end of an offered method's range succeeds."""
    business = Business()
    offered = data(business.post(METHODS, {"currency": "EUR"}))["payment_methods"]

    statuses = [
        business.post(
            DEPOSITS,
            deposit_body(amount=method[end], payment_method={"type": method["type"], "code": method["code"]}),
        ).status
        for method in offered
        for end in ("min_amount", "max_amount")
    ]

    assert [200] * 2 * len(offered) == statuses


def test_the_questions_emit_nothing_and_are_not_stored_as_anything() -> None:
    """Rates and methods create no resource and no event."""
    business = Business()

    business.post(RATES, {"source_currency": "EUR"})
    business.post(METHODS, {"currency": "EUR"})

    assert business.events() == []
    assert business.sandbox.idle
