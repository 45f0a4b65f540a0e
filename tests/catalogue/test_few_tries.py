"""Clients that try a few times only, where the number or the time of the tries hides a mistake."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from small_shop import Declined, SmallShop, Unknown, Wish
from verdicts_of import verdicts_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from paydouble.stateful import Answer, ServiceLike
    from paydouble.stateful.steps import CataloguePlay

MOST_TRIES = 5


class TriesFiveTimes(SmallShop):
    """Sends a request once in each run of its jobs, and leaves it alone after five times."""

    pauses = ()

    def __init__(self, service: ServiceLike) -> None:
        super().__init__(service)
        self.tries: dict[str, int] = {}

    def send(self, wish: Wish, path: str) -> None:
        """Count the tries."""
        if self.tries.setdefault(wish.key, 0) < MOST_TRIES:
            self.tries[wish.key] += 1
            super().send(wish, path)


class TakesTheLastUse(TriesFiveTimes):
    """Counts the age of a key from the last request under it, and not from the first."""

    def send(self, wish: Wish, path: str) -> None:
        """Send it, and note when."""
        now = self.service.now()
        super().send(wish, path)
        wish.since = now


def _worker_runs_twice(steps: str) -> bool:
    return "pass_time" in steps and "'20h'" in steps


def test_a_key_that_is_used_again_gets_no_younger() -> None:
    """The second try comes just before the service forgets the key, and the third one after."""
    found = set(verdicts_of(TakesTheLastUse, lambda play: _worker_runs_twice(str(play.steps))))
    assert {each.split(" (key")[0] for each in found} == {
        "The merchant made 2 deposits for order-1",
        "The merchant refunded 24.95 EUR of order-1 2 times",
    }
    assert not set(verdicts_of(TriesFiveTimes, lambda play: _worker_runs_twice(str(play.steps))))


class BeginsAgain(TriesFiveTimes):
    """Asks nobody, and makes a new key for what is asked for again when the tries are used up."""

    def ask(self, _order_id: str) -> bool:
        """Ask nothing."""
        return False

    def pay(self, order_id: str) -> None:
        """Forget a payment that was given up."""
        order = self.orders[order_id]
        if order.wish is not None and self.is_given_up(order.wish):
            order.wish = None
        super().pay(order_id)

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        """Forget a refund that was given up."""
        refunds = self.orders[order_id].refunds
        if refund_id in refunds and self.is_given_up(refunds[refund_id]):
            del refunds[refund_id]
        super().refund(order_id, refund_id, amount)

    def is_given_up(self, wish: Wish) -> bool:
        """Return whether a request has no answer and no tries left."""
        return wish.state == "open" and self.tries.get(wish.key, 0) >= MOST_TRIES


def test_who_has_used_up_the_tries_may_not_begin_again() -> None:
    """The first request was carried out, and nothing has told of it."""
    found = set(verdicts_of(BeginsAgain, lambda play: "used up its tries" in play.reason))
    assert {each.split(" (key")[0] for each in found} == {
        "The merchant made 2 deposits for order-1",
        "The merchant refunded 24.95 EUR of order-1 2 times",
    }
    assert not set(verdicts_of(TriesFiveTimes, lambda play: "used up its tries" in play.reason))


class ReadsOneEnvelope(TriesFiveTimes):
    """Takes an error in the other envelope for an answer that is missing."""

    reads_success = False

    def ask(self, _order_id: str) -> bool:
        """Ask nothing: the answer to the same request says what has become of it."""
        return False

    def post(self, path: str, wish: Wish) -> dict[str, Any]:
        """Send a request, and read the error."""
        headers = {**self.headers, "Idempotency-Key": wish.key, "Content-Type": "application/json"}
        answer = self.service.call("POST", f"/api/v1{path}", headers, wish.body)
        if answer.status == 422 and self.is_known(answer):
            raise Declined
        made = self.data(answer.body)
        if made is None:
            raise Unknown
        return made

    def is_known(self, answer: Answer) -> bool:
        """Return whether an error is in the envelope that it reads."""
        return self.has_success(json.loads(answer.body)) is self.reads_success

    @staticmethod
    def has_success(body: Mapping[str, Any]) -> bool:
        """Return whether it is the second envelope."""
        return "success" in body


class ReadsTheOther(ReadsOneEnvelope):
    """The same with the other one."""

    reads_success = True


@pytest.mark.parametrize(("shop", "dialect"), [(ReadsOneEnvelope, "envelope B"), (ReadsTheOther, "envelope A")])
def test_a_refusal_lasts_in_each_envelope(shop: type[SmallShop], dialect: str) -> None:
    """A refusal that is there once only is gone at the next try, which then looks right."""

    def is_lasting(play: CataloguePlay) -> bool:
        return play.dialect == dialect and "unknown code" in str(play.steps)

    found = set(verdicts_of(shop, lambda play: is_lasting(play) and "'lasts'" in str(play.steps)))
    assert {each.split(":")[0] for each in found} == {"The merchant repeats a request that was refused for good"}
    assert not set(verdicts_of(shop, lambda play: is_lasting(play) and "'lasts'" not in str(play.steps)))
    assert not set(verdicts_of(SmallShop, is_lasting))
