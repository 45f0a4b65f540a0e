"""The rules for every merchant: at any time, and at the end, when all faults are gone and nothing more happens."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from itertools import islice, pairwise
from typing import NamedTuple

from paydouble.core.durations import UNITS_MS
from paydouble.core.errors import STATUS
from paydouble.core.money import MINOR_DIGITS, parse_amount, write_amount
from paydouble.core.printable import printable
from paydouble.journal import RequestEntry
from paydouble.payments.lifecycle import PAY_IN, REFUND, UNSUCCESSFUL
from paydouble.payments.resources import PayIn, Refund
from paydouble.sandbox import Sandbox
from paydouble.stateful import expected
from paydouble.stateful.changed_requests import changes
from paydouble.stateful.expected import ExpectedState, Order, Refusal
from paydouble.stateful.findings import Rule
from paydouble.stateful.merchant import STATUSES, Merchant
from paydouble.stateful.service import is_final, is_outage

Found = tuple[Rule, str]
"""A broken rule; the text continues the sentence `The merchant …`."""
# Codes of the contract that a fault sends without their reason.
_UNFOUNDED = frozenset({"IDEMPOTENCY_CONFLICT", "UNAUTHORIZED"})
_MOST_KEYS = 4
# Of one order in a day, besides those that were requested. The contract recommends five attempts of a request.
_MOST_FAILED_REFUNDS = 10
# The same request. A merchant may be killed before it has noted a refusal, and a customer may click again.
_MOST_REFUSALS = 3
_REASON_SHOWN = 60
# Of a balance that is written out.
_MOST_DIGITS = 30
# With jitter no two pauses are the same, and the contract recommends five attempts at most.
_MOST_EQUAL_PAUSES = 5
_TOO_MANY = 429
_ENDED = frozenset({f"pay-in.{status}" for status in UNSUCCESSFUL})
_HAS_MONEY = frozenset({"paid", "partly_refunded", "refunded", "charged_back"})
_HAS_NONE = frozenset({"unpaid", "pending", "failed", "cancelled"})


def of_requests(box: Sandbox, start: int) -> Iterator[Found]:
    """Yield what is wrong with the requests from a position of the journal on."""
    log = box.journal.requests
    for entry in islice(log.entries, start - log.evicted, None):
        if entry.faults:
            continue
        if entry.verdict == "conflict":
            first = next((each for each in log.entries if each.key == entry.key and each.verdict == "new"), None)
            told = "; ".join([_named(entry), *([changes(first, entry)] if first is not None else [])])
            yield Rule.KEY_REUSED, f"sent another request under the Idempotency-Key of an earlier one ({told})"
        elif entry.status == 400:  # noqa: PLR2004 - HTTP
            yield Rule.REQUEST, f"sent a request that the service cannot read ({_named(entry)}): {_message(entry)}"
        elif entry.status in {401, 403, 404} and entry.operation is None:
            yield (
                Rule.REQUEST,
                f"called what is not there, or without its credentials ({_named(entry)}): {_message(entry)}",
            )


def of_keys(box: Sandbox, orders: Sequence[Order], start: int, *, clicked: bool) -> Iterator[Found]:
    """Yield what is wrong with the keys of one operation's requests, which begin at a position of the journal.

    `clicked` is whether the customer has clicked before or meanwhile, so that a refused request may be made again.
    """
    log = box.journal.requests
    earlier = {entry.key for entry in islice(log.entries, start - log.evicted)}
    keys: dict[tuple[str, str | None], str] = {}
    refused: dict[tuple[str, str | None], tuple[str, bytes]] = {}
    used: set[str] = set()
    for entry in islice(log.entries, start - log.evicted, None):
        if entry.method != "POST" or entry.key is None or entry.operation != "deposit-creation":
            if entry.method == "GET":
                keys.clear()  # after a look-up a new key is allowed
            continue
        intent = (entry.operation, _order_of(entry, orders))
        # A click that was interrupted by a job comes back to its own key.
        if keys.get(intent, entry.key) != entry.key and entry.key not in used:
            yield Rule.NEW_KEY, f"took a new Idempotency-Key for a retry ({_named(entry)})"
        elif intent in refused and _is_the_same_again(entry, *refused[intent]) and not clicked:
            yield Rule.NEW_KEY, f"repeated a request that was refused for good, under a new key ({_named(entry)})"
        keys[intent] = entry.key
        # To a key that was never sent before, a 409 says that somebody else has it.
        is_refused = is_final(entry.status) or (entry.status == 409 and entry.key not in used | earlier)  # noqa: PLR2004 - HTTP
        used.add(entry.key)
        if entry.status in {400, 422} or (clicked and is_refused):
            keys.pop(intent, None)  # a final refusal: another body, or another click, may follow
            # Under an older key it may be the answer to an earlier click, which this click makes again.
            if entry.status == 422 and entry.key not in earlier:  # noqa: PLR2004 - HTTP
                refused[intent] = entry.key, entry.body


def of_repeated_refusals(box: Sandbox, orders: Sequence[Order], start: int) -> Iterator[Found]:
    """Yield what is wrong with deposits that were refused for good, and that nobody has asked for again.

    The requests that repeat one begin at a position of the journal.
    """
    # A merchant that was killed may not know of the refusal, and after hours its key may be too old.
    waiting = {order.id for order in orders if not (order.was_clicked_again or order.given_up)}
    refused: dict[str, RequestEntry] = {}
    for number, entry in enumerate(box.journal.requests.entries, box.journal.requests.evicted):
        order = _order_of(entry, orders) if entry.operation == "deposit-creation" else None
        if order is None or order not in waiting:
            continue
        earlier = refused.get(order)
        if number >= start and earlier is not None and _is_the_same_again(entry, str(earlier.key), earlier.body):
            yield Rule.NEW_KEY, f"repeated a request that was refused for good, under a new key ({_named(entry)})"
        if entry.status == 422:  # noqa: PLR2004 - HTTP
            refused[order] = entry


def of_endless_refusals(box: Sandbox, orders: Sequence[Order], lost: AbstractSet[int], start: int) -> Iterator[Found]:
    """Yield the requests that are sent again and again under one key, though the service has refused them for good.

    They are sent from a position of the journal on. Each click of the customer may send a deposit again, and each
    request of the merchant's staff a refund. `lost` has the numbers of those whose answer has not arrived.
    """
    asked = {order.id: order.clicks + order.refund_calls for order in orders}
    refused: Counter[tuple[str | None, bytes]] = Counter()
    for number, entry in enumerate(box.journal.requests.entries, box.journal.requests.evicted):
        if entry.method != "POST" or entry.status not in {400, 422} or number in lost:
            continue
        same = entry.key, entry.body
        refused[same] += 1
        pay_in = box.ledger.find(_named_in_body(entry, "payin_id") or "")
        named = pay_in.external_identifier if isinstance(pay_in, PayIn) else _identifier_of(entry)
        most = _MOST_REFUSALS + asked.get(_order_named(named, orders) or "", 0)
        if number >= start and refused[same] == most + 1:
            times = f"{most + 1} times, under the same key"
            yield Rule.ENDLESS, f"repeats a request that was refused for good: {times} ({_named(entry)})"


def of_pauses_between_jobs(box: Sandbox, runs: Sequence[int]) -> Iterator[Found]:
    """Yield the requests that jobs repeat after equal pauses, though the service has answered each with a 5xx.

    `runs` has a position of the journal before the first job, and after each. A request that each run of the job
    repeats is left out: then the pauses are those of anyone who runs it.
    """
    log = box.journal.requests
    sent: dict[tuple[str | None, bytes], list[int]] = {}
    named: dict[tuple[str | None, bytes], RequestEntry] = {}
    for run, (start, end) in enumerate(pairwise(runs)):
        for entry in islice(log.entries, start - log.evicted, end - log.evicted):
            if entry.method == "POST" and is_outage(entry.status):
                same = entry.key, entry.body
                sent.setdefault(same, []).append(run)
                named[same] = entry
    for same, times in sent.items():
        pauses = {after - before for before, after in pairwise(times)}
        if len(times) > _MOST_EQUAL_PAUSES and len(pauses) == 1 and min(pauses) > 1:
            often = f"{len(times)} times, always after the same pause"
            yield Rule.RETRIES, f"repeats {_named(named[same])} in its jobs {often}; the pauses have to grow"


def _refunds_asked_for(
    box: Sandbox, orders: Sequence[Order], start: int
) -> Iterator[tuple[RequestEntry, PayIn, Order]]:
    """Yield the requests for refunds from a position of the journal on, with the payment that they name."""
    log = box.journal.requests
    for entry in islice(log.entries, start - log.evicted, None):
        named = _named_in_body(entry, "payin_id") if entry.operation == "refund-creation" else None
        target = box.ledger.find(named) if named else None
        if isinstance(target, PayIn):
            order = next((each for each in orders if each.owns(target.external_identifier)), None)
            if order is not None:
                yield entry, target, order


def knows_each_refund(box: Sandbox, order: Order, state: ExpectedState) -> bool:
    """Return whether the merchant asked for each refund of an order, and the service has refused none.

    One whose reply is lost may have been made, so a merchant has to count its money as given back.
    """
    asked = [entry for entry, _, _ in _refunds_asked_for(box, [order], 0)]
    is_own = len(expected.own_refunds(order, state)) == len(state.refunds)
    return is_own and not any(is_final(entry.status) for entry in asked)


def of_refund_targets(box: Sandbox, orders: Sequence[Order], start: int) -> Iterator[Found]:
    """Yield refunds, asked for from a position of the journal on, of a payment without money, though another has it."""
    for _, target, order in _refunds_asked_for(box, orders, start):
        if target.status in UNSUCCESSFUL and expected.expected_state(box, order).paid:
            ended = f"asked for a refund of a payment of {order.id} that has ended as {target.status}"
            yield Rule.REFUNDS, f"{ended}, though another one has brought the money"


def of_excessive_refunds(box: Sandbox, orders: Sequence[Order], start: int) -> Iterator[Found]:
    """Yield refunds, asked for from a position of the journal on, that are more than the merchant shows to be left.

    Only one that the merchant decided on itself, such as that of a cancelled order, and only while it shows the order
    as partly refunded by one refund, so that it knows what is left. The service refuses such a refund, and the customer
    waits for the rest.
    """
    for entry, _, order in _refunds_asked_for(box, orders, start):
        amount = _amount_in_body(entry, order.currency)
        is_plain = entry.status == 422 and not entry.faults and order.status == "partly_refunded"  # noqa: PLR2004 - HTTP
        if amount is None or amount in order.refunds_requested.values() or not is_plain:
            continue
        state = expected.expected_state(box, order)
        left = expected.refundable(state)
        is_known = len(state.paid) == len(state.refunds) == 1 and not (state.disputes or expected.amount_differs(state))
        if is_known and amount > left:
            money, rest = (f"{write_amount(each, order.currency)} {order.currency}" for each in (amount, left))
            text = f"asked for a refund of {money} of {order.id}, which it shows as partly refunded: {rest} is left"
            yield Rule.REFUNDS, f"{text} ({_named(entry)})"


def with_refused_refunds(box: Sandbox, orders: Sequence[Order], start: int) -> Iterator[Order]:
    """Yield the orders of which a requested refund was refused, from a position of the journal on, with good reason.

    It is more than what is left without what disputes hold.
    """
    for entry, _, order in _refunds_asked_for(box, orders, start):
        state, amount = expected.expected_state(box, order), _amount_in_body(entry, order.currency)
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
        for entry in islice(log.entries, start - log.evicted, None)
        if entry.faults and (_has_unknown_status(entry) or _is_refused_without_a_reason(entry))
    }
    for entry, _, order in _refunds_asked_for(box, orders, start) if refused else ():
        if entry.id in refused:
            yield order
    for entry in islice(log.entries, start - log.evicted, None):
        if entry.id in refused and entry.operation == "deposit-creation":
            named = _order_of(entry, orders)
            yield from (each for each in orders if each.id == named)


def is_asked_for(box: Sandbox, order: Order, orders: Sequence[Order], start: int) -> bool:
    """Return whether a deposit was asked for from a position of the journal on, and for none of the other orders."""
    log = box.journal.requests
    others = {each.id for each in orders if each is not order}
    return any(
        entry.operation == "deposit-creation" and _order_of(entry, orders) not in others
        for entry in islice(log.entries, start - log.evicted, None)
    )


def is_refused_only(box: Sandbox, order: Order, start: int) -> bool:
    """Return whether deposits of an order were asked for from a position of the journal on, and all refused."""
    log = box.journal.requests
    sent = [
        entry
        for entry in islice(log.entries, start - log.evicted, None)
        if entry.operation == "deposit-creation" and order.owns(_identifier_of(entry))
    ]
    return bool(sent) and all(is_final(entry.status) for entry in sent)


def of_declined_orders(box: Sandbox, orders: Sequence[Order], start: int) -> Iterator[Found]:
    """Yield deposits that were asked for, from a position of the journal on, after the customer had been told no."""
    declined = {order.id: order.declined_after for order in orders if order.declined_after is not None}
    log = box.journal.requests
    for number, entry in enumerate(islice(log.entries, start - log.evicted, None) if declined else (), start):
        order = _order_of(entry, orders) if entry.operation == "deposit-creation" else None
        if order in declined and number >= declined[order]:
            yield (
                Rule.DEPOSITS,
                f"asked for a deposit for {order} without a click, after it had told the customer no ({_named(entry)})",
            )


def was_refused(box: Sandbox, order: Order) -> bool:
    """Return whether a deposit of an order was refused for good, so that the merchant may close the order."""
    return any(
        entry.operation == "deposit-creation" and _is_refused(entry) and order.owns(_identifier_of(entry))
        for entry in box.journal.requests.entries
    )


def met_a_fault(box: Sandbox, order: Order, state: ExpectedState) -> bool:
    """Return whether a fault acted on a deposit or refund of an order, so that the merchant may not know its outcome.

    A fault that lasts for several replies also meets the requests of later orders.
    """
    pay_ins = {each.id for each in state.pay_ins}
    return any(
        entry.method == "POST" and (order.owns(_identifier_of(entry)) or _named_in_body(entry, "payin_id") in pay_ins)
        for entry in box.journal.requests.entries
        if entry.faults
    )


def of_new_wish(box: Sandbox, order: Order, start: int) -> Iterator[Found]:
    """Yield what is wrong with a click on an order that the merchant showed as failed.

    The customer wants another payment, so the key of the one that has ended must not be used again. Its requests begin
    at a position of the journal.
    """
    log = box.journal.requests
    sent = [
        entry
        for entry in islice(log.entries, start - log.evicted, None)
        if entry.operation == "deposit-creation" and order.owns(entry.external_identifier)
    ]
    if not sent or sent[-1].verdict != "replay":
        return
    made = next((each for each in box.ledger.newest_first(PayIn) if each.id == sent[-1].object_id), None)
    # A merchant that makes keys of the time has the same one at the same instant.
    earlier = [entry for entry in log.entries if entry.key == sent[-1].key and entry.at < sent[-1].at]
    if made is None:
        knows = any(entry.status == sent[-1].status == 422 and not entry.faults for entry in earlier)  # noqa: PLR2004 - HTTP
    else:
        # Without its event a merchant asks under the old key what has become of the payment, as it should.
        ended = [each for each in box.outbox.deliveries.values() if each.event.object_id == made.id]
        knows = any(each.status == "delivered" and each.event.type in _ENDED for each in ended)
    if knows and earlier:
        yield Rule.KEY_REUSED, f"used the Idempotency-Key of a failed attempt for a new one ({_named(sent[-1])})"


def of_ledger(box: Sandbox, orders: Sequence[Order]) -> Iterator[Found]:
    """Yield what is wrong with the deposits and refunds that the merchant has created."""
    for pay_in in box.ledger.newest_first(PayIn):
        named = pay_in.external_identifier
        if _order_named(named, orders) is None and not named.startswith(expected.ELSEWHERE):
            hint = "where identifiers are not the ids of orders, the adapter needs order_of_deposit"
            yield Rule.DEPOSITS, f"made a deposit for {named!r}, an order that nobody placed ({hint})"
    for order in orders:
        state = expected.expected_state(box, order)
        yield from _of_deposits(box, order, state)
        yield from _of_refunds(box, order, state)
        yield from _of_failed_refunds(order, state)


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
    elif shipped > order.shipped and order.was_given_back and expected.is_given_back(state):
        yield Rule.EFFECTS, f"fulfilled {name} after all of its money was given back"
    elif expected.amount_differs(state) and sum(each.amount for each in state.paid) < order.amount:
        yield Rule.UNPAID, f"fulfilled {name}, but another amount was paid than was asked for"


def _is_the_same_again(entry: RequestEntry, key: str, body: bytes) -> bool:
    # Under the same key it is a retry, since the refusal may have been lost.
    return entry.body == body and entry.key != key


class Answered(NamedTuple):
    """An event that a merchant has acknowledged."""

    event: str
    """Its type."""
    status: int

    def described(self, order: Order) -> str:
        """Return the beginning of a sentence about it."""
        return f"answered {self.status} to the {self.event} of {order.id} and"


def of_paid(merchant: Merchant, order: Order, state: ExpectedState, answered: Answered) -> Iterator[Found]:
    """Yield what is missing after a merchant has acknowledged the event that says an order is paid.

    While the payment is disputed its goods may be held back.
    """
    for text in _of_payment(merchant, order, ships=not state.disputes):
        yield Rule.LOST, f"{answered.described(order)} {text}"


def of_known(merchant: Merchant, order: Order, state: ExpectedState, answered: Answered) -> Iterator[Found]:
    """Yield what is wrong with what a merchant shows for an order of which it has acknowledged everything.

    `answered` is the latest event.
    """
    for text in of_effects(merchant, order, state):
        yield Rule.LOST, f"{answered.described(order)} {text}"


def of_effects(merchant: Merchant, order: Order, state: ExpectedState) -> Iterator[str]:
    """Yield what differs from the ledger in what a merchant shows; the text continues the sentence `It …`.

    A payment under way has no effect yet, except that the order is not a failed one.
    """
    if expected.is_under_way(state):
        if order.status in {"failed", "cancelled"}:
            yield f"calls it {order.status}, though a payment is under way"
        return
    allowed = _allowed_statuses(merchant, order, state)
    # A shop may close an order whose money goes back. What has failed to go back may be asked for again later.
    is_closed = order.status == "cancelled" and expected.is_asked_back(state)
    if order.status not in allowed and not is_closed:
        yield f"calls it {order.status}; the service's ledger says {' or '.join(sorted(allowed))}"
    if state.paid:
        yield from _of_balance(merchant, order, state)
    if _is_only_paid(order, state):
        yield from _of_payment(merchant, order, ships=True)


def _of_payment(merchant: Merchant, order: Order, *, ships: bool) -> Iterator[str]:
    if order.status in _HAS_NONE:
        yield f"still calls it {order.status}"
    elif ships and merchant.shipments(order.id) == 0 and order.status == "paid":
        yield "has not fulfilled it"


def _is_only_paid(order: Order, state: ExpectedState) -> bool:
    return not (state.refunds or state.disputes) and _has_its_money(order, state)


def _has_its_money(order: Order, state: ExpectedState) -> bool:
    # A part may have gone back, as for an item that is not sent. A customer who asked for all of it wants no goods any
    # more, even when that refund has failed since, or is still to be made.
    taken = sum(order.refunds_requested[refund_id] for refund_id in order.refund_ids_taken)
    if expected.is_asked_back(state) or taken >= sum(each.amount for each in state.paid):
        return False
    return not (any(each.status != "won" for each in state.disputes) or order.paid_late or order.is_cancelled)


def of_settled(merchant: Merchant, order: Order, status: str, state: ExpectedState) -> Iterator[Found]:
    """Yield what is wrong with the status and the balance of an order when nothing more will happen."""
    allowed = _allowed_statuses(merchant, order, state)
    is_closed = status == "cancelled" and expected.is_given_back(state)
    if status not in allowed and not is_closed:
        ledger = f"the service's ledger says {' or '.join(sorted(allowed))}"
        ledger += ", and there is nothing that a person has to decide" if status == "review" else ""
        yield Rule.END, f"calls {order.id} {status} in the end; {ledger}"
    if not expected.amount_differs(state):
        for text in _of_balance(merchant, order, state):
            yield Rule.END, text


def of_debts(
    box: Sandbox, order: Order, status: str, state: ExpectedState, *, retries_by_itself: bool
) -> Iterator[Found]:
    """Yield the deposits and refunds of an order that are still missing when nothing more will happen."""
    name = order.id
    if order.deposit_due and not state.pay_ins and retries_by_itself:
        yield Rule.OWED, f"never made a deposit for {name}, though {order.deposit_due}"
    is_limited = order.limited and box.now >= order.limited_until
    if is_limited and not state.pay_ins and status == "pending" and retries_by_itself:
        yield Rule.OWED, f"calls {name} pending in the end and has made no deposit for it; long before, {order.limited}"
    yield from _of_refunds_due(box, order, state)


def of_fulfilment(merchant: Merchant, order: Order, status: str, state: ExpectedState) -> Iterator[Found]:
    """Yield that the goods of an order are missing when nothing more will happen, or a payment too many is kept."""
    name = order.id
    if expected.amount_differs(state):
        yield from _of_wrong_payments(order, state)
        return
    # Until a person decides. Who has given a part back on the provider's own pages may want the goods to stay.
    may_wait = (bool(state.disputes) and status == "review") or order.waits_for_a_person
    may_wait |= bool(order.refunded_elsewhere) and not order.was_shipped
    if merchant.shipments(name) == 0 and _has_its_money(order, state) and not may_wait:
        rest = "of which a part was given back" if state.refunds else "which is paid"
        rest += ", and whose dispute was won" if state.disputes else ""
        yield Rule.END, f"{'no longer fulfils' if order.was_shipped else 'never fulfilled'} {name}, {rest}"


def of_needed_effects(
    merchant: Merchant, needed: Collection[str], order: Order, status: str, state: ExpectedState
) -> Iterator[Found]:
    """Yield the effects that have not happened for an order that is paid when nothing more will happen."""
    if status != "paid" or not _is_only_paid(order, state) or expected.amount_differs(state):
        return
    done = merchant.effects(order.id)
    for name in [needed] if isinstance(needed, str) else needed:
        if not done.get(name):
            yield Rule.END, f"never did {name!r} for {order.id}, which is paid"


def _of_wrong_payments(order: Order, state: ExpectedState) -> Iterator[Found]:
    kept = [each for each in state.paid if not (expected.is_returned(each, state) or each.id in order.paid_late)]
    if len(kept) > 1 and not (state.disputes or order.refunds_disturbed_to_the_end):
        told = f"charged {order.id} {len(kept)} times, since another amount was paid than was asked for"
        yield Rule.DEPOSITS, f"{told}, and keeps that as well"


def _allowed_statuses(merchant: Merchant, order: Order, state: ExpectedState) -> frozenset[str]:
    allowed = expected.allowed_statuses(order, state)
    # A person may decide about goods that were not sent before a dispute.
    is_open = bool(state.disputes) and merchant.shipments(order.id) == 0
    return allowed | {"review"} if is_open else allowed


def _of_balance(merchant: Merchant, order: Order, state: ExpectedState) -> Iterator[str]:
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


def _of_deposits(box: Sandbox, order: Order, state: ExpectedState) -> Iterator[Found]:
    if len(state.pay_ins) > order.clicks:

        def asks(entry: RequestEntry) -> bool:
            return entry.operation == "deposit-creation" and order.owns(_identifier_of(entry))

        made = f"made {len(state.pay_ins)} deposits for {order.id} ({_keys_of(box, state.pay_ins, asks)})"
        yield Rule.DEPOSITS, f"{made}; the customer's clicks allow {order.clicks}"
    charged = [each for each in state.paid if not (expected.is_wrong(each) or each.id in order.paid_late)]
    if len(charged) > 1:
        yield Rule.DEPOSITS, f"charged {order.id} {len(charged)} times"
    for pay_in in state.pay_ins:
        if pay_in.settles_at is None and (pay_in.amount, pay_in.currency) != (order.amount, order.currency):
            amount = write_amount(pay_in.amount, pay_in.currency)
            yield (
                Rule.DEPOSITS,
                f"asked for {amount} {pay_in.currency} for {order.id}, which costs {order.money} {order.currency}",
            )


def _keys_of(box: Sandbox, made: Sequence[PayIn] | Sequence[Refund], asks: Callable[[RequestEntry], bool]) -> str:
    """Return the keys under which these were made, and when; `asks` tells the requests for such an object."""
    ids = {each.id for each in made}
    first = min(each.created_at for each in made)
    keys: list[str] = []
    seen: set[str | None] = set()
    met = ""
    for entry in filter(asks, box.journal.requests.entries):
        if entry.object_id in ids and entry.verdict == "new":
            # The service makes something new under a key that it has forgotten.
            key = "the same key, which has expired," if entry.key in seen else f"key {str(entry.key)[:8]}…"
            keys.append(f"{key} at {(entry.at - first) / 1000:g} s{met and f' after {met}'}")
            seen.add(entry.key)
        met = _trouble_of(entry)
    return ", ".join(keys[:_MOST_KEYS] + ["…"] * (len(keys) > _MOST_KEYS))


def _trouble_of(entry: RequestEntry) -> str:
    """Return what may have kept a client from knowing what became of a request, for a sentence; empty for nothing."""
    if entry.status is None:
        return "a request without an answer"
    if not 200 <= entry.status < 300:  # noqa: PLR2004 - HTTP
        return f"the {entry.status}"
    return "a request that met a trouble" if entry.faults else ""


def _of_failed_refunds(order: Order, state: ExpectedState) -> Iterator[Found]:
    failed = [each.created_at for each in state.refunds if each.status == "failed"]
    most = _MOST_FAILED_REFUNDS + len(order.refunds_requested)
    if len(failed) > most and failed[0] - failed[most] <= UNITS_MS["d"]:
        yield (
            Rule.ENDLESS,
            f"asks for a refund of {order.id} without end: {len(failed)} have failed, {most + 1} of them within a day",
        )


def _of_refunds(box: Sandbox, order: Order, state: ExpectedState) -> Iterator[Found]:
    refunds = [each for each in expected.own_refunds(order, state) if each.status != "failed"]
    made = Counter(each.amount for each in refunds)
    requested = Counter(order.refunds_requested.values())
    unasked = made - requested
    if state.disputes:
        unasked -= _rests(unasked, requested - made)
    if sum(unasked.elements()) <= expected.surplus(order, state):
        return
    paid = {each.id for each in state.paid}

    def asks(entry: RequestEntry) -> bool:
        return entry.operation == "refund-creation" and _named_in_body(entry, "payin_id") in paid

    for amount in unasked:
        done = f"refunded {write_amount(amount, order.currency)} {order.currency} of {order.id}"
        often = f" {made[amount]} times" * (made[amount] > 1)
        if requested[amount]:
            same = [each for each in refunds if each.amount == amount]
            keys = _keys_of(box, same, asks)
            yield Rule.REFUNDS, f"{done}{often} ({keys}); that was requested {_times(requested[amount])}"
        else:
            first = min((each for each in refunds if each.amount == amount), key=lambda each: each.created_at)
            yield Rule.REFUNDS, f"{done}{often}, which nobody had requested ({_told_of(first, state)})"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _rests(unasked: Counter[int], unmade: Counter[int]) -> Counter[int]:
    """Return the refunds that may be what is left of a larger request, after a dispute has taken the other part."""
    larger = sorted(unmade.elements())
    rests: Counter[int] = Counter()
    for amount in sorted(unasked.elements(), reverse=True):
        if larger and larger[-1] > amount:
            larger.pop()
            rests[amount] += 1
    return rests


def _told_of(refund: Refund, state: ExpectedState) -> str:
    """Return when a refund was asked for, and the reason that the merchant gave."""
    after = (refund.created_at - min(each.created_at for each in state.pay_ins)) / UNITS_MS["s"]
    reason = f", with the reason {refund.reason[:_REASON_SHOWN]!r}" if refund.reason else ""
    return f"{after:g} s after its first deposit{reason}"


def of_kept_money(orders: Sequence[tuple[Order, str, ExpectedState]]) -> Iterator[Found]:
    """Yield the orders, given with their statuses, of which a merchant keeps what it gave back of another one.

    To keep what was paid twice, or what is left of a cancelled order, is a policy, and a merchant that gives it back
    once has another.
    """
    given = [order for order, _, state in orders if _is_paid_twice(order, state) and expected.own_refunds(order, state)]
    for order, _, state in orders if given else ():
        if not state.refunds and _is_paid_twice(order, state):
            yield Rule.END, f"{_twice_kept(order, state)}, though it gave back what was paid twice for {given[0].id}"
    given = [order for order, _, state in orders if _is_given_back(order, state)]
    for order, status, state in orders:
        alike = [each for each in given if each.was_shipped == order.was_shipped]
        if alike and _is_rest_kept(order, status, state):
            yield Rule.END, f"{_rest_kept(order, state)}, though it gave back what was left of {alike[0].id}"
    yield from _of_orders_taken_up(orders)


def _of_orders_taken_up(orders: Sequence[tuple[Order, str, ExpectedState]]) -> Iterator[Found]:
    """Yield the orders that are taken up again, though the money of the first one went back for the same reason.

    Both were cancelled before their money came. The first one's went back before the other one was paid for, so nobody
    else had what it had ordered.
    """
    if not orders:
        return
    (first, _, its), *others = orders
    unasked = len(expected.own_refunds(first, its)) > len(first.refunds_requested)
    if not (_was_cancelled_unpaid(first, its) and _is_soon(first, its) and unasked and expected.is_given_back(its)):
        return
    went_back_at = min(each.created_at for each in its.refunds)
    for order, status, state in others:
        is_alike = _is_taken_up(order, status, state) and _is_soon(order, state)
        if is_alike and went_back_at < min(each.created_at for each in state.pay_ins):
            yield Rule.END, f"{_taken_up(order)}, though it gave back what came for {first.id}"


def _was_cancelled_unpaid(order: Order, state: ExpectedState) -> bool:
    """Return whether money has come for an order of whose cancellation the customer had been told."""
    is_excused = order.refunds_disturbed_to_the_end or expected.amount_differs(state)
    return bool(order.cancellations and state.paid) and not (order.was_cancelled_paid or is_excused)


def _is_soon(order: Order, state: ExpectedState) -> bool:
    """Return whether an order's money came soon, and nobody disputes it: what becomes of it may depend on both."""
    return not (order.paid_late or state.disputes)


