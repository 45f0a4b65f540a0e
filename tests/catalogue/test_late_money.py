"""Money that comes for a payment that had ended."""

from __future__ import annotations

from typing import Any

import pytest
from small_shop import SmallShop, Wish
from verdicts_of import verdicts_of

from paydouble.stateful import Merchant, MerchantBug, Play


class TakesTheEndForFinal(SmallShop):
    """Believes nothing that comes after a failure."""

    def is_newer(self, resource: dict[str, Any], old: dict[str, Any]) -> bool:
        return old["status"] != "failed" and super().is_newer(resource, old)


class RefundsTheNewest(SmallShop):
    """Refunds the newest attempt, which may have brought nothing."""

    def wish(self, order_id: str, body: str) -> Wish:
        newest = self.of(order_id, "payin")[-1:]
        paid = self.of(order_id, "payin", "succeeded")
        return super().wish(order_id, body.replace(paid[0]["id"], newest[0]["id"]) if paid else body)


class KnowsTheNewest(SmallShop):
    """Finds the order of a dispute by the payment that it knows as that of the order, which is the newest."""

    def learn(self, resource: dict[str, Any]) -> None:
        if resource["object"] == "dispute":
            order_id = self.order_of(resource)
            if order_id is not None and self.of(order_id, "payin")[-1]["id"] != resource["payin_id"]:
                return
        super().learn(resource)


@pytest.mark.parametrize(
    ("merchant", "reason", "found"),
    [
        (RefundsTheNewest, "an older attempt has the money", "that has ended as failed, though another one"),
        (KnowsTheNewest, "an older attempt has the money", "calls order-1 paid in the end"),
        (KnowsTheNewest, "the older one of two payments is disputed", "a balance of 99.80 EUR"),
    ],
)
def test_an_older_attempt_may_have_the_money(merchant: type[Merchant], reason: str, found: str) -> None:
    """What follows is about that one. The correct shop passes the same plays."""
    assert found in str(next(verdicts_of(merchant, lambda play: play.reason == reason), None))
    assert not [*verdicts_of(SmallShop, lambda play: play.reason == reason)]


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
