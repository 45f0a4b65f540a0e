"""Rules for what the merchant shows at any time, and after an event that it has acknowledged."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from paydouble.core.durations import UNITS_MS
from paydouble.core.money import MINOR_DIGITS
from paydouble.core.printable import printable
from paydouble.sandbox import Sandbox
from paydouble.stateful import expected
from paydouble.stateful.expected import ExpectedState, Order
from paydouble.stateful.findings import Found, Rule
from paydouble.stateful.held_to import WATCHED_MS
from paydouble.stateful.merchant import CLOSED, STATUSES, Merchant

# Of a balance that is written out.
_MOST_DIGITS = 30
_LONG_MS = 30 * UNITS_MS["m"]
# For so long an order is kept while its payment is processing.
_KEPT_MS = 5 * UNITS_MS["h"]
_HAS_MONEY = frozenset({"paid", "partly_refunded", "refunded", "charged_back"})
_HAS_NONE = frozenset({"unpaid", "pending", "failed", "cancelled"})


def of_view(merchant: Merchant, order: Order, status: str, state: ExpectedState) -> Iterator[Found]:
    """Yield what is wrong, at any time, with what the merchant shows for an order."""
    name = order.id
    if status not in STATUSES:
        yield Rule.VIEW, f"calls {name} {status!r}, which is none of: {', '.join(STATUSES)}"
    if status in _HAS_MONEY and not state.paid:
        yield Rule.UNPAID, f"calls {name} {status}, but no money has come"
    # A job may give the money back later, or once more; whether it has done so is asked in the end.
    is_closed = status == "cancelled" and (order.is_cancelled or expected.is_asked_back(state))
    is_undone = is_closed or (expected.is_unexpected(order, state) and expected.is_asked_back(state))
    if order.status in _HAS_MONEY and status in _HAS_NONE and state.paid and not is_undone:
        yield Rule.VIEW, f"called {name} {order.status} and now calls it {status}, though its money is there"
    for effect, times in merchant.effects(name).items():
        if times > 1:
            yield Rule.EFFECTS, f"did {effect!r} {times} times for {name}; it may happen once"
    yield from _of_shipments(order, merchant.shipments(name) or 0, state)


def of_accepted_refund(box: Sandbox, order: Order, status: str, state: ExpectedState) -> Iterator[Found]:
    """Yield the status of an order that is called refunded before any refund of it has succeeded."""
    is_new = status in {"partly_refunded", "refunded"} and order.status != status
    if not is_new or state.disputes or not state.refunds:
        return
    refunds = {each.id for each in state.refunds}
    events = box.journal.events.entries
    if not any(each.type == "refund.succeeded" and each.object_id in refunds for each in events):
        yield Rule.VIEW, f"calls {order.id} {status} though no refund of it has succeeded yet"


def of_received_payment(order: Order, status: str, state: ExpectedState, now: int) -> Iterator[Found]:
    """Yield an order that is given up by the merchant itself though its payment has been processing for long.

    Half an hour later every job has run that works on what has come. One that was given up before is not taken up for
    it: the money goes back when it has come. After five hours it may be given up. `now` is in milliseconds.
    """
    received = (each.updated_at for each in expected.being_received(state) if each.id in order.received)
    is_received = any(_LONG_MS <= now - updated_at <= _KEPT_MS for updated_at in received)
    if status in CLOSED and is_received and not (order.is_cancelled or order.cancellations):
        yield Rule.VIEW, f"calls {order.id} {status} while its payment is processing, which is received money"


def of_given_up(order: Order, status: str, state: ExpectedState) -> Iterator[Found]:
    """Yield an order that was open until a job ran, and is given up since, though its payment had succeeded before.

    Reads would have told it. An order that the customer has cancelled, and money that is not what was asked for, are
    other matters.
    """
    is_plain = not (order.is_cancelled or order.cancellations or order.paid_late or expected.amount_differs(state))
    if status in CLOSED and is_plain:
        yield Rule.VIEW, f"calls {order.id} {status} in a job, though its payment had succeeded before, as a read tells"


def of_disputed_goods(order: Order, state: ExpectedState) -> Iterator[Found]:
    """Yield an order whose goods are handed out when one dispute ends, though they were held back for the others alone.

    A merchant may hand out what is disputed, also after it has held it back for some time. One that still holds it back
    must not hand it out because another dispute has ended.
    """
    disputes = expected.open_disputes(state)
    if order.shipped and disputes < order.held_with and disputes in order.held_for:
        why = "a dispute is open for which it had held them back; another one has ended"
        yield Rule.VIEW, f"hands out the goods of {order.id}, of which {why}"
    order.held_with = disputes if order.was_shipped and not order.shipped else frozenset()
    if order.held_with:
        order.held_for.add(disputes)


def of_sent_goods(order: Order, state: ExpectedState, now: int) -> Iterator[Found]:
    """Yield an order whose goods have just been sent though a merchant holds them back while a dispute is open.

    `now` is in milliseconds. The merchant may hold them back for a shorter time than a dispute takes.
    """
    recent = {each.id for each in state.disputes if now - each.created_at <= WATCHED_MS}
    known = order.known_disputes & expected.open_disputes(state) & recent
    is_simple = len(state.paid) == 1 and not order.was_beyond_the_contract
    if order.is_held_to("goods held back") and order.shipped and not order.was_shipped and is_simple and known:
        why = "a dispute of it is open, and without any trouble this shop holds such goods back"
        yield Rule.VIEW, f"sends the goods of {order.id} though {why}"


def of_own_rules(merchant: Merchant) -> Iterator[Found]:
    """Yield the merchant's own rules that do not hold."""
    for text in merchant.broken_rules():
        yield Rule.OWN, f"breaks a rule of its own: {printable(text)}"