def _is_taken_up(order: Order, status: str, state: ExpectedState) -> bool:
    return _was_cancelled_unpaid(order, state) and status == "paid" and not state.refunds


def _taken_up(order: Order) -> str:
    return f"takes {order.id} up again, which was cancelled before its money came"


def of_double_payment(order: Order, status: str, state: ExpectedState) -> Iterator[Found]:
    """Yield what was paid twice for an order when nothing more will happen, and neither goes back nor is in review."""
    if status == "paid" and not state.refunds and _is_paid_twice(order, state):
        yield Rule.END, f"{_twice_kept(order, state)}; it neither goes back in the end nor is the order in review"


def of_cancelled_order(box: Sandbox, order: Order, status: str, state: ExpectedState) -> Iterator[Found]:
    """Yield what is left of an order that was cancelled after its payment, when nothing more will happen.

    Money that is disputed, or was charged back, cannot go back. A refund that failed may be asked for again within a
    day, and who has requested one hears of its failure.
    """
    failed = [each for each in state.refunds if each.status == "failed"]
    is_recent = any(each.updated_at >= box.now - UNITS_MS["d"] for each in failed)
    may_be_asked = is_recent or bool(failed and order.refunds_requested)
    if _is_rest_left(order, status, state) and not expected.taken_by_disputes(state) and not may_be_asked:
        known = f"{_rest_kept(order, state)}{', and whose refund failed' if failed else ''}"
        yield Rule.END, f"{known}; it neither goes back in the end nor is the order in review"


