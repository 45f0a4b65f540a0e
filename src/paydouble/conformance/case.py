"""One case: what a clause does with the shop, what it sees, and what it records.

The service is a real server with one sandbox on a manual clock, and the shop is reached over HTTP. A clause plays the
provider's deliveries by itself (`deliver`, `post`), so that it decides every byte and every order of events, or lets
the service send them (`service_sends`). Each case has its own sandbox and its own orders, so a shop does not need to be
emptied between two cases; it is emptied when the merchant file says how.

**Effects.** A shop may acknowledge a webhook before it works, so an effect is waited for, first without the background
jobs and then with them. The jobs may also heal a lost webhook by reading the service's API. What is to be shown is the
effect of the event, so reads of pay-ins and refunds fail meanwhile (`reads_fail`), unless the first case has shown that
the shop takes its facts from reads alone. That nothing happened is looked at after a moment, and again after the jobs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from paydouble.conformance.calling import CallFailed, Outcome
from paydouble.conformance.levels import Level
from paydouble.conformance.posting import Posted, post, post_and_leave, request_bytes
from paydouble.records import Event, Request
from paydouble.stateful.merchant import Refused
from paydouble.stateful.prices import price_for, sells_in
from paydouble.webhooks.signing import DEFAULT_HEADER_NAME, sign

if TYPE_CHECKING:
    from datetime import datetime

    from paydouble.conformance.stage import Stage
    from paydouble.records import Resource

SIGNATURE: Final = DEFAULT_HEADER_NAME
T = TypeVar("T")
_MOMENT_SECONDS: Final = 0.1
# Of a shop that had its effect before it acknowledged.
_SHORT_MOMENT_SECONDS: Final = 0.02
_POLL_SECONDS: Final = 0.02
_BEFORE_JOBS_SECONDS: Final = 0.3
_EFFECT_SECONDS: Final = 5.0
_IN_SIGHT_SECONDS: Final = 1.0
_DEPOSIT: Final = "deposit-creation"
_REFUND: Final = "refund-creation"
_NOT_FOUND: Final = 404


class Broken(Exception):
    """The clause is broken, and nothing more can be learned from the case."""


class NotTested(Exception):
    """The clause cannot be tested with this shop; the text says why."""


class Problem(NamedTuple):
    """One thing that is not as the clause says."""

    level: Level
    seen: str
    expected: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """One message of a case, to the byte."""

    what: str
    """What was done, in a sentence."""
    at: float
    """Real seconds since the case began."""
    sent: bytes
    got: bytes
    error: str = ""
    """Why nothing came back; empty when something did."""


class Order(NamedTuple):
    """An order of the shop."""

    id: str
    amount: Decimal
    currency: str


class Books(NamedTuple):
    """What the shop's books say of an order; None is what the merchant file does not give."""

    status: str
    shipments: int | None
    balance: Decimal | None
    effects: Mapping[str, int]

    def __str__(self) -> str:
        """Return the books in a line."""
        words = [f"status {self.status}"]
        if self.shipments is not None:
            words.append(f"shipped {self.shipments}×")
        if self.balance is not None:
            words.append(f"balance {self.balance}")
        return ", ".join([*words, *(f"{name} {number}×" for name, number in self.effects.items())])


