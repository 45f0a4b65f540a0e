"""W: what holds for a consumer of webhooks. Each function plays one clause; `case.py` says how effects are judged."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import ssl
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from statistics import quantiles
from typing import Any, Final

from paydouble.conformance.case import SIGNATURE, Books, Broken, Case, NotTested, Order, changed, success_of
from paydouble.conformance.clauses import ClauseTable
from paydouble.conformance.levels import Level
from paydouble.conformance.merchant_file import MerchantFile
from paydouble.conformance.posting import PATIENCE_SECONDS, connect
from paydouble.records import Event
from paydouble.stateful.crafted import GUESSED_SECRETS
from paydouble.webhooks.signing import DEFAULT_TOLERANCE_SECONDS

WEBHOOK: Final = ClauseTable()
clause = WEBHOOK.clause
M, B, S, I = Level.MUST, Level.BOOKS, Level.SHOULD, Level.INFORMATION  # noqa: E741 - as in the table

_FORGED = "anybody who knows the address of the receiver can have goods shipped that nobody paid for"
_VERIFY = "verify `t` and `v1` as section 5 says, over the raw bytes, before anything of the body is used"
_TWICE = "goods are shipped, money is booked, or mails are sent twice"
_DEDUPLICATE = (
    "store the event's id in the same transaction as its effect, with a unique index; a known id is acknowledged"
)
_LOST = "the customer has paid, and the order stays open"
_OTHER_SECRET = "whsec_of_somebody_else"  # noqa: S105 - nobody's
_ACCEPTED_400 = frozenset({400})
_ACCEPTED_401 = frozenset({401})


# The signature


@clause(
    "W1.1",
    "5",
    M,
    "A validly signed event is accepted and has its effect",
    costs=_LOST,
    fix="answer 2xx to a valid signature, and mark the order as paid on pay-in.succeeded",
    needs=("driver",),
)
def plain(case: Case) -> None:
    """Deliver a plain success. It also shows how this shop works, which later cases use."""
    order, pay_in = case.succeeded()
    with case.reads_fail():
        posted = case.deliver(case.event(pay_in, "pay-in.succeeded"))
        case.check(posted.accepted, f"the event was {posted.summary}", "2xx")
        case.stage.works_at_once = case.books(order).status == "paid"
        by_event = case.wait(order, lambda books: books.status == "paid")
    if by_event is None:
        case.tick()
        if case.wait(order, lambda books: books.status == "paid") is not None:
            case.stage.reads_for_truth = True
            case.note("The shop takes what happened from reads of the API, and not from events.")
    case.expect_paid(order, "a plain pay-in.succeeded")


def _forgeries(
    case: Case,
    forged: Sequence[tuple[str, Sequence[tuple[str, str | bytes]]]],
    body: bytes,
    order: Order,
    recommended: frozenset[int],
) -> None:
    """Post forged copies of a success; none may have an effect, crash the shop, or be accepted."""
    for what, headers in forged:
        posted = case.post(body, headers, f"a forged pay-in.succeeded: {what}")
        case.expect_no_crash(posted, f"a webhook with {what}")
        if posted.status is not None and posted.status not in recommended and not posted.crashed:
            wanted = " or ".join(map(str, sorted(recommended)))
            case.problem(f"a webhook with {what} was {posted.summary}", f"{wanted}, as section 5 recommends", S)
        if not case.expect_unpaid(order, f"a forged success with {what}"):
            raise Broken


def _open_order(case: Case) -> tuple[Order, bytes]:
    """Return an order whose payment is open, and the body of a success that did not happen."""
    order, pay_in = case.pending()
    return order, success_of(case.event(pay_in, "pay-in.created").body)


@clause("W1.2", "5", M, "An event without a signature has no effect", costs=_FORGED, fix=_VERIFY, needs=("driver",))
def no_header(case: Case) -> None:
    """Leave the header out."""
    order, body = _open_order(case)
    _forgeries(case, [("no signature header", [])], body, order, _ACCEPTED_400)


@clause(
    "W1.3",
    "5",
    M,
    "A header in which a part is missing or cannot be read has no effect, and does not crash the shop",
    costs=_FORGED,
    fix="answer 400 to a header without a readable t and a v1",
    needs=("driver",),
)
def malformed(case: Case) -> None:
    """Break each part of the header."""
    order, body = _open_order(case)
    right = case.header(body)
    at, digest = right.split(",", 1)
    _forgeries(
        case,
        [
            (what, [(SIGNATURE, value)])
            for what, value in (
                ("an empty header", ""),
                ("no t", digest),
                ("no v1", at),
                ("an empty t", f"t=,{digest}"),
                ("an empty v1", f"{at},v1="),
                ("a text that is not k=v", "signed"),
                ("a t that is not a number", f"t=now,{digest}"),
            )
        ],
        body,
        order,
        _ACCEPTED_400 | _ACCEPTED_401,
    )


@clause("W1.4", "5", M, "A signature with one wrong digit has no effect", costs=_FORGED, fix=_VERIFY, needs=("driver",))
def wrong_digit(case: Case) -> None:
    """Change the first digit, the last, and the second half."""
    order, body = _open_order(case)
    right = case.header(body)

    def other(digits: str) -> str:
        return "".join(f"{int(digit, 16) ^ 1:x}" for digit in digits)

    first = right.index("v1=") + 3
    _forgeries(
        case,
        [
            ("one changed digit at the end of v1", [(SIGNATURE, right[:-1] + other(right[-1]))]),
            (
                "one changed digit at the beginning of v1",
                [(SIGNATURE, right[:first] + other(right[first]) + right[first + 1 :])],
            ),
            ("a v1 that is right in its first half", [(SIGNATURE, right[:-32] + other(right[-32:]))]),
            ("a v1 that is cut after eight digits", [(SIGNATURE, right[: first + 8])]),
        ],
        body,
        order,
        _ACCEPTED_401 | _ACCEPTED_400,
    )


@clause(
    "W1.5", "5", M, "A body that was changed by one byte has no effect", costs=_FORGED, fix=_VERIFY, needs=("driver",)
)
def changed_byte(case: Case) -> None:
    """Sign the body, and change it afterwards."""
    order, body = _open_order(case)
    _forgeries(
        case,
        [("the signature of other bytes", [(SIGNATURE, case.header(body.replace(b'"', b' "', 1)))])],
        body,
        order,
        _ACCEPTED_401,
    )


def _written_otherwise(body: bytes) -> dict[str, bytes]:
    """Return the same event in other bytes."""
    event = json.loads(body)
    with_name = changed(
        body, lambda each: each["data"]["object"]["customer"].update(first_name="Zoë"), ensure_ascii=True
    )
    return {
        "unusual spacing": json.dumps(event, indent=3).encode() + b"\n",
        "another order of its members": json.dumps(dict(reversed(event.items()))).encode(),
        "\\u escapes": with_name,
        "raw UTF-8": changed(with_name, lambda _: None, ensure_ascii=False),
        "an amount of 49.90 with its zero": body.replace(b'"amount":49.9,', b'"amount":49.90,'),
    }


@clause(
    "W1.6",
    "5",
    M,
    "The raw bytes are verified, however the JSON is written",
    costs=_LOST + ", as soon as the service writes its JSON in another way",
    fix="verify the bytes as they came, before they are parsed; do not serialise the JSON again",
    needs=("driver",),
)
def raw_bytes(case: Case) -> None:
    """Deliver true events in other bytes, and under a header name in lower case."""
    for what in _written_otherwise(b'{"data":{"object":{"customer":{}}}}'):
        order, pay_in = case.succeeded()
        body = _written_otherwise(case.event(pay_in, "pay-in.succeeded").body)[what]
        posted = case.deliver(body, f"a true pay-in.succeeded with {what}")
        case.check(posted.accepted, f"a true event with {what} was {posted.summary}", "2xx")
        with contextlib.suppress(Broken):
            case.expect_paid(order, f"a true event with {what}")
    order, pay_in = case.succeeded()
    body = case.event(pay_in, "pay-in.succeeded").body
    posted = case.post(
        body, [(SIGNATURE.lower(), case.header(body))], "a true event with the header's name in lower case"
    )
    case.check(posted.accepted, f"a header name in lower case was {posted.summary}", "2xx, since names have no case")
    case.expect_paid(order, "a true event with the header's name in lower case")


def _aged(case: Case, seconds: int, what: str) -> None:
    order, body = _open_order(case)
    _forgeries(case, [(what, [(SIGNATURE, case.header(body, age=seconds))])], body, order, _ACCEPTED_400)


@clause(
    "W1.7",
    "5",
    M,
    "A signature that is more than 300 seconds old has no effect",
    costs="somebody who has recorded a webhook can send it again later",
    fix="compare t with the present time",
    needs=("driver",),
)
def old(case: Case) -> None:
    """Sign 301 seconds ago."""
    _aged(case, DEFAULT_TOLERANCE_SECONDS + 1, "a t of 301 seconds ago")


@clause(
    "W1.8",
    "5",
    M,
    "A signature from more than 300 seconds ahead has no effect",
    costs="a recorded webhook stays usable for as long as its t is ahead",
    fix="compare the absolute difference of t and the present time",
    needs=("driver",),
)
def ahead(case: Case) -> None:
    """Sign 302 seconds ahead; a second may pass on the way."""
    _aged(case, -(DEFAULT_TOLERANCE_SECONDS + 2), "a t of 302 seconds ahead")


@clause(
    "W1.9",
    "5",
    S,
    "A signature that is 295 seconds old is accepted",
    costs="webhooks are refused as soon as the clocks differ",
    fix="use the tolerance of 300 seconds",
    needs=("driver",),
)
def nearly_old(case: Case) -> None:
    """Sign 295 seconds ago, and 295 ahead: a starved machine needs a few."""
    for age in (DEFAULT_TOLERANCE_SECONDS - 5, -(DEFAULT_TOLERANCE_SECONDS - 5)):
        order, pay_in = case.succeeded()
        body = case.event(pay_in, "pay-in.succeeded").body
        what = f"a true event signed {abs(age)} seconds {'ago' if age > 0 else 'ahead'}"
        posted = case.post(body, [(SIGNATURE, case.header(body, age=age))], what)
        case.check(posted.accepted, f"{what} was {posted.summary}", "2xx")
        case.expect_paid(order, what)


@clause(
    "W1.10",
    "5",
    M,
    "A signature by anything but the shop's secret has no effect",
    costs=_FORGED,
    fix=_VERIFY,
    needs=("driver",),
)
def other_secret(case: Case) -> None:
    """Sign with another secret, with an obvious one, without the time, and in v0."""
    order, body = _open_order(case)
    at = case.now()

    def digest(secret: str, signed: bytes) -> str:
        return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()

    payload = b"%d." % at + body
    own = case.sandbox.webhook_secret
    plain_hash = hashlib.sha256(payload).hexdigest()
    _forgeries(
        case,
        [
            ("another secret", [(SIGNATURE, f"t={at},v1={digest(_OTHER_SECRET, payload)}")]),
            *(
                (f"the {name}", [(SIGNATURE, f"t={at},v1={digest(guess, payload)}")])
                for name, guess in GUESSED_SECRETS.items()
            ),
            ("a hash without a secret", [(SIGNATURE, f"t={at},v1={plain_hash}")]),
            ("the HMAC of the body without t", [(SIGNATURE, f"t={at},v1={digest(own, body)}")]),
            ("the right digest in v0 alone", [(SIGNATURE, f"t={at},v0={digest(own, payload)}")]),
        ],
        body,
        order,
        _ACCEPTED_400 | _ACCEPTED_401,
    )


@clause(
    "W1.11",
    "5",
    I,
    "Reordered parts, unknown parts and a second v1 are accepted",
    costs="webhooks are refused while a secret is rotated",
    fix="read the parts by name, and try each v1",
    needs=("driver",),
)
def reordered(case: Case) -> None:
    """Send lawful headers that are written in another way."""
    for what in ("v1 before t", "an unknown part", "two v1, the last of them right", "two v1, the first of them right"):
        _, pay_in = case.succeeded()
        body = case.event(pay_in, "pay-in.succeeded").body
        at, digest = case.header(body).split(",", 1)
        other = case.header(body, secret=_OTHER_SECRET).partition(",")[2]
        value = {
            "v1 before t": f"{digest},{at}",
            "an unknown part": f"{at},x=1,{digest}",
            "two v1, the last of them right": f"{at},{other},{digest}",
            "two v1, the first of them right": f"{at},{digest},{other}",
        }[what]
        posted = case.post(body, [(SIGNATURE, value)], f"a true event with {what}")
        case.check(posted.accepted, f"a header with {what} was {posted.summary}", "2xx")


@clause(
    "W1.12",
    "5",
    M,
    "No header crashes the shop",
    costs="a stranger fills the log with errors, and a 5xx lets the service retry for 72 hours",
    fix="compare digests as bytes, and refuse what is not 64 hexadecimal digits",
)
def strange_headers(case: Case) -> None:
    """Send headers that comparisons and parsers tend to fail on."""
    body = b'{"id":"evt_strange","object":"event","type":"pay-in.created","data":{"object":{}}}'
    at, digest = case.header(body).split(",", 1)
    for what, value in {
        "a v1 that is not ASCII": f"{at},v1=".encode() + "é".encode("latin-1") * 64,
        "a v1 of 7 000 bytes": f"{at},v1={'a' * 7000}".encode(),
        "a thousand parts": (f"{at}," + "v1=00," * 1000).encode(),
        "two t": f"{at},{at},{digest}".encode(),
        "a negative t": f"t=-1,{digest}".encode(),
        "a t of a thousand digits": f"t={'9' * 1000},{digest}".encode(),
        "a fractional t": f"t=1.5,{digest}".encode(),
    }.items():
        case.expect_no_crash(case.post(body, [(SIGNATURE, value)], f"a webhook with {what}"), f"a webhook with {what}")
    posted = case.post(body, [(SIGNATURE, f"{at},v1={digest[3:].upper()}")], "a webhook with v1 in upper case")
    case.expect_no_crash(posted, "a webhook with v1 in upper case")


@clause(
    "W1.13",
    "5",
    I,
    "Digests are compared in constant time",
    costs="a digest could be guessed byte by byte",
    fix="use your language's constant-time comparison",
)
def constant_time(_: Case) -> None:
    """Nothing can be seen."""
    raise NotTested("it cannot be seen over a network")


@clause(
    "W1.14",
    "5",
    M,
    "A body that is not JSON, or has no such members, does not crash the shop",
    costs="a 5xx lets the service retry for 72 hours",
    fix="refuse with 4xx what cannot be read, after it was verified",
)
def strange_bodies(case: Case) -> None:
    """Send validly signed bodies that are no events."""
    for what, body in {
        "an empty body": b"",
        "half of the JSON": b'{"id":"evt_half","object":"event","ty',
        "a list": b"[]",
        "a number": b"1",
        "null": b"null",
        "an object without members": b"{}",
        "data that is null": b'{"id":"evt_null","object":"event","type":"pay-in.succeeded","data":null}',
        "bytes that are not UTF-8": b'{"id":"\xff\xfe"}',
        "10 000 nested lists": b"[" * 10_000 + b"]" * 10_000,
    }.items():
        posted = case.post(body, [(SIGNATURE, case.header(body))], f"a validly signed webhook with {what}")
        case.expect_no_crash(posted, f"a validly signed webhook with {what}", S)


# The answer


@clause(
    "W2.1",
    "4, 6",
    M,
    "A plain event is acknowledged with 2xx within 10 seconds",
    costs="the service sends it again, for 72 hours",
    fix="acknowledge, and work afterwards",
    needs=("driver",),
)
def acknowledged(case: Case) -> None:
    """Deliver each event of a payment in its order."""
    order, pay_in = case.succeeded()
    for event in case.events(pay_in):
        posted = case.deliver(event)
        case.check(posted.accepted, f"{event.type} was {posted.summary}", f"2xx within {PATIENCE_SECONDS:g} s")
    case.expect_paid(order, "all events in their order")


@clause(
    "W2.2",
    "6",
    S,
    "A webhook is acknowledged before slow work is done",
    costs="when the API or the database is slow, webhooks run into their timeout and are sent again",
    fix="store the event, acknowledge it, and work in a job; do not call the API in the handler",
    needs=("driver",),
)
def before_work(case: Case) -> None:
    """Make the API slow while a webhook comes, and deliver a burst."""
    slow = 3.0
    _, pay_in = case.succeeded()
    case.fault("latency", fixed=f"{slow:g}s", method="GET")
    posted = case.deliver(case.event(pay_in, "pay-in.succeeded"), "a success, while each read of the API takes 3 s")
    case.check(posted.accepted, f"the event was {posted.summary}", "2xx", M)
    case.check(
        posted.seconds < slow,
        f"the acknowledgement took {posted.seconds:.1f} s, since the handler reads the API, which took {slow:g} s",
        "an acknowledgement that waits for nothing",
    )
    case.sandbox.faults.clear()
    burst = [case.succeeded()[1] for _ in range(5)]
    answers = case.together(*[partial(case.deliver, case.event(each, "pay-in.succeeded")) for each in burst])
    for each in answers:
        case.check(each.accepted, f"one of five events at the same time was {each.summary}", "2xx", M)
    case.note(f"Webhooks were answered in {_percentile(case.stage.answer_seconds, 99) * 1000:.0f} ms (99 %).")


def _percentile(values: list[float], percent: int) -> float:
    return quantiles(values, n=100, method="inclusive")[percent - 1] if len(values) > 1 else values[0]


@clause(
    "W2.3",
    "6",
    S,
    "A valid event that is of no use to the shop is acknowledged",
    costs="the service sends it again for 72 hours, and may switch the endpoint off",
    fix="acknowledge what you do not know with 2xx; a 4xx lets it be sent again",
    needs=("driver",),
)
def of_no_use(case: Case) -> None:
    """Deliver events about orders, types, families and states that the shop does not have."""
    _, pay_in = case.succeeded()
    true = case.event(pay_in, "pay-in.succeeded").body

    def elsewhere(event: dict[str, Any]) -> None:
        event["id"] = "evt_" + event["id"][4:][::-1]
        event["data"]["object"] |= {"id": "payin_" + "0" * 24, "external_identifier": "order-of-another-system"}

    def of_type(kind: str) -> Callable[[dict[str, Any]], None]:
        def change(event: dict[str, Any]) -> None:
            event["id"] = f"evt_{kind.replace('.', '')}"
            event["type"] = kind

        return change

    def of_state(event: dict[str, Any]) -> None:
        of_type("pay-in.on_hold")(event)
        event["data"]["object"]["status"] = "on_hold"

    def without_order(event: dict[str, Any]) -> None:
        elsewhere(event)
        event["id"] = "evt_without"
        del event["data"]["object"]["external_identifier"]

    for what, change in {
        "about an order that the shop does not have": elsewhere,
        "of the unknown type pay-in.reviewed": of_type("pay-in.reviewed"),
        "of the unknown family mandate.created": of_type("mandate.created"),
        "with the unknown status on_hold": of_state,
        "without an external_identifier": without_order,
    }.items():
        posted = case.deliver(changed(true, change), f"an event {what}")
        case.check(posted.accepted, f"an event {what} was {posted.summary}", "2xx", M if posted.crashed else None)


@clause(
    "W2.5",
    "6",
    M,
    "An event is not lost when the shop dies while it handles it",
    costs=_LOST + " (or the goods are shipped twice)",
    fix="acknowledge only what is stored durably, and store the id together with the effect",
    needs=("driver", "kill"),
)
def killed(case: Case) -> None:
    """Kill the shop at several instants after it was sent the event; then the service sends it again."""
    for milliseconds in (0, 3, 12):
        order, pay_in = case.succeeded()
        event = case.event(pay_in, "pay-in.succeeded")

        def die(pause: float = milliseconds / 1000) -> None:
            time.sleep(pause)
            case.kill()

        case.post_and_leave(event, f"the event, and the shop is killed {milliseconds} ms after it was sent", die)
        case.restart()
        case.deliver(event, "the same event again, after the shop's restart")
        case.expect_paid(order, f"a kill {milliseconds} ms after the event was sent, and its second delivery")
    for _ in range(3):
        order, pay_in = case.succeeded()
        posted = case.deliver(
            case.event(pay_in, "pay-in.succeeded"), "the event, and the shop is killed when it has answered"
        )
        case.kill()
        case.restart()
        if posted.accepted:
            _expect_kept(case, order)


def _expect_kept(case: Case, order: Order) -> None:
    """Report an event that was acknowledged and is gone: the service does not send it again."""
    after = "the event was acknowledged and the shop was killed"
    with case.reads_fail(always=True):
        if case.wait(order, lambda books: books.status == "paid") is not None:
            return
    case.tick()
    if case.wait(order, lambda books: books.status == "paid") is not None:
        case.problem(f"after {after}, only a read of the API has told the shop", "the event's effect", S)
    else:
        case.problem(f"after {after}: {case.books(order)}", "the order is paid")
    raise Broken


# The same again


def _again(case: Case, again: Callable[[Case, Event], object], what: str) -> None:
    order, pay_in = case.succeeded()
    event = case.event(pay_in, "pay-in.succeeded")
    again(case, event)
    case.expect_paid(order, what)


@clause("W3.1", "6", M, "The same delivery twice has one effect", costs=_TWICE, fix=_DEDUPLICATE, needs=("driver",))
def twice(case: Case) -> None:
    """Deliver it twice, and each event of the payment twice."""

    def again(case: Case, event: Event) -> None:
        for _ in range(2):
            posted = case.deliver(event)
            case.check(posted.accepted, f"a repeated delivery was {posted.summary}", "2xx")

    _again(case, again, "the same delivery twice")
    order, pay_in = case.succeeded()
    for event in case.events(pay_in):
        case.deliver(event)
        case.deliver(event)
    case.expect_paid(order, "each event twice")


@clause(
    "W3.2",
    "6",
    M,
    "The same delivery twice at the same instant has one effect",
    costs=_TWICE,
    fix=_DEDUPLICATE,
    needs=("driver",),
)
def at_once(case: Case) -> None:
    """Deliver it four times at the same time, three times over."""
    for _ in range(3):
        _again(
            case,
            lambda case, event: case.together(*[lambda: case.deliver(event, "the event, four times at once")] * 4),
            "four deliveries at the same time",
        )


@clause(
    "W3.3",
    "6",
    M,
    "A delivery whose acknowledgement was lost has one effect",
    costs=_TWICE,
    fix=_DEDUPLICATE,
    needs=("driver",),
)
def after_lost_answer(case: Case) -> None:
    """Reset the connection before the answer, and deliver again."""

    def again(case: Case, event: Event) -> None:
        case.post_and_leave(event, "the event; the connection is reset before the answer", case.settle)
        case.deliver(event, "the same event again")

    _again(case, again, "a lost acknowledgement and the second delivery")


@clause(
    "W3.4",
    "6",
    M,
    "A delivery that comes again after 25 hours has one effect",
    costs=_TWICE,
    fix=_DEDUPLICATE + "; keep ids for longer than 72 hours",
    needs=("driver",),
)
def a_day_later(case: Case) -> None:
    """Deliver it, and again after 25 and 71 hours."""

    def again(case: Case, event: Event) -> None:
        case.deliver(event)
        for hours in (25, 46):
            case.advance(f"{hours}h")
            case.deliver(event, f"the same event, {hours} h later")

    if not case.stage.follows_time:
        case.note("The shop's own clock was not moved: the file has no driver.set_time.")
    _again(case, again, "the same delivery after 25 and 71 hours")


@clause(
    "W3.5",
    "6",
    M,
    "A delivery that comes again after a restart has one effect",
    costs=_TWICE,
    fix=_DEDUPLICATE + "; in the database, not in memory",
    needs=("driver", "restart"),
)
def after_restart(case: Case) -> None:
    """Deliver it, restart the shop, and deliver it again."""

    def again(case: Case, event: Event) -> None:
        case.deliver(event)
        case.settle()
        case.restart()
        case.deliver(event, "the same event after the shop's restart")

    _again(case, again, "a restart and the second delivery")


@clause(
    "W3.6",
    "6",
    I,
    "Two events of one request both count",
    costs="with one request_id for several events all but the first are lost",
    fix="de-duplicate by the event's id",
    needs=("driver",),
)
def same_request(case: Case) -> None:
    """Deliver two true events with the same request_id."""
    order, pay_in = case.succeeded()
    first = case.event(pay_in, "pay-in.created")
    event = changed(case.event(pay_in, "pay-in.succeeded").body, lambda each: each.update(request_id=first.request_id))
    case.deliver(event, "pay-in.succeeded with the request_id of pay-in.created")
    case.expect_paid(order, "two events with one request_id")


@clause(
    "W3.7",
    "6",
    M,
    "A true event counts although something invalid came under its id first",
    costs=_LOST,
    fix="remember an id only after the event was verified, and together with its effect",
    needs=("driver",),
)
def after_forgery(case: Case) -> None:
    """Send a forgery under the id of the true event, then half of it, then the true event."""
    order, pay_in = case.succeeded()
    event = case.event(pay_in, "pay-in.succeeded")
    case.post(
        event.body,
        [(SIGNATURE, case.header(event.body, secret=_OTHER_SECRET))],
        "a copy under a wrong secret",
    )
    half = event.body[: len(event.body) // 2]
    case.post(half, [(SIGNATURE, case.header(half))], "its first half, validly signed")
    case.deliver(event, "the true event")
    case.expect_paid(order, "a forged copy and the true event")


@clause(
    "W3.8",
    "6",
    B,
    "The same fact under two event ids has one effect",
    costs=_TWICE,
    fix="ask whether the order is paid already, besides whether the event is known",
    needs=("driver",),
)
def same_fact(case: Case) -> None:
    """Deliver a success, and the same success under another id."""
    order, pay_in = case.succeeded()
    event = case.event(pay_in, "pay-in.succeeded")
    case.deliver(event)
    again = changed(event.body, lambda each: each.update(id=f"evt_{event.id[4:][::-1]}"))
    case.deliver(again, "pay-in.succeeded under another id")
    case.expect_paid(order, "the same success under two ids")


# Order and time


@clause(
    "W4.1",
    "6",
    M,
    "A success that comes before its earlier events ends right",
    costs=_LOST,
    fix="let a final state win; an earlier event never takes it back",
    needs=("driver",),
)
def success_first(case: Case) -> None:
    """Deliver all events in the reverse order, and in each other order that differs."""
    for kinds in (
        ("succeeded", "processing", "pending"),
        ("succeeded", "pending", "processing"),
        ("processing", "succeeded", "pending"),
    ):
        order, pay_in = case.succeeded()
        for kind in kinds:
            posted = case.deliver(case.event(pay_in, f"pay-in.{kind}"))
            case.expect_no_crash(posted, f"pay-in.{kind} in another order")
        case.expect_paid(order, f"{', '.join(kinds)} in this order")
    order = case.order()
    case.pay(order)
    pay_in = case.pay_in(order)
    case.advance()
    case.deliver(case.event(pay_in, "pay-in.succeeded"))
    case.deliver(case.event(pay_in, "pay-in.created"))
    case.expect_paid(order, "pay-in.succeeded before pay-in.created")


@clause(
    "W4.2",
    "6",
    M,
    "An older event does not take a newer state back",
    costs=_LOST,
    fix="compare created_at as instants, not as texts, and by minutes and milliseconds",
    needs=("driver",),
)
def older(case: Case) -> None:
    """Deliver older events after a success, with times around noon, midnight and a change of clocks."""
    # Later than what the shop has seen of the payment: the events of its creation are of today.
    year = case.sandbox.clock.read().now.year + 1
    for what, text in {
        "at noon": f"{year}-03-10T12:00:00.500Z",
        "at midnight": f"{year}-03-11T00:00:00.100Z",
        "at a change of clocks": f"{year}-03-28T01:00:00.200Z",
        "at the turn of the year": f"{year + 1}-01-01T00:00:00.000Z",
    }.items():
        order, pay_in = case.succeeded()
        newest = datetime.fromisoformat(text)
        for kind, age in (("succeeded", 0), ("processing", 1), ("pending", 4200)):
            at = newest - timedelta(seconds=age)
            event = changed(case.event(pay_in, f"pay-in.{kind}").body, _at(at))
            case.deliver(event, f"pay-in.{kind} of {at:%d %b %H:%M:%S}")
        case.expect_paid(order, f"older events after the success, {what}")
    order, pay_in = case.succeeded()
    whole = datetime.fromisoformat(f"{year}-03-10T09:00:01Z")
    pending = changed(case.event(pay_in, "pay-in.pending").body, _at(whole - timedelta(milliseconds=600)))
    case.deliver(pending, "pay-in.pending, 0.6 s earlier")
    success = changed(case.event(pay_in, "pay-in.succeeded").body, _at(whole, "%Y-%m-%dT%H:%M:%SZ"))
    case.deliver(success, "pay-in.succeeded, whose time has no milliseconds")
    case.expect_paid(order, "a success whose time has no milliseconds")


def _at(instant: datetime, form: str = "") -> Callable[[dict[str, Any]], None]:
    def change(event: dict[str, Any]) -> None:
        text = instant.strftime(form) if form else f"{instant:%Y-%m-%dT%H:%M:%S}.{instant.microsecond // 1000:03}Z"
        event["created_at"] = event["data"]["object"]["updated_at"] = text

    return change


@clause(
    "W4.3",
    "6",
    M,
    "A refund's success before its creation ends right",
    costs="the books show money that is no longer there",
    fix="take the refund's state from the event, whether or not an earlier one came",
    needs=("driver", "refund"),
)
def refund_out_of_order(case: Case) -> None:
    """Deliver refund.succeeded before refund.created."""
    order, refund = _refunded(case)
    for kind in ("succeeded", "processing", "created"):
        case.expect_no_crash(case.deliver(case.event(refund, f"refund.{kind}")), f"refund.{kind} out of order")
    _expect_refunded(case, order, "refund.succeeded before refund.created")


def _refunded(case: Case, amount: str = "49.90") -> tuple[Order, str]:
    """Return a paid order and the id of its refund, which has succeeded; the shop was told of neither by an event."""
    order, pay_in = case.paid()
    problem = case.refund(order, amount)
    found = case.refunds_of(pay_in)
    if not found:
        raise NotTested(f"the shop made no refund: {problem or 'it sent no request'}")
    case.advance()
    return order, found[-1]


def _expect_refunded(case: Case, order: Order, after: str) -> None:
    if case.wait(order, lambda books: books.status == "refunded" and books.balance in {None, 0}) is None:
        case.problem(f"after {after}: {case.books(order)}", "the order is refunded, with nothing left")
        raise Broken


@clause(
    "W4.4",
    "6",
    S,
    "Events with the same created_at end right",
    costs=_LOST,
    fix="when times are equal, let the later state win",
    needs=("driver",),
)
def tie(case: Case) -> None:
    """Deliver two events with one time in both orders."""
    for kinds in (("processing", "succeeded"), ("succeeded", "processing")):
        order, pay_in = case.succeeded()
        success = case.event(pay_in, "pay-in.succeeded")
        at = _at(success.created_at)
        for kind in kinds:
            case.deliver(
                changed(case.event(pay_in, f"pay-in.{kind}").body, at), f"pay-in.{kind}, at the same created_at"
            )
        case.expect_paid(order, f"{' and '.join(kinds)} with the same created_at")


@clause(
    "W4.5",
    "4, 6",
    M,
    "An event that overtakes the reply of its request is not lost",
    costs=_LOST,
    fix="store the order before the request is sent, and find it by external_identifier",
    needs=("driver",),
)
def before_reply(case: Case) -> None:
    """Deliver all events of the payment before the deposit's reply."""
    case.service_sends()
    case.fault("before_response", lead="100ms", on="webhooks")
    order = case.order()
    case.pay(order)
    case.pay_in(order)
    case.sandbox.faults.clear()
    case.advance()
    case.advance("72h")
    case.expect_paid(order, "the event that came before the reply, and the later ones")


