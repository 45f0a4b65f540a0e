"""C: what holds for a client of the API. Each function plays one clause; the evidence is what the service received."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from itertools import pairwise
from typing import Final

from paydouble.conformance.case import Books, Case, NotTested, Order
from paydouble.conformance.clauses import ClauseTable
from paydouble.conformance.levels import Level
from paydouble.records import Request, Resource

CLIENT: Final = ClauseTable()
clause = CLIENT.clause
M, B, S = Level.MUST, Level.BOOKS, Level.SHOULD

_DEPOSIT: Final = "deposit-creation"
_REFUND: Final = "refund-creation"
_TWICE = "the customer is charged twice"
_UNKNOWN = "the customer has paid, and the order stays open or is paid for again"
_SAME_KEY = (
    "make the key once for each payment, store it with the exact body before sending, "
    "and send both again on every retry"
)
_UUID4: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.ASCII)
_MOST_ATTEMPTS: Final = 5
_STORM: Final = 10
# One repetition after a refusal is common, and no storm.
_MOST_AFTER_REFUSAL: Final = 2
# Less than any jitter.
_SAME_PAUSE: Final = 0.03
# A shop may try again after seconds or minutes, and keep an order for less than an hour.
_LONGER: Final = ("1m", "10m", "1h")
# A retry is waited for; whole seconds of a reset of two may be cut.
_RETRY_WITHIN_SECONDS: Final = 4.0
_LEAST_PAUSE_SECONDS: Final = 1.0
_SILENT_SECONDS: Final = 0.6
_LEAST_GROWTH: Final = 1.5
# Shorter than any pause that was meant.
_NO_PAUSE_SECONDS: Final = 0.02
_RESETS: Final = {"past": "in the past", "malformed": "that is not a number"}


# What clauses share


def _key(request: Request) -> str:
    return next((value for name, value in request.headers if name.lower() == "idempotency-key"), "")


def _settle(case: Case, order: Order, holds: Callable[[Books], bool] | None = None) -> Books:
    """Give a shop that works in the background its chance: jobs, then the next click, until the books hold."""
    reached = holds or (lambda books: books.status == "paid")
    for clicks in (False, True, True):
        if clicks:
            case.click_again(order)
        case.advance("10m")
        case.tick()
        case.settle()
        books = case.books(order)
        if reached(books):
            return books
    case.advance("80h")
    case.tick()
    return case.wait(order, reached) or case.books(order)


def _must_be_paid(case: Case, books: Books, after: str) -> None:
    """Report an order that is still open after all that a shop and its customer can do."""
    case.check(books.status == "paid", f"after {after}: {books}", "the payment is found or made: paid", B)


def _one_pay_in(case: Case, order: Order, after: str) -> None:
    """Report more pay-ins of an order than one that money can come from."""
    alive = [each for each in case.pay_ins(order) if each.status not in {"failed", "cancelled"}]
    if len(alive) > 1:
        keys = len({_key(each).lower() for each in case.deposits(order)})
        level = M if case.level is M else B
        case.problem(
            f"after {after} there are {len(alive)} deposits of one order, under {keys} keys", "one deposit", level
        )


def _same_bytes(case: Case, order: Order, after: str) -> None:
    """Report retries under another key, or with other bytes under the same key."""
    sent = case.deposits(order)
    if len({_key(each).lower() for each in sent}) > 1:
        case.problem(f"after {after} the retry had another Idempotency-Key", "the same key", M)
    by_key = {_key(each).lower(): each.body for each in reversed(sent)}
    if any(each.body != by_key[_key(each).lower()] for each in sent):
        case.problem(f"after {after} the retry had other bytes under the same key", "the same bytes")


def _lost(case: Case, effect: str, after: str, *, times: int = 1, phase: str = "after_commit") -> Order:
    """Pay an order whose first replies are lost, and let the shop finish it."""
    case.service_sends()
    case.fault(effect, operation=_DEPOSIT, phase=phase, times=times)
    order = case.order()
    case.pay(order)
    if not case.deposits(order):
        raise NotTested("the shop sent no deposit")
    books = _settle(case, order)
    _one_pay_in(case, order, after)
    _same_bytes(case, order, after)
    _must_be_paid(case, books, f"{after}, the jobs, and two more clicks")
    case.expect_once(order, after)
    return order


def _answered(case: Case, order: Order, what: str, most: int = _MOST_ATTEMPTS) -> list[Request]:
    """Press the button, wait until the shop sends nothing more, and report more attempts than `most`."""
    case.pay(order)
    sent = _quiet(case, order)
    if not sent:
        raise NotTested("the shop sent no deposit")
    case.check(
        len(sent) <= most, f"{what}: the deposit was sent {len(sent)} times after one click", f"at most {most} times"
    )
    return sent


def _quiet(case: Case, order: Order) -> list[Request]:
    """Return the deposits of an order as soon as no more come: a shop may retry in the background."""
    sent = case.deposits(order)
    while True:
        time.sleep(_SILENT_SECONDS if sent else _SILENT_SECONDS / 2)
        now = case.deposits(order)
        if len(now) == len(sent) or len(now) > 2 * _STORM:
            return now
        sent = now


# Credentials


@clause(
    "C1.1",
    "5",
    M,
    "Requests carry HTTP Basic, and no URL carries a secret",
    costs="secrets end in the logs of proxies",
    fix="send the key and the secret in the Authorization header alone",
    needs=("driver",),
)
def basic(case: Case) -> None:
    """Look at the requests of a plain payment."""
    case.service_sends()
    order = case.order()
    case.pay(order)
    case.advance()
    sent = case.requests()
    if not sent:
        raise NotTested(
            "the shop sent no request that carries its credentials; is {base_url} used, with the key and the secret?"
        )
    wanted = case.sandbox.auth.header
    for each in sent:
        authorization = next((value for name, value in each.headers if name.lower() == "authorization"), "")
        case.check(
            authorization == wanted, f"{each.method} {each.path} came with other credentials", "Authorization: Basic …"
        )
        leaked = [name for name in ("business_secret", "webhook_secret") if getattr(case.sandbox, name) in each.target]
        case.check(
            not leaked,
            f"the URL of {each.method} {each.path} contains the {' and '.join(leaked)}",
            "no secret in a URL",
        )


def _storm(case: Case, status: int, code: str) -> None:
    case.service_sends()
    case.fault("error", status=status, code=code)
    order = case.order()
    sent = _answered(case, order, f"after {status} {code}", _MOST_ATTEMPTS)
    case.check(
        len(sent) <= _MOST_AFTER_REFUSAL,
        f"after {status} {code} the deposit was sent {len(sent)} times",
        "no retry, since it cannot help",
    )
    books = case.books(order)
    case.check(books.status != "paid" and not books.shipments, f"after {status}: {books}", "not paid", B)


@clause(
    "C1.2",
    "5",
    S,
    "A 401 is not answered by a storm of requests",
    costs="the account is blocked, and the log is full",
    fix="treat 401 as a fault of the configuration: no retry, and an alarm",
    needs=("driver",),
)
def unauthorized(case: Case) -> None:
    """Answer 401."""
    _storm(case, 401, "UNAUTHORIZED")


@clause(
    "C1.3",
    "5",
    S,
    "A 403 is not answered by a storm of requests",
    costs="the account is blocked, and the log is full",
    fix="treat 403 as a fault of the configuration: no retry, and an alarm",
    needs=("driver",),
)
def forbidden(case: Case) -> None:
    """Answer 403."""
    _storm(case, 403, "FORBIDDEN")


# Idempotency keys


@clause(
    "C2.1",
    "idempotency 1, 2",
    M,
    "Every POST has a UUID v4 of its own as its Idempotency-Key",
    costs="the service refuses the payment with 400",
    fix="make keys by your language's UUID v4 function",
    needs=("driver",),
)
def keys(case: Case) -> None:
    """Look at the keys of every POST of a payment and a refund."""
    case.service_sends()
    order = case.order()
    case.pay(order)
    case.advance()
    if case.stage.has("refund"):
        case.refund(order, "10.00")
    if not case.deposits(order):
        raise NotTested("the shop sent no deposit")
    for each in case.requests():
        if each.method == "POST":
            key = _key(each)
            case.check(
                _UUID4.fullmatch(key.lower()) is not None,
                f"POST {each.path} has the key {key!r}",
                "a UUID v4, such as 7f9c24e8-3b12-4c5f-9a6d-2e1b0c9d8a7f",
            )


@clause(
    "C2.2",
    "7",
    M,
    "A request whose reply was lost is sent again with the same key and the same bytes",
    costs=_TWICE,
    fix=_SAME_KEY,
    needs=("driver",),
)
def lost_reply(case: Case) -> None:
    """Reset the connection after the commit, once and twice, and cut the reply."""
    for effect, times, after in (
        ("connection_reset", 1, "one lost reply"),
        ("connection_reset", 2, "two lost replies"),
        ("empty_response", 1, "an empty reply"),
        ("truncate", 1, "half a reply"),
    ):
        _lost(case, effect, after, times=times)
        case.sandbox.faults.clear()


@clause(
    "C2.3",
    "7",
    M,
    "A request that did not arrive is sent again with the same key and the same bytes",
    costs=_UNKNOWN,
    fix=_SAME_KEY,
    needs=("driver",),
)
def lost_request(case: Case) -> None:
    """Reset the connection before anything has happened."""
    _lost(case, "connection_reset", "a request that did not arrive", phase="before_commit")


@clause(
    "C2.4",
    "",
    B,
    "Two orders that are alike have two keys",
    costs="the second customer gets the goods of a payment that was not made",
    fix="make a new key for each order, not of its amount or its customer",
    needs=("driver",),
)
def alike(case: Case) -> None:
    """Pay two orders of one amount."""
    case.service_sends()
    orders = [case.order(), case.order()]
    for order in orders:
        case.pay(order)
    keys = [_key(each).lower() for order in orders for each in case.deposits(order)[:1]]
    if len(keys) < len(orders):
        raise NotTested("the shop sent no deposit")
    case.check(len(set(keys)) == len(keys), "two orders of one amount have the same Idempotency-Key", "two keys")
    case.advance()
    for order in orders:
        case.expect_paid(order, "two orders of one amount, both paid")


@clause(
    "C2.5",
    "idempotency 7",
    M,
    "A double click makes one deposit",
    costs=_TWICE,
    fix="lock the order while it is paid, and give each payment one stored key",
    needs=("driver",),
)
def double_click(case: Case) -> None:
    """Click twice, at the same time and one after the other."""
    case.service_sends()
    for what in ("two clicks at the same time", "two clicks, one after the other"):
        order = case.order()
        if what.endswith("time"):
            case.fault("latency", fixed="150ms", operation=_DEPOSIT, times=1, phase="after_commit")
            case.together(*[partial(case.pay, order)] * 2)
        else:
            case.pay(order)
            case.click_again(order)
        case.settle()
        _one_pay_in(case, order, what)
        case.advance()
        case.expect_paid(order, what)


@clause(
    "C2.6",
    "idempotency 7",
    M,
    "A shop that dies before it has stored the reply goes on with the same key",
    costs=_TWICE,
    fix=_SAME_KEY,
    needs=("driver", "kill"),
)
def killed(case: Case) -> None:
    """Kill the shop while it waits for the reply, start it, and click again at once, or after its jobs."""
    for clicks_at_once in (True, False):
        _killed(case, clicks_at_once=clicks_at_once)


def _killed(case: Case, *, clicks_at_once: bool) -> None:
    # Neither an event nor a read tells the shop that there is a payment before it is clicked again.
    case.sandbox.change(notification_url=None if clicks_at_once else case.stage.file.webhook.url)
    hold = case.sandbox.faults.add("no_response", operation=_DEPOSIT, phase="after_commit", times=1)
    order = case.order()

    def kill_when_sent() -> None:
        end = time.monotonic() + 5
        while time.monotonic() < end and not case.deposits(order):
            time.sleep(0.01)
        time.sleep(0.05)
        case.kill()

    case.together(lambda: case.pay(order), kill_when_sent)
    if not case.pay_ins(order):
        raise NotTested("the shop sent no deposit before it was killed")
    case.sandbox.faults.remove(hold.id)
    case.restart()
    if clicks_at_once:
        hidden = case.sandbox.faults.add("not_found_yet")
        case.click_again(order)
        case.sandbox.faults.remove(hidden.id)
        case.service_sends()
    books = _settle(case, order)
    _one_pay_in(case, order, "a kill between the request and its reply")
    _must_be_paid(case, books, "a kill, the jobs, and two more clicks")
    case.expect_once(order, "a kill between the request and its reply")


@clause(
    "C2.7",
    "6",
    B,
    "A retry after 25 hours looks for the payment first",
    costs=_TWICE + ", since the key is no longer known",
    fix="read the deposits of the order before a payment older than 24 hours is sent again",
    needs=("driver", "set_time"),
)
def day_later(case: Case) -> None:
    """Lose all replies, and click again after 25 hours."""
    case.fault("connection_reset", operation=_DEPOSIT, phase="after_commit")
    order = case.order()
    case.pay(order)
    if not case.pay_ins(order):
        raise NotTested("the shop sent no deposit")
    case.sandbox.faults.clear()
    case.advance("25h")
    case.tick()
    case.click_again(order)
    case.tick()
    _one_pay_in(case, order, "a lost reply and a click 25 h later")


@clause(
    "C2.8",
    "7",
    S,
    "A 409 is not answered by a new key",
    costs=_TWICE,
    fix="a 409 says that the key was used: read the deposits of the order",
    needs=("driver",),
)
def conflict(case: Case) -> None:
    """Carry the deposit out, and answer 409."""
    case.service_sends()
    case.fault("connection_reset", operation=_DEPOSIT, phase="after_commit", times=1)
    # The request whose reply is lost is the first that matches.
    case.fault("force_conflict", operation=_DEPOSIT, skip=1, times=1)
    order = case.order()
    case.pay(order)
    case.tick()
    case.settle()
    _one_pay_in(case, order, "a lost reply and a 409")
    case.sandbox.faults.clear()
    _settle(case, order)
    _one_pay_in(case, order, "a lost reply, a 409, and two more clicks")


@clause(
    "C2.9",
    "",
    B,
    "A new attempt after a decline has a new key",
    costs="a customer whose card was declined can never pay: the same key is answered with the old decline",
    fix="make a key for each attempt that the customer starts, and not of the order",
    needs=("driver",),
)
def after_decline(case: Case) -> None:
    """Decline a payment, and let the customer try again."""
    case.service_sends()
    case.sandbox.scenarios.activate("card-declined")
    order = case.order()
    case.pay(order)
    declined = case.deposits(order)
    case.sandbox.scenarios.deactivate()
    case.advance()
    case.wait(order, lambda books: books.status in {"failed", "cancelled", "unpaid"})
    case.click_again(order)
    again = case.deposits(order)[len(declined) :]
    if not declined or not again:
        raise NotTested("the shop sent no second deposit after a decline")
    case.check(
        _key(again[0]).lower() != _key(declined[0]).lower(),
        "the deposit after a decline had the key of the declined one",
        "a new key",
    )
    case.advance()
    case.expect_paid(order, "a decline, and a second attempt")


# Errors and retries


def _gaps(sent: list[Request]) -> list[float]:
    return [(later.at - earlier.at).total_seconds() for earlier, later in pairwise(sent)]


def _in_real_time(case: Case) -> None:
    """Let the sandbox's clock run, so that the instants of requests are real."""
    case.sandbox.clock.set("real")


