"""The catalogue as a setting: merged over what is shipped, exact, and refused with the place of what is wrong."""

import json
from decimal import Decimal
from typing import Any

import pytest
from drive import DEPOSITS, Business, data, deposit_body, settings
from iso4217 import Currency

from paydouble.config import load_settings
from paydouble.core.errors import UsageError
from paydouble.core.money import MINOR_DIGITS, write_minor
from paydouble.payments.catalogue import Catalogue, Method, catalogue_of, load_catalogue

QUESTION = "/pay-in/deposit-creation/available-payment-methods"
RATES = "/pay-in/deposit-creation/exchange-rates"
Json = dict[str, Any]
# Types that a merchant may name in a first test.
CARDS_AND_WALLETS = "CREDIT_CARD DEBIT_CARD PAYPAL APPLE_PAY GOOGLE_PAY ALIPAY WECHAT_PAY KLARNA MOBILE_MONEY"
BANKS = "PIX IDEAL BLIK SEPA BANCONTACT SWISH VIPPS TWINT UPI BOLETO EPS PRZELEWY24 ACH"
COMMON = [*CARDS_AND_WALLETS.split(), *BANKS.split()]


def _merged(**catalogue: Any) -> Catalogue:  # noqa: ANN401 - JSON is any
    return catalogue_of(settings(catalogue=catalogue).catalogue)


def _method(catalogue: Catalogue, kind: str, code: str | None = None) -> Method:
    return catalogue.by_choice[kind, code][0]


def test_every_currency_of_iso_4217_has_its_digits() -> None:
    """As the published list has them. What has no minor unit there, such as gold, cannot be paid in."""
    published = {each.code: each.exponent for each in Currency}

    assert dict(MINOR_DIGITS) == {code: digits for code, digits in published.items() if digits is not None}
    assert load_catalogue().currencies == set(MINOR_DIGITS)


@pytest.mark.parametrize("currency", sorted(MINOR_DIGITS))
def test_every_currency_makes_a_first_deposit(currency: str) -> None:
    """By card, from one minor unit on, written with its digits in the answer and in the event's bytes."""
    business = Business()
    digits = MINOR_DIGITS[currency]
    amount = write_minor(12345, digits)
    body = json.dumps(deposit_body(amount="AMOUNT", currency=currency)).replace('"AMOUNT"', amount).encode()

    answers = [business.post(DEPOSITS, body), business.post(DEPOSITS, body.replace(amount.encode(), b"1"))]

    assert [answer.status for answer in answers] == [200, 200]
    written = f'"amount":{amount},"currency":"{currency}"'.encode()
    assert written in answers[0].body
    assert written in business.sandbox.journal.events.entries[0].body
    assert f'"amount":{write_minor(10**digits, digits)},'.encode() in answers[1].body


@pytest.mark.parametrize("kind", COMMON)
def test_every_common_method_makes_a_first_deposit(kind: str) -> None:
    """With nothing but its type, in a currency that it takes."""
    method = _method(load_catalogue(), kind)
    currency, (_, high) = next(iter(method.limits.items()))
    amount = min(float(write_minor(high, MINOR_DIGITS[currency])), 100.0)
    business = Business()

    reply = business.post(DEPOSITS, deposit_body(amount=amount, currency=currency, payment_method={"type": kind}))

    assert (reply.status, data(reply)["payment_method"]) == (200, method.named._asdict())


def test_a_deployment_adds_methods_and_currencies() -> None:
    """A new method takes what it says; one that says nothing takes every currency, in every country."""
    catalogue = _merged(
        currencies={"XTS": {"digits": 5, "per_us_dollar": "2.5"}, "XXX": {}, "NOK": {"per_us_dollar": 11}},
        payment_methods={
            "CASH": {"counter": {"name": "At the counter", "countries": ["NO"], "limits": {"NOK": [1, "99.5"]}}},
            "ANYTHING": {"any": {}},
        },
    )

    counter, anything = _method(catalogue, "CASH"), _method(catalogue, "ANYTHING", "any")
    assert (counter.code, counter.name, counter.countries) == ("counter", "At the counter", ("NO",))
    assert counter.limits == {"NOK": (100, 9950)}
    assert (anything.name, anything.countries, len(anything.limits)) == ("any", (), len(MINOR_DIGITS) + 2)
    assert anything.limits["XTS"] == (1, 700_000 * 10**5)
    assert (catalogue.digits["XTS"], catalogue.digits["XXX"], catalogue.digits["NOK"]) == (5, 2, 2)
    assert (catalogue.per_dollar["NOK"], catalogue.per_dollar["XXX"]) == (Decimal(11), Decimal(1))
    assert [method.type for method in catalogue.methods][-2:] == ["CASH", "ANYTHING"]
    assert _method(catalogue, "CREDIT_CARD").limits["XTS"] == anything.limits["XTS"]


