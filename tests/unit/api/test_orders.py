"""From a validated deposit to the ledger's order, which is put together by place."""

from __future__ import annotations

from paydouble.api.schemas import CustomerInput
from paydouble.payments.resources import Customer


def test_a_customer_has_the_members_of_its_request_in_their_order() -> None:
    """The one is made of the other's values without their names."""
    assert tuple(CustomerInput.model_fields) == Customer._fields