@clause(
    "C3.1",
    "7",
    S,
    "A 5xx is retried with growing pauses, at most five times",
    costs="an outage is made longer by its own clients",
    fix="wait 1 s, 2 s, 4 s, …, and stop after five attempts",
    needs=("driver",),
)
def server_errors(case: Case) -> None:
    """Answer 503 until the shop stops, for several orders."""
    case.fault("error", status=503, operation=_DEPOSIT)
    _in_real_time(case)
    first = last = 0.0
    most = 0
    pauses: list[float] = []
    for _ in range(3):
        order = case.order()
        sent = _answered(case, order, "while the service answers 503")
        most = max(most, len(sent))
        if len({_key(each).lower() for each in sent}) > 1:
            case.problem("retries after a 503 had other keys", "the same key", M)
        gaps = _gaps(sent)
        pauses += gaps
        if len(gaps) > 1:
            first, last = first + gaps[0], last + gaps[-1]
        case.check(case.books(order).status != "paid", f"after 503: {case.books(order)}", "not paid", B)
    case.check(most > 1 or case.stage.has("tick"), "a 503 was not retried, and the shop has no jobs", "a retry")
    if pauses and max(pauses) < _NO_PAUSE_SECONDS:
        case.problem(
            f"{len(pauses)} retries came without a pause, at most {max(pauses):.3f} s after the request before",
            "growing pauses; a setting that shortens them for tests should leave some",
        )
    elif first:
        case.note(f"Pauses between attempts: {first / 3:.2f} s first, {last / 3:.2f} s last.")
        case.check(
            last > first * 0.9, f"pauses shrink: {first / 3:.2f} s first, {last / 3:.2f} s last", "growing pauses"
        )
        # Random parts alone make a larger difference.
        case.check(
            max(pauses) > _LEAST_GROWTH * min(pauses),
            f"all pauses are alike: {min(pauses):.2f} to {max(pauses):.2f} s",
            "growing pauses",
        )