# Outages


@clause(
    "W5.1",
    "6",
    M,
    "A delivery that succeeds after failed attempts has one effect",
    costs=_TWICE,
    fix=_DEDUPLICATE,
    needs=("driver",),
)
def failed_attempts(case: Case) -> None:
    """Break three attempts off in the middle, and deliver the fourth."""

    def again(case: Case, event: Event) -> None:
        for pause in ("1m", "5m", "30m"):
            case.post_and_leave(event, "an attempt that breaks off")
            case.advance(pause)
        case.deliver(event, "the fourth attempt")

    _again(case, again, "three attempts that broke off and a fourth")


@clause(
    "W5.2",
    "6",
    S,
    "A delivery that comes after 50 hours has its effect",
    costs=_LOST,
    fix="judge the age of the signature's t, not of created_at",
    needs=("driver",),
)
def late(case: Case) -> None:
    """Deliver the success 50 hours after it happened."""
    order, pay_in = case.succeeded()
    case.advance("50h")
    posted = case.deliver(case.event(pay_in, "pay-in.succeeded"), "the success, 50 h after it happened")
    case.check(posted.accepted, f"it was {posted.summary}", "2xx")
    case.expect_paid(order, "a success that came 50 h late")


@clause(
    "W5.3",
    "6",
    S,
    "A payment whose events never come is found",
    costs=_LOST + ", since the service gives up after 72 hours",
    fix="read the state of payments that stay open, in a job",
    needs=("driver", "tick", "reconciles"),
)
def never(case: Case) -> None:
    """Deliver nothing for 80 hours, and run the jobs."""
    order, _ = case.succeeded()
    for _ in range(4):
        case.advance("20h")
        case.tick()
    books = case.wait(order, lambda books: books.status in {"paid", "review"})
    case.check(
        books is not None,
        f"80 h after the payment, without an event: {case.books(order)}",
        "paid by a read, or told to a person",
    )


