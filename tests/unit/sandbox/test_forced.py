"""Transitions that a test asks for: a forced transition ends the script."""

from itertools import product

import pytest
from benches import DAY, SECOND, START, advance, bench, deposit, paid, script, timeline

from paydouble.payments.lifecycle import PAY_IN, is_final
from paydouble.payments.resources import Failure


def test_a_forced_transition_ends_the_script() -> None:
    """After a test has moved a pay-in, its scenario does not move it any more; it still expires."""
    box = bench(url=None)
    pay_in = deposit(box)

    box.force_transition(pay_in, "pending")
    advance(box, DAY)

    assert timeline(box) == [(0, "pay-in.created"), (0, "pay-in.pending"), (DAY, "pay-in.cancelled")]


def test_a_forced_end_leaves_no_timer() -> None:
    """A final state has no timers."""
    box = bench(url=None)
    pay_in = deposit(box)

    box.force_transition(pay_in, "failed", failure=Failure("x", "X."))

    assert (pay_in.failure, len(box.timers), box.idle) == (Failure("x", "X."), 0, True)


@pytest.mark.parametrize(("first", "second"), list(product(sorted(PAY_IN), repeat=2)))
def test_a_forced_pay_in_ends_in_any_state(first: str, second: str) -> None:
    """After any two forced moves an unpaid pay-in expires, and any other stays as it is."""
    box = bench(url=None)
    pay_in = deposit(box)

    box.force_transition(pay_in, first, force=True)
    box.force_transition(pay_in, second, force=True)
    advance(box, 2 * DAY)

    assert pay_in.status == ("cancelled" if second in {"created", "pending"} else second)
    assert box.idle


def test_a_pay_in_that_is_reopened_after_its_time_does_not_expire_again() -> None:
    """Late money on an expired pay-in: it stays where the test puts it."""
    box = bench(url=None, scenario="abandoned")
    pay_in = deposit(box)
    advance(box, DAY)

    box.force_transition(pay_in, "pending", force=True)
    advance(box, DAY)

    assert (pay_in.status, box.idle) == ("pending", True)


@pytest.mark.parametrize("end", ["won", "lost", "accepted"])
@pytest.mark.parametrize(
    ("again", "ends_as", "after"), [("needs_response", "lost", 7 * DAY), ("under_review", "won", 3 * DAY)]
)
def test_a_reopened_dispute_still_ends(end: str, again: str, ends_as: str, after: int) -> None:
    """A dispute that was closed and is forced open is lost without evidence, or decided by the review."""
    box = bench(url=None)
    dispute = box.open_dispute(paid(box))
    box.force_transition(dispute, end)

    box.force_transition(dispute, again, force=True)
    advance(box, 30 * DAY)

    assert (dispute.status, dispute.updated_at) == (ends_as, START + 6 * SECOND + after)
    assert box.idle


def test_a_dispute_that_is_reopened_after_its_deadline_has_a_window_of_its_own() -> None:
    """Reopened when evidence was due long ago, a dispute can be answered for as long again before it is lost."""
    box = bench(url=None)
    dispute = box.open_dispute(paid(box))
    advance(box, 8 * DAY)

    box.force_transition(dispute, "needs_response", force=True)
    advance(box, 7 * DAY - 1)
    before = dispute.status
    advance(box, 1)

    assert (before, dispute.status, box.idle) == ("needs_response", "lost", True)
    assert timeline(box)[-1] == (6_000 + 15 * DAY, "dispute.closed")


def test_a_forced_dispute_leaves_its_script() -> None:
    """A scripted dispute that a test moves is then decided by the default script."""
    scenarios = script(
        "happy-path",
        pay_in=[{"after": "6s", "to": "succeeded", "force": True}],
        dispute=[{"after": "1d", "to": "lost"}],
    )
    box = bench(url=None, scenarios=scenarios)
    dispute = box.open_dispute(paid(box))

    box.force_transition(dispute, "under_review")
    advance(box, 30 * DAY)

    assert (dispute.status, dispute.updated_at) == ("won", START + 6 * SECOND + 3 * DAY)


def test_a_returned_payout_needs_no_force() -> None:
    """A payout that succeeded can come back, and is final then."""
    box = bench()
    payout = box.create_payout(
        external_identifier="p", amount=1, currency="EUR", beneficiary_name="A", beneficiary_account="D"
    )
    advance(box, DAY)

    box.force_transition(payout, "returned")

    assert is_final(payout.TABLE, payout.status)


def test_a_forced_transition_lets_the_clock_catch_up_first() -> None:
    """What was due before the call happens before it."""
    box = bench(url=None)
    pay_in = deposit(box)
    box.clock.jump(START + 3_500)

    box.force_transition(pay_in, "failed")

    expected = [(0, "created"), (2_000, "pending"), (3_000, "processing"), (3_500, "failed")]
    assert timeline(box) == [(at, f"pay-in.{state}") for at, state in expected]
