"""How a dispute ends: by its deadline, by a review, by giving in, or by a script."""

import pytest
from benches import DAY, advance, bench, paid, script, timeline


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


def test_new_evidence_begins_the_review_again() -> None:
    """The decision comes three days after the last evidence, once."""
    box = bench(url=None)
    dispute = box.open_dispute(paid(box))
    box.submit_evidence(dispute, {"receipt": "r"})
    advance(box, 2 * DAY)

    box.submit_evidence(dispute, {"note": "n"})
    advance(box, 30 * DAY)

    closed = [at for at, kind in timeline(box) if kind == "dispute.closed"]
    assert closed == [6_000 + 5 * DAY]


def test_an_accepted_dispute_rests() -> None:
    """Giving in closes the dispute at once and for good."""
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