# What the event says


def _altered(case: Case, what: str, change: Callable[[dict[str, Any]], None]) -> None:
    order, pay_in = case.succeeded()
    case.deliver(changed(case.event(pay_in, "pay-in.succeeded").body, change), f"a validly signed success with {what}")
    # A read would tell the shop the true amount.
    with case.reads_fail(always=True):
        case.expect_unpaid(order, f"a success with {what}")


def _object(**members: object) -> Callable[[dict[str, Any]], None]:
    return lambda event: event["data"]["object"].update(members)


@clause(
    "W6.1",
    "2",
    B,
    "A success with another amount is not taken for the payment of the order",
    costs="the order is shipped although less was paid",
    fix="compare the event's amount with the order's",
    needs=("driver",),
)
def other_amount(case: Case) -> None:
    """Say that one cent less, and a tenth, was paid."""
    for amount in (49.89, 4.99, 0.01):
        _altered(case, f"an amount of {amount} instead of 49.90", _object(amount=amount))


@clause(
    "W6.2",
    "2",
    B,
    "A success in another currency is not taken for the payment of the order",
    costs="the order is shipped although less was paid",
    fix="compare the event's currency with the order's",
    needs=("driver",),
)
def other_currency(case: Case) -> None:
    """Say that the amount was paid in yen."""
    _altered(case, "the currency JPY instead of EUR", _object(currency="JPY"))


