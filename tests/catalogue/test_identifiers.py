"""A shop may send an identifier of its own with each attempt, when its adapter tells the order that it is for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from small_shop import SmallShop
from verdicts_of import verdicts_of

from paydouble.stateful import Merchant, MerchantBug, Play, Refused
from paydouble.stateful.catalogue_run import Part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from small_shop import Wish

    from paydouble.stateful import ServiceLike


class NamesAttempts(SmallShop):
    """Sends `order-1-a1` for the first attempt of order-1, `order-1-a2` for the second one."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.named: dict[str, str] = {}

    def wish(self, order_id: str, body: str) -> Wish:
        """Give a deposit an identifier of its own."""
        plain = f'"external_identifier": "{order_id}"'
        if plain in body:
            identifier = f"{order_id}-a{len(self.identifiers(order_id)) + 1}"
            self.named[identifier] = order_id
            body = body.replace(plain, f'"external_identifier": "{identifier}"')
        return super().wish(order_id, body)

    def identifiers(self, order_id: str) -> list[str]:
        """Return the identifiers of an order's attempts."""
        return [each for each in self.named if self.named[each] == order_id]

    def order_of(self, resource: Mapping[str, Any]) -> str | None:
        """Return the order that an object belongs to, as far as it is known."""
        return self.named.get(super().order_of(resource) or "")

    def list(self, path: str) -> list[dict[str, Any]]:
        """Return the lists of all attempts of an order as one."""
        start, _, order_id = path.partition("?external_identifier=")
        if not order_id:
            return super().list(path)
        lists = [
            super(NamesAttempts, self).list(f"{start}?external_identifier={each}")
            for each in self.identifiers(order_id)
        ]
        return [each for found in lists for each in found]

    def order_of_deposit(self, external_identifier: str) -> str:
        """Look it up."""
        return self.named.get(external_identifier, external_identifier)


class Untold(NamesAttempts):
    """Has an adapter that does not tell."""

    order_of_deposit = Merchant.order_of_deposit


class KeyForEachTry(NamesAttempts):
    """Takes another key for each try of an attempt."""

    def post(self, path: str, wish: Wish) -> dict[str, Any]:
        """Take one for each request."""
        pauses, self.pauses = self.pauses, ()
        try:
            for _ in range(3):
                wish.key = super().wish(wish.order_id, "").key
                try:
                    return super().post(path, wish)
                except Exception:  # noqa: BLE001, S110 - the next try
                    pass
            return super().post(path, wish)
        finally:
            self.pauses = pauses


class AttemptForEachClick(NamesAttempts):
    """Begins another payment while one is open."""

    def pay(self, order_id: str) -> None:
        """Forget the attempt before."""
        self.orders[order_id].wish = None
        super().pay(order_id)

    def may_be_paid(self, order: Any) -> bool:  # noqa: ANN401 - the shop's own
        """Say yes."""
        return True


def test_a_shop_that_names_its_attempts_passes() -> None:
    """In plays with one order and with several, with each trouble and each end of an attempt."""
    assert list(verdicts_of(NamesAttempts, lambda play: len(play.steps) < 6, Part(1, 3))) == []


def test_an_identifier_that_nothing_tells_is_no_order() -> None:
    """The report says which one it is."""
    with (
        pytest.raises(MerchantBug, match="made a deposit for 'order-1-a1', an order that nobody placed"),
        Play(Untold) as play,
    ):
        play.pay()


@pytest.mark.parametrize(
    ("merchant", "verdict"),
    [
        (KeyForEachTry, "took a new Idempotency-Key for a retry"),
        (AttemptForEachClick, r"made 2 deposits for order-1 \(key .*\); the customer's clicks allow 1"),
    ],
)
def test_mistakes_are_found_all_the_same(merchant: type[Merchant], verdict: str) -> None:
    """As of a shop whose identifier is the order's."""
    with pytest.raises(MerchantBug, match=verdict), Play(merchant) as play:
        play.order()
        play.pay(1, "reply lost")
        play.retry(1)


class SellsTwo(NamesAttempts):
    """Has two of what it sells, and gives an attempt up when the service answers nothing but errors for long."""

    pauses = ()

    def pay(self, order_id: str) -> None:
        """Decline what comes after two others."""
        if order_id not in [*self.orders][:2]:
            raise Refused
        super().pay(order_id)


def test_a_trouble_that_meets_another_order_than_its_own_is_a_difference() -> None:
    """The click of order-3 sends nothing, so its stored error meets the first request of a job, which is order-1's."""
    with Play(SellsTwo) as play:
        for order in (1, 2):
            play.order()
            play.pay(order, "request lost", lasts=6)
        play.order()
        play.pay(3, "stored 500")
        play.wait("59m")


class Raises(NamesAttempts):
    """Has an adapter that cannot tell."""

    def order_of_deposit(self, external_identifier: str) -> str:
        """Fail."""
        raise KeyError(external_identifier)


class ReturnsNothing(NamesAttempts):
    """Has an adapter that returns the wrong kind."""

    def order_of_deposit(self, external_identifier: str) -> Any:  # noqa: ANN401 - the wrong kind
        """Return nothing."""
        return None


@pytest.mark.parametrize(
    ("merchant", "verdict"),
    [
        (
            Raises,
            r"The merchant's order_of_deposit\('order-1-a1'\) raised KeyError: 'order-1-a1' at test_identifiers\.py:",
        ),
        (ReturnsNothing, r"The adapter's order_of_deposit\('order-1-a1'\) returned None; it must return a text"),
    ],
)
def test_an_adapter_that_cannot_tell_is_reported(merchant: type[Merchant], verdict: str) -> None:
    """With the identifier."""
    with pytest.raises(MerchantBug, match=verdict), Play(merchant) as play:
        play.pay()


def test_payments_of_another_system_are_not_asked_about() -> None:
    """They are not the shop's."""
    with Play(NamesAttempts) as play:
        play.pay()
        play.other_system(3)
        play.wait("10s")
        assert play.status() == "paid"
