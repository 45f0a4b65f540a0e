"""Scripts of scenarios: branches, repetition, disputes and refunds that a script opens, other amounts."""

from __future__ import annotations

from typing import Any

import pytest
from benches import DAY, HOUR, SECOND, advance, bench, deposit, script, timeline

from paydouble.payments.resources import Dispute, PayIn, Refund
from paydouble.sandbox import Sandbox

PAID = [{"after": "2s", "to": "pending"}, {"after": "1s", "to": "processing"}, {"after": "3s", "to": "succeeded"}]


def played(*, amount: int = 4990, currency: str = "EUR", **lifecycle: Any) -> tuple[Sandbox, PayIn]:  # noqa: ANN401
    """Return a sandbox in which a pay-in has just begun a script, and the pay-in; disputed money can be refunded."""
    box = bench(url=None, scenarios=script(**lifecycle), refunds={"while_disputed": "allow"})
    return box, deposit(box, amount, currency, scenario="scripted")


def kinds(box: Sandbox) -> list[str]:
    """Return the types of the events so far."""
    return [kind for _, kind in timeline(box)]


def test_a_dispute_arrives_by_itself_is_updated_and_lost() -> None:
    """Thirty days after the payment a dispute is opened, and its own script ends it."""
    box, _ = played(
        pay_in=[*PAID, {"after": "30d", "dispute": {"amount": "50%", "reason": "not_received"}}],
        dispute=[{"repeat": 2, "steps": [{"after": "1d", "to": "needs_response"}]}, {"after": "1d", "to": "lost"}],
    )

    advance(box, 40 * DAY)

    (dispute,) = box.ledger.newest_first(Dispute)
    assert (dispute.amount, dispute.reason, dispute.status) == (2495, "not_received", "lost")
    assert timeline(box)[4:] == [
        (6 * SECOND + 30 * DAY, "dispute.created"),
        (6 * SECOND + 31 * DAY, "dispute.updated"),
        (6 * SECOND + 32 * DAY, "dispute.updated"),
        (6 * SECOND + 33 * DAY, "dispute.closed"),
    ]
    assert box.idle


def test_a_pay_in_expires_when_its_script_begins_with_a_branch() -> None:
    """Only a transition sets the expiry, so it is set at the start although another step is due before it."""
    question = {"after": "1h", "when": {"refund": "requested"}, "then": [{"after": "1s", "refund": {}}]}
    box, pay_in = played(pay_in=[question])

    advance(box, 2 * DAY)

    assert pay_in.status == "cancelled"
    assert timeline(box) == [(0, "pay-in.created"), (DAY, "pay-in.cancelled")]


def test_a_dispute_is_never_about_more_than_was_paid() -> None:
    """A larger amount in a file is reduced to the pay-in's."""
    box, pay_in = played(pay_in=[*PAID, {"after": "1d", "dispute": {"amount": 900}}])

    advance(box, 2 * DAY)

    (dispute,) = box.ledger.newest_first(Dispute)
    assert dispute.amount == pay_in.amount


def test_a_refund_begins_by_itself_and_plays_the_refund_script() -> None:
    """The provider refunds; a percentage is one of the pay-in, and never more than is left."""
    box, pay_in = played(
        pay_in=[*PAID, {"after": "1h", "refund": {"amount": "75%", "reason": "goodwill"}},
                {"after": "1h", "refund": {"amount": "75%"}}, {"after": "1h", "refund": {}}],
        refund=[{"after": "1s", "to": "processing"}, {"after": "1s", "to": "succeeded"}],
    )  # fmt: skip

    advance(box, 4 * HOUR)

    refunds = list(box.ledger.newest_first(Refund))
    assert [(each.amount, each.reason, each.status) for each in refunds] == [
        (1248, None, "succeeded"),
        (3742, "goodwill", "succeeded"),
    ]
    assert (pay_in.refund_reserved, box.idle) == (4990, True)


@pytest.mark.parametrize("step", [{"after": "1d", "dispute": {}}, {"after": "1d", "refund": {}}])
def test_what_cannot_begin_ends_the_script(step: dict[str, Any]) -> None:
    """Without a payment nothing can be disputed or refunded, and the steps after that do not happen either."""
    box, pay_in = played(
        pay_in=[
            {"after": "1s", "to": "pending"},
            {"after": "1s", "to": "failed"},
            step,
            {"after": "1s", "to": "succeeded", "force": True},
        ]
    )

    advance(box, 3 * DAY)

    assert (pay_in.status, kinds(box)[-1], box.idle) == ("failed", "pay-in.failed", True)


@pytest.mark.parametrize(
    ("amount", "settled"),
    [("+0.10", 5000), ("-2%", 4891), ("45.00", 4500), ("50%", 2495), ("+0.001", 4991), ("-90", 1), ("0", 1)],
)
def test_an_amount_drifts(amount: str, settled: int) -> None:
    """The settled amount may differ by an amount, by a percentage, or altogether, by one minor unit at least."""
    box, pay_in = played(pay_in=[*PAID[:2], {"after": "1s", "to": "succeeded", "amount": amount}])

    advance(box, DAY)

    assert (pay_in.status, pay_in.amount) == ("succeeded", settled)


def test_a_yen_has_no_parts() -> None:
    """A percentage of an amount without minor digits is whole."""
    box, pay_in = played(
        amount=1501, currency="JPY", pay_in=[*PAID[:2], {"after": "1s", "to": "succeeded", "amount": "50%"}]
    )

    advance(box, DAY)

    assert pay_in.amount == 750


