"""The Tornado shop, in the shortest play that shows each of its mistakes."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from tornadoshop.adapter import TornadoShop

from paydouble.stateful import MerchantBug, Play
from paydouble.stateful.steps import Step, step

PLAYS: dict[str, tuple[Step, ...]] = {
    "memory_keys": (step("order"), step("dead_line", 1, "1h", restarted=True)),
    "noted_after_call": (step("order"), step("pay", trouble="request lost")),
    "new_key_on_500": (step("order"), step("pay", trouble="500 after the commit")),
    "new_key_on_conflict": (
        step("webhooks", "drop all"),
        step("order"),
        step("pay", trouble="reply lost", then="409"),
    ),
    "any_200_is_created": (step("order"), step("pay", trouble="reply short", scenario="card-declined")),
    "limit_declines": (
        step("webhooks", "drop all"),
        step("order"),
        step("pay", trouble="reply lost", then="429"),
        step("retry", 1),
    ),
    "unauthorized_retried": (
        step("order"),
        step("pay"),
        step("wait", "10s"),
        step("refund", 1, share="half", trouble="401"),
    ),
    "future_accepted": (step("order"), step("pay"), step("inject", "302 seconds ahead", 1)),
    "prefix_digest": (step("order"), step("pay"), step("inject", "empty digest", 1)),
    "mail_per_event": (step("webhooks", "new id"), step("order"), step("pay"), step("wait", "10s")),
    "arrival_order": (
        step("order"),
        step("pay", scenario="refund-fails"),
        step("wait", "10s"),
        step("webhooks", "reverse"),
        step("refund", 1),
        step("wait", "10s"),
    ),
    "closed_is_closed": (
        step("order"),
        step("pay"),
        step("wait", "10s"),
        step("provider", "dispute", 1),
        step("provider", "dispute won", 1),
        step("provider", "dispute reopened", 1),
    ),
    "cache_over_await": (
        step("order"),
        step("pay"),
        step("pass_time", "5s"),
        step("interrupt_webhook", "database down", at=1),
        step("pass_time", "10m"),
    ),
    "two_decimals": (step("order", "1.005", "KWD"), step("pay")),
    "refund_every_click": (
        step("order"),
        step("pay"),
        step("wait", "10s"),
        step("refund", 1, share="half"),
        step("refund_again", 1),
    ),
    "refund_lost_is_refused": (
        step("order"),
        step("pay"),
        step("wait", "10s"),
        step("webhooks", "drop all"),
        step("refund", 1, share="half", trouble="reply lost"),
        step("refund_again", 1),
    ),
    "refund_never_undone": (
        step("order"),
        step("pay", scenario="refund-fails"),
        step("wait", "10s"),
        step("refund", 1),
    ),
    "dispute_whole_order": (step("order"), step("pay"), step("wait", "10s"), step("provider", "dispute half", 1)),
    "won_stays_lost": (
        step("order"),
        step("pay"),
        step("wait", "10s"),
        step("provider", "dispute", 1),
        step("provider", "dispute under review", 1),
    ),
    "reads_always_win": (step("order"), step("pay"), step("reads", "stale"), step("wait", "10s")),
    "today_only": (step("order"), step("pay"), step("outage", "80h")),
    "local_expiry": (step("order"), step("dead_line", 1, "25h")),
    # Three things at once: the process dies after the commit, the retry meets a 401, and no event tells.
    "asked_noted_late": (
        step("webhooks", "drop all"),
        step("order"),
        step("pay", meanwhile="dies", at=5),
        step("retry", 1, "401"),
        step("retry", 1),
    ),
}


def with_mistakes(*names: str) -> type[TornadoShop]:
    """Return the adapter with mistakes switched on."""
    return type("Shop", (TornadoShop,), {"bugs": frozenset(names)})


def run(merchant: type[TornadoShop], steps: tuple[Step, ...]) -> None:
    """Run a play of a shop that works on each event at once."""
    with Play(merchant, shows="at once") as play:
        for each in steps:
            each.take(play)


@pytest.fixture(autouse=True)
def _quiet(caplog: Any) -> None:
    caplog.set_level(logging.CRITICAL + 1, "tornado")


@pytest.mark.parametrize("mistake", PLAYS)
def test_each_mistake_breaks_a_rule(mistake: str) -> None:
    """The play of a mistake fails with it, and passes without it."""
    run(TornadoShop, PLAYS[mistake])

    with pytest.raises(MerchantBug):
        run(with_mistakes(mistake), PLAYS[mistake])


def test_a_refund_and_a_dispute_of_one_order_are_both_shown() -> None:
    """An order with a refund and a dispute is shown as in the ledger."""
    with Play(TornadoShop, shows="at once") as play:
        play.order("1500", "JPY")
        play.pay()
        play.wait("10s")
        play.refund(share="half")
        play.wait("10s")
        play.provider("dispute half")
        play.provider("dispute lost")

        assert play.is_as_expected()