@clause(
    "C3.2",
    "7",
    M,
    "A 500 after the commit is retried with the same key",
    costs=_TWICE,
    fix=_SAME_KEY,
    needs=("driver",),
)
def error_after_commit(case: Case) -> None:
    """Carry the deposit out, and answer 500 or a proxy's page."""
    for effect, after in (("error", "a 500 after the commit"), ("html_error", "a proxy's 502 after the commit")):
        case.service_sends()
        members = {"status": 500} if effect == "error" else {}
        case.fault(effect, operation=_DEPOSIT, phase="after_commit", times=1, **members)
        order = case.order()
        case.pay(order)
        books = _settle(case, order)
        _one_pay_in(case, order, after)
        _same_bytes(case, order, after)
        _must_be_paid(case, books, f"{after}")
        case.sandbox.faults.clear()


@clause(
    "C3.3",
    "7",
    S,
    "A 400 and a 422 are not retried",
    costs="requests that cannot succeed, without end",
    fix="retry 5xx and network errors alone; show the customer what is wrong",
    needs=("driver",),
)
def refusals(case: Case) -> None:
    """Answer 400 and 422."""
    for status, code in ((400, "INVALID_INPUT"), (422, "VALIDATION_ERROR")):
        case.fault("error", status=status, code=code, operation=_DEPOSIT)
        order = case.order()
        sent = _answered(case, order, f"after {status}", most=1)
        for _ in range(2):
            case.advance("1h")
            case.tick()
        later = case.deposits(order)
        case.check(
            len(later) == len(sent),
            f"after {status} the jobs sent the deposit {len(later) - len(sent)} times again",
            "no retry",
        )
        books = case.books(order)
        case.check(books.status != "paid" and not books.shipments, f"after {status}: {books}", "not paid", B)
        case.sandbox.faults.clear()


