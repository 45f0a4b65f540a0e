"""The commands of a play: each is a step that a correct merchant survives, and that does what it says."""

from __future__ import annotations

import signal
import threading
from decimal import Decimal

import pytest
from bugzoo.adapter import ZooMerchant
from small_shop import SmallShop

from paydouble.inprocess import InProcess
from paydouble.payments.resources import PayIn
from paydouble.stateful import MerchantBug, Play, Refused
from paydouble.stateful.interruptions import AT_POINTS, MEANWHILE, REFUND_MEANWHILE, WEBHOOK_INTERRUPTIONS
from paydouble.stateful.provider import PAYER_ACTS, PROVIDER_ACTS
from paydouble.stateful.service import Service
from paydouble.stateful.troubles import (
    INJECTED,
    PAYER_SCENARIOS,
    POST_TROUBLES,
    READ_TROUBLES,
    REFUND_TROUBLES,
    SCENARIOS,
    WEBHOOK_TROUBLES,
)
from paydouble.stateful.verdicts import Hanging
from paydouble.stateful.watchdog import Watchdog


@pytest.mark.parametrize("trouble", POST_TROUBLES)
@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_a_correct_merchant_survives_every_payment(trouble: str, meanwhile: str) -> None:
    """Whatever goes wrong, at every point of its code."""
    for at in range(4) if meanwhile in AT_POINTS else (0,):
        with Play(ZooMerchant) as play:
            play.pay(1, trouble, meanwhile=meanwhile, at=at)
            play.retry(1)
            play.wait("10s")
            play.returns(1)


@pytest.mark.parametrize("trouble", WEBHOOK_TROUBLES)
@pytest.mark.parametrize("dialect", ["plain", "whole seconds"])
def test_a_correct_merchant_survives_all_webhooks(trouble: str, dialect: str) -> None:
    """However they come, in whatever dialect."""
    with Play(ZooMerchant, dialect=dialect) as play:
        play.order("1500", "JPY")
        play.webhooks(trouble)
        play.pay()
        play.wait("10s")


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("what", list(PROVIDER_ACTS))
def test_a_correct_merchant_survives_the_provider(scenario: str, what: str) -> None:
    """Also when what the provider does is not possible."""
    with Play(ZooMerchant) as play:
        play.pay(scenario=scenario)
        play.wait("10s")
        play.refund(share="half")
        play.wait("25h")
        play.provider("dispute")
        play.provider("dispute won")
        play.provider(what)
        play.provider("fails")


@pytest.mark.parametrize("scenario", PAYER_SCENARIOS)
@pytest.mark.parametrize("what", PAYER_ACTS)
def test_a_correct_merchant_survives_the_payer(scenario: str, what: str) -> None:
    """Whatever the payer does, and also when no payment waits for that."""
    with Play(ZooMerchant) as play:
        play.payer(what)
        play.pay(scenario=scenario)
        play.returns()
        play.payer(what)
        play.returns()
        play.payer(what)
        play.wait("10s")

    acted = sum(trial.table == "payer" for trial in play.trials)
    assert acted == (2 if (scenario, what) == ("challenge", "pays") else 1)


def test_a_payer_who_is_back_has_not_paid() -> None:
    """A shop that takes the return for proof is found."""

    class Trusting(ZooMerchant):
        paid = False

        def customer_returns(self, order_id: str) -> None:
            self.paid = True

        def order_status(self, order_id: str) -> str:
            return "paid" if self.paid else super().order_status(order_id)

    play = Play(Trusting)
    with pytest.raises(MerchantBug, match="calls order-1 paid, but no money has come"):
        play.pay(scenario="payer-returns-first")
        play.payer("pays")
        play.returns()


@pytest.mark.parametrize("trouble", REFUND_TROUBLES)
@pytest.mark.parametrize("meanwhile", REFUND_MEANWHILE)
def test_a_correct_merchant_survives_refunds(trouble: str, meanwhile: str) -> None:
    """None is made twice."""
    with Play(ZooMerchant) as play:
        play.refund_again()
        play.pay()
        play.wait("10s")
        play.refund(1, "half", trouble, meanwhile=meanwhile)
        play.refund_again()
        play.refund(1, "most")
        play.wait("10s")


