"""What each operation does: one command of the sandbox, one document. Paging and money are shared here."""

from __future__ import annotations

import base64
import binascii
from decimal import Decimal
from typing import TypeVar

from paydouble.api.values import Call
from paydouble.core.errors import ApiError
from paydouble.core.money import MINOR_DIGITS, to_minor
from paydouble.payments.resources import Document, Resource

R = TypeVar("R", bound=Resource)
DEFAULT_PAGE = 20


def minor_units(amount: Decimal, currency: str, member: str = "amount") -> int:
    """Return an amount's minor units: 422 for a currency that is none, 400 for digits that the currency has not."""
    digits = MINOR_DIGITS.get(currency)
    if digits is None:
        raise ApiError("VALIDATION_ERROR", f"currency: {currency} is not supported.")
    try:
        return to_minor(amount, digits)
    except ValueError as error:
        raise ApiError("INVALID_INPUT", f"{member}: {error} ({currency} has {digits}).") from None


def page(call: Call, kind: type[R], filters: tuple[str, ...]) -> Document:
    """Return one page of a list, newest first.

    The cursor holds the place of the last item, not a count, so that what is created between two pages is neither
    repeated nor skipped.
    """
    queries = call.queries
    limit = _limit(queries.get("limit"))
    wanted = {name: queries[name] for name in filters if name in queries}
    stamp = call.sandbox.ledger.stamp
    items: list[Document] = []
    last = 0
    for resource in call.sandbox.ledger.newest_first(kind, _place(queries.get("cursor"))):
        if any(getattr(resource, name) != value for name, value in wanted.items()):
            continue
        if len(items) == limit:
            return {"items": items, "next_cursor": _cursor(last)}
        items.append(resource.document(stamp))
        last = resource.sequence
    return {"items": items, "next_cursor": None}


def _limit(text: str | None) -> int:
    if text is None:
        return DEFAULT_PAGE
    if not (text.isascii() and text.isdecimal() and len(text) <= 3 and 1 <= int(text) <= 100):  # noqa: PLR2004
        raise ApiError("INVALID_INPUT", "limit: must be a whole number from 1 to 100.")
    return int(text)


def _cursor(sequence: int) -> str:
    return base64.urlsafe_b64encode(f"after:{sequence}".encode()).decode().rstrip("=")


def _place(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    try:
        text = base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4)).decode("ascii")
    except (binascii.Error, ValueError):
        text = ""
    word, _, number = text.partition(":")
    if word != "after" or not number.isdecimal() or len(number) > 18:  # noqa: PLR2004 - no list is longer
        raise ApiError("INVALID_INPUT", "cursor: is not a next_cursor of this list.")
    return int(number)