@clause(
    "C3.4",
    "7",
    S,
    "A request that is never answered ends by a timeout",
    costs="each worker of the shop waits without an end",
    fix="set a timeout for the whole request",
    needs=("driver",),
)
def no_reply(case: Case) -> None:
    """Never answer, and wait for the shop's own timeout."""
    case.service_sends()
    case.fault("no_response", operation=_DEPOSIT, phase="after_commit", times=1)
    order = case.order()
    problem = case.pay(order)
    case.check(
        "had no answer after" not in problem,
        "the shop did not answer its customer while the service did not answer",
        "a timeout",
    )
    case.sandbox.faults.clear()
    books = _settle(case, order)
    _one_pay_in(case, order, "a timeout")
    _must_be_paid(case, books, "a timeout, the jobs, and two more clicks")


@clause(
    "C3.5",
    "7",
    S,
    "A reply that cannot be read is an open question, and is resolved",
    costs=_UNKNOWN,
    fix="treat it as a lost reply: the same key again, or a read",
    needs=("driver",),
)
def unreadable(case: Case) -> None:
    """Answer 200 with half of the JSON, with no JSON, and with nothing."""
    whole = b'{"success":true,"data":{"id":"payin_000000000000000000000000","object":"payin","status":"cre'
    for what, body in (
        ("half a reply", whole),
        ("a reply that is not JSON", b"<html>OK</html>"),
        ("an empty 200", b""),
    ):
        case.service_sends()
        case.fault(
            {"type": "garbage", "as": "body", "bytes": base64.b64encode(body).decode()},
            operation=_DEPOSIT,
            phase="after_commit",
            times=1,
        )
        order = case.order()
        case.pay(order)
        case.check(case.books(order).status != "failed", f"after {what}: {case.books(order)}", "unknown, not failed")
        books = _settle(case, order)
        _one_pay_in(case, order, what)
        _must_be_paid(case, books, f"{what}, the jobs, and two more clicks")
        case.sandbox.faults.clear()