@pytest.mark.parametrize("how", INJECTED)
def test_a_correct_merchant_refuses_what_is_forged(how: str) -> None:
    """Of every old webhook, also when there is none."""
    with Play(ZooMerchant) as play:
        play.inject(how)
        play.pay()
        play.wait("10s")
        for which in range(1, 5):
            play.inject(how, which)


@pytest.mark.parametrize("what", WEBHOOK_INTERRUPTIONS)
@pytest.mark.parametrize("trouble", READ_TROUBLES)
def test_a_correct_merchant_survives_the_rest(what: str, trouble: str) -> None:
    """Deaths, outages, broken reads and dead lines."""
    with Play(ZooMerchant) as play:
        play.interrupt_webhook(what)
        play.pay()
        play.reads(trouble)
        play.outage("50h")
        play.restart()
        play.dead_line(1, "25h", restarted=True)
        play.order()
        play.dead_line(2, "80h")
        play.pass_time("1s")
    assert not play.failed


def test_a_second_click_needs_a_merchant_that_may_be_interleaved() -> None:
    """An adapter whose code must not be entered twice is left in peace."""

    class OneAtATime(ZooMerchant):
        interleaves = False

    with Play(OneAtATime) as play:
        play.pay(meanwhile="second click")
        assert play.sandbox.ledger.count(PayIn) == 1


def test_the_alarm_of_somebody_else_goes_on() -> None:
    """A test runner's own timeout is as it was before."""
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    signal.setitimer(signal.ITIMER_REAL, 30)
    try:
        with pytest.raises(Hanging), Watchdog(0.01).watch():
            threading.Event().wait(10)
        left, _ = signal.getitimer(signal.ITIMER_REAL)
        assert 0 < left <= 30
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_an_alarm_during_an_alarm_is_only_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would end the reading of the system's file halfway, and leave that open."""
    begun, ended = [], []

    def read_slowly() -> float:
        begun.append(1)
        if len(begun) == 1:
            for _ in range(20):
                signal.raise_signal(signal.SIGALRM)
        ended.append(1)
        return 0.0

    monkeypatch.setattr("paydouble.stateful.watchdog.ready_seconds", read_slowly)
    with pytest.raises(Hanging), Watchdog(60).watch():
        signal.raise_signal(signal.SIGALRM)
    assert len(ended) == len(begun) == 2


def test_a_call_that_is_ended_can_clean_up() -> None:
    """The next alarm does not end that as well; one that goes on all the same is ended again."""
    done = []

    def ring(times: int) -> None:
        for _ in range(times):
            signal.raise_signal(signal.SIGALRM)

    with Watchdog(60).watch():
        for _ in range(2):
            with pytest.raises(Hanging):
                try:
                    ring(10)
                finally:
                    ring(9)
                    done.append("clean-up")

    assert done == ["clean-up"] * 2


def test_sleeping_backwards_is_refused() -> None:
    """As `time.sleep` refuses it."""
    service = Service(InProcess(), lambda _rule, _text: None)

    with pytest.raises(ValueError, match="non-negative"):
        service.sleep(-1)


def test_people_take_a_moment_between_two_acts() -> None:
    """So a shop can tell which of two orders or attempts is the newest one."""
    moments: list[float] = []

    class Notes(SmallShop):
        def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
            moments.append(self.service.now())
            super().place_order(order_id, amount, currency)

        def pay(self, order_id: str) -> None:
            moments.append(self.service.now())
            super().pay(order_id)

        def cancel(self, order_id: str) -> None:
            moments.append(self.service.now())
            raise Refused

        def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
            moments.append(self.service.now())
            super().refund(order_id, refund_id, amount)

        def customer_returns(self, order_id: str) -> None:
            moments.append(self.service.now())

    with Play(Notes) as play:
        play.order()
        play.order()
        play.pay(1, scenario="card-declined")
        play.retry(1)
        play.cancel(1)
        play.returns(1)
        play.refund(1)
        play.refund_again(1)

    assert len(set(moments)) == len(moments) == 8
    assert max(moments) - min(moments) < 1
