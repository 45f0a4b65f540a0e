"""Scripts that wait for the payer: what the payer does, when, and what happens when the payer does nothing."""

from __future__ import annotations

from typing import Any

import pytest
from benches import DAY, HOUR, MINUTE, SECOND, advance, bench, deposit, script, timeline
from hypothesis import given
from hypothesis import strategies as st

from paydouble.core.errors import ApiError, IllegalTransition
from paydouble.payments.lifecycle import finals
from paydouble.payments.resources import Failure, PayIn
from paydouble.sandbox import Sandbox
from paydouble.scenarios.play import PayerAction

PENDING = {"after": "2s", "to": "pending"}
WAIT = {"await": "payer"}
PAY, DECLINE, ABANDON = (PayerAction(action=each) for each in ("pay", "decline", "abandon"))


def waiting(*steps: Any, by: int = 2 * SECOND, **members: Any) -> tuple[Sandbox, PayIn]:  # noqa: ANN401
    """Return a sandbox whose pay-in plays these steps after it is pending, some time after its start."""
    box = bench(url=None, scenario="scripted", scenarios=script(pay_in=[PENDING, *steps]))
    pay_in = deposit(box, **members)
    advance(box, by)
    return box, pay_in


def since_pending(box: Sandbox) -> list[tuple[int, str]]:
    """Return the events after `pay-in.pending`, with their times from the start."""
    return timeline(box)[2:]


def test_a_payer_who_pays_is_processed_and_succeeds() -> None:
    """The default steps follow one and three seconds after the payer has paid."""
    box, pay_in = waiting(WAIT, by=HOUR)

    box.payer_acts(pay_in, PAY)
    advance(box, 10 * DAY)

    assert since_pending(box) == [(HOUR + SECOND, "pay-in.processing"), (HOUR + 3 * SECOND, "pay-in.succeeded")]
    assert box.idle


@pytest.mark.parametrize(
    ("done", "failure"),
    [
        (DECLINE, Failure("declined", "The payment was declined.")),
        (PayerAction(action="decline", code="expired_card"), Failure("expired_card", "The card has expired.")),
        (PayerAction(action="decline", code="X-17"), Failure("X-17", "The payment was declined.")),
    ],
)
def test_a_declined_payment_fails_at_once_with_the_chosen_code(done: PayerAction, failure: Failure) -> None:
    """A code that is not in the list is used as it is, with the usual message."""
    box, pay_in = waiting(WAIT)

    box.payer_acts(pay_in, done)

    assert (pay_in.status, pay_in.failure, box.idle) == ("failed", failure, True)


def test_a_failure_of_the_script_is_kept() -> None:
    """The chosen code is used where the script has no failure of its own, also inside branches and repetitions."""
    own = {"after": "0s", "to": "failed", "failure": {"code": "of_the_file", "message": "No."}}
    plain = {"after": "0s", "to": "failed"}
    chosen = PayerAction(action="decline", code="expired_card")
    sides = {
        "of_the_file": [own],
        "expired_card": [{"repeat": 1, "steps": [{"when": {"refund": "none"}, "then": [plain]}]}],
        "declined": [{"after": "0s", "to": "processing"}, {"await": "payer", "timeout": [plain]}],
    }

    for code, side in sides.items():
        box, pay_in = waiting({**WAIT, "decline": side})
        box.payer_acts(pay_in, chosen)
        advance(box, 2 * DAY)
        assert (pay_in.status, pay_in.failure and pay_in.failure.code) == ("failed", code)


def test_a_payer_who_gives_up_cancels() -> None:
    """The pay-in is cancelled at once."""
    box, pay_in = waiting(WAIT)

    box.payer_acts(pay_in, ABANDON)

    assert since_pending(box) == [(2 * SECOND, "pay-in.cancelled")]
    assert box.idle


def test_a_payer_who_does_nothing_lets_the_pay_in_expire() -> None:
    """Nothing happens before, and no timer is left after it."""
    box, pay_in = waiting(WAIT)

    advance(box, DAY - 2 * SECOND - 1)
    before = pay_in.status
    advance(box, 1)

    assert (before, since_pending(box)) == ("pending", [(DAY, "pay-in.cancelled")])
    assert box.idle


@pytest.mark.parametrize(("within", "end"), [("15m", 15 * MINUTE + 2 * SECOND), ("3d", DAY)])
def test_a_wait_can_be_shorter_and_never_longer_than_the_pay_in(within: str, end: int) -> None:
    """It ends at its own time, or when the pay-in expires."""
    box, pay_in = waiting({**WAIT, "within": within})

    advance(box, 5 * DAY)

    assert (since_pending(box), pay_in.status, box.idle) == ([(end, "pay-in.cancelled")], "cancelled", True)


def test_after_the_time_the_steps_of_the_timeout_follow() -> None:
    """Also those that force money on an expired pay-in, and then the steps after the wait."""
    late = [{"after": "1h", "to": "succeeded", "force": True}]
    box, _ = waiting({**WAIT, "timeout": late}, {"after": "1h", "refund": {}})

    advance(box, 5 * DAY)

    expected = [(DAY, "pay-in.cancelled"), (DAY + HOUR, "pay-in.succeeded"), (DAY + 2 * HOUR, "refund.created")]
    assert since_pending(box)[:3] == expected


