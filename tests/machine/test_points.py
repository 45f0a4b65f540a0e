"""The points that have names: when a request of the merchant is on its way, and when it has just been carried out."""

from __future__ import annotations

from typing import Any

import pytest
from small_shop import SmallShop, Wish
from verdicts_of import verdicts_of

from paydouble.core.errors import UsageError
from paydouble.payments.resources import PayIn, Refund
from paydouble.stateful import MerchantBug, Play
from paydouble.stateful.catalogue import catalogue
from paydouble.stateful.interruptions import AFTER_REQUEST, BEFORE_REQUEST
from paydouble.stateful.plays.parts import PAID, SETTLE
from paydouble.stateful.steps import step


def slow(points: int) -> type[SmallShop]:
    """Return the small shop with so many transactions before each request."""

    class Slow(SmallShop):
        def post(self, path: str, wish: Wish) -> dict[str, Any]:
            for _ in range(points):
                self.service.checkpoint()
            return super().post(path, wish)

    return Slow


class ForgetsWhatItSends(SmallShop):
    """Makes its key when it sends, and notes it with the answer."""

    def restart(self) -> None:
        for order in self.orders.values():
            if order.wish is not None and order.wish.state == "open":
                order.wish = None


@pytest.mark.parametrize("points", [0, 3, 30])
def test_a_kill_comes_when_the_request_was_carried_out(points: int) -> None:
    """However much the shop does before it."""
    with Play(slow(points)) as play:
        play.pay(meanwhile="dies", at=AFTER_REQUEST)
        made = [entry.status for entry in play.sandbox.journal.requests.entries]
        assert made == [200]
        assert play.sandbox.ledger.count(PayIn) == 1
        assert [trial.name for trial in play.trials if trial.table == "meanwhile"] == ["dies"]


def test_nothing_comes_where_no_request_is_carried_out() -> None:
    """A request that is lost on its way is none; the next one is, though its number is another."""
    with Play(slow(2)) as play:
        play.pay(1, "request lost", meanwhile="dies", at=AFTER_REQUEST)
        assert [entry.status for entry in play.sandbox.journal.requests.entries if not entry.faults] == [200]
        play.wait("10s")
        play.pay(1, meanwhile="dies", at=AFTER_REQUEST)  # it is paid, so nothing is sent
        assert [trial.name for trial in play.trials if trial.name == "dies"] == ["dies"]


def test_a_database_fails_at_the_commit_after_the_request() -> None:
    """The first point at which it can."""
    with Play(slow(3)) as play:
        play.pay()
        play.wait("10s")
        play.refund(1, "half", meanwhile="database down", at=AFTER_REQUEST)
        assert play.sandbox.ledger.count(Refund) == 1


def test_only_another_call_of_a_served_shop_comes_just_before_a_commit() -> None:
    """In the shop's own thread it would wait without end."""
    plays = [play for play in catalogue() if any("commit" in dict(each.options).values() for each in play.steps)]
    served = type("Served", (SmallShop,), {"served": True, "restart": SmallShop.cancel, "follows_time": True})
    whats = {dict(each.options)["meanwhile"] for play in plays for each in play.steps if "at" in dict(each.options)}

    assert {"second click", "another customer"} <= whats
    assert "dies" not in whats
    assert {play.missing(SmallShop) for play in plays} <= {"served is false", "no cancel", "no customer_returns"}
    assert None in {play.missing(served) for play in plays}


def test_a_key_that_is_noted_with_the_answer_is_found_there() -> None:
    """The report names the point."""
    with pytest.raises(MerchantBug) as found, Play(ForgetsWhatItSends) as play:
        play.webhooks("drop all")
        play.pay(meanwhile="dies", at=AFTER_REQUEST)
        play.retry()

    assert "2 deposits for order-1" in str(found.value)
    assert "killed in the middle and started again, once its request has been carried out" in str(found.value)
    assert "at='request'" in str(found.value)


@pytest.mark.parametrize(
    ("command", "arguments"),
    [("pay", {"meanwhile": "dies"}), ("interrupt_jobs", {"what": "dies"}), ("interrupt_webhook", {"what": "dies"})],
)
def test_a_point_that_has_another_name_is_refused(command: str, arguments: dict[str, str]) -> None:
    """Before anything happens."""
    play = Play(SmallShop)
    play.order()
    with pytest.raises(
        UsageError, match="there is no point 'reply'; write a number from 0 on, or 'request' or 'sending'"
    ):
        getattr(play, command)(**arguments, at="reply")
    play.close()


@pytest.mark.parametrize("points", [0, 3, 30])
def test_a_kill_comes_while_the_request_is_on_its_way(points: int) -> None:
    """It is not carried out, however much the shop does before it; the next click sends it again."""
    with Play(slow(points)) as play:
        play.pay(meanwhile="dies", at=BEFORE_REQUEST)
        assert (play.sandbox.ledger.count(PayIn), play.sandbox.journal.requests.total) == (0, 0)
        play.retry()
        assert play.sandbox.ledger.count(PayIn) == 1


class RefundsInAJob(slow(5)):  # type: ignore[misc] # made above
    """Leaves refunds to its job."""

    def send_first(self, wish: Wish, path: str) -> None:
        if not path.startswith("/refund"):
            super().send_first(wish, path)


class NotesThatItSends(RefundsInAJob):
    """Notes a refund as sent before it is, and takes that back after an error alone."""

    def post(self, path: str, wish: Wish) -> dict[str, Any]:
        if path.startswith("/refund"):
            wish.state = "sent"
        try:
            return super().post(path, wish)  # type: ignore[no-any-return]
        except Exception:
            wish.state = "open"
            raise


def test_a_refund_that_was_noted_as_sent_is_not_lost_with_its_process() -> None:
    """The catalogue has it among its first thousand plays."""
    killed = (*PAID, step("refund", 1, "half", meanwhile="dies", at=BEFORE_REQUEST), SETTLE)
    (number,) = [
        place for place, play in enumerate(catalogue()) if play.steps[: len(killed)] == killed and not play.reason
    ]
    assert number < 1000

    def verdicts(shop: type[SmallShop]) -> set[str]:
        return set(verdicts_of(shop, lambda play: play.steps[: len(killed)] == killed))

    assert verdicts(RefundsInAJob) == set()
    (verdict,) = verdicts(NotesThatItSends)
    assert verdict.startswith("The merchant never refunded 24.95 EUR of order-1, though it took the request")
