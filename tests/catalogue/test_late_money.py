"""Money that comes for a payment that had ended."""

from __future__ import annotations

from typing import Any

import pytest
from small_shop import SmallShop

from paydouble.stateful import MerchantBug, Play


class TakesTheEndForFinal(SmallShop):
    """Believes nothing that comes after a failure."""

    def is_newer(self, resource: dict[str, Any], old: dict[str, Any]) -> bool:
        return old["status"] != "failed" and super().is_newer(resource, old)


def _paid_after_all(play: Play) -> None:
    play.order()
    play.pay(scenario="card-declined")
    play.wait("10s")
    play.provider("late money")
    play.wait("10s")


def test_a_payer_may_take_another_card() -> None:
    """After the first was declined; the payment that had failed then succeeds."""
    with Play(SmallShop) as play:
        _paid_after_all(play)
        assert play.status() == "paid"

    sentence = "calls order-1 failed in the end; the service's ledger says paid or review"
    with pytest.raises(MerchantBug, match=sentence), Play(TakesTheEndForFinal) as play:
        _paid_after_all(play)
