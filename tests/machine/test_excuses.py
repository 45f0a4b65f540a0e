"""What excuses a merchant in the end of a play: each excuse by itself, beside the same facts without it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from paydouble.core.durations import UNITS_MS
from paydouble.inprocess import InProcess
from paydouble.payments.lifecycle import PAID, REFUNDED
from paydouble.stateful import expected, rules
from paydouble.stateful.debts import Debts, Ways
from paydouble.stateful.disturbance import Disturbance
from paydouble.stateful.expected import ExpectedState, Order
from paydouble.stateful.troubles import POST_TROUBLES, documents_of, parsed_faults

PRICE = 4990
DAY = UNITS_MS["d"]


def order(number: int = 1, **facts: Any) -> Order:  # noqa: ANN401 - any of its members
    """Return an order of whose cancellation the customer was told."""
    return Order(f"order-{number}", PRICE, "EUR", **{"is_cancelled": True, "cancellations": 1, **facts})


def paid(at: int = 0, **facts: Any) -> Any:  # noqa: ANN401 - as a pay-in
    """Return a payment of the whole price; `settles_at` where another amount was paid than was asked for."""
    plain = {"id": f"payin_{at}", "status": PAID, "amount": PRICE, "currency": "EUR", "settles_at": None}
    return SimpleNamespace(**{**plain, "created_at": at, **facts})


def refund(at: int = 10, **facts: Any) -> Any:  # noqa: ANN401 - as a refund
    """Return a refund of all of a payment."""
    plain = {"id": "refund_1", "payin_id": "payin_0", "amount": PRICE, "status": REFUNDED, "reason": ""}
    return SimpleNamespace(**{**plain, "created_at": at, "updated_at": at, **facts})


def dispute(status: str = "needs_response") -> Any:  # noqa: ANN401 - as a dispute
    """Return a dispute about all of a payment."""
    return SimpleNamespace(id="dispute_1", payin_id="payin_0", amount=PRICE, status=status)


GIVEN_BACK = ExpectedState([paid()], [refund()], [])
TAKEN_UP = ExpectedState([paid(20)], [], [])


@pytest.mark.parametrize(
    ("first", "its", "second", "state", "is_found"),
    [
        ({}, GIVEN_BACK, {}, TAKEN_UP, True),
        ({"cancellations": 0}, GIVEN_BACK, {}, TAKEN_UP, False),
        ({"was_cancelled_paid": True}, GIVEN_BACK, {}, TAKEN_UP, False),
        ({"paid_late": {"payin_0"}}, GIVEN_BACK, {}, TAKEN_UP, False),
        ({"refunds_requested": {"r": PRICE}}, GIVEN_BACK, {}, TAKEN_UP, False),
        ({}, ExpectedState([paid(settles_at=1)], [refund()], []), {}, TAKEN_UP, False),
        ({}, ExpectedState([paid()], [refund()], [dispute("won")]), {}, TAKEN_UP, False),
        ({}, ExpectedState([paid()], [refund(amount=1)], []), {}, TAKEN_UP, False),
        ({}, GIVEN_BACK, {"cancellations": 0}, TAKEN_UP, False),
        ({}, GIVEN_BACK, {"was_cancelled_paid": True}, TAKEN_UP, False),
        ({}, GIVEN_BACK, {"paid_late": {"payin_20"}}, TAKEN_UP, False),
        ({}, GIVEN_BACK, {"refunds_disturbed_to_the_end": True}, TAKEN_UP, False),
        ({}, GIVEN_BACK, {}, ExpectedState([paid(20)], [refund(30, status="failed")], []), False),
        ({}, GIVEN_BACK, {}, ExpectedState([paid(20)], [], [dispute("won")]), False),
        # What the first one had ordered may not have been there for the second one.
        ({}, GIVEN_BACK, {}, ExpectedState([paid(5)], [], []), False),
    ],
)
def test_what_is_unlike_the_first_order_may_be_taken_up(
    first: dict[str, Any], its: ExpectedState, second: dict[str, Any], state: ExpectedState, *, is_found: bool
) -> None:
    """Only what differs in nothing else shows that a merchant contradicts itself."""
    orders = [(order(1, **first), "cancelled", its), (order(2, **second), "paid", state)]

    found = [text for _, text in rules.kept_money.of_kept_money(orders) if "takes order-2 up again" in text]

    assert bool(found) == is_found


@pytest.mark.parametrize(
    ("facts", "status", "state", "is_found"),
    [
        ({}, "paid", TAKEN_UP, True),
        ({}, "review", TAKEN_UP, False),
        ({"cancellations": 0}, "paid", TAKEN_UP, False),
        ({"was_cancelled_paid": True}, "paid", TAKEN_UP, False),
        ({"refunds_disturbed_to_the_end": True}, "paid", TAKEN_UP, False),
        ({}, "paid", ExpectedState([paid()], [refund(status="failed")], []), False),
        ({}, "paid", ExpectedState([], [], []), False),
        # The promise is about late and disputed money too.
        ({"paid_late": {"payin_20"}}, "paid", TAKEN_UP, True),
        ({}, "paid", ExpectedState([paid(20)], [], [dispute("won")]), True),
    ],
)
def test_a_promise_not_to_take_an_order_up(
    facts: dict[str, Any], status: str, state: ExpectedState, *, is_found: bool
) -> None:
    """It is broken by an order that is paid, and of whose cancellation the customer was told."""
    assert bool(list(rules.kept_money.of_order_taken_up(order(**facts), status, state))) == is_found


@pytest.mark.parametrize(
    ("facts", "status", "state", "is_found"),
    [
        ({}, "paid", ExpectedState([paid()], [], []), True),
        ({}, "review", ExpectedState([paid()], [], []), False),
        ({"refunds_disturbed_to_the_end": True}, "paid", ExpectedState([paid()], [], []), False),
        ({}, "paid", ExpectedState([paid(settles_at=1)], [], []), False),
        ({}, "paid", ExpectedState([paid()], [], [dispute()]), False),
        ({}, "paid", ExpectedState([paid()], [], [dispute("lost")]), False),
        ({}, "paid", ExpectedState([paid()], [], [dispute("won")]), True),
        ({}, "paid", ExpectedState([paid()], [refund(status="failed")], []), True),
        ({}, "paid", ExpectedState([paid()], [refund(DAY * 2, status="failed")], []), False),
        ({"refunds_requested": {"r": PRICE}}, "paid", ExpectedState([paid()], [refund(status="failed")], []), False),
    ],
)
def test_a_promise_to_give_back_what_is_left(
    facts: dict[str, Any], status: str, state: ExpectedState, *, is_found: bool
) -> None:
    """A merchant has a day after a refund that failed, and money that a dispute holds cannot go back."""
    box: Any = SimpleNamespace(now=2 * DAY + 100)
    cancelled = order(**{"was_cancelled_paid": True, **facts})

    assert bool(list(rules.kept_money.of_cancelled_order(box, cancelled, status, state))) == is_found


@pytest.mark.parametrize(
    ("facts", "payments", "refunds", "disputes", "is_found"),
    [
        ({}, [paid(20), paid(settles_at=1)], [], [], True),
        ({}, [paid(settles_at=1)], [], [], False),
        ({}, [paid(20), paid(settles_at=1)], [refund()], [], False),
        ({}, [paid(20), paid(settles_at=1)], [refund(amount=1)], [], True),
        ({}, [paid(20), paid(settles_at=1)], [], [dispute("lost")], False),
        ({"paid_late": {"payin_20"}}, [paid(20), paid(settles_at=1)], [], [], False),
        ({"refunds_disturbed_to_the_end": True}, [paid(20), paid(settles_at=1)], [], [], False),
    ],
)
def test_a_wrong_payment_goes_back_when_the_order_was_paid_again(
    facts: dict[str, Any], payments: list[Any], refunds: list[Any], disputes: list[Any], *, is_found: bool
) -> None:
    """Where nobody has paid again it may be kept for a person to decide."""
    merchant: Any = None
    target = order(cancellations=0, is_cancelled=False, **facts)
    state = ExpectedState(payments, refunds, disputes)

    found = list(rules.at_the_end.of_fulfilment(merchant, target, "review", state))

    assert bool(found) == is_found


@pytest.mark.parametrize(
    ("facts", "status", "state", "is_found"),
    [
        ({}, "paid", ExpectedState([paid()], [], []), True),
        ({}, "review", ExpectedState([paid()], [], []), False),
        ({}, "paid", ExpectedState([paid(amount=PRICE + 1, settles_at=1)], [], []), False),
        ({}, "paid", ExpectedState([paid()], [refund(status="failed")], []), False),
        ({}, "paid", ExpectedState([paid()], [], [dispute("won")]), False),
        ({"is_cancelled": True}, "paid", ExpectedState([paid()], [], []), False),
        ({"paid_late": {"payin_0"}}, "paid", ExpectedState([paid()], [], []), False),
    ],
)
def test_only_an_order_that_is_plainly_paid_needs_its_effects(
    facts: dict[str, Any], status: str, state: ExpectedState, *, is_found: bool
) -> None:
    """Where more has happened, what a customer is still owed is the merchant's to say."""
    bare = order(**{"is_cancelled": False, "cancellations": 0, **facts})
    merchant: Any = SimpleNamespace(effects=lambda _: {"mail": 0})

    assert bool(list(rules.at_the_end.of_needed_effects(merchant, ["mail"], bare, status, state))) == is_found