EVIDENCE = {"when": {"evidence": "submitted"}, "then": [{"after": "1d", "to": "won"}],
            "else": [{"after": "0s", "to": "lost"}]}  # fmt: skip


@pytest.mark.parametrize(("submits", "outcome"), [(True, "won"), (False, "lost")])
@pytest.mark.parametrize("after", [{"after": "7d"}, {}])
def test_a_branch_on_evidence(after: dict[str, str], outcome: str, *, submits: bool) -> None:
    """A branch is decided when it is due; one without a delay right after the step before it."""
    wait = [{"after": "7d", "to": "needs_response", "force": True}] if not after else []
    box, pay_in = played(pay_in=PAID, dispute=[*wait, {**EVIDENCE, **after}])
    advance(box, DAY)
    dispute = box.open_dispute(pay_in)
    advance(box, DAY)
    if submits:
        box.submit_evidence(dispute, {"receipt": "r"})

    advance(box, 10 * DAY)

    assert (dispute.status, box.idle) == (outcome, True)


@pytest.mark.parametrize(
    ("refund", "at_day", "taken"),
    [
        ("none", None, True),
        ("none", 1, False),
        ("requested", 1, True),
        ("requested", None, False),
        ("succeeded", 1, True),
        ("failed", 1, False),
        ({"before": "dispute.created"}, 1, True),
        ({"before": "dispute.created"}, 6, False),
        ({"before": "dispute.created"}, None, False),
        ({"after": "dispute.created"}, 6, True),
        ({"after": "dispute.created"}, 1, False),
        ({"before": "dispute.closed"}, 6, True),
    ],
)
def test_a_branch_on_the_refund_of_the_merchant(refund: Any, at_day: int | None, *, taken: bool) -> None:  # noqa: ANN401
    """Whether there was one, its status, and whether it was requested before or after an event."""
    branch = {"after": "5d", "when": {"refund": refund}, "then": [{"after": "1s", "refund": {"reason": "taken"}}]}
    box, pay_in = played(pay_in=[*PAID, {"after": "5d", "dispute": {}}, {"repeat": 1, "steps": [branch]}])
    if at_day is not None:
        advance(box, at_day * DAY)
        box.create_refund(pay_in, amount=100, reason="merchant", external_identifier=None)

    advance(box, 12 * DAY)

    assert ("taken" in {each.reason for each in box.ledger.newest_first(Refund)}) is taken


@pytest.mark.parametrize(
    ("dispute", "accepts", "taken"),
    [
        ("none", None, True),
        ("open", False, True),
        ("open", True, False),
        ("accepted", True, True),
        ("won", False, False),
        ("none", False, False),
        ("won", None, False),
    ],
)
def test_a_branch_on_the_latest_dispute(dispute: str, *, accepts: bool | None, taken: bool) -> None:
    """Whether there is one, and its status."""
    box, pay_in = played(
        pay_in=[*PAID, {"after": "5d", "when": {"dispute": dispute}, "then": [{"after": "1s", "refund": {}}]}]
    )
    advance(box, DAY)
    if accepts is not None:
        opened = box.open_dispute(pay_in)
        if accepts:
            box.accept_dispute(opened)

    advance(box, 5 * DAY)

    assert bool(list(box.ledger.newest_first(Refund))) is taken


def test_a_branch_of_a_refund_depends_on_its_pay_in() -> None:
    """A refund fails late because the payment is disputed by then."""
    box, pay_in = played(
        pay_in=PAID,
        refund=[
            {"after": "1s", "to": "processing"},
            {"after": "3d", "when": {"dispute": "open"}, "then": [{"after": "0s", "to": "failed"}]},
            {"after": "1s", "to": "succeeded"},
        ],
    )
    advance(box, DAY)
    refund = box.create_refund(pay_in, amount=None, reason=None, external_identifier=None)
    box.open_dispute(pay_in)

    advance(box, 4 * DAY)

    assert refund.status == "failed"


def test_repetitions_nest() -> None:
    """Twice twice is four times, in order, and then the script goes on."""
    update = {"after": "1h", "to": "needs_response"}
    box, pay_in = played(
        pay_in=PAID,
        dispute=[{"repeat": 2, "steps": [{"repeat": 2, "steps": [update]}]}, {"after": "1h", "to": "won"}],
    )
    advance(box, DAY)
    box.open_dispute(pay_in)

    advance(box, DAY)

    assert kinds(box)[4:] == ["dispute.created", *["dispute.updated"] * 4, "dispute.closed"]


def test_a_cancelled_pay_in_gets_no_dispute() -> None:
    """After a merchant has cancelled, the rest of the script does not happen."""
    box, pay_in = played(pay_in=[*PAID, {"after": "1d", "dispute": {}}])
    box.cancel_pay_in(pay_in)

    advance(box, 2 * DAY)

    assert (kinds(box), box.idle) == (["pay-in.created", "pay-in.cancelled"], True)


def test_a_history_is_kept_only_for_pay_ins_whose_scenario_needs_it() -> None:
    """A condition on the order of events ignores what happens to other pay-ins."""
    box, asking = played(
        pay_in=[
            *PAID,
            {"after": "1d", "when": {"refund": {"before": "dispute.created"}}, "then": [{"after": "1s", "refund": {}}]},
        ]
    )
    other = deposit(box, scenario="happy-path", external_identifier="other")
    advance(box, 6 * SECOND)
    box.create_refund(other, amount=None, reason=None, external_identifier=None)

    advance(box, 2 * DAY)

    assert [each.payin_id for each in box.ledger.newest_first(Refund)] == [other.id]
    assert (asking.refund_reserved, list(box.scripts.histories)) == (0, [asking.id])
