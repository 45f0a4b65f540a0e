"""How the control API shows things; the shapes are promises (see docs/reference)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from paydouble.payments.resources import PayIn
from paydouble.sandbox import Sandbox
from paydouble.web.addresses import Reached
from paydouble.web.control.values import ControlError, Document

T = TypeVar("T")
LARGEST_PAGE = 1000
DEFAULT_PAGE = 100


def pay_in(box: Sandbox, resource: PayIn, reached: Reached) -> Document:
    """Return a pay-in as the API shows it, and what was refunded and disputed, which the API does not show."""
    document = resource.document(box.ledger.stamp)
    return {**document, "payment_url": reached.checkout + resource.id, **box.ledger.money(resource)}


def listing(
    items: Iterable[T], show: Callable[[T], Document], queries: Mapping[str, str], *, evicted: int = 0
) -> Document:
    """Return one page, oldest first; the cursor counts from the first entry ever, so that eviction shifts nothing."""
    limit = _whole(queries, "limit", DEFAULT_PAGE, 1, LARGEST_PAGE)
    start = _whole(queries, "cursor", 0, 0, 10**15)
    everything = list(items)
    first = max(0, start - evicted)
    chosen = everything[first : first + limit]
    more = first + limit < len(everything)
    return {
        "items": [show(item) for item in chosen],
        "next_cursor": str(evicted + first + limit) if more else None,
        "evicted": evicted,
    }


def _whole(queries: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = queries.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) <= 16 and low <= int(text) <= high):  # noqa: PLR2004
        raise ControlError(400, "invalid", f"{name}: must be a whole number from {low} to {high}.", name)
    return int(text)