def test_a_deployment_changes_a_shipped_method_member_by_member() -> None:
    """What it does not say stays, the place in the order too."""
    shipped = _method(load_catalogue(), "CREDIT_CARD")
    card = {"name": "Cards", "limits": {"EUR": ["0.50", "10"], "USD": None, "*": ["0", "1"]}}
    catalogue = _merged(payment_methods={"CREDIT_CARD": {"card": card}, "PIX": {"pix": {"countries": []}}})

    changed = catalogue.methods[0]
    assert (changed.type, changed.code, changed.name) == ("CREDIT_CARD", "card", "Cards")
    assert (changed.limits["EUR"], changed.limits["GBP"]) == ((50, 1000), shipped.limits["GBP"])
    assert changed.limits["USD"] == (1, 100)
    assert _method(catalogue, "PIX").serves("NO")
    assert _method(catalogue, "PIX").limits == _method(load_catalogue(), "PIX").limits
    assert len(catalogue.methods) == len(load_catalogue().methods)


def test_a_deployment_takes_away() -> None:
    """Null takes away a type, a method, a currency, a limit."""
    catalogue = _merged(
        currencies={"NOK": None},
        payment_methods={
            "PIX": None,
            "MOBILE_MONEY": {"mtn": None, "never-there": None},
            "CREDIT_CARD": {"card": {"limits": {"*": None}}},
        },
    )

    assert ("PIX", None) not in catalogue.by_choice
    assert [method.code for method in catalogue.by_choice["MOBILE_MONEY", None]] == ["mpesa", "orange"]
    assert "NOK" not in {*catalogue.currencies, *catalogue.digits, *catalogue.per_dollar}
    assert len(_method(catalogue, "CREDIT_CARD").limits) == 18


def test_a_deployment_starts_from_nothing() -> None:
    """Without the shipped methods its own alone are offered, each of them still over the shipped one of its name."""
    catalogue = _merged(shipped=False, payment_methods={"TWINT": {"twint": {"name": "Twint"}}})

    assert [(each.type, each.name, each.countries, list(each.limits)) for each in catalogue.methods] == [
        ("TWINT", "Twint", ("CH",), ["CHF"])
    ]


def test_digits_of_a_deployment_count_for_what_is_shipped() -> None:
    """A limit that is finer than the currency is then the nearest within; an open one is at least one minor unit."""
    catalogue = _merged(currencies={"KWD": {"digits": 1}, "HUF": {"digits": 0}, "EUR": {"per_us_dollar": "0.000001"}})

    card = _method(catalogue, "CREDIT_CARD")
    assert (card.limits["KWD"], card.limits["HUF"]) == ((1, 999_999), (1, 100_000_000))
    assert _method(catalogue, "APPLE_PAY").limits["EUR"] == (1, 10)
    tiny = _merged(currencies={"EUR": {"digits": 0, "per_us_dollar": "0.0000001"}})
    assert _method(tiny, "APPLE_PAY").limits["EUR"] == (1, 1)


