"""Requests that the service has refused for good, and that jobs repeat all the same."""

from __future__ import annotations

import pytest
from small_shop import SmallShop, Wish
from verdicts_of import verdicts_of

from paydouble.stateful import Merchant, ServiceLike


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


def test_a_refusal_may_be_asked_for_again() -> None:
    """The first one may have been lost."""
    assert found_by(RepeatsOnce) == set()
