"""What is done with something that has waited, is not found yet, or has failed: not what looks alike."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from small_shop import SmallOrder, SmallShop
from verdicts_of import verdicts_of

from paydouble.stateful import Refused, ServiceLike


class BeginsAnewAfterHalfAnHour(SmallShop):
    """Takes a page of payment that is half an hour old for one that nobody uses any more."""

    def pay(self, order_id: str) -> None:
        wish = self.orders[order_id].wish
        if wish is not None and self.service.now() - wish.since > 1800 and not self.of(order_id, "payin", "succeeded"):
            self.orders[order_id].wish = None
        super().pay(order_id)

    def may_be_paid(self, order: SmallOrder) -> bool:
        is_stale = order.wish is None and not self.of(order.id, "payin", "succeeded")
        return is_stale or super().may_be_paid(order)


class TakesNotFoundForFailed(SmallShop):
    """Takes a refund that a list does not have for one that has failed, and believes nothing else about it later."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.failed: set[str] = set()

    def ask(self, order_id: str) -> bool:
        known = {each["id"] for each in self.of(order_id, "refund", "created", "processing")}
        found = {
            each["id"]
            for pay_in in self.of(order_id, "payin", "succeeded")
            for each in (self.list(f"/refund?payin_id={pay_in['id']}") if known else ())
        }
        self.failed |= known - found
        return super().ask(order_id)

    def of(self, order_id: str, kind: str, *statuses: str) -> list[dict[str, Any]]:
        return [each for each in super().of(order_id, kind, *statuses) if each["id"] not in self.failed]


class AsksUnderTheOldKey(SmallShop):
    """Sends a refund that has failed once more as it was, and takes what it gets for a new one that is under way."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.under_way: dict[str, Decimal] = {}

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        wish = self.orders[order_id].refunds.get(refund_id)
        failed = {each.get("external_identifier") for each in self.of(order_id, "refund", "failed")}
        if wish is not None and refund_id in failed and wish.state == "made":
            wish.state = "open"
            self.under_way[order_id] = amount
        super().refund(order_id, refund_id, amount)

    def balance(self, order_id: str) -> Decimal:
        return super().balance(order_id) - self.under_way.get(order_id, Decimal(0))


def test_a_payment_that_has_waited_for_long_can_still_be_paid() -> None:
    """Another one beside it is a second charge."""
    found = verdicts_of(BeginsAnewAfterHalfAnHour, lambda play: play.reason == "a payment has waited for long")
    assert any(each.startswith("The merchant made 2 deposits for order-1") for each in found)


def test_what_is_not_found_yet_has_not_failed() -> None:
    """Its reply has told of it."""
    found = verdicts_of(TakesNotFoundForFailed, lambda play: play.reason == "jobs read what is not there yet")
    assert any("calls order-1 paid in the end" in each for each in found)


def test_a_refund_that_has_failed_needs_a_new_key() -> None:
    """Under the old one the service repeats its first answer, and does nothing."""
    found = verdicts_of(AsksUnderTheOldKey, lambda play: play.reason == "a failed refund is asked for again")
    assert any("balance" in each for each in found)


class RefusesWhatHasFailed(SmallShop):
    """Correct: the same request again is over when its refund has failed; staff makes another one."""

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        if refund_id in {each.get("external_identifier") for each in self.of(order_id, "refund", "failed")}:
            raise Refused
        super().refund(order_id, refund_id, amount)


def test_a_refund_that_has_failed_may_be_over() -> None:
    """A shop that says so to the same request again has told what it does."""
    assert (
        list(verdicts_of(RefusesWhatHasFailed, lambda play: play.reason == "a failed refund is asked for again")) == []
    )


def test_a_shop_without_these_mistakes_is_correct() -> None:
    """In the same plays."""
    reasons = {"a payment has waited for long", "jobs read what is not there yet", "a failed refund is asked for again"}
    assert list(verdicts_of(SmallShop, lambda play: play.reason in reasons)) == []