@clause(
    "W6.3",
    "2",
    M,
    "An event of the other environment has no effect",
    costs="somebody with a sandbox account gets goods for test money",
    fix="compare livemode with your own environment",
    needs=("driver",),
)
def other_livemode(case: Case) -> None:
    """Deliver an event with the other livemode."""
    order, pay_in = case.succeeded()
    case.deliver(
        changed(case.event(pay_in, "pay-in.succeeded").body, lambda each: each.update(livemode=True)),
        "a success with livemode true",
    )
    with case.reads_fail(always=True):
        case.expect_unpaid(order, "a success with livemode true, in the sandbox")


@clause(
    "W6.4",
    "2",
    S,
    "Unknown members and methods do not disturb",
    costs=_LOST + ", as soon as the API grows",
    fix="ignore members that you do not know",
    needs=("driver",),
)
def unknown_members(case: Case) -> None:
    """Deliver a success with more than the contract says."""
    order, pay_in = case.succeeded()

    def change(event: dict[str, Any]) -> None:
        event |= {"x_future": {"nested": [1, "two", None]}, "api_version": "v1.7"}
        event["data"]["object"] |= {
            "x_future": None,
            "payment_method": {"type": "CRYSTAL_BALL", "code": "ball", "name": "Crystal ball"},
        }
        event["data"]["previous_attributes"] = {"x_future": 1}

    posted = case.deliver(
        changed(case.event(pay_in, "pay-in.succeeded").body, change),
        "a success with unknown members and an unknown method",
    )
    case.check(posted.accepted, f"it was {posted.summary}", "2xx")
    case.expect_paid(order, "a success with unknown members")