@dataclass(slots=True)
class Log:
    """What a case has recorded."""

    problems: list[Problem] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What was measured, for a person."""


class Case:
    """What a clause needs to play its story."""

    def __init__(self, stage: Stage, name: str, level: Level) -> None:
        """Begin a case on a stage whose sandbox and shop are ready, for a clause of a name and a level."""
        self.stage = stage
        self.sandbox = stage.sandbox
        self._name = name.lower().replace(".", "-")
        self.level = level
        self.log = Log()
        self._started = time.monotonic()
        self._orders = 0
        stage.listen(self._driver_called)

    # What is seen

    def problem(self, seen: str, expected: str, level: Level | None = None) -> None:
        """Report a problem; its level is the clause's unless it is given."""
        self.log.problems.append(Problem(level or self.level, seen, expected))

    def check(self, holds: bool, seen: str, expected: str, level: Level | None = None) -> None:  # noqa: FBT001 - a condition
        """Report a problem unless something holds."""
        if not holds:
            self.problem(seen, expected, level)

    def note(self, text: str) -> None:
        """Keep what was measured."""
        self.log.notes.append(text)

    # The shop

    def order(self, amount: str = "49.90", currency: str = "EUR") -> Order:
        """Place an order, in the shop's first currency if it does not sell in this one.

        `NotTested` when the shop does not take it.
        """
        self._orders += 1
        amount, currency = price_for(self.stage.file.currencies, amount, currency)
        order = Order(f"{self.stage.prefix}{self._name}-{self._orders}", Decimal(amount), currency)
        try:
            self.stage.driver.place_order(order.id, order.amount, order.currency)
        except CallFailed as failed:
            raise NotTested(f"the shop did not take an order of {amount} {currency}: {failed}") from None
        return order

    def sells_in(self, currency: str) -> bool:
        """Return whether the shop sells in a currency, as far as its file says."""
        return sells_in(self.stage.file.currencies, currency)

    def pay(self, order: Order) -> str:
        """Press the pay button; return why the shop failed, or an empty text."""
        return self._clicked(self.stage.driver.pay, order)

    def click_again(self, order: Order) -> str:
        """Press the button once more."""
        return self._clicked(self.stage.driver.retry, order)

    def customer_returns(self, order: Order) -> str:
        """Open the page to which the payer comes back."""
        return self._quietly(self.stage.driver.customer_returns, order.id)

    def refund(self, order: Order, amount: str, refund_id: str = "1") -> str:
        """Ask the shop for a refund; return why it was not accepted, or an empty text."""
        try:
            return self._asked(
                _REFUND, self.stage.driver.refund, order.id, f"{order.id}-refund-{refund_id}", Decimal(amount)
            )
        except Refused as refused:
            return f"the shop refused it with {refused}"

    def tick(self) -> None:
        """Run the shop's background jobs, if the file says how."""
        self._quietly(self.stage.driver.tick)

    def restart(self) -> None:
        """Kill the shop and start it again."""
        self.stage.driver.restart()

    def kill(self) -> None:
        """Kill the shop's processes."""
        self.stage.kill()

    def books(self, order: Order) -> Books:
        """Read an order from the shop's books; `Broken` when they cannot be read."""
        driver = self.stage.driver
        try:
            return Books(
                driver.order_status(order.id),
                driver.shipments(order.id),
                driver.balance(order.id),
                driver.effects(order.id),
            )
        except CallFailed as failed:
            self.problem(f"the books cannot be read: {failed}", "an answer", Level.MUST)
            raise Broken from None

    def together(self, *works: Callable[[], T]) -> list[T]:
        """Do several things at the same time, and return their results."""
        with ThreadPoolExecutor(len(works)) as pool:
            return [each.result() for each in [pool.submit(work) for work in works]]

    # The service

    def fault(self, effect: str | Mapping[str, Any], **members: Any) -> None:  # noqa: ANN401 - JSON is any
        """Arm a fault."""
        self.sandbox.faults.add(effect, **members)

    def advance(self, by: str | None = None) -> None:
        """Move the time of service and shop, or until nothing is left to happen."""
        if by is None:
            self.sandbox.clock.advance(until_idle=True)
        else:
            self.sandbox.clock.advance(by)
        self.stage.set_time()

    def service_sends(self) -> None:
        """Let the service send events by itself from here on."""
        self.sandbox.change(notification_url=self.stage.file.webhook.url)

    def pay_in(self, order: Order) -> Resource:
        """Return the pay-in of an order; `NotTested` when the shop has made none."""
        found = self.pay_ins(order)
        if not found:
            raise NotTested(f"the shop made no deposit whose external_identifier is that of {order.id}")
        return found[-1]

    def pay_ins(self, order: Order) -> list[Resource]:
        """Return all pay-ins of an order."""
        named = self.stage.order_named
        return [each for each in self.sandbox.pay_ins.list() if named(each.document["external_identifier"]) == order.id]

    def deposits(self, order: Order) -> list[Request]:
        """Return the requests by which the shop asked for a deposit for an order, oldest first."""
        named = self.stage.order_named
        return [each for each in self.requests(_DEPOSIT) if named(_named(each) or "") == order.id]

    def refunds(self) -> list[Request]:
        """Return the requests by which the shop asked for refunds, oldest first."""
        return self.requests(_REFUND)

    def requests(self, operation: str | None = None) -> list[Request]:
        """Return the shop's requests, oldest first."""
        return [each for each in self.sandbox.requests.list() if operation in {None, each.operation}]

    def unknown_request(self) -> str | None:
        """Return the shop's first request for which the service has no operation; None when each had one."""
        unknown = (each for each in self.requests() if not each.operation and each.status == _NOT_FOUND)
        return next((f"{each.method} {each.target}" for each in unknown), None)

    def events(self, about: Resource | str, kind: str | None = None) -> list[Event]:
        """Return the true events of an object, oldest first; `about` is it or its id."""
        name = about if isinstance(about, str) else about.id
        return self.sandbox.events.list(type=kind, object_id=name)

    def event(self, about: Resource | str, kind: str) -> Event:
        """Return the newest true event of a type; `NotTested` when there is none."""
        found = self.events(about, kind)
        if not found:
            raise NotTested(f"there is no event {kind}")
        return found[-1]

    def refunds_of(self, pay_in: Resource) -> list[str]:
        """Return the ids of the refunds that the service has made of a pay-in, oldest first."""
        made = self.sandbox.events.list(type="refund.created")
        return [each.object_id for each in made if each.json()["data"]["object"]["payin_id"] == pay_in.id]

    @contextmanager
    def reads_fail(self, *, always: bool = False) -> Iterator[None]:
        """Let the shop's reads of the API fail, so that only events can tell it what happened.

        Those of a shop that takes its facts from reads alone fail only when they `always` do.
        """
        if self.stage.reads_for_truth and not always:
            yield
            return
        failing = self.sandbox.faults.add("error", status=503, method="GET")
        try:
            yield
        finally:
            self.sandbox.faults.remove(failing.id)

    # Stories that clauses share

    def pending(self, amount: str = "49.90", currency: str = "EUR") -> tuple[Order, Resource]:
        """Place and pay an order whose payment is still open; its first event was delivered."""
        order = self.order(amount, currency)
        self.pay(order)
        pay_in = self.pay_in(order)
        self.deliver(self.event(pay_in, "pay-in.created"))
        return order, pay_in

    def succeeded(self, amount: str = "49.90", currency: str = "EUR") -> tuple[Order, Resource]:
        """Place and pay an order whose payment has succeeded; the shop was only told that it was created."""
        order, pay_in = self.pending(amount, currency)
        self.advance()
        return order, pay_in

    def paid(self, amount: str = "49.90", currency: str = "EUR") -> tuple[Order, Resource]:
        """Return an order that is paid, as the shop knows; `NotTested` when it does not come so far."""
        order, pay_in = self.succeeded(amount, currency)
        self.deliver(self.event(pay_in, "pay-in.succeeded"))
        if self._wait(order, lambda books: books.status == "paid") is None:
            raise NotTested(f"an order is not paid after a plain event ({self.books(order)}); see W1.1")
        return order, pay_in

    # Deliveries

    def now(self) -> int:
        """Return the time that the shop's clock has, in Unix seconds."""
        return self.stage.now()

    def header(self, body: bytes, *, secret: str | None = None, age: int = 0) -> str:
        """Return the signature header of a body, `age` seconds old."""
        return sign(body, self.sandbox.webhook_secret if secret is None else secret, self.now() - age)

    def deliver(self, event: Event | bytes, what: str | None = None) -> Posted:
        """Deliver an event, validly signed now."""
        body = event if isinstance(event, bytes) else event.body
        return self.post(body, [(SIGNATURE, self.header(body))], what or f"{_kind(body)}, validly signed")

    def post(
        self, body: bytes, headers: Sequence[tuple[str, str | bytes]], what: str, *, pauses: Sequence[float] = ()
    ) -> Posted:
        """Post a body to the receiver and wait for its answer."""
        at = time.monotonic()
        posted = post(self.stage.file.webhook.url, self.bytes_of(body, headers), pauses=pauses)
        self.stage.answer_seconds.append(posted.seconds)
        self._record(what, at, posted)
        return posted

    def post_and_leave(self, event: Event, what: str, then: Callable[[], None] = lambda: None) -> Posted:
        """Deliver an event and reset the connection before the answer."""
        at = time.monotonic()
        request = self.bytes_of(event.body, [(SIGNATURE, self.header(event.body))])
        posted = post_and_leave(self.stage.file.webhook.url, request, then)
        self._record(what, at, posted)
        return posted

    def bytes_of(self, body: bytes, headers: Sequence[tuple[str, str | bytes]]) -> bytes:
        """Return the bytes of a delivery."""
        return request_bytes(self.stage.file.webhook.url, headers, body)

    # What must follow

    def expect_paid(self, order: Order, after: str, level: Level | None = None) -> None:
        """Wait until the order is paid and shipped once; the jobs run if it does not happen by itself."""
        with self.reads_fail():
            books = self._wait(order, lambda books: books.status == "paid" and books.shipments in {None, 1})
        if books is None:
            self.problem(f"after {after}: {self.books(order)}", "the order is paid, and shipped once", level)
            raise Broken
        self.expect_once(order, after)

    def expect_once(self, order: Order, after: str, level: Level | None = None) -> Books:
        """Report what happened more than once, now and after the jobs."""
        self.settle()
        books = self.books(order)
        for when in ("", " and after the jobs ran"):
            again = [f"shipped {books.shipments}×"] if (books.shipments or 0) > 1 else []
            again += [f"{name} {number}×" for name, number in books.effects.items() if number > 1]
            if books.balance is not None and books.balance > order.amount:
                again.append(f"balance {books.balance} of {order.amount}")
            if again:
                self.problem(f"after {after}{when}: {', '.join(again)}", "each effect once", level)
                return books
            if not when:
                self.tick()
                books = self.books(order)
        return books

    def expect_unpaid(self, order: Order, after: str, level: Level | None = None) -> bool:
        """Report an effect of what must have none; return whether there was none."""
        self.settle()
        for when in ("", " and after the jobs ran"):
            books = self.books(order)
            if books.status in {"paid", "refunded", "partly_refunded"} or (books.shipments or 0) > 0:
                self.problem(
                    f"after {after}{when}: {books}", "no effect: the order is not paid, and not shipped", level
                )
                return False
            if not when:
                self.tick()
        return True

    def expect_no_crash(self, posted: Posted, what: str, level: Level | None = None) -> None:
        """Report an answer of 5xx, or none."""
        self.check(not posted.crashed, f"{what} was {posted.summary}", "an answer that is not 5xx", level)

    def settle(self) -> None:
        """Give a shop that works after it has acknowledged a moment."""
        time.sleep(_SHORT_MOMENT_SECONDS if self.stage.works_at_once else _MOMENT_SECONDS)

    def wait(self, order: Order, holds: Callable[[Books], bool]) -> Books | None:
        """Wait until the books hold something, with the jobs run; None when they do not."""
        return self._wait(order, holds)

    def _wait(self, order: Order, holds: Callable[[Books], bool]) -> Books | None:
        started = time.monotonic()
        ticked = False
        while True:
            # Before the look, so that the last one is after the limit: the computer may have been paused until then.
            spent = time.monotonic() - started
            books = self.books(order)
            if holds(books):
                return books
            if spent > _BEFORE_JOBS_SECONDS and not ticked:
                ticked = True
                self.tick()
                continue
            if spent >= _EFFECT_SECONDS or (spent > _IN_SIGHT_SECONDS and self.stage.works_at_once):
                return None
            time.sleep(_POLL_SECONDS)

    def _clicked(self, button: Callable[[str], None], order: Order) -> str:
        """Press a button of the customer's; one who is declined sees a page, which is no failure of the shop."""
        try:
            return self._asked(_DEPOSIT, button, order.id)
        except Refused:
            return ""

    def _asked(self, operation: str, call: Callable[..., object], *values: object) -> str:
        """Carry out a call that asks the service for something; a shop that leaves its request to a job has it run."""
        before = len(self.requests(operation))
        problem = self._quietly(call, *values)
        if len(self.requests(operation)) == before:
            self.tick()
        return problem

    def _quietly(self, call: Callable[..., object], *values: object) -> str:
        """Carry out a call of the driver; return why it failed, or an empty text."""
        try:
            call(*values)
        except CallFailed as failed:
            return str(failed)
        return ""

    def _driver_called(self, sent: str, outcome: Outcome | None, problem: str) -> None:
        got = b"" if outcome is None else f"{outcome.status}\n".encode() + outcome.body
        self.log.exchanges.append(
            Exchange("the driver's call", time.monotonic() - self._started, sent.encode(), got, problem)
        )

    def _record(self, what: str, at: float, posted: Posted) -> None:
        self.log.exchanges.append(Exchange(what, at - self._started, posted.sent, posted.got, posted.error))


def changed(body: bytes, change: Callable[[dict[str, Any]], object], **dumping: Any) -> bytes:  # noqa: ANN401 - as of json
    """Return an event's body after a change, in compact JSON unless `dumping` says otherwise."""
    event: dict[str, Any] = json.loads(body)
    change(event)
    return json.dumps(event, **{"separators": (",", ":"), **dumping}).encode()


def success_of(created: bytes, at: datetime | None = None) -> bytes:
    """Return the body of a success that the service has not sent: made of the pay-in's first event."""

    def change(event: dict[str, Any]) -> None:
        event["id"] = f"evt_{event['id'][4:][::-1]}"
        event["type"] = "pay-in.succeeded"
        event["data"]["object"]["status"] = "succeeded"
        event["data"]["previous_attributes"] = {"status": "processing"}
        if at is not None:
            event["created_at"] = event["data"]["object"]["updated_at"] = (
                f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"
            )

    return changed(created, change)


def _named(request: Request) -> str | None:
    try:
        body = request.json()
    except ValueError:
        return None
    return body.get("external_identifier") if isinstance(body, Mapping) else None


def _kind(body: bytes) -> str:
    try:
        return str(json.loads(body)["type"])
    except (ValueError, KeyError, TypeError):
        return "a body"