def of_order_taken_up(order: Order, status: str, state: ExpectedState) -> Iterator[Found]:
    """Yield an order that was cancelled before its money came, and is paid for all the same in the end."""
    if _is_taken_up(order, status, state):
        yield Rule.END, _taken_up(order)


def of_won_dispute(merchant: Merchant, order: Order, status: str, state: ExpectedState) -> Iterator[Found]:
    """Yield an order that is still in review when nothing more will happen, though its disputes were won.

    Only one whose goods were not sent, or were taken back: with them sent there is nothing left to decide.
    """
    is_held = status == "review" and merchant.shipments(order.id) == 0
    is_won = bool(state.disputes) and _has_its_money(order, state)
    if is_won and is_held and not state.refunds and not expected.amount_differs(state):
        yield Rule.END, f"leaves {order.id} in review in the end, though its dispute was won and its money is there"


def _twice_kept(order: Order, state: ExpectedState) -> str:
    surplus = sum(each.amount for each in state.paid) - order.amount
    return f"keeps {write_amount(surplus, order.currency)} {order.currency} of {order.id}, which was paid twice"


def _is_rest_kept(order: Order, status: str, state: ExpectedState) -> bool:
    """Return whether a merchant keeps what is left, and has met nothing but the cancellation."""
    has_failed = any(each.status == "failed" for each in state.refunds)
    return _is_rest_left(order, status, state) and not (state.disputes or has_failed)


