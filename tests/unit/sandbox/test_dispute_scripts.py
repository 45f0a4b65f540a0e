"""How a dispute ends: by its deadline, by a review, by acceptance, or by a script."""

import pytest
from benches import DAY, advance, bench, bodies, deposit, paid, script, timeline

from paydouble.payments.resources import Dispute, Refund


def test_a_dispute_without_evidence_is_lost_when_it_is_due() -> None:
    """After seven days of silence the dispute is lost; a millisecond before it is not."""
    box = bench(url=None)
    dispute = box.open_dispute(paid(box))

    advance(box, 7 * DAY - 1)
    before = dispute.status
    advance(box, 1)

    assert (before, dispute.status, box.idle) == ("needs_response", "lost", True)
    assert timeline(box)[-2:] == [(6_000, "dispute.created"), (6_000 + 7 * DAY, "dispute.closed")]


@pytest.mark.parametrize("decision", ["won", "lost"])
def test_a_dispute_with_evidence_is_decided(decision: str) -> None:
    """Evidence puts the dispute under review; three days later the review ends as the setting says."""
    box = bench(url=None, disputes={"decision": decision})
    dispute = box.open_dispute(paid(box))
    advance(box, 6 * DAY)

    box.submit_evidence(dispute, {"receipt": "r"})
    under_review = dispute.status
    advance(box, 30 * DAY)

    assert (under_review, dispute.status, box.idle) == ("under_review", decision, True)
    assert timeline(box)[-2:] == [(6_000 + 6 * DAY, "dispute.updated"), (6_000 + 9 * DAY, "dispute.closed")]


def test_more_evidence_does_not_move_the_decision() -> None:
    """The decision comes three days after the first evidence, once."""
    box = bench(url=None)
    dispute = box.open_dispute(paid(box))
    box.submit_evidence(dispute, {"receipt": "r"})
    advance(box, 2 * DAY)

    box.submit_evidence(dispute, {"note": "n"})
    advance(box, 30 * DAY)

    closed = [at for at, kind in timeline(box) if kind == "dispute.closed"]
    assert closed == [6_000 + 3 * DAY]


def test_an_update_from_the_provider_does_not_move_the_decision() -> None:
    """A dispute under review that is put under review again is decided at the same time as before."""
    box = bench(url=None)
    dispute = box.open_dispute(paid(box))
    box.submit_evidence(dispute, {"receipt": "r"})
    advance(box, 2 * DAY)

    box.force_transition(dispute, "under_review")
    advance(box, 30 * DAY)

    closed = [at for at, kind in timeline(box) if kind == "dispute.closed"]
    assert closed == [6_000 + 3 * DAY]


def test_a_dispute_that_is_reopened_late_takes_evidence() -> None:
    """It has a new deadline, which its event shows too."""
    box = bench(url=None)
    dispute = box.open_dispute(paid(box))
    advance(box, 8 * DAY)

    box.force_transition(dispute, "needs_response", force=True)
    box.submit_evidence(dispute, {"receipt": "r"})

    assert dispute.evidence_due_by == box.now + 7 * DAY
    reopened = bodies(box)[-2]["data"]
    assert reopened["previous_attributes"]["evidence_due_by"] != reopened["object"]["evidence_due_by"]
    assert dispute.status == "under_review"


def test_a_scripted_dispute_is_about_the_amount_that_is_not_disputed_yet() -> None:
    """A second dispute is about the rest; with nothing left none is opened, and the script ends."""
    steps = [{"after": "1s", "to": status} for status in ("pending", "processing", "succeeded")]
    disputes = [{"after": "1s", "dispute": each} for each in ({"amount": "60%"}, {"amount": "60%"}, {}, {})]
    box = bench(url=None, scenarios=script("disputed", pay_in=[*steps, *disputes]))
    pay_in = deposit(box, 1000, scenario="disputed")
    advance(box, 60_000)

    assert [each.amount for each in box.ledger.newest_first(Dispute)] == [400, 600]
    assert box.ledger.disputed(pay_in) == 1000


@pytest.mark.parametrize(("while_disputed", "refunded"), [("refuse", [400]), ("allow", [1000])])
def test_a_scripted_refund_leaves_disputed_money(while_disputed: str, refunded: list[int]) -> None:
    """As for the merchant's own refunds, the setting decides."""
    steps = [{"after": "1s", "to": status} for status in ("pending", "processing", "succeeded")]
    rest = [{"after": "1s", "dispute": {"amount": "60%"}}, {"after": "1s", "refund": {}}]
    box = bench(
        url=None, scenarios=script("disputed", pay_in=[*steps, *rest]), refunds={"while_disputed": while_disputed}
    )
    deposit(box, 1000, scenario="disputed")
    advance(box, 60_000)

    assert [each.amount for each in box.ledger.newest_first(Refund)] == refunded


def test_an_accepted_dispute_does_not_change() -> None:
    """Accepting closes the dispute at once, and it stays closed."""
    box = bench(url=None)
    dispute = box.open_dispute(paid(box))

    box.accept_dispute(dispute)

    assert (dispute.status, box.idle) == ("accepted", True)


def test_a_scripted_dispute_is_decided_by_its_script() -> None:
    """While a script goes on, neither the deadline nor evidence decides."""
    steps = [{"after": "8d", "to": "under_review"}, {"after": "5d", "to": "lost"}]
    happy = [{"after": "6s", "to": "succeeded", "force": True}]
    box = bench(url=None, scenarios=script("happy-path", pay_in=happy, dispute=steps))
    dispute = box.open_dispute(paid(box))

    box.submit_evidence(dispute, {"receipt": "r"})
    advance(box, 30 * DAY)

    assert timeline(box)[-2:] == [(6_000 + 8 * DAY, "dispute.updated"), (6_000 + 13 * DAY, "dispute.closed")]
    assert (dispute.status, box.idle) == ("lost", True)