@clause(
    "C3.6",
    "7",
    S,
    "Retries of several orders do not come at the same instant",
    costs="after an outage all clients come back at once",
    fix="add a random part to each pause",
    needs=("driver",),
)
def jitter(case: Case) -> None:
    """Fail five orders at the same time, and compare their pauses."""
    case.fault("error", status=503, operation=_DEPOSIT)
    _in_real_time(case)
    orders = [case.order() for _ in range(5)]
    case.together(*[partial(case.pay, order) for order in orders])
    pauses = [_gaps(_quiet(case, order)) for order in orders]
    # A short pause differs by the computer's own delays.
    longest = [max(each) for each in pauses if each]
    if len(longest) < len(orders):
        raise NotTested("the shop does not retry by itself within one call")
    spread = (max(longest) - min(longest)) / max(longest)
    case.note(f"Longest pauses of five orders: {', '.join(f'{each:.3f}' for each in sorted(longest))} s.")
    case.check(
        spread > _SAME_PAUSE, f"five orders waited the same time, within {spread:.0%}", "pauses that differ at random"
    )


# Rate limits


def _limited(case: Case, headers: str, unit: str, reset: str = "2s") -> tuple[Order, list[Request]]:
    case.sandbox.faults.clear()
    case.sandbox.requests.clear()
    case.fault("rate_limit", operation=_DEPOSIT, reset=reset, reset_unit=unit, headers=headers, times=1)
    order = case.order()
    started = time.monotonic()
    case.pay(order)
    sent = case.deposits(order)
    while len(sent) == 1 and time.monotonic() - started < _RETRY_WITHIN_SECONDS:
        case.tick()
        time.sleep(0.1)
        sent = case.deposits(order)
    return order, sent


@clause(
    "C4.1",
    "8",
    M,
    "After a 429 the same request is sent again with the same key, and not before the reset",
    costs="the quota is never free, and the customer is charged twice",
    fix="wait until X-RateLimit-Reset, then send the same key and body",
    needs=("driver",),
)
def limited(case: Case) -> None:
    """Answer one 429 whose window ends in two seconds."""
    _in_real_time(case)
    order, sent = _limited(case, "full", "delta_seconds")
    if not sent:
        raise NotTested("the shop sent no deposit")
    if len(sent) == 1:
        case.note("The shop did not try again within four seconds.")
        case.click_again(order)
        sent = case.deposits(order)
    else:
        pause = (sent[1].at - sent[0].at).total_seconds()
        case.note(f"The next request came {pause:.2f} s after the 429, whose reset was 2 s.")
        case.check(
            pause > _LEAST_PAUSE_SECONDS,
            f"the next request came {pause:.2f} s after a 429 whose reset was 2 s",
            "no request before the reset",
            S,
        )
    _same_bytes(case, order, "a 429")


@clause(
    "C4.2",
    "8",
    S,
    "A reset in any unit, in the past, or unreadable neither stalls the shop nor lets it spin",
    costs="one header stops all payments, or floods the service",
    fix="accept seconds and instants, in seconds and milliseconds, and limit the pause in both directions",
    needs=("driver",),
)
def units(case: Case) -> None:
    """Answer a 429 in each unit, with a reset in the past, and with one that is not a number."""
    for headers, unit in (
        ("full", "epoch_seconds"),
        ("full", "epoch_milliseconds"),
        ("past", "epoch_seconds"),
        ("malformed", "epoch_seconds"),
    ):
        what = f"a 429 with a reset {_RESETS.get(headers) or 'in ' + unit.replace('_', ' ')}"
        case.sandbox.faults.clear()
        case.fault("rate_limit", operation=_DEPOSIT, reset="1s", reset_unit=unit, headers=headers, times=1)
        order = case.order()
        problem = case.pay(order)
        case.check(
            "had no answer after" not in problem,
            f"after {what} the shop's customer had no answer in time",
            "a bounded pause",
        )
        sent = _quiet(case, order)
        case.check(
            len(sent) <= _MOST_ATTEMPTS,
            f"after {what} the deposit was sent {len(sent)} times",
            f"at most {_MOST_ATTEMPTS} times",
        )
        _sent_in_the_end(case, order, what, "1s")
        _one_pay_in(case, order, what)


def _sent_in_the_end(case: Case, order: Order, after: str, reset: str) -> None:
    """Report a shop that sends nothing more although the reset is over, its jobs ran, and the customer clicked."""
    if not case.stage.follows_time and reset not in after:
        return  # how long it backs off is its own decision, and its clock is not ours
    for longer in _LONGER:
        case.advance(longer)
        case.tick()
        case.click_again(order)
        if case.pay_ins(order):
            return
    end = time.monotonic() + _RETRY_WITHIN_SECONDS
    while not case.pay_ins(order) and time.monotonic() < end:
        case.tick()
        case.click_again(order)
        time.sleep(_SILENT_SECONDS / 2)
    case.check(bool(case.pay_ins(order)), f"after {after} no deposit was made, although the reset is over", "a deposit")


