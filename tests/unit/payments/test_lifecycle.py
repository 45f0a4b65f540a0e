"""The lifecycle tables, against the assumptions written out by hand."""

from itertools import product
from typing import get_args

import pytest

from paydouble.core.errors import IllegalTransition
from paydouble.payments import lifecycle
from paydouble.payments.lifecycle import TABLES, check, is_final

# Copied from the table of the assumptions, arrow by arrow.
TRUTH = {
    "payin": {
        ("created", "pending"),
        ("created", "failed"),
        ("created", "cancelled"),
        ("pending", "processing"),
        ("pending", "failed"),
        ("pending", "cancelled"),
        ("processing", "succeeded"),
        ("processing", "failed"),
    },
    "refund": {
        ("created", "processing"),
        ("created", "failed"),
        ("processing", "succeeded"),
        ("processing", "failed"),
    },
    "dispute": {
        ("needs_response", "needs_response"),
        ("needs_response", "under_review"),
        ("needs_response", "won"),
        ("needs_response", "lost"),
        ("needs_response", "accepted"),
        ("under_review", "under_review"),
        ("under_review", "won"),
        ("under_review", "lost"),
        ("under_review", "accepted"),
    },
    "payout": {
        ("created", "processing"),
        ("processing", "succeeded"),
        ("processing", "failed"),
        ("succeeded", "returned"),
    },
}
STATES = {
    "payin": {"created", "pending", "processing", "succeeded", "failed", "cancelled"},
    "refund": {"created", "processing", "succeeded", "failed"},
    "dispute": {"needs_response", "under_review", "won", "lost", "accepted"},
    "payout": {"created", "processing", "succeeded", "failed", "returned"},
}
ARROWS = [(kind, state, to) for kind, states in STATES.items() for state, to in product(sorted(states), repeat=2)]


def test_the_states_are_the_assumed_ones() -> None:
    """Each resource has the states of the contract and the assumptions, and no other."""
    assert {kind: set(table) for kind, table in TABLES.items()} == STATES


@pytest.mark.parametrize(("kind", "state", "to"), ARROWS)
def test_an_arrow_is_there_when_the_assumptions_have_it(kind: str, state: str, to: str) -> None:
    """Exactly the transitions of the table pass the check."""
    try:
        check(TABLES[kind], kind=kind, subject="x", state=state, to=to)
        passed = True
    except IllegalTransition:
        passed = False

    assert passed == ((state, to) in TRUTH[kind])


@pytest.mark.parametrize(("kind", "state", "to"), ARROWS)
def test_force_goes_everywhere(kind: str, state: str, to: str) -> None:
    """With `force` every state can follow every other."""
    check(TABLES[kind], kind=kind, subject="x", state=state, to=to, force=True)


@pytest.mark.parametrize("kind", sorted(STATES))
def test_not_even_force_invents_a_state(kind: str) -> None:
    """A state that the table has not is refused, and the states that there are get listed."""
    with pytest.raises(IllegalTransition, match="possible: ") as caught:
        check(TABLES[kind], kind=kind, subject="x", state="created", to="gone", force=True)

    assert all(state in str(caught.value) for state in STATES[kind])


@pytest.mark.parametrize(("kind", "state"), sorted({(kind, state) for kind, state, _ in ARROWS}))
def test_a_state_without_arrows_is_final(kind: str, state: str) -> None:
    """A state is final exactly when no arrow leaves it."""
    assert is_final(TABLES[kind], state) == (not any(start == state for start, _ in TRUTH[kind]))


@pytest.mark.parametrize(
    ("states", "table"),
    [
        (lifecycle.PayInState, lifecycle.PAY_IN),
        (lifecycle.RefundState, lifecycle.REFUND),
        (lifecycle.DisputeState, lifecycle.DISPUTE),
        (lifecycle.PayoutState, lifecycle.PAYOUT),
    ],
)
def test_every_state_has_its_row(states: object, table: lifecycle.Table) -> None:
    """A state that is named in the type alone could be asked for, and never be reached."""
    assert get_args(states) == tuple(table)


def test_what_follows_from_the_tables() -> None:
    """The states that others ask for by what they mean."""
    assert [lifecycle.first(table) for table in lifecycle.TABLES.values()] == [
        "created",
        "created",
        "needs_response",
        "created",
    ]
    assert lifecycle.UNPAID == ("created", "pending")
    assert lifecycle.UNSUCCESSFUL == ("failed", "cancelled")
    assert lifecycle.unfinished(lifecycle.DISPUTE) == ("needs_response", "under_review")
    assert lifecycle.finals(lifecycle.DISPUTE) == ("won", "lost", "accepted")