def _is_rest_left(order: Order, status: str, state: ExpectedState) -> bool:
    """Return whether money of an order that was cancelled after its payment is there, and nobody looks at it."""
    is_plain = not (order.refunds_disturbed_to_the_end or expected.amount_differs(state))
    return order.was_cancelled_paid and is_plain and expected.refundable(state) > 0 and status != "review"


def _is_given_back(order: Order, state: ExpectedState) -> bool:
    """Return whether all that was left of a cancelled order went back, without a request for it."""
    unasked = len(expected.own_refunds(order, state)) > len(order.refunds_requested)
    return order.was_cancelled_paid and unasked and not state.disputes and expected.refundable(state) == 0


def _rest_kept(order: Order, state: ExpectedState) -> str:
    money = f"{write_amount(expected.refundable(state), order.currency)} {order.currency}"
    return f"keeps {money} of {order.id}, which was cancelled after its payment"


def of_refund_limit(order: Order, does: str, amount: int, rest: int) -> Found:
    """Return what is wrong when a merchant takes a refund of more than is left, or asks the service for it."""
    money, left = (f"{write_amount(each, order.currency)} {order.currency}" for each in (amount, rest))
    return Rule.REFUNDS, f"{does} a refund of {money} of {order.id}, of which {left} is left"


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
    entries = list(box.journal.requests.entries)
    known = {each.order.id: each for each in disputed}
    sent = {entry.key for entry in entries[: start - box.journal.requests.evicted] if entry.status != _TOO_MANY}
    for entry, _, order in _refunds_asked_for(box, [each.order for each in disputed], start):
        amount, (_, rest, held) = _amount_in_body(entry, order.currency), known[order.id]
        if amount is not None and entry.key not in sent and rest >= amount > rest - held:
            money, taken = (f"{write_amount(each, order.currency)} {order.currency}" for each in (amount, held))
            text = f"tries to refund {money} of {order.id}, of which {taken} is disputed or was charged back"
            yield Rule.REFUNDS, text
        sent.add(entry.key)


