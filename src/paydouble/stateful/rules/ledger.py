"""Rules for the sandbox's ledger: the deposits and refunds that came of the requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from paydouble.core.durations import UNITS_MS
from paydouble.core.money import write_amount
from paydouble.journal import RequestEntry
from paydouble.payments.resources import PayIn, Refund
from paydouble.sandbox import Sandbox
from paydouble.stateful import expected
from paydouble.stateful.expected import ExpectedState, Order
from paydouble.stateful.findings import Found, Rule
from paydouble.stateful.rules.journal import identifier_of, order_named, text_in_body

_MOST_KEYS = 4
# Of one order in a day, besides those that were requested. The contract recommends five attempts of a request.
_MOST_FAILED_REFUNDS = 10
_REASON_SHOWN = 60


def of_ledger(box: Sandbox, orders: Sequence[Order]) -> Iterator[Found]:
    """Yield what is wrong with the deposits and refunds that the merchant has created."""
    for pay_in in box.ledger.newest_first(PayIn):
        named = pay_in.external_identifier
        if order_named(named, orders) is None and not named.startswith(expected.ELSEWHERE):
            hint = "where identifiers are not the ids of orders, the adapter needs order_of_deposit"
            yield Rule.DEPOSITS, f"made a deposit for {named!r}, an order that nobody placed ({hint})"
    for order in orders:
        state = expected.expected_state(box, order)
        yield from _of_deposits(box, order, state)
        yield from _of_refunds(box, order, state)
        yield from _of_failed_refunds(order, state)


def _of_deposits(box: Sandbox, order: Order, state: ExpectedState) -> Iterator[Found]:
    if len(state.pay_ins) > order.clicks:

        def asks(entry: RequestEntry) -> bool:
            return entry.operation == "deposit-creation" and order.owns(identifier_of(entry))

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
    if state.disputes or order.refunded_elsewhere:
        unasked -= _rests(unasked, requested - made)
    if sum(unasked.elements()) <= expected.surplus(order, state):
        return
    paid = {each.id for each in state.paid}

    def asks(entry: RequestEntry) -> bool:
        return entry.operation == "refund-creation" and text_in_body(entry, "payin_id") in paid

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
    """Return the refunds that may be left of a larger request, where a dispute or a refund elsewhere took a part."""
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
