"""Lifecycles as tables (assumptions, "Lifecycles"); the diagrams of the documentation are drawn from these.

The states of a resource are a type, defined here alone. A table says which states can follow each state; its first row
is the first state, and a state without followers is final. Other sets of states are derived from the tables. Nothing
else in the package decides whether a resource may change its state: `check` raises and changes nothing. Only `force`
passes it, for what happens in practice: money that comes late, disputes that are reopened.
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
    """A table whose states the type checker compares with their type; for other modules they are strings."""


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
# `needs_response` and `under_review` can follow themselves: new evidence without a new status is an update.
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
# The state in which the money has come, or has gone back.
PAID: Final[PayInState] = "succeeded"
REFUNDED: Final[RefundState] = "succeeded"
# The states in which the payer has the money back.
CHARGED_BACK: Final[tuple[DisputeState, ...]] = ("lost", "accepted")


def first(table: Table) -> str:
    """Return the state of a new resource."""
    return next(iter(table))


def unfinished(table: Table) -> tuple[str, ...]:
    """Return the states that are not final."""
    return tuple(state for state, followers in table.items() if followers)


def finals(table: Table) -> tuple[str, ...]:
    """Return the final states."""
    return tuple(state for state, followers in table.items() if not followers)


def before(table: Table, state: str) -> tuple[str, ...]:
    """Return the states from which a state can be reached directly."""
    return tuple(each for each, followers in table.items() if state in followers)


# Nobody has paid yet, so the pay-in can expire.
UNPAID: Final = before(PAY_IN, "cancelled")
# Final, without money.
UNSUCCESSFUL: Final = tuple(state for state in finals(PAY_IN) if state != PAID)


def is_final(table: Table, state: str) -> bool:
    """Return whether a state is final."""
    return not table[state]


def check(  # noqa: PLR0913 - what the message needs to say
    table: Table, *, kind: str, subject: str, state: str, to: str, force: bool = False
) -> None:
    """Raise `IllegalTransition` unless the table has the transition; with `force` any known state is allowed."""
    if to not in table:
        raise IllegalTransition(kind, subject, state, to, tuple(table))
    if not force and to not in table[state]:
        raise IllegalTransition(kind, subject, state, to, table[state])