@clause(
    "C4.3",
    "8",
    S,
    "A 429 without headers is backed off from",
    costs="the quota is never free",
    fix="wait as after a 503",
    needs=("driver",),
)
def no_headers(case: Case) -> None:
    """Answer 429 without headers until the shop stops."""
    case.fault("rate_limit", operation=_DEPOSIT, headers="missing")
    order = case.order()
    _answered(case, order, "while the service answers 429 without headers", _STORM)


# Error envelopes


@clause(
    "C5.1",
    "7",
    M,
    "Both error envelopes are read alike",
    costs="a declined payment is shown as open, or crashes the shop",
    fix="read error.code and error.message from both shapes, and decide by the HTTP status",
    needs=("driver",),
)
def envelopes(case: Case) -> None:
    """Refuse a deposit in either envelope."""
    found = {}
    for envelope in ("A", "B"):
        case.fault("error", status=422, code="VALIDATION_ERROR", envelope=envelope, operation=_DEPOSIT)
        order = case.order()
        problem = case.pay(order)
        found[envelope] = (case.books(order).status, bool(problem))
        case.check(found[envelope][0] != "paid", f"after a 422 in envelope {envelope}: {case.books(order)}", "not paid")
        case.sandbox.faults.clear()
    case.check(
        found["A"] == found["B"],
        f"a 422 leaves the order {_told(found['A'])} with envelope A and {_told(found['B'])} with envelope B",
        "the same",
    )


def _told(outcome: tuple[str, bool]) -> str:
    status, crashed = outcome
    return f"{status}, after a crash," if crashed else status


@clause(
    "C5.2",
    "7",
    S,
    "An unknown error code is treated by its HTTP status",
    costs="a new code crashes the shop, or counts as a success",
    fix="decide by the class of the status: 4xx is a refusal, 5xx is retried",
    needs=("driver",),
)
def unknown_code(case: Case) -> None:
    """Refuse a deposit with a code that is in no catalogue."""
    case.fault("unknown_code", operation=_DEPOSIT)
    order = case.order()
    problem = case.pay(order)
    books = case.books(order)
    case.check(not problem, f"the shop failed: {problem}", "an answer to the customer")
    case.check(books.status != "paid" and not books.shipments, f"after an unknown code: {books}", "not paid", B)


@clause(
    "C5.3",
    "7",
    S,
    "The request_id of an error is kept",
    costs="the service's support cannot find the request",
    fix="log request_id, and store it with the order",
    needs=("driver", "request_id"),
)
def request_id(case: Case) -> None:
    """Refuse a deposit, and look for its request_id in the books."""
    case.fault("error", status=422, code="VALIDATION_ERROR", operation=_DEPOSIT)
    order = case.order()
    case.pay(order)
    sent = case.deposits(order)
    if not sent:
        raise NotTested("the shop sent no deposit")
    error = json.loads(sent[-1].response_body)
    wanted = error.get("request_id") or error["error"].get("request_id")
    kept = case.stage.driver.request_id(order.id)
    case.check(kept == wanted, f"the books have the request_id {kept!r}", f"{wanted!r}")


# Amounts and refunds


@clause(
    "C6.1",
    "2",
    B,
    "Amounts are sent exactly, in currencies with 0, 2 and 3 digits",
    costs="the customer is charged another amount",
    fix="use decimal numbers or minor units, with the digits of the currency",
    needs=("driver",),
)
def amounts(case: Case) -> None:
    """Pay amounts that binary fractions and hundredths cannot hold."""
    tried = set()
    missing = []
    for amount, currency in (("0.30", "EUR"), ("1.10", "EUR"), ("1234.56", "EUR"), ("4990", "JPY"), ("1.005", "KWD")):
        if not case.sells_in(currency):
            continue
        try:
            order = case.order(amount, currency)
        except NotTested as reason:
            case.note(f"{amount} {currency}: {reason}")
            continue
        case.pay(order)
        sent = case.deposits(order)
        if not sent:
            missing.append((amount, currency))
            continue
        tried.add(currency)
        body = sent[-1].json()
        found = body.get("amount"), body.get("currency")
        right = _decimal(found[0]) == order.amount and found[1] == currency
        case.check(
            right,
            f"for an order of {amount} {currency} the deposit is over {found[0]} {found[1]}",
            f"{amount} {currency}",
        )
    if not tried:
        raise NotTested("the shop took none of the orders")
    for amount, currency in missing:
        what = f"for an order of {amount} {currency} no deposit came that can be read"
        if currency in tried:
            case.problem(what, f"a deposit, as for other amounts in {currency}")
        else:
            case.note(what)


def _decimal(value: object) -> Decimal | None:
    try:
        return Decimal(str(value))
    except ArithmeticError:
        return None


def _refunded(case: Case, pay_in: Resource) -> Decimal:
    """Return what the service has refunded of a pay-in, or is refunding."""
    document = case.sandbox.pay_ins.get(pay_in.id).document
    total: Decimal = document["refunded_amount"] + document["refund_pending_amount"]
    return total