@clause(
    "W6.5",
    "2",
    B,
    "Amounts are exact in currencies with 0, 2 and 3 digits",
    costs="cents are lost, or a right payment is refused",
    fix="use decimal numbers or minor units, with the digits of the currency",
    needs=("driver",),
)
def digits(case: Case) -> None:
    """Pay amounts that binary fractions and hundredths cannot hold."""
    tried = 0
    for amount, currency in (("0.30", "EUR"), ("1.10", "EUR"), ("4990", "JPY"), ("1.005", "KWD"), ("19.99", "USD")):
        if not case.sells_in(currency):
            continue
        try:
            order, pay_in = case.succeeded(amount, currency)
        except NotTested as reason:
            case.note(f"{amount} {currency}: {reason}")
            continue
        tried += 1
        case.deliver(case.event(pay_in, "pay-in.succeeded"))
        with contextlib.suppress(Broken):
            case.expect_paid(order, f"a success of {amount} {currency}")
        balance = case.books(order).balance
        case.check(balance in {None, order.amount}, f"the balance of {amount} {currency} is {balance}", f"{amount}")
    if not tried:
        raise NotTested("the shop took none of the orders")


@clause(
    "W6.6",
    "2",
    S,
    "Any name of a customer is accepted",
    costs="events about some customers are refused for 72 hours",
    fix="store texts as UTF-8 with four bytes a character",
    needs=("driver",),
)
def names(case: Case) -> None:
    """Deliver names with emoji, right-to-left text and many characters."""
    for name in ("Zoë 🎉", "\u202b\u05e9\u05dc\u05d5\u05dd", "李小龍", "O'Brien; DROP TABLE orders", "x" * 200):
        order, pay_in = case.succeeded()

        def change(event: dict[str, Any], name: str = name) -> None:
            event["data"]["object"]["customer"] |= {"first_name": name, "last_name": name}

        posted = case.deliver(
            changed(case.event(pay_in, "pay-in.succeeded").body, change, ensure_ascii=False),
            f"a success for {name[:20]}",
        )
        case.check(posted.accepted, f"a success for {name[:20]} was {posted.summary}", "2xx")
        case.expect_paid(order, f"a success for {name[:20]}")


