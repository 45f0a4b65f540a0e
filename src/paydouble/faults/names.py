"""The names that a match may have. A misspelt one is refused, since it would never match anything, unnoticed.

This is a module of its own so that a query of the journals does not build the models of all faults.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Annotated, Final, Literal, get_args

from pydantic import AfterValidator, Field

from paydouble.core.globs import fits
from paydouble.core.likeness import nearest
from paydouble.payments.events import EVENT_TYPES

Pattern = Annotated[str, Field(min_length=1, max_length=256)]
OperationName = Literal[
    "deposit-creation",
    "exchange-rates",
    "available-payment-methods",
    "pay-in-list",
    "pay-in-retrieval",
    "pay-in-cancellation",
    "refund-creation",
    "refund-list",
    "refund-retrieval",
    "dispute-list",
    "dispute-retrieval",
    "dispute-evidence-submission",
    "dispute-acceptance",
    "payout-initiation",
    "payout-list",
    "payout-retrieval",
    "transaction-creation",
    "transaction-list",
    "transaction-retrieval",
]
"""Every operation of the API; the table of operations (`api/operations.py`, a layer above) has a row for each."""
OPERATIONS: Final[tuple[OperationName, ...]] = get_args(OperationName)


def misspelt(value: str, names: Collection[str], what: str, patterns: Iterable[str] = ()) -> str:
    """Return the message for a name that is not in `names`: it suggests the nearest one, or lists all names."""
    near = nearest(value, [*patterns, *names])
    hint = f"did you mean {near!r}?" if near else f"there are: {', '.join(names)}"
    return f"there is no {what} {value!r}; {hint}"


def _known(value: str, names: Collection[str], what: str) -> str:
    """Return a name, or a pattern that matches one; `ValueError` for any other."""
    if not any(fits(name, value) for name in names):
        # For a misspelt pattern a pattern is suggested: `pay-in.*`, not the first of the names that it matches.
        families = dict.fromkeys(f"{name.partition('.')[0]}.*" for name in names if "." in name and "*" in value)
        raise ValueError(misspelt(value, names, what, families))
    return value


def _operation(value: str) -> str:
    return _known(value, OPERATIONS, "operation")


def _event_type(value: str) -> str:
    return _known(value, EVENT_TYPES, "event type")


OperationPattern = Annotated[Pattern, AfterValidator(_operation)]
EventTypePattern = Annotated[Pattern, AfterValidator(_event_type)]