def test_money_has_the_digits_of_the_deployment() -> None:
    """Everywhere: in the deposit, its event, its refund and dispute, a payout, a booking, the limits and the rates."""
    own: Json = {"currencies": {"XTS": {"digits": 4, "per_us_dollar": "2"}, "JPY": {"digits": 1}}}
    business = Business(catalogue=own)
    pay_in = business.paid(amount=1.2345, currency="XTS")
    beneficiary = {"name": "Ada", "account": "DE02"}
    order = {"amount": 0.5, "currency": "XTS", "external_identifier": "o"}
    answers = [
        business.get(f"/pay-in/{pay_in}"),
        business.post("/refund/refund-creation", {"payin_id": pay_in, "amount": 0.0001}),
        business.post("/payout/payout-initiation", {**order, "beneficiary": beneficiary}),
        business.post("/transaction/transaction-creation", {**order, "type": "FEE"}),
        business.post(QUESTION, {"currency": "XTS", "amount": 1.0001}),
        business.post(RATES, {"source_currency": "XTS", "target_currency": "JPY", "amount": 1}),
    ]
    business.sandbox.open_dispute(business.pay_in(pay_in), amount=1)

    found = [b"1.2345", b"0.0001", b"0.5000", b"0.5000", b'"max_amount":500000.0000', b'"source_amount":1.0000,']
    assert [answer.status for answer in answers] == [200] * 6
    assert [text in answer.body for text, answer in zip(found, answers, strict=True)] == [True] * 6
    assert b'"amount":0.0001,' in business.sandbox.journal.events.entries[-1].body
    assert (
        len(str(json.loads(answers[5].body, parse_float=str)["data"]["rates"][0]["target_amount"]).split(".")[1]) == 1
    )
    refused = business.post(DEPOSITS, deposit_body(amount=1.23456, currency="XTS"))
    assert (refused.status, b"more than 4 decimal places" in refused.body) == (400, True)


def test_a_pay_in_keeps_its_digits_when_the_catalogue_changes() -> None:
    """What was asked for is what is refunded."""
    business = Business(catalogue={"currencies": {"XTS": {"digits": 4}}})
    pay_in = business.paid(amount=1.2345, currency="XTS")
    business.sandbox.apply(
        load_settings({"catalogue": {"currencies": {"XTS": {"digits": 2}}}}, business.sandbox.settings)
    )

    refund = business.post("/refund/refund-creation", {"payin_id": pay_in})
    new = business.post(DEPOSITS, deposit_body(amount=1.2345, currency="XTS"))

    assert (data(refund)["amount"], new.status) == (1.2345, 400)
    assert b'"amount":1.2345' in refund.body


def test_what_a_deployment_does_not_offer_is_refused() -> None:
    """With the reason, as for a method that there never was."""
    business = Business(catalogue={"currencies": {"NOK": None}, "payment_methods": {"PIX": None}})
    asked = [
        business.post(DEPOSITS, deposit_body(currency="NOK")),
        business.post(DEPOSITS, deposit_body(currency="XAU")),
        business.post(DEPOSITS, deposit_body(payment_method={"type": "PIX"}, currency="BRL")),
        business.post(RATES, {"source_currency": "NOK"}),
        business.post(QUESTION, {"currency": "NOK"}),
    ]

    assert [reply.status for reply in asked] == [422] * 5
    assert [json.loads(reply.body)["error"]["message"] for reply in asked] == [
        "currency: NOK is not supported.",
        "currency: XAU is not supported.",
        "payment_method: there is no PIX.",
        "There is no exchange rate for NOK.",
        "currency: NOK is not supported.",
    ]


def test_rates_of_any_size_are_quoted_and_converted() -> None:
    """A deployment's rate may be as large or as small as it likes; an amount that is then too large is 422."""
    business = Business(
        catalogue={"currencies": {"XTS": {"per_us_dollar": "9" * 17}, "XXX": {"per_us_dollar": "0.000000000000000001"}}}
    )
    pairs = [("XXX", "XTS"), ("XTS", "XXX"), ("EUR", "XTS"), ("KWD", "IRR")]
    quotes = [business.post(RATES, {"source_currency": source, "target_currency": target}) for source, target in pairs]
    body = {"source_currency": "XXX", "target_currency": "XTS", "amount": 10**14}

    assert [quote.status for quote in quotes] == [200] * 4
    rates = [json.loads(quote.body, parse_float=Decimal)["data"]["rates"][0]["rate"] for quote in quotes]
    assert all(rate > 0 for rate in rates)
    assert all(len(Decimal(rate).normalize().as_tuple().digits) <= 8 for rate in rates)
    assert business.post(RATES, body).status == 422


