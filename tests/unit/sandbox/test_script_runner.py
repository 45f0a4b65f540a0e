"""The scripts of resources, to the millisecond."""

import pytest
from benches import DAY, SECOND, START, advance, bench, deposit, paid, script, timeline

from paydouble.core.errors import IllegalTransition
from paydouble.payments.resources import Failure, Refund
from paydouble.sandbox import Sandbox


def refund(box: Sandbox, amount: int | None = None) -> Refund:
    """Pay, and refund at once."""
    return box.create_refund(paid(box), amount=amount, reason=None, external_identifier=None)


def test_the_happy_path() -> None:
    """A pay-in is pending after two seconds, processing after three and succeeded after six, and that is all."""
    box = bench(url=None)
    pay_in = deposit(box)

    advance(box, 40 * DAY)

    expected = [
        (0, "pay-in.created"),
        (2_000, "pay-in.pending"),
        (3_000, "pay-in.processing"),
        (6_000, "pay-in.succeeded"),
    ]
    assert timeline(box) == expected
    assert (pay_in.status, pay_in.updated_at, box.idle) == ("succeeded", START + 6_000, True)


def test_the_default_script_of_a_refund() -> None:
    """A refund is processing after one second and succeeded after three."""
    box = bench(url=None, scenarios=script("happy-path", pay_in=[{"after": "6s", "to": "succeeded", "force": True}]))
    refund(box)

    advance(box, DAY)

    expected = [(6_000, "refund.created"), (7_000, "refund.processing"), (9_000, "refund.succeeded")]
    assert timeline(box)[-3:] == expected
    assert box.idle


def test_a_scripted_refund_fails_for_the_scripted_reason() -> None:
    """A refund plays the script of its pay-in's scenario, and its amount can then be refunded again."""
    box = bench()
    pay_in = deposit(box, scenario="refund-fails")
    advance(box, 6 * SECOND)
    one = box.create_refund(pay_in, amount=None, reason=None, external_identifier=None)

    advance(box, 3 * SECOND)

    assert (one.status, one.failure) == ("failed", Failure("account_closed", "The payer's account is closed"))
    assert pay_in.refund_reserved == 0


def test_the_default_script_of_a_payout() -> None:
    """A payout is processing after one second and succeeded after three."""
    box = bench()
    payout = box.create_payout(
        external_identifier="p", amount=1, currency="EUR", beneficiary_name="A", beneficiary_account="D"
    )
    seen = []

    for _ in range(4):
        seen.append(payout.status)
        advance(box, SECOND)

    assert seen == ["created", "processing", "processing", "succeeded"]
    assert box.idle


@pytest.mark.parametrize("status", ["created", "pending"])
def test_an_unpaid_pay_in_expires(status: str) -> None:
    """Until the payment is being verified, the clock cancels a pay-in at its expiry, not a millisecond before."""
    steps = [{"after": "2s", "to": status}] if status == "pending" else []
    box = bench(url=None, scenario="scripted", scenarios=script(pay_in=steps))
    pay_in = deposit(box, expires_in_ms=60_000)

    advance(box, 59_999)
    before = pay_in.status
    advance(box, 1)

    assert (before, pay_in.status, pay_in.updated_at) == (status, "cancelled", START + 60_000)
    assert box.idle


def test_a_pay_in_that_is_being_verified_does_not_expire() -> None:
    """A payment that has arrived is not cancelled because its verification takes long."""
    steps = [
        {"after": "1s", "to": "pending"},
        {"after": "1s", "to": "processing"},
        {"after": "2d", "to": "succeeded"},
    ]
    box = bench(url=None, scenario="scripted", scenarios=script(pay_in=steps))
    pay_in = deposit(box, expires_in_ms=60_000)

    advance(box, DAY)
    waiting = pay_in.status
    advance(box, 2 * DAY)

    assert (waiting, pay_in.status, box.idle) == ("processing", "succeeded", True)