@clause(
    "W6.7",
    "3",
    B,
    "A payment that is under way is not taken for paid",
    costs="goods are shipped, and the payment fails afterwards",
    fix="ship on succeeded alone",
    needs=("driver",),
)
def under_way(case: Case) -> None:
    """Deliver each earlier event of a payment that fails in the end, as one that says so and as a read shows it."""
    case.sandbox.scenarios.activate("payer-decides")
    order, pay_in = case.pending()
    for state in ("pending", "processing", "failed"):
        if state != "pending":
            case.sandbox.pay_ins.transition(pay_in.id, state, force=True)
        case.deliver(case.event(pay_in, f"pay-in.{state}"))
        if case.stage.has("customer_returns"):
            case.customer_returns(order)
        if not case.expect_unpaid(order, f"pay-in.{state}"):
            return


# The connection


@clause(
    "W7.1",
    "6, 8",
    M,
    "TLS below 1.2 is refused",
    costs="old TLS can be read and changed on the way",
    fix="set TLS 1.2 as the lowest version of your receiver",
    needs=("https",),
)
def old_tls(case: Case) -> None:
    """Try a handshake with TLS 1.1 alone."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        context.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # it is what is tried here
            context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    except (ValueError, ssl.SSLError) as error:
        raise NotTested(f"this computer's TLS library cannot speak TLS 1.1: {error}") from None
    try:
        with connect(case.stage.file.webhook.url, PATIENCE_SECONDS, context) as connection:
            version = connection.version() if isinstance(connection, ssl.SSLSocket) else None
    except (ssl.SSLError, OSError):
        return
    case.problem(f"a handshake with {version} succeeded", "a refusal")


@clause(
    "W7.2",
    "8",
    I,
    "A body of 1 MB and a slow body do not crash the shop",
    costs="a stranger can keep the receiver busy",
    fix="limit the size of a body, and the time in which it has to arrive",
)
def large_and_slow(case: Case) -> None:
    """Send a large body, and one in parts."""
    event = {
        "id": "evt_large",
        "object": "event",
        "type": "pay-in.created",
        "data": {"object": {"note": "x" * 1_000_000}},
    }
    large = json.dumps(event).encode()
    case.expect_no_crash(
        case.post(large, [(SIGNATURE, case.header(large))], "a validly signed body of 1 MB"), "a body of 1 MB"
    )
    event["data"] = {"object": {}}
    slow = json.dumps(event).encode()
    case.expect_no_crash(
        case.post(slow, [(SIGNATURE, case.header(slow))], "a body that comes in four parts", pauses=(0.1,) * 3),
        "a slow body",
    )


# After the payment


@clause(
    "W8.1",
    "3",
    B,
    "A payment that succeeds after its order was cancelled is not forgotten",
    costs="the customer has paid, and gets neither the goods nor the money",
    fix="ship it, refund it, or show it to a person",
    needs=("driver",),
)
def late_success(case: Case) -> None:
    """Cancel the payment, and let it succeed afterwards; each event comes twice."""
    order, pay_in = case.pending()
    case.sandbox.pay_ins.transition(pay_in.id, "cancelled", force=True)
    case.deliver(case.event(pay_in, "pay-in.cancelled"))
    case.advance("2h")
    case.sandbox.pay_ins.transition(pay_in.id, "succeeded", force=True)
    for _ in range(2):
        case.deliver(case.event(pay_in, "pay-in.succeeded"))
    books = case.wait(order, lambda books: books.status in {"paid", "review", "refunded", "partly_refunded"})
    case.check(
        books is not None,
        f"after a success that followed the cancellation: {case.books(order)}",
        "paid, refunded, or in review",
    )
    case.expect_once(order, "a success that came twice")


def _has_balance(wanted: Decimal, books: Books) -> bool:
    return books.balance == wanted


def _is_paid_again(whole: Decimal, books: Books) -> bool:
    return books.status in {"paid", "review"} and books.balance in {None, whole}


def _disputed(case: Case, states: Sequence[str]) -> tuple[Order, list[Event]]:
    order, pay_in = case.paid()
    dispute = case.sandbox.pay_ins.dispute(pay_in.id)
    for state in states:
        case.advance("1h")
        case.sandbox.disputes.transition(dispute.id, state, force=True)
    return order, case.events(dispute)


def dispute_outcomes(file: MerchantFile) -> Iterator[tuple[str, bool, tuple[str, ...]]]:
    """Yield what becomes of a dispute: in words, whether the money is the shop's then, and its states."""
    yield "lost", False, ("lost",)
    yield "won", True, ("won",)
    if file.disputes_can_reopen:
        yield "won, reopened and lost", False, ("won", "under_review", "lost")


