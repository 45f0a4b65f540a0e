"""Shops that go on working after they have answered."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from bugzoo.unusual_shops import AnswersFirst
from small_shop import SmallShop
from verdicts_of import verdicts_of

from paydouble.stateful import MerchantBug, Play, Refused, ServiceLike, Webhook
from paydouble.stateful.catalogue import catalogue
from paydouble.stateful.catalogue_run import CatalogueRun
from paydouble.stateful.equivalence import UNREACHED, Equivalence
from paydouble.stateful.steps import CataloguePlay, step


class KeepsTheInboxInMemory(AnswersFirst):
    """Loses it with its process, and does not ask the service either."""

    reconciles = False

    def restart(self) -> None:
        self.inbox.clear()

    def ask(self, order_id: str) -> bool:
        return False


def dies_after_the_answer(play: CataloguePlay) -> bool:
    """Return whether the process is killed after an answer in a play."""
    return "dies after the answer" in repr(play.steps)


def test_what_was_answered_outlives_the_process() -> None:
    """An inbox in memory does not, and one in the database does."""
    lost = "The merchant answered 200 to the pay-in.succeeded of order-1 and still calls it pending"

    assert set(verdicts_of(AnswersFirst, dies_after_the_answer)) == set()
    assert lost in set(verdicts_of(KeepsTheInboxInMemory, dies_after_the_answer))


def test_the_outermost_call_is_drained() -> None:
    """After a webhook as well, and after a refusal; not within a call, nor when the process is dead."""

    class Notes(AnswersFirst):
        def pay(self, order_id: str) -> None:
            self.asked.append("pay")
            super().pay(order_id)

        def receive(self, webhook: Webhook) -> int:
            self.asked.append("receive")
            return super().receive(webhook)

        def cancel(self, order_id: str) -> None:
            self.asked.append("cancel")
            raise Refused

        def restart(self) -> None:
            self.asked.append("restart")

    def asked(play: Play) -> list[str]:
        shop: Any = play._driver.merchant  # noqa: SLF001 - to see the calls
        found, shop.asked = shop.asked, []
        return list(found)

    with Play(Notes) as play:
        play.order()
        asked(play)
        play.pay()
        assert asked(play) == ["pay", "drain", "receive", "drain"]
        play.cancel()
        assert asked(play) == ["cancel", "drain"]
        play.interrupt_webhook("dies after the answer")
        play.pass_time("2s")
        assert asked(play) == ["receive", "restart", "drain"]
        play.order()
        asked(play)
        play.pay(2, meanwhile="webhook first")
        assert asked(play)[:3] == ["pay", "receive", "drain"]


def test_an_adapter_knows_a_call_within_another_one() -> None:
    """It works off the event at once, while the click waits for its reply."""
    seen: list[tuple[bool, str]] = []

    class DrainsWithin(AnswersFirst):
        def receive(self, webhook: Webhook) -> int:
            status = super().receive(webhook)
            if self.service.is_nested:
                self.drain()
            seen.append((self.service.is_nested, self.order_status("order-1")))
            return status

    with Play(DrainsWithin) as play:
        play.pay(meanwhile="events come", at=1)
        assert seen[-1] == (True, "paid")
        play.refund(1)
        play.wait("10s")
        assert seen[-1][0] is False


@pytest.mark.parametrize("takes_long", ["handle", "drain"])
def test_work_after_the_answer_may_take_long(takes_long: str) -> None:
    """The service waits ten seconds for the answer, and not for what goes on afterwards."""

    class Slow(AnswersFirst):
        def handle(self, order_id: str, event: dict[str, Any]) -> int:
            self.service.sleep(15 if takes_long == "handle" else 0)
            return super().handle(order_id, event)

        def drain(self) -> None:
            self.service.sleep(15 if takes_long == "drain" and self.inbox else 0)
            super().drain()

    late = pytest.raises(MerchantBug, match=r"takes 15 s to answer a pay-in\.pending; the service waits 10 s")
    with late if takes_long == "handle" else nullcontext(), Play(Slow) as play:
        play.pay()
        play.wait("10s")


def test_a_shop_without_points_is_killed_after_its_answer() -> None:
    """As one in another process, whose receiver sends no request."""

    class HasNoPoints(AnswersFirst):
        def __init__(self, service: ServiceLike) -> None:
            super().__init__(service)
            names = ("call", "now", "sleep", "webhook_secret")
            self.service = SimpleNamespace(**{each: getattr(service, each) for each in names}, checkpoint=lambda: None)

    def interrupted(what: str) -> CataloguePlay:
        return CataloguePlay((step("order"), step("pay"), step("interrupt_webhook", what), step("wait", "10s")))

    known = Equivalence()
    CatalogueRun(HasNoPoints).one(interrupted("dies"), known)

    assert known.reason(interrupted("again meanwhile")) == UNREACHED
    assert known.reason(interrupted("dies after the answer")) is None


def test_a_shop_without_a_drain_has_no_such_plays() -> None:
    """The summary says so."""
    plays = [play for play in catalogue() if dies_after_the_answer(play)]
    assert {play.missing(SmallShop) for play in plays} <= {"no drain", "no cancel", "rotates_secrets is false"}
    assert len(plays) > 4
