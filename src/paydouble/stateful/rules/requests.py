"""Rules for the merchant's requests: their form, their keys, how often they are repeated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise

from paydouble.journal import RequestEntry
from paydouble.payments.lifecycle import UNSUCCESSFUL
from paydouble.payments.resources import PayIn
from paydouble.sandbox import Sandbox
from paydouble.stateful.changed_requests import changes
from paydouble.stateful.expected import Order
from paydouble.stateful.findings import Found, Rule
from paydouble.stateful.rules.journal import (
    identifier_of,
    in_words,
    message_of,
    order_named,
    order_of,
    text_in_body,
)
from paydouble.stateful.service import is_final, is_outage

# The same request. A merchant may be killed before it has noted a refusal, and a customer may click again.
_MOST_REFUSALS = 3
# With jitter no two pauses are the same, and the contract recommends five attempts at most.
_MOST_EQUAL_PAUSES = 5
_ENDED = frozenset({f"pay-in.{status}" for status in UNSUCCESSFUL})


def of_requests(box: Sandbox, start: int) -> Iterator[Found]:
    """Yield what is wrong with the requests from a position of the journal on."""
    log = box.journal.requests
    for entry in log.since(start):
        if entry.faults:
            continue
        if entry.verdict == "conflict":
            first = next((each for each in log.entries if each.key == entry.key and each.verdict == "new"), None)
            told = "; ".join([in_words(entry), *([changes(first, entry)] if first is not None else [])])
            yield Rule.KEY_REUSED, f"sent another request under the Idempotency-Key of an earlier one ({told})"
        elif entry.status == 400:  # noqa: PLR2004 - HTTP
            yield (
                Rule.REQUEST,
                f"sent a request that the service cannot read ({in_words(entry)}): {message_of(entry)}",
            )
        elif entry.status in {401, 403, 404} and entry.operation is None:
            yield (
                Rule.REQUEST,
                f"called what is not there, or without its credentials ({in_words(entry)}): {message_of(entry)}",
            )


def of_keys(box: Sandbox, orders: Sequence[Order], start: int, *, clicked: bool) -> Iterator[Found]:
    """Yield what is wrong with the keys of one operation's requests, which begin at a position of the journal.

    `clicked` is whether the customer has clicked before or meanwhile, so that a refused request may be made again.
    """
    log = box.journal.requests
    earlier = {entry.key for entry in log.since(0, start)}
    keys: dict[tuple[str, str | None], str] = {}
    refused: dict[tuple[str, str | None], tuple[str, bytes]] = {}
    used: set[str] = set()
    for entry in log.since(start):
        if entry.method != "POST" or entry.key is None or entry.operation != "deposit-creation":
            if entry.method == "GET":
                keys.clear()  # after a look-up a new key is allowed
            continue
        intent = (entry.operation, order_of(entry, orders))
        # A click that was interrupted by a job comes back to its own key.
        if keys.get(intent, entry.key) != entry.key and entry.key not in used:
            yield Rule.NEW_KEY, f"took a new Idempotency-Key for a retry ({in_words(entry)})"
        elif intent in refused and _is_the_same_again(entry, *refused[intent]) and not clicked:
            yield (
                Rule.NEW_KEY,
                f"repeated a request that was refused for good, under a new key ({in_words(entry)})",
            )
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
    for number, entry in box.journal.requests.numbered():
        order = order_of(entry, orders) if entry.operation == "deposit-creation" else None
        if order is None or order not in waiting:
            continue
        earlier = refused.get(order)
        if number >= start and earlier is not None and _is_the_same_again(entry, str(earlier.key), earlier.body):
            yield (
                Rule.NEW_KEY,
                f"repeated a request that was refused for good, under a new key ({in_words(entry)})",
            )
        if entry.status == 422:  # noqa: PLR2004 - HTTP
            refused[order] = entry


def of_endless_refusals(box: Sandbox, orders: Sequence[Order], lost: AbstractSet[int], start: int) -> Iterator[Found]:
    """Yield the requests that are sent again and again under one key, though the service has refused them for good.

    They are sent from a position of the journal on. Each click of the customer may send a deposit again, and each
    request of the merchant's staff a refund. `lost` has the numbers of those whose answer has not arrived.
    """
    asked = {order.id: order.clicks + order.refund_calls for order in orders}
    refused: Counter[tuple[str | None, bytes]] = Counter()
    for number, entry in box.journal.requests.numbered():
        if entry.method != "POST" or entry.status not in {400, 422} or number in lost:
            continue
        same = entry.key, entry.body
        refused[same] += 1
        pay_in = box.ledger.find(text_in_body(entry, "payin_id") or "")
        named = pay_in.external_identifier if isinstance(pay_in, PayIn) else identifier_of(entry)
        most = _MOST_REFUSALS + asked.get(order_named(named, orders) or "", 0)
        if number >= start and refused[same] == most + 1:
            times = f"{most + 1} times, under the same key"
            yield Rule.ENDLESS, f"repeats a request that was refused for good: {times} ({in_words(entry)})"


def of_pauses_between_jobs(box: Sandbox, runs: Sequence[int]) -> Iterator[Found]:
    """Yield the requests that jobs repeat after equal pauses, though the service has answered each with a 5xx.

    `runs` has a position of the journal before the first job, and after each. A request that each run of the job
    repeats is left out: then the pauses are those of anyone who runs it.
    """
    log = box.journal.requests
    sent: dict[tuple[str | None, bytes], list[int]] = {}
    named: dict[tuple[str | None, bytes], RequestEntry] = {}
    for run, (start, end) in enumerate(pairwise(runs)):
        for entry in log.since(start, end):
            if entry.method == "POST" and is_outage(entry.status):
                same = entry.key, entry.body
                sent.setdefault(same, []).append(run)
                named[same] = entry
    for same, times in sent.items():
        pauses = {after - before for before, after in pairwise(times)}
        if len(times) > _MOST_EQUAL_PAUSES and len(pauses) == 1 and min(pauses) > 1:
            often = f"{len(times)} times, always after the same pause"
            yield Rule.RETRIES, f"repeats {in_words(named[same])} in its jobs {often}; the pauses have to grow"


def of_declined_orders(box: Sandbox, orders: Sequence[Order], start: int) -> Iterator[Found]:
    """Yield deposits that were asked for, from a position of the journal on, after the customer had been told no."""
    declined = {order.id: order.declined_after for order in orders if order.declined_after is not None}
    log = box.journal.requests
    for number, entry in log.numbered(start) if declined else ():
        order = order_of(entry, orders) if entry.operation == "deposit-creation" else None
        if order in declined and number >= declined[order]:
            told = f"without a click, after it had told the customer no ({in_words(entry)})"
            yield Rule.DEPOSITS, f"asked for a deposit for {order} {told}"


def of_new_wish(box: Sandbox, order: Order, start: int) -> Iterator[Found]:
    """Yield what is wrong with a click on an order that the merchant showed as failed.

    The customer wants another payment, so the key of the one that has ended must not be used again. Its requests begin
    at a position of the journal.
    """
    log = box.journal.requests
    sent = [
        entry
        for entry in log.since(start)
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
        yield (
            Rule.KEY_REUSED,
            f"used the Idempotency-Key of a failed attempt for a new one ({in_words(sent[-1])})",
        )


def _is_the_same_again(entry: RequestEntry, key: str, body: bytes) -> bool:
    # Under the same key it is a retry, since the refusal may have been lost.
    return entry.body == body and entry.key != key