MINUTE = UNITS_MS["m"]


@pytest.mark.parametrize(
    ("facts", "asked_at", "is_unexpected"),
    [
        ({}, 5 * MINUTE, True),
        ({}, 5 * MINUTE - 1, False),
        ({"placed_at": 1}, 5 * MINUTE, False),
        ({"was_called_paid": True}, 5 * MINUTE, False),
        ({"was_shipped": True}, 5 * MINUTE, False),
        ({"refund_ids_taken": {"r"}}, 5 * MINUTE, False),
        ({"refunded_elsewhere": {"refund_1"}}, 5 * MINUTE, False),
    ],
)
def test_money_goes_back_unasked_only_when_a_hold_may_be_over(
    facts: dict[str, Any], asked_at: int, *, is_unexpected: bool
) -> None:
    """And where the merchant has not shown before that it has the money."""
    bare = order(**{"is_cancelled": False, "cancellations": 0, **facts})

    assert expected.is_unexpected(bare, ExpectedState([paid()], [refund(asked_at)], [])) == is_unexpected


@pytest.mark.parametrize(
    ("looks", "payments", "is_closed", "waits"),
    [
        ([("pending", 0), ("cancelled", 5)], [paid()], True, False),
        ([("pending", 0), ("failed", 5)], [], True, False),
        ([("cancelled", 4)], [paid()], False, False),
        ([("cancelled", 5)], [paid(status="failed")], False, False),
        ([("cancelled", 5), ("paid", 6)], [paid()], False, False),
        ([("pending", 0), ("review", 5)], [paid()], False, True),
        ([("pending", 0), ("review", 5), ("review", 6)], [paid()], False, True),
        ([("review", 4), ("review", 5)], [paid()], False, False),
        ([("partly_refunded", 4), ("review", 5)], [paid()], False, False),
    ],
)
def test_what_a_merchant_shows_says_whether_it_has_closed_an_order(
    looks: list[tuple[str, int]], payments: list[Any], *, is_closed: bool, waits: bool
) -> None:
    """Each look has a status and the minutes since the order was placed."""
    bare = order(is_cancelled=False, cancellations=0)
    for status, minutes in looks:
        expected.look(bare, status, ExpectedState(payments, [], []), minutes * MINUTE)

    assert (bare.is_closed_unpaid, bare.waits_for_a_person) == (is_closed, waits)


@pytest.mark.parametrize("notices_time", [True, False])
def test_a_wait_asks_for_something_only_where_jobs_notice_it(*, notices_time: bool) -> None:
    """What jobs do after a limit or another trouble is over is unknown for a merchant whose clock stands still."""
    box, late = InProcess().sandbox, order(is_cancelled=False)
    left: list[Order] = []
    jobs: Any = SimpleNamespace(add=lambda _box, each, _met: left.append(each), discard=lambda _: None)
    debts = Debts(
        box,
        [late],
        jobs,
        Ways(retries_by_itself=True, deposits_are_alike=False, waits_in_play_time=notices_time, reconciles=True),
    )

    click = debts.begin_click(late, Disturbance("request lost", lasts=6), is_usual=True)
    debts.end_click(click, was_declined=False, was_met=True, was_followed=False)
    (limit,) = parsed_faults(documents_of(POST_TROUBLES["429"]))
    debts.disturb_own_refunds([box.faults.add(limit, box.now)], POST_TROUBLES["429"], 6)
    late.refunds_requested["half"] = PRICE // 2
    debts.owe_refund(late, "half", Disturbance(), 0)

    assert left == [late] * notices_time
    assert ("half" in late.refunds_limited) == notices_time
