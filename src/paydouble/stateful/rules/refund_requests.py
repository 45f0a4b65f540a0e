"""Rules for its requests for refunds: of which payment, of how much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from paydouble.core.money import write_amount
from paydouble.journal import RequestEntry
from paydouble.payments.lifecycle import UNSUCCESSFUL
from paydouble.payments.resources import PayIn
from paydouble.sandbox import Sandbox
from paydouble.stateful import expected
from paydouble.stateful.expected import ExpectedState, Order
from paydouble.stateful.findings import Found, Rule
from paydouble.stateful.rules.journal import TOO_MANY, amount_in_body, in_words, text_in_body
from paydouble.stateful.service import is_final, is_outage


def refunds_asked_for(box: Sandbox, orders: Sequence[Order], start: int) -> Iterator[tuple[RequestEntry, PayIn, Order]]:
    """Yield the requests for refunds from a position of the journal on, with the payment that they name."""
    log = box.journal.requests
    for entry in log.since(start):
        named = text_in_body(entry, "payin_id") if entry.operation == "refund-creation" else None
        target = box.ledger.find(named) if named else None
        if isinstance(target, PayIn):
            order = next((each for each in orders if each.owns(target.external_identifier)), None)
            if order is not None:
                yield entry, target, order


def knows_each_refund(box: Sandbox, order: Order, state: ExpectedState) -> bool:
    """Return whether the merchant asked for each refund of an order, and the service has refused none.

    One whose reply is lost may have been made, so a merchant has to count its money as given back.
    """
    asked = [entry for entry, _, _ in refunds_asked_for(box, [order], 0)]
    is_own = len(expected.own_refunds(order, state)) == len(state.refunds)
    return is_own and not any(is_final(entry.status) for entry in asked)


def with_stored_error(box: Sandbox, order: Order) -> int:
    """Return the money of an order's refunds that are answered with an error that is stored under their keys.

    In minor units. They are not made, and a merchant that keeps their keys, as the contract asks, cannot know it until
    the keys are no longer valid.
    """
    latest = {entry.key: entry for entry, _, _ in refunds_asked_for(box, [order], 0)}
    waiting = (each for each in latest.values() if each.verdict == "replay" and is_outage(each.status))
    return sum(amount_in_body(each, order.currency) or 0 for each in waiting)


def of_refund_targets(box: Sandbox, orders: Sequence[Order], start: int) -> Iterator[Found]:
    """Yield refunds, asked for from a position of the journal on, of a payment without money, though another has it."""
    for _, target, order in refunds_asked_for(box, orders, start):
        if target.status in UNSUCCESSFUL and expected.expected_state(box, order).paid:
            ended = f"asked for a refund of a payment of {order.id} that has ended as {target.status}"
            yield Rule.REFUNDS, f"{ended}, though another one has brought the money"


def of_excessive_refunds(box: Sandbox, orders: Sequence[Order], start: int) -> Iterator[Found]:
    """Yield refunds, asked for from a position of the journal on, that are more than the merchant shows to be left.

    Only one that the merchant decided on itself, such as that of a cancelled order, and only while it shows the order
    as partly refunded by one refund, so that it knows what is left. The service refuses such a refund, and the customer
    waits for the rest.
    """
    for entry, _, order in refunds_asked_for(box, orders, start):
        amount = amount_in_body(entry, order.currency)
        is_plain = entry.status == 422 and not entry.faults and order.status == "partly_refunded"  # noqa: PLR2004 - HTTP
        if amount is None or amount in order.refunds_requested.values() or not is_plain:
            continue
        state = expected.expected_state(box, order)
        left = expected.refundable(state)
        is_known = len(state.paid) == len(state.refunds) == 1 and not (state.disputes or expected.amount_differs(state))
        if is_known and amount > left:
            money, rest = (f"{write_amount(each, order.currency)} {order.currency}" for each in (amount, left))
            text = f"asked for a refund of {money} of {order.id}, which it shows as partly refunded: {rest} is left"
            yield Rule.REFUNDS, f"{text} ({in_words(entry)})"


def of_refunds_at_once(box: Sandbox, order: Order, rest: int, start: int) -> Iterator[Found]:
    """Yield refunds, asked for from a position of the journal on, that are too much together and not alone.

    They were requested of the merchant at the same time. `rest` is what was left before, in minor units.
    """
    asked: dict[str | None, int] = {}
    for entry, _, _ in refunds_asked_for(box, [order], start):
        amount = amount_in_body(entry, order.currency)
        if amount is not None and not entry.faults:
            asked[entry.key] = amount
    total = sum(asked.values())
    if max(asked.values(), default=0) <= rest < total:
        money, left = (f"{write_amount(each, order.currency)} {order.currency}" for each in (total, rest))
        yield (
            Rule.REFUNDS,
            f"asks the service for {len(asked)} refunds of {order.id} at once, of {money} in all; {left} is left",
        )


class Disputed(NamedTuple):
    """An order of which a dispute holds or has taken money, as the merchant knows."""

    order: Order
    rest: int
    """What could be refunded, in minor units."""
    held: int
    """What is disputed, or was charged back, in minor units."""


def of_disputed_refunds(box: Sandbox, disputed: Sequence[Disputed], start: int) -> Iterator[Found]:
    """Yield refunds, asked for from a position of the journal on, of money of which a merchant knows the dispute.

    A request that was sent before may be repeated, since only its reply tells what became of it; one to which the
    service answered 429 was not carried out.
    """
    known = {each.order.id: each for each in disputed}
    sent = {entry.key for entry in box.journal.requests.since(0, start) if entry.status != TOO_MANY}
    for entry, _, order in refunds_asked_for(box, [each.order for each in disputed], start):
        amount, (_, rest, held) = amount_in_body(entry, order.currency), known[order.id]
        if amount is not None and entry.key not in sent and rest >= amount > rest - held:
            money, taken = (f"{write_amount(each, order.currency)} {order.currency}" for each in (amount, held))
            text = f"tries to refund {money} of {order.id}, of which {taken} is disputed or was charged back"
            yield Rule.REFUNDS, text
        sent.add(entry.key)