def _is_paid_twice(order: Order, state: ExpectedState) -> bool:
    is_plain = not (order.refunds_requested or order.is_cancelled or order.refunds_disturbed_to_the_end)
    is_twice = sum(each.amount for each in state.paid) > order.amount
    return is_plain and is_twice and not state.disputes and not expected.amount_differs(state)


def of_refused_refund(order: Order, state: ExpectedState, amount: int, rest: int) -> Iterator[Refusal]:
    """Yield a refund that the merchant refuses, though it took as much when no more was there than now.

    So only a merchant that counts a refund which has failed is concerned, and none that refunds less on principle.
    """
    if any(taken >= amount and there <= rest for there, taken in order.refunds_taken):
        money = f"{write_amount(amount, order.currency)} {order.currency}"
        text = f"refuses to refund {money} of {order.id}, though as much is left as when it took such a refund"
        yield Refusal(text, frozenset(each.id for each in state.refunds))


def of_refusals(order: Order, state: ExpectedState) -> Iterator[Found]:
    """Yield the refunds that the merchant has refused, unless it has made another one since.

    It may ask for a refund that has failed once more by itself, and wait for that meanwhile.
    """
    for refusal in order.refusals:
        if {each.id for each in state.refunds} <= refusal.refunds:
            yield Rule.REFUNDS, refusal.text