@clause(
    "C6.2",
    "2",
    B,
    "Partial refunds are exact, and never exceed what was paid",
    costs="more money is given back than came in",
    fix="add up the refunds of an order before the next is asked for",
    needs=("driver", "refund"),
)
def partial_refunds(case: Case) -> None:
    """Refund three parts, and one cent too many."""
    case.service_sends()
    order = case.order()
    case.pay(order)
    case.advance()
    if case.wait(order, lambda books: books.status == "paid") is None:
        raise NotTested(f"the order is not paid: {case.books(order)}")
    pay_in = case.pay_in(order)
    total = Decimal(0)
    for number, part in enumerate(("10.00", "0.10", "19.90")):
        problem = case.refund(order, part, str(number))
        case.advance()
        total += Decimal(part)
        found = _refunded(case, pay_in)
        if problem and not number and not found:
            raise NotTested(f"the shop makes no partial refund: {problem}")
        because = f" ({problem})" if problem else ""
        case.check(found == total, f"after refunds of {total} the service has refunded {found}{because}", f"{total}")
    for wish in ("19.91", "49.90"):
        case.refund(order, wish, f"more-{wish}")
        case.advance()
        for each in case.refunds()[3:]:
            # No sentence says that the service refuses it. When it does, no money has gone.
            case.check(
                _decimal(each.json().get("amount")) != Decimal(wish),
                f"the shop asked for a refund of {wish}, with {order.amount - total} left",
                "a refusal, without a request",
                S if each.status in {400, 422} else None,
            )
    found = _refunded(case, pay_in)
    case.check(
        found == total,
        f"the service has refunded {found} of {order.amount}, and {total} was asked for rightly",
        f"{total}",
    )
    balance = case.books(order).balance
    case.check(balance in {None, order.amount - total}, f"the balance is {balance}", f"{order.amount - total}")


@clause(
    "C6.3",
    "7",
    B,
    "A refund whose reply was lost is made once",
    costs="the customer gets the money twice",
    fix=_SAME_KEY,
    needs=("driver", "refund"),
)
def refund_reply_lost(case: Case) -> None:
    """Lose the reply of a refund, and ask for the same refund again."""
    case.service_sends()
    order = case.order()
    case.pay(order)
    case.advance()
    if case.wait(order, lambda books: books.status == "paid") is None:
        raise NotTested(f"the order is not paid: {case.books(order)}")
    pay_in = case.pay_in(order)
    total = Decimal(0)
    for number, (lost, restarts, what) in enumerate(
        (
            ({"times": 1}, False, "whose first reply was lost"),
            ({}, False, "whose replies were lost"),
            ({}, True, "whose replies were lost before a restart"),
        )
    ):
        if restarts and not case.stage.has("kill"):
            return
        # No event tells the shop that there is a refund before it is asked again.
        case.sandbox.change(notification_url=None)
        fault = case.sandbox.faults.add("connection_reset", operation=_REFUND, phase="after_commit", **lost)
        case.refund(order, "10.00", f"{number}")
        case.sandbox.faults.remove(fault.id)
        if restarts:
            case.restart()
        hidden = case.sandbox.faults.add("not_found_yet")
        case.refund(order, "10.00", f"{number}")
        case.sandbox.faults.remove(hidden.id)
        case.service_sends()
        total += 10
        case.tick()
        case.advance()
        for longer in _LONGER:
            if _refunded(case, pay_in) >= total:
                break
            case.advance(longer)
            case.tick()
        case.advance()
        if not case.refunds():
            raise NotTested("the shop sent no refund")
        found = _refunded(case, pay_in)
        case.check(
            found == total,
            f"a refund of 10.00 {what}, and which was asked for again, gave back {found - total + 10}",
            "10.00",
        )
        total = found


# What is believed


@clause(
    "C7.1",
    "2",
    S,
    "A 200 that says success: false is no success",
    costs="goods are shipped that nobody paid for",
    fix="look at success before data is used",
    needs=("driver",),
)
def not_a_success(case: Case) -> None:
    """Answer 200 with success false, and let the customer click again."""
    case.service_sends()
    error = {"code": "VALIDATION_ERROR", "message": "The payment was refused."}
    body = json.dumps({"success": False, "error": error, "request_id": "req_" + "0" * 24}).encode()
    case.fault(
        {"type": "garbage", "as": "body", "bytes": base64.b64encode(body).decode()},
        operation=_DEPOSIT,
        phase="before_commit",
    )
    order = case.order()
    problem = case.pay(order)
    books = case.books(order)
    case.check(not problem, f"the shop failed: {problem}", "an answer to the customer")
    case.check(books.status != "paid" and not books.shipments, f"after success: false: {books}", "not paid", B)
    case.sandbox.faults.clear()
    books = _settle(case, order, lambda books: books.status in {"paid", "failed"})
    case.check(
        books.status in {"paid", "failed", "review"},
        f"after success: false, the jobs, and two more clicks: {books}",
        "failed, or paid by the next deposit",
    )


