"""What a merchant shows when nothing goes wrong, which it is held to in every play (`calibration.py` finds it out)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, Literal, cast, get_args

from paydouble.core.durations import UNITS_MS

When = Literal["", "at once", "after jobs"]
"""When an effect is visible: with the answer to the event, after a background job, or only after a question."""
Family = Literal["payment", "goods", "failure", "refund", "dispute"]
"""Effects that a merchant shows in the same way: of a payment that succeeded, of one that did not, and so on. The goods
of a payment come with the rest of it, or later than any event or single job tells: then they are judged in the end."""
FAMILIES: Final[tuple[Family, ...]] = get_args(Family)
Disputed = Literal["in review", "off the balance", "goods held back"]
"""What a merchant shows of an order for as long as a dispute is open.

Its status and its balance while all of its money is disputed, and whether goods are sent that were not sent before."""
WATCHED_MS: Final = 2 * UNITS_MS["d"]
"""For how long the trials watch an open dispute, in milliseconds; one takes three days and more."""
Each = Mapping[Family | Literal["disputed"], When | Collection[Disputed]]
Shows = When | Each
"""When a merchant shows each family, and under `disputed` what it shows of open disputes. A text is for all families of
a merchant of which nothing else is known."""


def of_each(shows: Shows) -> Mapping[Family, When]:
    """Return when each family shows; goods of which nothing is said come with the payment."""
    if isinstance(shows, str):
        return dict.fromkeys(FAMILIES, shows)
    found: dict[Any, Any] = {"goods": shows["payment"], **shows}
    return {family: found[family] for family in FAMILIES}


def while_disputed(shows: Shows) -> tuple[Disputed, ...]:
    """Return what a merchant shows of open disputes; nothing when that is not known."""
    found: Any = () if isinstance(shows, str) else shows.get("disputed", ())
    return tuple(found)


def checked(found: object) -> Shows:
    """Return what a file or a test says of when each family shows; `ValueError` for what cannot be."""
    if isinstance(found, str):
        found_each: dict[str, Any] = {"payment": found}
    elif isinstance(found, Mapping) and {*FAMILIES} - {"goods"} <= found.keys():
        found_each = dict(found)
    else:
        raise ValueError(f"shows has to be a text, or an object with {', '.join(FAMILIES)}")
    disputed = found_each.pop("disputed", [])
    if not isinstance(disputed, (list, tuple)) or any(each not in get_args(Disputed) for each in disputed):
        raise ValueError(f"shows of disputed has to be a list of: {', '.join(get_args(Disputed))}")
    for name, value in found_each.items():
        if value not in get_args(When):
            raise ValueError(f"shows of {name} has to be one of {', '.join(map(repr, get_args(When)))}")
    return cast("Shows", found)