def test_a_script_can_begin_with_the_wait() -> None:
    """The first step of a script, or of a repetition, may be one."""
    pay = [{"after": "0s", "to": "pending"}, {"after": "0s", "to": "processing"}, {"after": "0s", "to": "succeeded"}]
    steps = [{"repeat": 2, "steps": [{**WAIT, "pay": [], "decline": pay}]}]
    box = bench(url=None, scenario="scripted", scenarios=script(pay_in=steps))
    pay_in = deposit(box)

    box.payer_acts(pay_in, PAY)
    box.payer_acts(pay_in, DECLINE)

    assert (pay_in.status, box.idle) == ("succeeded", True)


def test_a_wait_outlasts_the_expiry_while_the_payment_is_verified() -> None:
    """A processing pay-in does not expire, but the wait ends at that time."""
    steps = [{"after": "0s", "to": "processing"}, {**WAIT, "timeout": [{"after": "0s", "to": "failed"}]}]
    box, pay_in = waiting(*steps)

    advance(box, 5 * DAY)

    assert (since_pending(box)[-1], pay_in.status, box.idle) == ((DAY, "pay-in.failed"), "failed", True)


def test_a_wait_that_begins_after_the_expiry_ends_at_once() -> None:
    """No timer is due in the past."""
    late = [{"after": "2d", "to": "pending", "force": True}, WAIT]

    box, pay_in = waiting(*late, by=5 * DAY)

    assert (since_pending(box)[-1], pay_in.status) == ((2 * DAY + 2 * SECOND, "pay-in.cancelled"), "cancelled")


def test_what_a_test_or_the_merchant_does_ends_the_wait() -> None:
    """The payer can do nothing any more, and the message says why."""
    box, pay_in = waiting(WAIT)
    box.cancel_pay_in(pay_in)
    with pytest.raises(ApiError, match="is cancelled, so the payer can do nothing any more"):
        box.payer_acts(pay_in, PAY)

    forced, other = waiting(WAIT)
    forced.force_transition(other, "processing")
    with pytest.raises(ApiError, match="is processing, and its script does not wait for the payer now"):
        forced.payer_acts(other, PAY)

    advance(box, 5 * DAY)
    assert (box.idle, pay_in.status) == (True, "cancelled")


def test_a_payer_acts_once() -> None:
    """The second action finds nothing that waits."""
    box, pay_in = waiting(WAIT)
    box.payer_acts(pay_in, PAY)

    for done in (PAY, DECLINE, ABANDON):
        with pytest.raises(ApiError, match="does not wait"):
            box.payer_acts(pay_in, done)

    assert box.scripts.awaited(pay_in) is None


def test_before_the_wait_the_payer_cannot_act() -> None:
    """A script reaches its wait when the steps before it are done."""
    box, pay_in = waiting(WAIT, by=SECOND)
    with pytest.raises(ApiError, match="is created, and"):
        box.payer_acts(pay_in, PAY)

    advance(box, SECOND)

    awaited = box.scripts.awaited(pay_in)
    assert awaited is not None
    assert (awaited.prompt, awaited.within) == (None, None)


ACTS = st.sampled_from([PAY, DECLINE, ABANDON, PayerAction(action="decline", code="x")])
SIDES = st.fixed_dictionaries(
    {},
    optional={
        "within": st.sampled_from(["0s", "1s", "1m", "2d"]),
        "pay": st.sampled_from([[], [WAIT], [{"after": "0s", "to": "processing"}, {"after": "0s", "to": "succeeded"}]]),
        "abandon": st.sampled_from([[], [WAIT]]),
        "timeout": st.sampled_from([[], [{"after": "1h", "to": "failed"}]]),
    },
)
DOINGS = st.lists(
    st.tuples(
        st.sampled_from([0, 1, SECOND, MINUTE, 2 * HOUR, DAY]),
        st.one_of(ACTS, st.sampled_from(["cancelled", "processing", "succeeded"])),
    ),
    max_size=6,
)


@given(sides=st.lists(SIDES, min_size=1, max_size=3), doings=DOINGS, expires=st.sampled_from([MINUTE, HOUR, DAY]))
def test_whatever_a_payer_does_and_when_the_pay_in_ends_and_is_paid_at_most_once(
    sides: list[dict[str, Any]], doings: list[tuple[int, PayerAction | str]], expires: int
) -> None:
    """It is final in the end, with one event for it, and money can be refunded exactly when it has succeeded."""
    box, pay_in = waiting(*({**WAIT, **each} for each in sides), expires_in_ms=expires)

    for after, doing in doings:
        advance(box, after)
        try:
            if isinstance(doing, PayerAction):
                box.payer_acts(pay_in, doing)
            else:
                box.force_transition(pay_in, doing)
        except (ApiError, IllegalTransition):
            continue
    if pay_in.status == "processing":  # forced, which ends the script
        box.force_transition(pay_in, "succeeded")
    advance(box, 40 * DAY)

    kinds = [kind for _, kind in timeline(box)]
    ends = [kind for kind in kinds if kind.removeprefix("pay-in.") in finals(pay_in.TABLE)]
    assert ends == [f"pay-in.{pay_in.status}"] == kinds[-1:]
    assert len(kinds) == len(set(kinds))
    assert box.idle
    refund = None
    if pay_in.status == "succeeded":
        refund = box.create_refund(pay_in, amount=None, reason=None, external_identifier=None)
    assert (refund.amount if refund else 0) == (4990 if pay_in.status == "succeeded" else 0)
