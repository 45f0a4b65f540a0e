"""Requests that the service has refused for good, and that jobs repeat all the same."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from small_shop import Declined, SmallShop, Unknown, Wish
from verdicts_of import verdicts_of

from paydouble.stateful import Merchant, MerchantBug, Play, ServiceLike


class RepeatsRefusedRequests(SmallShop):
    """Takes a refusal for an answer that it has not got yet."""

    part = ""

    def send(self, wish: Wish, path: str) -> None:
        super().send(wish, path)
        if wish.state == "refused" and self.part in path:
            wish.state = "open"


class RepeatsRefusedRefunds(RepeatsRefusedRequests):
    """The same of refunds alone."""

    part = "refund"


class RepeatsOnce(SmallShop):
    """Sends a refused request once more, since the refusal may have been lost."""

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.sent_again: set[str] = set()

    def send(self, wish: Wish, path: str) -> None:
        super().send(wish, path)
        if wish.state == "refused" and wish.key not in self.sent_again:
            self.sent_again.add(wish.key)
            wish.state = "open"


class CountsLimitsAsTries(SmallShop):
    """Gives a refund up when it has been refused, or got no answer, as often as the contract recommends for errors."""

    pauses = ()

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.tries: Counter[str] = Counter()

    def post(self, path: str, wish: Wish) -> dict[str, Any]:
        self.tries[wish.key] += 1
        try:
            return super().post(path, wish)
        except Unknown:
            if "refund" in path and self.tries[wish.key] >= 5:
                raise Declined from None
            raise


def found_by(merchant: type[Merchant]) -> set[str]:
    """Return what the plays of the catalogue find in which an answer is left to a day of jobs."""
    return set(verdicts_of(merchant, lambda play: "a day of jobs follows" in play.reason))


@pytest.mark.parametrize(
    ("merchant", "operation"),
    [(RepeatsRefusedRequests, "pay-in/deposit-creation"), (RepeatsRefusedRefunds, "refund/refund-creation")],
)
def test_a_refused_request_is_not_repeated_without_end(merchant: type[Merchant], operation: str) -> None:
    """Under the same key it gets the same answer each time."""
    told = {each for each in found_by(merchant) if each.startswith("The merchant repeats a request that was refused")}
    assert any(f"times, under the same key (POST /api/v1/{operation}" in each for each in told)


def test_a_limit_uses_up_no_try() -> None:
    """A refund that was taken is made when the service takes requests again, however often it was refused for now."""
    told = {each for each in found_by(CountsLimitsAsTries) if "never refunded" in each}
    assert (
        "The merchant never refunded 24.95 EUR of order-1, though it took the request and the service refuses the"
        " request (429), which was over long before"
    ) in told


def test_a_refusal_may_be_asked_for_again() -> None:
    """The first one may have been lost."""
    assert found_by(RepeatsOnce) == set()


def test_a_refusal_that_never_arrives_may_be_asked_for_without_end() -> None:
    """The service refuses the refund of a disputed payment, and each of its answers is lost."""
    with Play(SmallShop) as play:
        play.order()
        play.pay()
        play.wait("10s")
        play.provider("dispute")
        play.refund(trouble="reply lost", lasts="end")
        play.work_off()


def test_the_first_refusal_may_be_lost_but_not_each() -> None:
    """A replay has the request id of the answer that was lost."""
    with pytest.raises(MerchantBug, match="repeats a request that was refused"), Play(RepeatsRefusedRefunds) as play:
        play.order()
        play.pay()
        play.wait("10s")
        play.provider("dispute")
        play.refund(trouble="reply lost")
        for _ in range(6):
            play.wait("1h")


def test_a_job_may_repeat_many_refunds() -> None:
    """Each of them has its own attempts."""
    with Play(SmallShop) as play:
        play.order()
        play.pay()
        play.wait("10s")
        for _ in range(16):
            play.refund(trouble="503", lasts="end")
        play.wait("10s")


class GivesUpWhatIsRefused(SmallShop):
    """Sends a lost request again at the next click alone, and shows what the service keeps refusing to a person."""

    pauses: tuple[float, ...] = ()

    def order_status(self, order_id: str) -> str:
        """Leave an attempt that is answered with the same error each time to a person."""
        status, wish = super().order_status(order_id), self.orders[order_id].wish
        return "review" if status == "pending" and wish is not None and wish.key in self.failed else status

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.failed: set[str] = set()

    def post(self, path: str, wish: Wish) -> dict[str, Any]:
        try:
            made = super().post(path, wish)
        except Unknown:
            self.failed.add(wish.key)
            raise
        self.failed.discard(wish.key)
        return made


@pytest.mark.parametrize("refused", ["unknown code", "stored 500", "401"])
@pytest.mark.parametrize("lost", ["request lost", "503"])
def test_a_click_that_is_refused_settles_an_earlier_one(lost: str, refused: str) -> None:
    """Both send the same request, so its answer is for both; only a click may begin another payment."""
    with Play(GivesUpWhatIsRefused) as play:
        play.order()
        play.pay(1, lost)
        play.retry(1, refused)


class SendsAtClicksAlone(GivesUpWhatIsRefused):
    """Leaves what is lost to the next click of the customer."""

    pauses = (1,)

    def tick(self) -> None:
        """Send nothing."""


class ForgetsWhatIsLost(GivesUpWhatIsRefused):
    """Sends nothing at a later click, nor in its job."""

    def send(self, wish: Wish, path: str) -> None:
        if wish.key not in self.failed:
            super().send(wish, path)


def test_a_refusal_of_the_next_request_settles_an_earlier_click_too() -> None:
    """A click that sends several requests is over with the answer to the last one."""
    with Play(SendsAtClicksAlone) as play:
        play.order()
        play.pay(1, "503")
        play.pay(1, "request lost", then="401")


def test_a_refusal_that_no_request_has_met_settles_nothing() -> None:
    """The shop has not asked, so it has not heard it."""
    with pytest.raises(MerchantBug, match="never made a deposit for order-1"), Play(ForgetsWhatIsLost) as play:
        play.order()
        play.pay(1, "request lost")
        play.retry(1, "401")