@clause(
    "C7.2",
    "2",
    B,
    "A status that the shop does not know is not taken for paid",
    costs="goods are shipped that nobody paid for",
    fix="ship on succeeded alone; anything else is open",
    needs=("driver",),
)
def unknown_status(case: Case) -> None:
    """Show an unknown status in replies and reads, and the true one afterwards."""
    what = "the unknown status on_hold in replies and reads"
    case.fault("unknown_status")
    order = case.order()
    case.pay(order)
    pay_in = case.pay_in(order)
    for _ in range(2):
        case.tick()
        if case.stage.has("customer_returns"):
            case.customer_returns(order)
        if not case.expect_unpaid(order, what):
            return
        case.advance("2m")
    books = case.books(order)
    case.check(books.status not in {"failed", "cancelled"}, f"after {what}: {books}", "open, since nobody knows", S)
    case.click_again(order)
    _one_pay_in(case, order, f"{what}, and another click")
    case.sandbox.faults.clear()
    case.deliver(case.event(pay_in, "pay-in.succeeded"))
    case.tick()
    case.expect_paid(order, f"{what}, and a success")


@clause(
    "C7.3",
    "6",
    S,
    "Without webhooks for 80 hours the payment is read, and ends right",
    costs=_UNKNOWN,
    fix="read the state of payments that stay open, in a job",
    needs=("driver", "tick", "reconciles"),
)
def reads(case: Case) -> None:
    """Send no event and run the jobs: after a plain payment, a lost reply, and a lost reply and a restart."""
    order = case.order()
    case.pay(order)
    case.pay_in(order)
    case.advance()
    case.fault("stale_read", times=1)
    case.fault("not_found_yet", times=1)
    _found_by_jobs(case, order, "the payment")
    for restarts in (False, True):
        if restarts and not case.stage.has("kill"):
            return
        lost = case.sandbox.faults.add("connection_reset", operation=_DEPOSIT, phase="after_commit")
        order = case.order()
        case.pay(order)
        _quiet(case, order)
        case.sandbox.faults.remove(lost.id)
        case.advance()
        if restarts:
            case.restart()
        _found_by_jobs(case, order, f"a payment whose replies were lost{' and a restart' * restarts}")


def _found_by_jobs(case: Case, order: Order, after: str) -> None:
    for _ in range(4):
        case.tick()
        case.advance("20h")
    case.tick()
    books = case.wait(order, lambda books: books.status in {"paid", "review"})
    case.check(
        books is not None,
        f"80 h after {after}, without an event: {case.books(order)}",
        "paid by a read, or told to a person",
    )
    case.expect_once(order, f"80 h after {after}")


@clause(
    "C7.4",
    "6",
    S,
    "A payer who comes back before the event sees that the payment is open",
    costs="the customer pays again, or is told something wrong",
    fix="show the state of the order on the page after the payment; do not take the return for a success",
    needs=("driver", "customer_returns"),
)
def returns_first(case: Case) -> None:
    """Let the payer come back before anything was decided, and pay afterwards."""
    case.sandbox.scenarios.activate("payer-decides")
    case.service_sends()
    order = case.order()
    case.pay(order)
    pay_in = case.pay_in(order)
    case.sandbox.scenarios.deactivate()
    case.advance("1m")
    problem = case.customer_returns(order)
    case.check(not problem, f"the page after the payment failed: {problem}", "a page that says pending")
    case.settle()
    books = case.books(order)
    pending = books.status in {"pending", "unpaid"} and not books.shipments
    case.check(pending, f"after the payer's return: {books}", "pending", B)
    _one_pay_in(case, order, "the payer's return")
    case.sandbox.payer(pay_in).pay()
    case.advance()
    case.expect_paid(order, "the payer has come back first, and then paid")


# All together


@clause(
    "C8.1",
    "",
    B,
    "The shop's books equal the service's ledger",
    costs="the books differ from the bank's statement",
    fix="see which order differs, and its timeline",
    needs=("driver",),
)
def ledger(case: Case) -> None:
    """Pay orders through a lost reply, a 503, duplicates and events out of order; decline one; refund a part."""
    case.service_sends()
    case.fault("duplicate", on="webhooks", copies=1, compose=True)
    case.fault("reorder", on="webhooks", window=2)
    orders = []
    for effect, members in (
        ("connection_reset", {"phase": "after_commit"}),
        ("error", {"status": 503}),
        ("html_error", {"phase": "after_commit"}),
    ):
        case.fault(effect, operation=_DEPOSIT, times=1, **members)
        order = case.order()
        case.pay(order)
        orders.append(order)
    declined = case.order()
    case.sandbox.scenarios.activate("card-declined")
    case.pay(declined)
    case.sandbox.scenarios.deactivate()
    for order in (*orders, declined):
        _settle(case, order, lambda books: books.status in {"paid", "failed"})
    case.sandbox.faults.clear()
    if case.stage.has("refund"):
        case.refund(orders[0], "10.00")
    case.advance("80h")
    case.tick()
    for order in (*orders, declined):
        _as_ledger(case, order)


def _as_ledger(case: Case, order: Order) -> None:
    case.expect_once(order, "a chain of faults")
    pay_ins = case.pay_ins(order)
    here = sum(
        (each.document["amount"] - each.document["refunded_amount"] for each in pay_ins if each.status == "succeeded"),
        Decimal(0),
    )
    paid = [each for each in pay_ins if each.status == "succeeded"]
    books = case.wait(
        order,
        lambda books: (
            (books.status in {"paid", "partly_refunded", "review"}) == bool(paid) and books.balance in {None, here}
        ),
    )
    case.check(
        books is not None,
        f"the service has {here} of {order.id}, in {len(paid)} payments; the books say {case.books(order)}",
        "the same",
    )
    case.check(len(paid) <= 1, f"{order.id} was paid {len(paid)} times", "once")