def _of_shipments(order: Order, shipped: int, state: ExpectedState) -> Iterator[Found]:
    name = order.id
    if not shipped:
        return
    if shipped > 1:
        yield Rule.EFFECTS, f"fulfilled {name} {shipped} times"
    if not state.paid:
        yield Rule.UNPAID, f"fulfilled {name}, but no money has come"
    elif shipped > order.shipped and order.was_given_back and _wants_no_goods(order, state):
        yield Rule.EFFECTS, f"fulfilled {name} after all of its money was given back"
    elif shipped and not order.was_shipped and order.was_charged_back and expected.is_charged_back(state):
        yield Rule.EFFECTS, f"fulfilled {name} after all of its money was charged back"
    elif expected.amount_differs(state) and sum(each.amount for each in state.paid) < order.amount:
        yield Rule.UNPAID, f"fulfilled {name}, but another amount was paid than was asked for"
    elif expected.amount_differs(state) and _paid_in_its_currency(order, state) < order.amount:
        yield Rule.UNPAID, f"fulfilled {name}, but it was paid in another currency than was asked for"


def _paid_in_its_currency(order: Order, state: ExpectedState) -> int:
    """Return what was paid for an order, in minor units; what came in another currency may be worth less."""
    return sum(each.amount for each in state.paid if each.currency == order.currency)


def _wants_no_goods(order: Order, state: ExpectedState) -> bool:
    """Return whether goods that a customer has now, and did not have before, are too much, since the money goes back.

    What was held back during a dispute may be valid again until the refund has succeeded: it may still fail.
    """
    return expected.is_given_back(state) and not (order.was_shipped and expected.is_being_refunded(state))


class Answered(NamedTuple):
    """An event that a merchant has acknowledged."""

    event: str
    """Its type."""
    status: int

    def described(self, order: Order) -> str:
        """Return the beginning of a sentence about it."""
        return f"answered {self.status} to the {self.event} of {order.id} and"


def of_paid(
    merchant: Merchant, order: Order, state: ExpectedState, answered: Answered, *, ships: bool
) -> Iterator[Found]:
    """Yield what is missing after a merchant has acknowledged the event that says an order is paid.

    Goods only if it `ships` with the rest. While the payment is disputed they may be held back, and once all of its
    money is asked back they may be taken back, before a refund has succeeded.
    """
    is_due = ships and not state.disputes and not expected.is_asked_back(state)
    for text in _of_payment(merchant, order, ships=is_due):
        yield Rule.LOST, f"{answered.described(order)} {text}"


