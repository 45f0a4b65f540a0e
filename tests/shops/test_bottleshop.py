"""The Bottle shop, in a short play that shows each of its mistakes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from bottleshop.adapter import BottleShop

from paydouble.stateful import MerchantBug, Play

PLAYS: dict[str, Callable[[Play], object]] = {
    "key_from_order": lambda play: (play.order(), play.pay(scenario="card-declined"), play.wait("10s"), play.retry()),
    "body_rebuilt": lambda play: (play.order(), play.dead_line(1, "1h")),
    "timeout_is_refusal": lambda play: (
        play.webhooks("drop all"),
        play.order(),
        play.pay(trouble="reply too late"),
        play.retry(),
    ),
    "done_before_sent": lambda play: (play.order(), play.pay(meanwhile="second click", at=3)),
    "lease_never_ends": lambda play: (play.order(), play.pay(meanwhile="dies", at=5), play.retry()),
    "check_then_insert": lambda play: (play.order(), play.pay(meanwhile="second click", at=1), play.wait("10s")),
    "reset_never_ms": lambda play: (play.order(), play.pay(trouble="429 in milliseconds")),
    "conflict_is_success": lambda play: (
        play.webhooks("drop all"),
        play.order(),
        play.pay(trouble="reply lost", then="409"),
        play.retry(),
    ),
    "no_tolerance": lambda play: (play.order(), play.pay(), play.wait("10s"), play.inject("310 seconds old")),
    "event_noted_first": lambda play: (
        play.order(),
        play.pay(),
        play.pass_time("5s"),
        play.interrupt_webhook("dies", at=2),
        play.pass_time("10m"),
        play.work_off(),
    ),
    "expired_is_final": lambda play: (
        play.order(),
        play.pay(scenario="abandoned"),
        play.wait("25h"),
        play.provider("late money"),
        play.wait("10s"),
    ),
    "return_page_pays": lambda play: (play.order(), play.pay(scenario="payer-returns-first"), play.returns()),
    "ships_after_commit": lambda play: (
        play.order(),
        play.pay(),
        play.pass_time("5s"),
        play.interrupt_webhook("dies", at=2),
        play.pass_time("10m"),
    ),
    "points_when_paid_again": lambda play: (
        play.order(),
        play.pay(),
        play.wait("10s"),
        play.provider("dispute"),
        play.provider("dispute won"),
    ),
    "amount_unchecked": lambda play: (play.order(), play.pay(trouble="underpaid"), play.wait("10s")),
    "refund_two_digits": lambda play: (
        play.order("1.005", "KWD"),
        play.pay(),
        play.wait("10s"),
        play.refund(share="half"),
    ),
    "refund_key_by_amount": lambda play: (
        play.order(),
        play.pay(),
        play.wait("10s"),
        play.refund(share="half"),
        play.wait("10s"),
        play.refund(share="half"),
        play.wait("10s"),
    ),
    "refund_is_final": lambda play: (
        play.order(),
        play.pay(),
        play.wait("10s"),
        play.refund(),
        play.wait("10s"),
        play.provider("refund fails late"),
    ),
    "refund_not_summed": lambda play: (
        play.order(),
        play.pay(),
        play.wait("10s"),
        play.refund(share="half"),
        play.wait("10s"),
        play.refund(share="half"),
        play.wait("10s"),
    ),
    "accepted_is_not_lost": lambda play: (
        play.order(),
        play.pay(),
        play.wait("10s"),
        play.provider("dispute"),
        play.provider("dispute accepted"),
    ),
    "one_dispute_each": lambda play: (
        play.order(),
        play.pay(),
        play.wait("10s"),
        play.provider("dispute half"),
        play.provider("another dispute"),
        play.provider("dispute lost"),
    ),
    "pending_only": lambda play: (
        play.order(),
        play.pay(),
        play.wait("10s"),
        play.webhooks("drop all"),
        play.refund(),
        play.wait("10s"),
    ),
    "newest_only": lambda play: (
        play.order(),
        play.pay(scenario="abandoned"),
        play.wait("25h"),
        play.retry(),
        play.provider("fails"),
        play.webhooks("drop all"),
        play.provider("late money"),
        play.wait("10s"),
    ),
    # Jobs try for longer than a key lives, and neither an event nor a read tells.
    "key_age_from_last": lambda play: (
        play.webhooks("drop all"),
        play.order(),
        play.pay(trouble="reply lost", lasts="end"),
        play.reads("lost", lasts="end"),
        *(play.wait("1h") for _ in range(26)),
    ),
}


def with_mistakes(*names: str) -> type[BottleShop]:
    """Return the adapter with mistakes switched on."""
    return type("Shop", (BottleShop,), {"bugs": frozenset(names)})


def run(merchant: type[BottleShop], act: Callable[[Play], object]) -> None:
    """Run a play of a shop that works on each event at once."""
    with Play(merchant, shows="at once") as play:
        act(play)


@pytest.mark.parametrize("mistake", PLAYS)
def test_each_mistake_breaks_a_rule(mistake: str) -> None:
    """The play of a mistake fails with it, and passes without it."""
    run(BottleShop, PLAYS[mistake])

    with pytest.raises(MerchantBug):
        run(with_mistakes(mistake), PLAYS[mistake])