def test_equal_catalogues_are_built_once() -> None:
    """A thousand sandboxes with one configuration share it, and those without any share what is shipped."""
    assert _merged(payment_methods={"PIX": None}) is _merged(payment_methods={"PIX": None})
    assert _merged() is load_catalogue()


def test_settings_are_laid_over_each_other() -> None:
    """A later change of one method leaves the others as they were, and can take back what was taken away."""
    first = load_settings({"catalogue": {"payment_methods": {"PIX": None, "CASH": {"counter": {"name": "Cash"}}}}})
    second = load_settings({"catalogue": {"payment_methods": {"PIX": {"pix": {"name": "PIX"}}}}}, first)

    catalogue = catalogue_of(second.catalogue)
    assert (_method(catalogue, "PIX").name, _method(catalogue, "CASH").name) == ("PIX", "Cash")
    assert load_settings(second.model_dump(mode="json")) == second


def _pix(**members: Any) -> Json:  # noqa: ANN401 - JSON is any
    return {"payment_methods": {"PIX": {"pix": members}}}


def _limits(*limits: Any) -> Json:  # noqa: ANN401 - JSON is any
    return _pix(limits={"BRL": list(limits)})


def _nok(**members: Any) -> Json:  # noqa: ANN401 - JSON is any
    return {"currencies": {"NOK": members}}


PIX = "payment_methods.PIX.pix"


@pytest.mark.parametrize(
    ("catalogue", "message"),
    [
        (5, ": is the number 5; send an object"),
        ({"method": {}}, ".method: this member is not known"),
        ({"currencies": {"nok": {}}}, ".currencies.nok: 'nok' is not a currency code such as NOK"),
        ({"currencies": {"*": {}}}, ".currencies.*: '*' is not a currency code such as NOK"),
        (_nok(digit=2), ".currencies.NOK.digit: this member is not known; did you mean 'digits'?"),
        (_nok(digits=9), ".currencies.NOK.digits: is 9; send at most 8"),
        (_nok(per_us_dollar=0), ".currencies.NOK.per_us_dollar: is more than 0"),
        (_nok(per_us_dollar="1e9"), ".currencies.NOK.per_us_dollar: '1e9' is not a plain number such as '49.90'"),
        (_pix(limitss={}), f".{PIX}.limitss: this member is not known; did you mean 'limits'?"),
        (_pix(countries=[False]), f".{PIX}.countries.0: YAML reads NO as false; write the country in quotes"),
        (_pix(countries=["Norway"]), f".{PIX}.countries.0: 'Norway' is not a country code such as NO"),
        (_pix(limits={"QQQ": ["1", "2"]}), f".{PIX}.limits.QQQ: this currency is not known; add it under currencies"),
        (_limits("0.001", "1"), f".{PIX}.limits.BRL.0: 0.001 has more than 2 decimal places"),
        (_limits("5", "1"), f".{PIX}.limits.BRL: the smallest amount, 5, is larger than the largest, 1"),
        (_limits("0", "0"), f".{PIX}.limits.BRL.1: the largest amount is more than 0"),
        (_limits("1"), f".{PIX}.limits.BRL.1: is missing"),
        (_limits(0.5, 1), f".{PIX}.limits.BRL.0: 0.5 is a binary float, which is not exact; write it as a text"),
        (_limits(True, 1), f".{PIX}.limits.BRL.0: 'True' is not a plain number"),
        (_limits([], 1), f".{PIX}.limits.BRL.0: '[]' is not a plain number"),
        (_limits(Decimal("1e-30"), 1), f".{PIX}.limits.BRL.0: '1E-30' is not a plain number"),
        (_limits(-1, 1), f".{PIX}.limits.BRL.0: '-1' is not a plain number"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(catalogue: Any, message: str) -> None:  # noqa: ANN401 - JSON is any
    """The message begins with the path to what is wrong, and says how to write it."""
    with pytest.raises(UsageError) as caught:
        load_settings({"catalogue": catalogue})

    assert str(caught.value).startswith(f"settings.catalogue{message}")
