"""What each operation does: run a command of the sandbox, return a document. This module has paging and money."""

from __future__ import annotations

import base64
import binascii
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeVar

from paydouble.api.calls import Call
from paydouble.config import LARGEST_PAGE
from paydouble.core.errors import ApiError
from paydouble.core.money import to_minor
from paydouble.payments.resources import AnyResource, Document

if TYPE_CHECKING:
    from paydouble.payments.ledger import Named
    from paydouble.sandbox import Sandbox

R = TypeVar("R", bound=AnyResource)
DEFAULT_PAGE: Final = 20
"""The most items of a page for a client that names no limit."""


def digits_of(sandbox: Sandbox, currency: str) -> int:
    """Return a currency's minor digits; 422 for one that the service does not know."""
    digits = sandbox.catalogue.digits.get(currency)
    if digits is None:
        raise ApiError("VALIDATION_ERROR", f"currency: {currency} is not supported.")
    return digits


def minor_units(amount: Decimal, currency: str, digits: int, member: str = "amount") -> int:
    """Return an amount in minor units; 400 for more decimal places than the currency has."""
    try:
        return to_minor(amount, digits)
    except ValueError as error:
        raise ApiError("INVALID_INPUT", f"{member}: {error} ({currency} has {digits}).") from None


def refuse_duplicate(sandbox: Sandbox, kind: type[Named], external_identifier: str | None) -> None:
    """Raise 422 for an external identifier that an earlier resource of the kind has, where the settings say so."""
    if external_identifier is None or sandbox.settings.duplicate_external_identifier == "allow":
        return
    holder = sandbox.ledger.holder(kind, external_identifier)
    if holder is not None:
        raise ApiError("VALIDATION_ERROR", f"external_identifier: {external_identifier!r} is {holder}'s already.")


def page(call: Call, kind: type[R], filters: tuple[str, ...]) -> Document:
    """Return one page of a list, in the order of the setting `list_order`.

    The cursor has the kind of the list and the place of the last item, not a count, so that nothing is repeated or
    skipped when something is created between two pages. The filters are not part of it.
    """
    queries = call.queries
    limit = min(_limit(queries.get("limit")), call.sandbox.settings.page_limit)
    wanted = {name: queries[name] for name in filters if name in queries}
    stamp = call.sandbox.ledger.stamp
    items: list[Document] = []
    last = 0
    place = _place(queries.get("cursor"), kind.OBJECT)
    ledger = call.sandbox.ledger
    newest_first = call.sandbox.settings.list_order == "newest_first"
    for resource in ledger.newest_first(kind, place) if newest_first else ledger.oldest_first(kind, place):
        if any(getattr(resource, name) != value for name, value in wanted.items()):
            continue
        if len(items) == limit:
            return {"items": items, "next_cursor": _cursor(last, kind.OBJECT)}
        items.append(resource.document(stamp))
        last = resource.sequence
    return {"items": items, "next_cursor": None}


def _limit(text: str | None) -> int:
    if text is None:
        return DEFAULT_PAGE
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(LARGEST_PAGE))
    if not is_number or not 1 <= int(text) <= LARGEST_PAGE:
        raise ApiError("INVALID_INPUT", f"limit: must be a whole number from 1 to {LARGEST_PAGE}.")
    return int(text)


def _cursor(sequence: int, kind: str) -> str:
    return base64.urlsafe_b64encode(f"{kind}:{sequence}".encode()).decode().rstrip("=")


def _place(cursor: str | None, kind: str) -> int | None:
    if cursor is None:
        return None
    try:
        text = base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4)).decode("ascii")
    except (binascii.Error, ValueError):
        text = ""
    word, _, number = text.partition(":")
    if word != kind or not number.isdecimal() or len(number) > 18:  # noqa: PLR2004 - no list is longer
        raise ApiError("INVALID_INPUT", "cursor: is not a next_cursor of this list.")
    return int(number)