def refund_failures(file: MerchantFile) -> Iterator[tuple[str, ...]]:
    """Yield the states of a refund that fails."""
    yield ("failed",)
    if file.refunds_can_fail_late:
        yield ("succeeded", "failed")


@clause(
    "W8.2",
    "3, 6",
    B,
    "A dispute moves the money once, and gives it back when it is won",
    costs="the books differ from the bank's statement",
    fix="book a lost dispute once, by its id; a won one gives back what it took",
    needs=("driver", "balance"),
)
def dispute(case: Case) -> None:
    """Lose a dispute, win one, and lose one that was won and reopened; each event comes twice."""
    for outcome, left, states in dispute_outcomes(case.stage.file):
        order, events = _disputed(case, states)
        for event in events:
            for _ in range(2):
                case.expect_no_crash(case.deliver(event), f"{event.type} of a dispute")
        wanted = order.amount if left else order.amount * 0
        books = case.wait(order, partial(_has_balance, wanted))
        case.check(
            books is not None, f"after a dispute that was {outcome}: {case.books(order)}", f"a balance of {wanted}"
        )


@clause(
    "W8.3",
    "3, 6",
    B,
    "A refund that fails late gives its money back to the books",
    costs="the books show a refund that the customer did not get",
    fix="undo the refund's booking on refund.failed",
    needs=("driver", "refund"),
)
def failed_refund(case: Case) -> None:
    """Let a refund fail after it was created, and one after it has succeeded; each event comes twice."""
    for states in refund_failures(case.stage.file):
        order, pay_in = case.paid()
        problem = case.refund(order, "49.90")
        found = case.refunds_of(pay_in)
        if not found:
            raise NotTested(f"the shop made no refund: {problem or 'it sent no request'}")
        refund = found[-1]
        case.deliver(case.event(refund, "refund.created"))
        for state in states:
            case.advance("1h")
            case.sandbox.refunds.transition(refund, state, force=True)
            for _ in range(2):
                case.deliver(case.event(refund, f"refund.{state}"))
        books = case.wait(order, partial(_is_paid_again, order.amount))
        case.check(
            books is not None,
            f"after {' and '.join(f'refund.{state}' for state in states)}: {case.books(order)}",
            f"paid again, with a balance of {order.amount}",
        )