def of_declined_deposit(order: Order, before: ExpectedState, after: ExpectedState) -> Iterator[Found]:
    """Yield what the service has made by a click in which the merchant said that nothing was done."""
    known = {each.id for each in before.pay_ins}
    if any(each.id not in known and each.status not in UNSUCCESSFUL for each in after.pay_ins):
        yield Rule.DEPOSITS, f"declines the payment of {order.id}, though the service has made its deposit"


def of_declined_refund(order: Order, before: ExpectedState, after: ExpectedState) -> Iterator[Found]:
    """Yield what the service has made by a call for a refund in which the merchant said that nothing was done."""
    known = {each.id for each in before.refunds}
    for refund in after.refunds:
        if refund.id not in known and refund.status != "failed":
            money = f"{write_amount(refund.amount, order.currency)} {order.currency}"
            yield Rule.REFUNDS, f"declines to refund {money} of {order.id}, though the service has made the refund"


def of_unequal_refusal(order: Order, state: ExpectedState, amount: int, taken_of: str) -> Found:
    """Return what is wrong when a refund is refused that was taken of `taken_of`, another order in the same situation.

    The merchant shows both as paid, so it may have missed something about this one, such as the end of its dispute.
    """
    money = f"{write_amount(amount, order.currency)} {order.currency}"
    why, too = ("whose dispute was won", ", whose dispute was won too") if state.disputes else ("which is paid", "")
    return (
        Rule.REFUNDS,
        f"refuses to refund {money} of {order.id}, {why}, though it took the same refund of {taken_of}{too}",
    )


