"""What the service has answered to requests, as far as it excuses a merchant or binds it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from paydouble.sandbox import Sandbox
from paydouble.stateful import expected
from paydouble.stateful.expected import ExpectedState, Order
from paydouble.stateful.rules.journal import (
    amount_in_body,
    has_unknown_status,
    identifier_of,
    is_refused,
    is_refused_without_a_reason,
    order_of,
    text_in_body,
)
from paydouble.stateful.rules.refund_requests import refunds_asked_for
from paydouble.stateful.service import is_final


def with_refused_refunds(box: Sandbox, orders: Sequence[Order], start: int) -> Iterator[Order]:
    """Yield the orders of which a requested refund was refused, from a position of the journal on, with good reason.

    It is more than what is left without what disputes hold.
    """
    for entry, _, order in refunds_asked_for(box, orders, start):
        state, amount = expected.expected_state(box, order), amount_in_body(entry, order.currency)
        left = expected.refundable(state) - expected.taken_by_disputes(state)
        is_too_much = amount is not None and amount > left
        if is_final(entry.status) and is_too_much and amount in order.refunds_requested.values():
            yield order


def refused_for_no_reason(box: Sandbox, orders: Sequence[Order], start: int) -> Iterator[Order]:
    """Yield the orders of which a deposit or refund was refused, from a position of the journal on, by a fault.

    That is a 409 to an identical request, or a code or a status that is not in the contract: no shop can know what
    became of it. A 401 to the right credentials is not among the errors to retry (contract, section 7): a person has to
    look at them.
    """
    log = box.journal.requests
    refused = {
        entry.id
        for entry in log.since(start)
        if entry.faults and (has_unknown_status(entry) or is_refused_without_a_reason(entry))
    }
    for entry, _, order in refunds_asked_for(box, orders, start) if refused else ():
        if entry.id in refused:
            yield order
    for entry in log.since(start):
        if entry.id in refused and entry.operation == "deposit-creation":
            named = order_of(entry, orders)
            yield from (each for each in orders if each.id == named)


def is_asked_for(box: Sandbox, order: Order, orders: Sequence[Order], start: int) -> bool:
    """Return whether a deposit was asked for from a position of the journal on, and for none of the other orders."""
    log = box.journal.requests
    others = {each.id for each in orders if each is not order}
    return any(
        entry.operation == "deposit-creation" and order_of(entry, orders) not in others for entry in log.since(start)
    )


def is_refused_only(box: Sandbox, order: Order, start: int) -> bool:
    """Return whether deposits of an order were asked for from a position of the journal on, and all refused."""
    log = box.journal.requests
    sent = [
        entry
        for entry in log.since(start)
        if entry.operation == "deposit-creation" and order.owns(identifier_of(entry))
    ]
    return bool(sent) and all(is_final(entry.status) for entry in sent)


def statuses_of_deposits(box: Sandbox, order: Order) -> frozenset[int | None]:
    """Return the statuses with which deposits of an order were answered; None is in it where one got no answer."""
    return frozenset(
        entry.status
        for entry in box.journal.requests.entries
        if entry.operation == "deposit-creation" and order.owns(identifier_of(entry))
    )


def was_refused(box: Sandbox, order: Order) -> bool:
    """Return whether a deposit of an order was refused for good, so that the merchant may close the order."""
    return any(
        entry.operation == "deposit-creation" and is_refused(entry) and order.owns(identifier_of(entry))
        for entry in box.journal.requests.entries
    )


def met_a_fault(box: Sandbox, order: Order, state: ExpectedState) -> bool:
    """Return whether a fault acted on a deposit or refund of an order, so that the merchant may not know its outcome.

    A fault that lasts for several replies also meets the requests of later orders.
    """
    pay_ins = {each.id for each in state.pay_ins}
    return any(
        entry.method == "POST" and (order.owns(identifier_of(entry)) or text_in_body(entry, "payin_id") in pay_ins)
        for entry in box.journal.requests.entries
        if entry.faults
    )
