"""Lifecycles as tables (assumptions, "Lifecycles"); the diagrams of the documentation are drawn from these.

The states of a resource are a type, named here and nowhere else. A table says which states can follow a state, the
first one first. A state without followers is final. What else is to be known of states is derived from the tables below
them. Nothing else in the package decides whether a resource may move: `check` raises and changes nothing, and `force`
is the one way round it, for the late money and the reopened disputes of real life.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeVar, cast

from paydouble.core.errors import IllegalTransition

S = TypeVar("S", bound=str)
Table = Mapping[str, tuple[str, ...]]
PayInState = Literal["created", "pending", "processing", "succeeded", "failed", "cancelled"]
RefundState = Literal["created", "processing", "succeeded", "failed"]
DisputeState = Literal["needs_response", "under_review", "won", "lost", "accepted"]
PayoutState = Literal["created", "processing", "succeeded", "failed", "returned"]


class _Table(dict[S, tuple[S, ...]]):
    """A table whose states the type checker compares with their type; outside they are texts."""


def _of(rows: _Table[S]) -> Table:
    return MappingProxyType(cast("dict[str, tuple[str, ...]]", rows))


PAY_IN: Final[Table] = _of(
    _Table[PayInState](
        {
            "created": ("pending", "failed", "cancelled"),
            "pending": ("processing", "failed", "cancelled"),
            "processing": ("succeeded", "failed"),
            "succeeded": (),
            "failed": (),
            "cancelled": (),
        }
    )
)
REFUND: Final[Table] = _of(
    _Table[RefundState](
        {
            "created": ("processing", "failed"),
            "processing": ("succeeded", "failed"),
            "succeeded": (),
            "failed": (),
        }
    )
)
# `needs_response` and `under_review` may follow themselves: new evidence without a new status is an update too.
DISPUTE: Final[Table] = _of(
    _Table[DisputeState](
        {
            "needs_response": ("needs_response", "under_review", "won", "lost", "accepted"),
            "under_review": ("under_review", "won", "lost", "accepted"),
            "won": (),
            "lost": (),
            "accepted": (),
        }
    )
)
PAYOUT: Final[Table] = _of(
    _Table[PayoutState](
        {
            "created": ("processing",),
            "processing": ("succeeded", "failed"),
            "succeeded": ("returned",),
            "failed": (),
            "returned": (),
        }
    )
)
TABLES: Final[Mapping[str, Table]] = MappingProxyType(
    {"payin": PAY_IN, "refund": REFUND, "dispute": DISPUTE, "payout": PAYOUT}
)
"""By the value of `object`."""
# The state that means that the money has come, or has gone back.
PAID: Final[PayInState] = "succeeded"
REFUNDED: Final[RefundState] = "succeeded"
# The decisions after which the payer has the money back.
CHARGED_BACK: Final[tuple[DisputeState, ...]] = ("lost", "accepted")


def first(table: Table) -> str:
    """Return the state in which a resource begins."""
    return next(iter(table))


def unfinished(table: Table) -> tuple[str, ...]:
    """Return the states that others can follow."""
    return tuple(state for state, followers in table.items() if followers)


def finals(table: Table) -> tuple[str, ...]:
    """Return the states that nothing can follow."""
    return tuple(state for state, followers in table.items() if not followers)


def before(table: Table, state: str) -> tuple[str, ...]:
    """Return the states that a state can follow."""
    return tuple(each for each, followers in table.items() if state in followers)


# Nobody has paid yet, so the time can run out.
UNPAID: Final = before(PAY_IN, "cancelled")
# It is over, and no money has come.
UNSUCCESSFUL: Final = tuple(state for state in finals(PAY_IN) if state != PAID)


def is_final(table: Table, state: str) -> bool:
    """Return whether nothing can follow a state."""
    return not table[state]


def check(  # noqa: PLR0913 - what the message needs to say
    table: Table, *, kind: str, subject: str, state: str, to: str, force: bool = False
) -> None:
    """Raise `IllegalTransition` unless the table has the arrow; with `force` any known state will do."""
    if to not in table:
        raise IllegalTransition(kind, subject, state, to, tuple(table))
    if not force and to not in table[state]:
        raise IllegalTransition(kind, subject, state, to, table[state])