def of_known(
    merchant: Merchant, order: Order, state: ExpectedState, answered: Answered, *, ships: bool
) -> Iterator[Found]:
    """Yield what is wrong with what a merchant shows for an order of which it has acknowledged everything.

    `answered` is the latest event; goods are missed only if it `ships` with the rest.
    """
    for text in of_effects(merchant, order, state, ships=ships):
        yield Rule.LOST, f"{answered.described(order)} {text}"


def of_effects(merchant: Merchant, order: Order, state: ExpectedState, *, ships: bool = True) -> Iterator[str]:
    """Yield what differs from the ledger in what a merchant shows; the text continues the sentence `It …`.

    A payment under way has no effect yet, except that the order is not a failed one.
    """
    if expected.is_under_way(state):
        if order.status in CLOSED:
            yield f"calls it {order.status}, though a payment is under way"
        return
    allowed = allowed_statuses(merchant, order, state)
    # A shop may close an order whose money goes back. What has failed to go back may be asked for again later.
    is_closed = order.status == "cancelled" and expected.is_asked_back(state)
    if order.status not in allowed and not is_closed:
        yield f"calls it {order.status}; {should_be(order, state, allowed)}"
    if state.paid:
        yield from of_balance(merchant, order, state)
    if is_only_paid(order, state):
        yield from _of_payment(merchant, order, ships=ships)


def should_be(order: Order, state: ExpectedState, allowed: frozenset[str]) -> str:
    """Return what a merchant should show instead of a status, as the end of a sentence."""
    if order.status == "paid" and expected.is_reviewed_for_disputes(order, state):
        return "all of its money is disputed, and without any trouble it shows such an order in review"
    return f"the service's ledger says {' or '.join(sorted(allowed))}"


def _of_payment(merchant: Merchant, order: Order, *, ships: bool) -> Iterator[str]:
    if order.status in _HAS_NONE:
        yield f"still calls it {order.status}"
    elif ships and merchant.shipments(order.id) == 0 and order.status == "paid":
        yield "has not fulfilled it"


def is_only_paid(order: Order, state: ExpectedState) -> bool:
    """Return whether an order was paid, and nothing has happened to its money since."""
    return not (state.refunds or state.disputes) and has_its_money(order, state)


def has_its_money(order: Order, state: ExpectedState) -> bool:
    """Return whether an order is to be fulfilled for its money."""
    # A part may have gone back, as for an item that is not sent. A customer who asked for all of it wants no goods any
    # more, even when that refund has failed since, or is still to be made.
    taken = sum(order.refunds_requested[refund_id] for refund_id in order.refund_ids_taken)
    if expected.is_asked_back(state) or taken >= sum(each.amount for each in state.paid):
        return False
    return not (any(each.status != "won" for each in state.disputes) or order.paid_late or order.is_cancelled)


def allowed_statuses(merchant: Merchant, order: Order, state: ExpectedState) -> frozenset[str]:
    """Return the statuses that a merchant may show for an order."""
    allowed = expected.allowed_statuses(order, state)
    # A person may decide about goods that were not sent before a dispute.
    is_open = bool(state.disputes) and merchant.shipments(order.id) == 0
    return allowed | {"review"} if is_open else allowed


def of_balance(merchant: Merchant, order: Order, state: ExpectedState) -> Iterator[str]:
    """Yield how the merchant's books contradict the ledger, in words."""
    # The books may wait for the person who decides. A dispute alone is no reason: the contract has its whole course.
    is_usual = state.disputes and not (order.was_beyond_the_contract or expected.has_unknown_outcome(state))
    if order.status == "review" and not is_usual:
        return
    held, due = merchant.balance(order.id), expected.allowed_balances(order, state)
    if held is not None and held not in due:
        amounts = " or ".join(map(str, sorted(due)))
        shown = f"{_written(held, order.currency)} {order.currency}"
        yield f"has a balance of {shown} for {order.id}; it should be {amounts}"


def _written(amount: Decimal | int, currency: str) -> str:
    """Return an amount of the merchant's with at least the digits of its currency, as the ledger's are written."""
    exact = Decimal(amount)
    exponent = exact.as_tuple().exponent
    if not isinstance(exponent, int) or abs(exponent) > _MOST_DIGITS:
        return str(exact)
    return f"{exact:.{max(MINOR_DIGITS[currency], -exponent)}f}"
