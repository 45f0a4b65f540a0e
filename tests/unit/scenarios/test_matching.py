"""Which deposits a `match` matches."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from paydouble.scenarios.matching import Match

DEPOSIT = {
    "amount": Decimal("49.90"),
    "currency": "EUR",
    "external_identifier": "order-17",
    "payment_method": {"type": "CREDIT_CARD"},
    "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"},
    "metadata": {"cart": "c-1"},
}


@pytest.mark.parametrize(
    ("match", "taken"),
    [
        ({"amount": Decimal("49.9")}, True),
        ({"amount": 49}, False),
        ({"amount": {"between": [1, Decimal("49.90")]}}, True),
        ({"amount": {"between": [50, 60]}}, False),
        ({"amount": {"one_of": [1, Decimal("49.90")]}}, True),
        ({"amount": {"one_of": [1, 2]}}, False),
        ({"currency": "EUR", "amount": 1}, False),
        ({"currency": {"one_of": ["USD", "E*"]}}, True),
        ({"external_identifier": "order-*"}, True),
        ({"external_identifier": "*-18"}, False),
        ({"payment_method": {"type": "CREDIT_CARD"}}, True),
        ({"payment_method": {"code": "card"}}, False),
        ({"customer": {"email": "*@example.test", "last_name": "Lovelace"}}, True),
        ({"metadata": {"cart": "c-*"}}, True),
        ({"metadata": {"cart": "c-*", "shop": "*"}}, False),
        ({"country": "DE"}, False),
        ({"country": None, "currency": "EUR"}, True),
    ],
)
def test_all_that_is_given_must_hold(match: dict[str, Any], taken: bool) -> None:
    """Numbers are compared as numbers, texts by pattern, and a missing member matches nothing."""
    assert Match.model_validate(match).takes(DEPOSIT) is taken


@pytest.mark.parametrize("member", ["amount", "currency", "payment_method", "metadata"])
@pytest.mark.parametrize("value", [True, None, [], "x"])
def test_what_is_no_deposit_fits_nothing(member: str, value: object) -> None:
    """An invalid request is matched before it is refused, and its content never raises here."""
    match = {
        "amount": {"between": [0, 1000]},
        "currency": "EUR",
        "payment_method": {"type": "*"},
        "metadata": {"cart": "*"},
    }

    assert not Match.model_validate(match).takes({**DEPOSIT, member: value})