def _of_refunds_due(box: Sandbox, order: Order, state: ExpectedState) -> Iterator[Found]:
    # A refund that the service has refused is answered, and money under dispute is not refunded.
    if state.disputes or any(_is_refused(entry) for entry, _, _ in _refunds_asked_for(box, [order], 0)):
        return
    made = Counter(each.amount for each in expected.own_refunds(order, state))
    limited = order.refunds_limited.items()
    waited = {each: f"{why}, which was over long before" for each, (why, until) in limited if box.now >= until}
    for refund_id, reason in {**order.refunds_due, **waited}.items():
        amount = order.refunds_requested[refund_id]
        made[amount] -= 1
        if made[amount] < 0:
            money = f"{write_amount(amount, order.currency)} {order.currency}"
            yield Rule.OWED, f"never refunded {money} of {order.id}, though it took the request and {reason}"


def _is_refused_without_a_reason(entry: RequestEntry) -> bool:
    return _is_refused(entry) and _code(entry) not in STATUS.keys() - _UNFOUNDED


def _has_unknown_status(entry: RequestEntry) -> bool:
    """Return whether an answer has an object in a status that the contract does not have."""
    try:
        return json.loads(entry.response_body)["data"]["status"] not in {*PAY_IN, *REFUND}
    except (ValueError, KeyError, TypeError):
        return False


