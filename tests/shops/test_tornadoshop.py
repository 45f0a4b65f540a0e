"""The Tornado shop, in the shortest play that shows each of its mistakes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from tornadoshop.adapter import TornadoShop

from paydouble.stateful import MerchantBug, Play

PLAYS: dict[str, Callable[[Play], object]] = {
    "memory_keys": lambda play: (play.order(), play.dead_line(1, "1h", restarted=True)),
    "noted_after_call": lambda play: (play.order(), play.pay(trouble="request lost")),
    "new_key_on_500": lambda play: (play.order(), play.pay(trouble="500 after the commit")),
    "new_key_on_conflict": lambda play: (
        play.webhooks("drop all"),
        play.order(),
        play.pay(trouble="reply lost", then="409"),
    ),
    "any_200_is_created": lambda play: (play.order(), play.pay(trouble="reply short", scenario="card-declined")),
    "limit_declines": lambda play: (
        play.webhooks("drop all"),
        play.order(),
        play.pay(trouble="reply lost", then="429"),
        play.retry(1),
    ),
    "unauthorized_retried": lambda play: (
        play.order(),
        play.pay(),
        play.wait("10s"),
        play.refund(1, share="half", trouble="401"),
    ),
    "future_accepted": lambda play: (play.order(), play.pay(), play.inject("302 seconds ahead", 1)),
    "prefix_digest": lambda play: (play.order(), play.pay(), play.inject("empty digest", 1)),
    "mail_per_event": lambda play: (play.webhooks("new id"), play.order(), play.pay(), play.wait("10s")),
    "arrival_order": lambda play: (
        play.order(),
        play.pay(scenario="refund-fails"),
        play.wait("10s"),
        play.webhooks("reverse"),
        play.refund(1),
        play.wait("10s"),
    ),
    "closed_is_closed": lambda play: (
        play.order(),
        play.pay(),
        play.wait("10s"),
        play.provider("dispute", 1),
        play.provider("dispute won", 1),
        play.provider("dispute reopened", 1),
    ),
    "cache_over_await": lambda play: (
        play.order(),
        play.pay(),
        play.pass_time("5s"),
        play.interrupt_webhook("database down", at=1),
        play.pass_time("10m"),
    ),
    "two_decimals": lambda play: (play.order("1.005", "KWD"), play.pay()),
    "refund_every_click": lambda play: (
        play.order(),
        play.pay(),
        play.wait("10s"),
        play.refund(1, share="half"),
        play.refund_again(1),
    ),
    "refund_lost_is_refused": lambda play: (
        play.order(),
        play.pay(),
        play.wait("10s"),
        play.webhooks("drop all"),
        play.refund(1, share="half", trouble="reply lost"),
        play.refund_again(1),
    ),
    "refund_never_undone": lambda play: (
        play.order(),
        play.pay(scenario="refund-fails"),
        play.wait("10s"),
        play.refund(1),
    ),
    "dispute_whole_order": lambda play: (play.order(), play.pay(), play.wait("10s"), play.provider("dispute half", 1)),
    "won_stays_lost": lambda play: (
        play.order(),
        play.pay(),
        play.wait("10s"),
        play.provider("dispute", 1),
        play.provider("dispute under review", 1),
    ),
    "reads_always_win": lambda play: (play.order(), play.pay(), play.reads("stale"), play.wait("10s")),
    "today_only": lambda play: (play.order(), play.pay(), play.outage("80h")),
    "local_expiry": lambda play: (play.order(), play.dead_line(1, "25h")),
    # Three things at once: the process dies after the commit, the retry meets a 401, and no event tells.
    "asked_noted_late": lambda play: (
        play.webhooks("drop all"),
        play.order(),
        play.pay(meanwhile="dies", at=5),
        play.retry(1, "401"),
        play.retry(1),
    ),
}


def with_mistakes(*names: str) -> type[TornadoShop]:
    """Return the adapter with mistakes switched on."""
    return type("Shop", (TornadoShop,), {"bugs": frozenset(names)})


def run(merchant: type[TornadoShop], act: Callable[[Play], object]) -> None:
    """Run a play of a shop that works on each event at once."""
    with Play(merchant, shows="at once") as play:
        act(play)


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
