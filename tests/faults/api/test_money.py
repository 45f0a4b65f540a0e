"""Quotes and methods that vanish between two calls, and settled amounts that differ."""

from __future__ import annotations

import json
from typing import Any

import pytest
from drive import DEPOSITS, START, key
from servers import Client
from wires import Caller, Seen, caller

from paydouble.core.instants import write_instant

REFUNDS = "/refund/refund-creation"
METHODS = {"currency": "EUR", "country": "DE"}


async def _methods(shop: Caller, n: int) -> list[str]:
    seen = await shop.ask("POST", f"{DEPOSITS}/available-payment-methods", METHODS, n=n)
    return [each["code"] for each in seen.document["data"]["payment_methods"]]


async def _refund(shop: Caller, amount: float, n: int) -> Seen:
    return await shop.ask("POST", REFUNDS, {"payin_id": shop.pay_ins[0].id, "amount": amount}, n=n)


async def test_a_quote_arrives_expired(shop: Caller) -> None:
    """`expire_rate` on the rates: each expires at the instant at which it is given."""
    shop.arm("expire_rate", match={"operation": "exchange-rates"}, times=1)

    first = await shop.ask("POST", f"{DEPOSITS}/exchange-rates", {"source_currency": "EUR"}, n=1)
    second = await shop.ask("POST", f"{DEPOSITS}/exchange-rates", {"source_currency": "EUR"}, n=2)

    ends = [{each["expires_at"] for each in seen.document["data"]["rates"]} for seen in (first, second)]
    assert ends[0] == {write_instant(START)}
    assert write_instant(START) not in ends[1]


async def test_a_deposit_is_refused_for_its_quote(shop: Caller) -> None:
    """`expire_rate` on the deposit is a stored 422; under a new key it works."""
    shop.arm("expire_rate", times=1)

    answers = [await shop.deposit(), await shop.deposit(), await shop.deposit(n=2)]

    assert [answer.status for answer in answers] == [422, 422, 200]
    assert "expired" in answers[0].document["error"]["message"]
    assert shop.events == ["pay-in.created"]


@pytest.mark.parametrize("method", ["*", "CREDIT_CARD", "card"])
async def test_a_method_vanishes_from_the_list(shop: Caller, method: str) -> None:
    """`remove_method` removes all methods, those of a type, or one code from the listing."""
    before = await _methods(shop, 1)
    shop.arm({"type": "remove_method", "method": method})

    after = await _methods(shop, 2)

    gone = set(before) - set(after)
    assert (set(before) == gone) == (method == "*")
    assert "card" in gone


@pytest.mark.parametrize(("method", "status"), [("*", 422), ("CREDIT_CARD", 422), ("card", 422), ("SEPA", 200)])
async def test_a_method_vanishes_before_the_deposit(shop: Caller, method: str, status: int) -> None:
    """A deposit with it is refused; one with another method is not."""
    shop.arm({"type": "remove_method", "method": method}, match={"operation": "deposit-creation"})

    seen = await shop.deposit()

    assert (seen.status, len(shop.pay_ins)) == (status, int(status == 200))


def _events(shop: Caller) -> list[dict[str, Any]]:
    return [json.loads(event.body) for event in shop.sandbox.journal.events.entries]


@pytest.mark.parametrize(
    ("by", "settled"),
    [
        ("-0.10", b"49.80"),
        ("0.10", b"50.00"),
        (1, b"50.90"),
        ("-100", b"0.01"),
        ("0.001", b"49.91"),
        ("-0.001", b"49.89"),
    ],
)
async def test_the_settled_amount_drifts(shop: Caller, by: str | int, settled: bytes) -> None:
    """Until it succeeds a deposit has the requested amount; then it has another one, at least the smallest."""
    shop.arm({"type": "amount_drift", "by": by}, times=1)
    await shop.deposit()
    pay_in = shop.pay_ins[0]
    before = (await shop.ask("GET", f"/pay-in/{pay_in.id}")).body

    shop.pay(pay_in)
    after = (await shop.ask("GET", f"/pay-in/{pay_in.id}")).body

    assert b'"amount":49.90,' in before
    assert b'"amount":%s,' % settled in after
    changed = [event["data"]["previous_attributes"] for event in _events(shop)]
    assert [each.get("amount") for each in changed] == [None, None, None, 49.9]


@pytest.mark.parametrize(
    ("currency", "to", "settled"),
    [
        ("EUR", "USD", b'49.90,"currency":"USD"'),
        ("EUR", "JPY", b'49,"currency":"JPY"'),
        ("EUR", "KWD", b'49.900,"currency":"KWD"'),
        ("EUR", "EUR", b'49.90,"currency":"EUR"'),
    ],
)
async def test_the_currency_drifts(shop: Caller, currency: str, to: str, settled: bytes) -> None:
    """Until it succeeds a deposit has the requested currency; then it has the same number of another one."""
    shop.arm({"type": "currency_drift", "to": to}, times=1)
    await shop.deposit(currency=currency)
    pay_in = shop.pay_ins[0]
    before = (await shop.ask("GET", f"/pay-in/{pay_in.id}")).body

    shop.pay(pay_in)
    after = (await shop.ask("GET", f"/pay-in/{pay_in.id}")).body

    assert b'"amount":49.90,"currency":"EUR"' in before
    assert b'"amount":' + settled in after
    changed = [event["data"]["previous_attributes"].get("currency") for event in _events(shop)]
    assert changed == [None, None, None, "EUR" if to != "EUR" else None]


async def test_an_amount_and_its_currency_drift(shop: Caller) -> None:
    """Both, and a refund is limited by what came of it."""
    shop.arm({"type": "currency_drift", "to": "JPY"}, compose=True)
    shop.arm({"type": "amount_drift", "by": "-9.90"}, compose=True)
    await shop.deposit()
    shop.pay(shop.pay_ins[0])

    statuses = [(await _refund(shop, amount, n)).status for n, amount in enumerate((41, 40), 2)]

    assert (shop.pay_ins[0].amount, shop.pay_ins[0].currency, statuses) == (40, "JPY", [422, 200])


async def test_refunds_are_limited_by_what_was_settled(shop: Caller) -> None:
    """The settled amount can be refunded, and no more."""
    shop.arm({"type": "amount_drift", "by": "-9.90"})
    await shop.deposit()
    shop.pay(shop.pay_ins[0])

    statuses = [(await _refund(shop, amount, n)).status for n, amount in enumerate((40.01, 30, 10.01, 10), 2)]

    assert statuses == [422, 200, 422, 200]


async def test_a_refused_deposit_does_not_drift(shop: Caller) -> None:
    """Without a pay-in, or for a replay, the fault changes nothing."""
    armed = shop.arm({"type": "amount_drift", "by": 1})
    await shop.deposit(currency="XXX")
    await shop.deposit(n=2)
    shop.sandbox.faults.remove(armed.id)
    again = shop.arm({"type": "amount_drift", "by": 5})
    await shop.deposit(n=2)

    shop.pay(shop.pay_ins[0])

    assert (len(shop.pay_ins), shop.pay_ins[0].amount, again.fired) == (1, 5090, 1)


async def test_a_currency_without_cents_drifts_whole(client: Client) -> None:
    """A difference that is finer than the currency becomes its smallest unit."""
    shop = await caller(client)
    shop.arm({"type": "amount_drift", "by": "-0.5"})
    seen = await shop.deposit(amount=1000, currency="JPY", n=int(key(1)[-1]))
    assert seen.status == 200, seen.document

    shop.pay(shop.pay_ins[0])

    assert shop.pay_ins[0].amount == 999
