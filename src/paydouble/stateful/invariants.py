"""What must hold of any merchant: after every step, and in the end, when everything has been healed and has settled."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from paydouble.core.money import write_amount
from paydouble.journal import RequestEntry
from paydouble.payments.resources import PayIn
from paydouble.sandbox import Sandbox
from paydouble.stateful import books
from paydouble.stateful.books import Order, Truth
from paydouble.stateful.merchant import STATUSES, Merchant

_HAS_MONEY = frozenset({"paid", "partly_refunded", "refunded", "charged_back"})
_HAS_NONE = frozenset({"unpaid", "pending", "failed", "cancelled"})


def of_requests(box: Sandbox, start: int) -> Iterator[str]:
    """Yield what is wrong with the requests since a place of the journal."""
    log = box.journal.requests
    for entry in islice(log.entries, start - log.evicted, None):
        if entry.faults:
            continue
        if entry.verdict == "conflict":
            yield f"sent another request under the Idempotency-Key of an earlier one ({_named(entry)})"
        elif entry.status == 400:  # noqa: PLR2004 - HTTP
            yield f"sent a request that the service cannot read ({_named(entry)}): {_message(entry)}"
        elif entry.status in {401, 403, 404} and entry.operation is None:
            yield f"called what is not there, or without its credentials ({_named(entry)}): {_message(entry)}"


def of_keys(box: Sandbox, start: int) -> Iterator[str]:
    """Yield what is wrong with the keys of the requests of one operation, which began at a place of the journal."""
    log = box.journal.requests
    keys: dict[tuple[str, str | None], str] = {}
    for entry in islice(log.entries, start - log.evicted, None):
        if entry.method != "POST" or entry.key is None or entry.operation != "deposit-creation":
            if entry.method == "GET":
                keys.clear()  # who has looked may begin anew
            continue
        intent = (entry.operation, _order_of(entry))
        if keys.get(intent, entry.key) != entry.key:
            yield f"took a new Idempotency-Key for a retry ({_named(entry)})"
        keys[intent] = entry.key
        if entry.status in {400, 422}:
            keys.pop(intent, None)  # refused for good: what follows is another request


def of_books(box: Sandbox, orders: Sequence[Order]) -> Iterator[str]:
    """Yield what is wrong with what the merchant has set in motion."""
    known = {order.id for order in orders}
    for pay_in in box.ledger.newest_first(PayIn):
        if pay_in.external_identifier not in known:
            yield f"made a deposit for {pay_in.external_identifier!r}, an order that nobody placed"
    for order in orders:
        found = books.truth(box, order)
        yield from _of_deposits(order, found)
        yield from _of_refunds(order, found)


def of_beliefs(merchant: Merchant, order: Order, status: str, found: Truth) -> Iterator[str]:
    """Yield what is wrong with what the merchant believes of an order, at any time."""
    name = order.id
    if status not in STATUSES:
        yield f"calls {name} {status!r}, which is none of: {', '.join(STATUSES)}"
    if status in _HAS_MONEY and not found.paid:
        yield f"calls {name} {status}, but no money has come"
    if order.status in _HAS_MONEY and status in _HAS_NONE and found.paid:
        yield f"called {name} {order.status} and now calls it {status}, though its money is there"
    shipped = merchant.shipments(name)
    if shipped is None or not shipped:
        return
    if shipped > 1:
        yield f"fulfilled {name} {shipped} times"
    if not found.paid:
        yield f"fulfilled {name}, but no money has come"
    elif books.drifted(found):
        yield f"fulfilled {name}, but another amount was paid than was asked for"


def in_the_end(merchant: Merchant, order: Order, status: str, found: Truth) -> Iterator[str]:
    """Yield what is wrong with what the merchant believes of an order when nothing more will happen."""
    name = order.id
    may = books.allowed(order, found)
    if status not in may:
        yield f"calls {name} {status} in the end; the service's books say {' or '.join(sorted(may))}"
    if order.due and not found.pay_ins and merchant.retries_by_itself:
        yield f"never made a deposit for {name}, though {order.due}"
    if books.drifted(found):
        return
    held = merchant.balance(name)
    if held is not None and held != books.balance(order, found):
        yield f"has {held} {order.currency} in its books for {name}; it should be {books.balance(order, found)}"
    if merchant.shipments(name) == 0 and found.paid and not found.refunds and not found.disputes and not order.late:
        yield f"never fulfilled {name}, which is paid"


def _of_deposits(order: Order, found: Truth) -> Iterator[str]:
    charged = [each for each in found.paid if each.id not in order.late]
    if len(charged) > 1:
        yield f"charged {order.id} {len(charged)} times"
    if len(found.pay_ins) > order.presses:
        yield f"made {len(found.pay_ins)} deposits for {order.id}; the customer has pressed {order.presses} times"
    for pay_in in found.pay_ins:
        if pay_in.settles_at is None and (pay_in.amount, pay_in.currency) != (order.amount, order.currency):
            amount = write_amount(pay_in.amount, pay_in.currency)
            yield f"asked for {amount} {pay_in.currency} for {order.id}, which costs {order.money} {order.currency}"


def _of_refunds(order: Order, found: Truth) -> Iterator[str]:
    given = Counter(each.amount for each in found.refunds if each.status != "failed")
    extra = given - Counter(order.wishes.values())
    for amount in extra:
        money = write_amount(amount, order.currency)
        wished = sum(each == amount for each in order.wishes.values())
        yield f"gave {money} {order.currency} of {order.id} back {given[amount]} times; that was wanted {wished} times"


def _named(entry: RequestEntry) -> str:
    about = f" for {entry.external_identifier}" if entry.external_identifier else ""
    return f"{entry.method} {entry.target}{about}"


def _order_of(entry: RequestEntry) -> str | None:
    # A request that never reached the operation has not been read; its body still tells.
    if entry.external_identifier is not None:
        return entry.external_identifier
    try:
        named: object = json.loads(entry.body)["external_identifier"]
    except (ValueError, KeyError, TypeError):
        return None
    return named if isinstance(named, str) else None


def _message(entry: RequestEntry) -> str:
    try:
        return str(json.loads(entry.response_body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return "no message"