def test_a_forced_step_reopens_an_expired_pay_in() -> None:
    """A script may reopen an expired pay-in with `force`, and goes on from there."""
    steps = [{"after": "90s", "to": "processing", "force": True}, {"after": "1s", "to": "succeeded"}]
    box = bench(url=None, scenario="scripted", scenarios=script(pay_in=steps))
    deposit(box, expires_in_ms=60_000)

    advance(box, DAY)

    expected = [
        (0, "pay-in.created"),
        (60_000, "pay-in.cancelled"),
        (90_000, "pay-in.processing"),
        (91_000, "pay-in.succeeded"),
    ]
    assert timeline(box) == expected


def test_a_script_ends_at_a_step_that_has_become_illegal() -> None:
    """What the merchant has cancelled stays cancelled, whatever the rest of the script says."""
    box = bench(url=None)
    pay_in = deposit(box)
    advance(box, 2 * SECOND)

    box.cancel_pay_in(pay_in)
    advance(box, DAY)

    assert [kind for _, kind in timeline(box)] == ["pay-in.created", "pay-in.pending", "pay-in.cancelled"]
    assert box.idle


def test_a_script_ends_at_a_step_that_the_lifecycle_never_allows() -> None:
    """A step that the lifecycle does not allow is not played, nor any after it; the pay-in then expires."""
    steps = [{"after": "1s", "to": "succeeded"}, {"after": "1s", "to": "pending"}]
    box = bench(url=None, scenario="scripted", scenarios=script(pay_in=steps))
    deposit(box, expires_in_ms=60_000)

    advance(box, DAY)

    assert timeline(box) == [(0, "pay-in.created"), (60_000, "pay-in.cancelled")]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("59s", [(0, "pay-in.created"), (59_000, "pay-in.pending"), (60_000, "pay-in.cancelled")]),
        ("60s", [(0, "pay-in.created"), (60_000, "pay-in.cancelled")]),
        ("61s", [(0, "pay-in.created"), (60_000, "pay-in.cancelled")]),
    ],
)
def test_a_first_step_around_the_expiry(after: str, expected: list[tuple[int, str]]) -> None:
    """The expiry comes in time, whether the first step is before, at or after it; at the same instant it is first."""
    box = bench(url=None, scenarios=script("happy-path", pay_in=[{"after": after, "to": "pending"}]))
    deposit(box, expires_in_ms=60_000)

    advance(box, DAY)

    assert (timeline(box), box.idle) == (expected, True)


def test_a_pay_in_that_its_script_reopens_expires_in_time() -> None:
    """A declined payment that is tried again, and then abandoned, is cancelled like any other."""
    steps = [{"after": "1s", "to": "failed"}, {"after": "9s", "to": "pending", "force": True}]
    box = bench(url=None, scenario="scripted", scenarios=script(pay_in=steps))
    deposit(box, expires_in_ms=60_000)

    advance(box, DAY)

    expected = [(0, "created"), (1_000, "failed"), (10_000, "pending"), (60_000, "cancelled")]
    assert timeline(box) == [(at, f"pay-in.{state}") for at, state in expected]


def test_a_cancellation_ends_even_a_forced_script() -> None:
    """After the merchant has cancelled, no late payment arrives."""
    steps = [{"after": "90s", "to": "succeeded", "force": True}]
    box = bench(url=None, scenario="scripted", scenarios=script(pay_in=steps))
    pay_in = deposit(box)

    box.cancel_pay_in(pay_in)

    assert (pay_in.status, box.idle) == ("cancelled", True)


@pytest.mark.parametrize("after", [3 * SECOND, 6 * SECOND])
def test_it_can_be_too_late_to_cancel(after: int) -> None:
    """Once the payment is being verified a cancellation is refused, and the script goes on."""
    box = bench(url=None)
    pay_in = deposit(box)
    advance(box, after)

    with pytest.raises(IllegalTransition):
        box.cancel_pay_in(pay_in)
    advance(box, DAY)

    assert pay_in.status == "succeeded"


def test_steps_without_delay_happen_at_once_in_order() -> None:
    """A script without delays still reaches each of its states."""
    steps = [{"after": "0s", "to": to} for to in ("pending", "processing", "succeeded")]
    box = bench(url=None, scenario="scripted", scenarios=script(pay_in=steps))
    deposit(box)

    box.tick()

    states = ("created", "pending", "processing", "succeeded")
    assert timeline(box) == [(0, f"pay-in.{state}") for state in states]