def _is_refused(entry: RequestEntry) -> bool:
    return entry.status is not None and 400 <= entry.status < 500 and entry.status != _TOO_MANY  # noqa: PLR2004 - HTTP


def _named(entry: RequestEntry) -> str:
    about = f" for {entry.external_identifier}" if entry.external_identifier else ""
    return f"{entry.method} {entry.target}{about}"


def _order_of(entry: RequestEntry, orders: Sequence[Order]) -> str | None:
    """Return the id of the order that a deposit is asked for; an identifier that is no order's is returned as it is."""
    named = _identifier_of(entry)
    return _order_named(named, orders) or named


def _order_named(external_identifier: str | None, orders: Sequence[Order]) -> str | None:
    if external_identifier is None or not orders:
        return None
    found = orders[0].order_of(external_identifier)  # all orders of a play tell the same
    return found if any(order.id == found for order in orders) else None


def _identifier_of(entry: RequestEntry) -> str | None:
    # A request that never reached the operation was not parsed, so its body is parsed here.
    if entry.external_identifier is not None:
        return entry.external_identifier
    return _named_in_body(entry, "external_identifier")


def _named_in_body(entry: RequestEntry, member: str) -> str | None:
    try:
        named: object = json.loads(entry.body)[member]
    except (ValueError, KeyError, TypeError):
        return None
    return named if isinstance(named, str) else None


def _amount_in_body(entry: RequestEntry, currency: str) -> int | None:
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


def _message(entry: RequestEntry) -> str:
    try:
        return str(json.loads(entry.response_body)["error"]["message"]).removesuffix(".")
    except (ValueError, KeyError, TypeError):
        return "no message"