@clause(
    "W8.4",
    "6",
    B,
    "Repeated events of a refund move the money once",
    costs="the books show less than there is",
    fix=_DEDUPLICATE,
    needs=("driver", "refund", "balance"),
)
def refund_twice(case: Case) -> None:
    """Refund a part, and deliver each of its events twice."""
    order, refund = _refunded(case, "20.00")
    for event in case.events(refund):
        for _ in range(2):
            case.deliver(event)
    wanted = order.amount - 20
    books = case.wait(order, lambda books: books.balance == wanted)
    case.settle()
    books = books and case.books(order)
    case.check(
        books is not None and books.balance == wanted,
        f"after a refund of 20.00 whose events came twice: {case.books(order)}",
        f"a balance of {wanted}",
    )


@clause(
    "W8.5",
    "6",
    B,
    "A refund that the shop did not ask for is booked",
    costs="the books show money that the service's staff has given back",
    fix="book each refund of a payment by its events, and not by your own requests",
    needs=("driver", "balance"),
)
def foreign_refund(case: Case) -> None:
    """Let the service refund a payment by itself; each event comes twice."""
    case.sandbox.scenarios.activate("refund-by-provider")
    order, pay_in = case.pending()
    case.sandbox.scenarios.deactivate()
    case.advance()
    case.deliver(case.event(pay_in, "pay-in.succeeded"))
    case.expect_paid(order, "a plain event")
    for refund in case.refunds_of(pay_in):
        for event in case.events(refund):
            for _ in range(2):
                case.deliver(event)
    left = order.amount - case.sandbox.pay_ins.get(pay_in.id).document["refunded_amount"]
    books = case.wait(order, partial(_has_balance, left))
    case.check(books is not None, f"after a refund by the service: {case.books(order)}", f"a balance of {left}")
