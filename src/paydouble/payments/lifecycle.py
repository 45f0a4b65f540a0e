"""Lifecycles as tables (assumptions, "Lifecycles"); the diagrams of the documentation are drawn from these.

A table says which states can follow a state. A state without followers is final. Nothing else in the package decides
whether a resource may move: `check` raises and changes nothing, and `force` is the one way round it, for the late
money and the reopened disputes of real life.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from paydouble.core.errors import IllegalTransition

Table = Mapping[str, tuple[str, ...]]

PAY_IN: Final[Table] = MappingProxyType(
    {
        "created": ("pending", "failed", "cancelled"),
        "pending": ("processing", "failed", "cancelled"),
        "processing": ("succeeded", "failed"),
        "succeeded": (),
        "failed": (),
        "cancelled": (),
    }
)
REFUND: Final[Table] = MappingProxyType(
    {
        "created": ("processing", "failed"),
        "processing": ("succeeded", "failed"),
        "succeeded": (),
        "failed": (),
    }
)
# `needs_response` and `under_review` may follow themselves: new evidence without a new status is an update too.
DISPUTE: Final[Table] = MappingProxyType(
    {
        "needs_response": ("needs_response", "under_review", "won", "lost", "accepted"),
        "under_review": ("under_review", "won", "lost", "accepted"),
        "won": (),
        "lost": (),
        "accepted": (),
    }
)
PAYOUT: Final[Table] = MappingProxyType(
    {
        "created": ("processing",),
        "processing": ("succeeded", "failed"),
        "succeeded": ("returned",),
        "failed": (),
        "returned": (),
    }
)
TABLES: Final[Mapping[str, Table]] = MappingProxyType(
    {"payin": PAY_IN, "refund": REFUND, "dispute": DISPUTE, "payout": PAYOUT}
)


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
