"""What an entry of the journal says: about which order a request is, and how it was answered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from paydouble.core.errors import STATUS
from paydouble.core.money import parse_amount
from paydouble.journal import RequestEntry
from paydouble.payments.lifecycle import PAY_IN, REFUND
from paydouble.sandbox import Sandbox
from paydouble.stateful.expected import Order

# Codes of the contract that a fault sends without their reason.
_UNFOUNDED = frozenset({"IDEMPOTENCY_CONFLICT", "UNAUTHORIZED"})
TOO_MANY = 429
NO_OPERATION: Final = (
    "for which the service has no operation. The base URL ends with /api/v1. Where the shop knows an operation by "
    "another path, say so in `paths` of the adapter, or in a merchant file under `service`."
)
"""What a sentence about one of the `unknown_requests` goes on with."""


def is_refused_without_a_reason(entry: RequestEntry) -> bool:
    """Return whether a request was refused with a code that the contract does not have, or has for another reason."""
    return is_refused(entry) and _code(entry) not in STATUS.keys() - _UNFOUNDED


def has_unknown_status(entry: RequestEntry) -> bool:
    """Return whether an answer has an object in a status that the contract does not have."""
    try:
        return json.loads(entry.response_body)["data"]["status"] not in {*PAY_IN, *REFUND}
    except (ValueError, KeyError, TypeError):
        return False


def is_refused(entry: RequestEntry) -> bool:
    """Return whether a request was refused for another reason than too many of them."""
    return entry.status is not None and 400 <= entry.status < 500 and entry.status != TOO_MANY  # noqa: PLR2004 - HTTP


def in_words(entry: RequestEntry) -> str:
    """Return a request for a sentence: its method, its target and its order."""
    about = f" for {entry.external_identifier}" if entry.external_identifier else ""
    return f"{entry.method} {entry.target}{about}"


def unknown_requests(box: Sandbox) -> list[str]:
    """Return the requests for which the service has no operation: the method and path of each."""
    return [
        f"{entry.method} {entry.target.partition('?')[0]}"
        for entry in box.journal.requests.entries
        if entry.operation is None and entry.status == STATUS["NOT_FOUND"]
    ]


def order_of(entry: RequestEntry, orders: Sequence[Order]) -> str | None:
    """Return the id of the order that a deposit is asked for; an identifier that is no order's is returned as it is."""
    named = identifier_of(entry)
    return order_named(named, orders) or named


def order_named(external_identifier: str | None, orders: Sequence[Order]) -> str | None:
    """Return the id of the order that a deposit is for; None when it is for none."""
    if external_identifier is None or not orders:
        return None
    found = orders[0].order_of(external_identifier)  # all orders of a play tell the same
    return found if any(order.id == found for order in orders) else None


def identifier_of(entry: RequestEntry) -> str | None:
    """Return the external identifier of a request; None when it has none."""
    # A request that never reached the operation was not parsed, so its body is parsed here.
    if entry.external_identifier is not None:
        return entry.external_identifier
    return text_in_body(entry, "external_identifier")


def text_in_body(entry: RequestEntry, member: str) -> str | None:
    """Return a text that a member of the body has; None when it has none."""
    try:
        named: object = json.loads(entry.body)[member]
    except (ValueError, KeyError, TypeError):
        return None
    return named if isinstance(named, str) else None


def amount_in_body(entry: RequestEntry, currency: str) -> int | None:
    """Return the amount in a body in the currency's minor units; None when it has none."""
    try:
        return parse_amount(str(json.loads(entry.body, parse_float=Decimal)["amount"]), currency)
    except (ValueError, KeyError, TypeError, ArithmeticError):
        return None


def _code(entry: RequestEntry) -> str:
    """Return an answer's code as the contract's table has it; envelope A writes it in small letters."""
    try:
        return str(json.loads(entry.response_body)["error"]["code"]).upper()
    except (ValueError, KeyError, TypeError):
        return ""


def message_of(entry: RequestEntry) -> str:
    """Return the message of an answer's error; empty when there is none."""
    try:
        return str(json.loads(entry.response_body)["error"]["message"]).removesuffix(".")
    except (ValueError, KeyError, TypeError):
        return "no message"
