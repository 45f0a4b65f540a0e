"""The Bottle shop, in a short play that shows each of its mistakes."""

from __future__ import annotations

import pytest
from bottleshop.adapter import BottleShop

from paydouble.stateful import MerchantBug, Play
from paydouble.stateful.steps import Step, step

PLAYS: dict[str, tuple[Step, ...]] = {
    "key_from_order": (step("order"), step("pay", scenario="card-declined"), step("wait", "10s"), step("retry")),
    "body_rebuilt": (step("order"), step("dead_line", 1, "1h")),
    "timeout_is_refusal": (
        step("webhooks", "drop all"),
        step("order"),
        step("pay", trouble="reply too late"),
        step("retry"),
    ),
    "done_before_sent": (step("order"), step("pay", meanwhile="second click", at=3)),
    "lease_never_ends": (step("order"), step("pay", meanwhile="dies", at=5), step("retry")),
    "check_then_insert": (step("order"), step("pay", meanwhile="second click", at=1), step("wait", "10s")),
    "reset_never_ms": (step("order"), step("pay", trouble="429 in milliseconds")),
    "conflict_is_success": (
        step("webhooks", "drop all"),
        step("order"),
        step("pay", trouble="reply lost", then="409"),
        step("retry"),
    ),
    "no_tolerance": (step("order"), step("pay"), step("wait", "10s"), step("inject", "310 seconds old")),
    "event_noted_first": (
        step("order"),
        step("pay"),
        step("pass_time", "5s"),
        step("interrupt_webhook", "dies", at=2),
        step("pass_time", "10m"),
        step("work_off"),
    ),
    "expired_is_final": (
        step("order"),
        step("pay", scenario="abandoned"),
        step("wait", "25h"),
        step("provider", "late money"),
        step("wait", "10s"),
    ),
    "return_page_pays": (step("order"), step("pay", scenario="payer-returns-first"), step("returns")),
    "ships_after_commit": (
        step("order"),
        step("pay"),
        step("pass_time", "5s"),
        step("interrupt_webhook", "dies", at=2),
        step("pass_time", "10m"),
    ),
    "points_when_paid_again": (
        step("order"),
        step("pay"),
        step("wait", "10s"),
        step("provider", "dispute"),
        step("provider", "dispute won"),
    ),
    "amount_unchecked": (step("order"), step("pay", trouble="underpaid"), step("wait", "10s")),
    "refund_two_digits": (
        step("order", "1.005", "KWD"),
        step("pay"),
        step("wait", "10s"),
        step("refund", share="half"),
    ),
    "refund_key_by_amount": (
        step("order"),
        step("pay"),
        step("wait", "10s"),
        step("refund", share="half"),
        step("wait", "10s"),
        step("refund", share="half"),
        step("wait", "10s"),
    ),
    "refund_is_final": (
        step("order"),
        step("pay"),
        step("wait", "10s"),
        step("refund"),
        step("wait", "10s"),
        step("provider", "refund fails late"),
    ),
    "refund_not_summed": (
        step("order"),
        step("pay"),
        step("wait", "10s"),
        step("refund", share="half"),
        step("wait", "10s"),
        step("refund", share="half"),
        step("wait", "10s"),
    ),
    "accepted_is_not_lost": (
        step("order"),
        step("pay"),
        step("wait", "10s"),
        step("provider", "dispute"),
        step("provider", "dispute accepted"),
    ),
    "one_dispute_each": (
        step("order"),
        step("pay"),
        step("wait", "10s"),
        step("provider", "dispute half"),
        step("provider", "another dispute"),
        step("provider", "dispute lost"),
    ),
    "pending_only": (
        step("order"),
        step("pay"),
        step("wait", "10s"),
        step("webhooks", "drop all"),
        step("refund"),
        step("wait", "10s"),
    ),
    "newest_only": (
        step("order"),
        step("pay", scenario="abandoned"),
        step("wait", "25h"),
        step("retry"),
        step("provider", "fails"),
        step("webhooks", "drop all"),
        step("provider", "late money"),
        step("wait", "10s"),
    ),
    # Jobs try for longer than a key is valid, and neither an event nor a read tells.
    "key_age_from_last": (
        step("webhooks", "drop all"),
        step("order"),
        step("pay", trouble="reply lost", lasts="end"),
        step("reads", "lost", lasts="end"),
        *(step("wait", "1h") for _ in range(26)),
    ),
}


def with_mistakes(*names: str) -> type[BottleShop]:
    """Return the adapter with mistakes switched on."""
    return type("Shop", (BottleShop,), {"bugs": frozenset(names)})


def run(merchant: type[BottleShop], steps: tuple[Step, ...]) -> None:
    """Run a play of a shop that works on each event at once."""
    with Play(merchant, shows="at once") as play:
        for each in steps:
            each.take(play)


@pytest.mark.parametrize("mistake", PLAYS)
def test_each_mistake_breaks_a_rule(mistake: str) -> None:
    """The play of a mistake fails with it, and passes without it."""
    run(BottleShop, PLAYS[mistake])

    with pytest.raises(MerchantBug):
        run(with_mistakes(mistake), PLAYS[mistake])
