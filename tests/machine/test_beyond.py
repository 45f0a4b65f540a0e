"""What no sentence of the contract speaks of may be shown to a person."""

from __future__ import annotations

import pytest
from small_shop import SmallShop

from paydouble.stateful import MerchantBug, Play


class ShowsItToAPerson(SmallShop):
    """Books everything, and wants a person to see a refund that it has not asked for, and a dispute that goes on."""

    def order_status(self, order_id: str) -> str:
        """Return `review` for an order with one of them."""
        is_new = len(self.orders[order_id].refunds) < len(self.of(order_id, "refund"))
        return "review" if is_new or self.goes_on(order_id) else super().order_status(order_id)

    def goes_on(self, order_id: str) -> bool:
        """Return whether a dispute has another version than `won` after it was won."""
        self.won: set[str] = self.__dict__.setdefault("won", set())
        for each in self.of(order_id, "dispute"):
            if each["status"] == "won":
                self.won.add(each["id"])
            elif each["id"] in self.won:
                return True
        return False


@pytest.mark.parametrize("acts", [("refund",), ("refund half",), ("dispute", "dispute won", "dispute reopened")])
def test_a_person_may_see_what_the_contract_does_not_speak_of(acts: tuple[str, ...]) -> None:
    """It is booked all the same."""
    with Play(ShowsItToAPerson, shows="at once") as play:
        play.pay()
        play.wait("10s")
        for act in acts:
            play.provider(act)
            play.wait("10s")
        play.end()
        assert play.status() == "review"


def test_a_person_need_not_see_what_the_shop_has_asked_for() -> None:
    """There is nothing to decide."""

    class ShowsAllRefunds(SmallShop):
        """Wants a person to see each refund."""

        def order_status(self, order_id: str) -> str:
            """Return `review` for an order with a refund."""
            return "review" if self.of(order_id, "refund") else super().order_status(order_id)

    with pytest.raises(MerchantBug, match="calls order-1 review in the end"), Play(ShowsAllRefunds) as play:
        play.pay()
        play.wait("10s")
        play.refund()
        play.wait("10s")
