"""Calls into a merchant's code. An exception, a hang or an endless loop there becomes a finding of its own play."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from decimal import Decimal
from functools import partial
from http import HTTPStatus
from itertools import dropwhile, islice, starmap
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from paydouble.config import Settings
from paydouble.core.ids import DEFAULT_ID
from paydouble.core.printable import printable
from paydouble.inprocess import InProcess, Unreachable, Webhook
from paydouble.payments.events import Event
from paydouble.sandbox.identity import Identity
from paydouble.sandbox.recording import Remark
from paydouble.stateful import receiving
from paydouble.stateful.disturbance import Limit
from paydouble.stateful.expected import Order
from paydouble.stateful.findings import Finding, Findings, Rule
from paydouble.stateful.interruptions import Act, InterruptionKind, Point
from paydouble.stateful.merchant import NEEDED, Merchant, Refused, ServiceLike, knows_play_time
from paydouble.stateful.policies import SHARED_LIMIT
from paydouble.stateful.receiving import Due
from paydouble.stateful.service import Interruption, Points, Service
from paydouble.stateful.shown import Shown, WrongReturn
from paydouble.stateful.told_clock import ToldClock
from paydouble.stateful.verdicts import AdapterMisfit, Blocked, DatabaseDown, Hanging, ProcessKilled, Runaway, place_of
from paydouble.stateful.watchdog import Watchdog
from paydouble.testing.shop_time import ShopTime
from paydouble.timeline import MERCHANT, Row
from paydouble.webhooks import signing
from paydouble.webhooks.deliveries import Delivery

if TYPE_CHECKING:
    from paydouble.stateful.served_shop import ServedShop

MakeMerchant = Callable[[ServiceLike], Merchant]
_STATUSES: Final = range(100, 600)
_CALLS_FOR_EACH: Final = 10
# What makes a merchant send requests, besides a webhook.
_ACTS: Final = frozenset({"pay", "retry", "refund", "cancel", "customer_returns", "restart", "tick"})
_LONGEST_REASON: Final = 200
_TOLERANCE_MS: Final = signing.DEFAULT_TOLERANCE_SECONDS * 1000
_WALL_CLOCK: Final = (
    "The merchant verifies webhooks with the clock of this computer, and only t is off: the play has its own time; "
)
_FOLLOW: Final = (
    "set follows_time = True in the adapter, which needs time-machine, or let the merchant's code take the time from "
    "service.now()"
)
_ASK: Final = "let it ask for the time at service.clock_url, or leave follows_time out"
_Seen = tuple[str, Decimal | None, int | None, dict[str, int]]
_View = list[_Seen]


class PlannedInterruption(NamedTuple):
    """What interrupts the merchant's work on a webhook, and at which point of its code."""

    kind: InterruptionKind
    at: Point
    note: Callable[[], None]
    """Called when it acts."""
    act: Callable[[Webhook], object] | None
    """Carries it out while a webhook is worked on; None where it comes with the answer."""


class _Answer(NamedTuple):
    status: int | None
    """None when the merchant's process was killed before."""
    seconds: float = 0.0
    """How long the merchant took for it, without the time of answers to it, and of work that goes on afterwards."""


class Driver:
    """The merchant, its service, and its receiver."""

    def __init__(
        self, make: MakeMerchant, settings: Settings, seed: int, orders: Sequence[Order], patience_seconds: float
    ) -> None:
        """Make a merchant. `AdapterMisfit` when it is not a `Merchant`, or lacks a method that the machine needs.

        `UsageError` when it follows the play's time and no library for that is installed, or names a path that no
        operation can have.
        """
        self.orders = orders
        self.findings = Findings(getattr(make, "accepts", Merchant.accepts), getattr(make, "demands", Merchant.demands))
        self.down = False
        """Whether the merchant's receiver cannot be reached."""
        self.on_received: Callable[[Webhook, int, bool], None] = lambda _webhook, _status, _outermost: None
        """Called with each webhook that the merchant has answered, the status, and whether no call is running."""
        self.was_taken = self.was_declined = False
        """Whether the latest call came back without a refusal or an exception; whether it was declined by `Refused`."""
        self.is_behind: Callable[[Order], bool] = lambda _order: False
        """Returns whether the merchant has acknowledged all events of an order, and does not show what they say."""
        self._was_killed = False
        self.interruption: PlannedInterruption | None = None
        """What interrupts the merchant's work on the next webhook."""
        self.ahead: Callable[[Webhook], Webhook] | None = None
        """What makes the webhook that comes just ahead of the next one."""
        self.answers: list[tuple[str, int | None, int]] = []
        """The type of each event that was handed over, the status of the answer (None when there was none), and the
        number of requests until then."""
        self.interrupted_points = Points()
        """How many points the merchant's code passed in the webhook that was to be interrupted last."""
        self.acts: list[tuple[int, Row]] = []
        """The calls after which the merchant may send requests, each with the sequence number after which it came."""
        self.due = Due.ACCEPT
        """What the receiver had to do with the latest webhook."""
        follows_time, served = getattr(make, "follows_time", False), getattr(make, "served", False)
        # Whether the merchant knows the time of this computer only.
        is_apart = not knows_play_time(make) and bool(served or getattr(make, "receiver_url", None))
        wall = _wall if is_apart else None
        self.double = InProcess(
            settings,
            seed=seed,
            receiver=self.receive,
            wall=wall,
            shares_clock=not (served and is_apart),
            paths=getattr(make, "paths", Merchant.paths),
            identity=Identity(DEFAULT_ID, seed, *getattr(make, "secrets", Merchant.secrets)),
        )
        self.now = wall or self.double.sandbox.tick
        self._clock = ToldClock(self.double.sandbox, make)
        self.shop: ServedShop | None = _serve(make, self.double, self.add_finding, patience_seconds) if served else None
        """The shop over sockets; None for one in process."""
        self.service = Service(self.double, self.add_finding) if self.shop is None else self.shop.service
        self.service.shared_limit.on_broken = partial(self.add_finding, Rule.RETRIES, policy=SHARED_LIMIT)
        self._shop_time = ShopTime(self.double, self.service.sleep) if follows_time and not served else None
        self._watchdog = Watchdog(patience_seconds) if self.shop is None else self.shop.threads
        self._activity = self._entered = 0
        try:
            made = self._make(make)
            self.merchant = made if self.shop is None else self.shop.in_thread(made)
            # One that is reached at a URL can change without a call.
            can_change = self.shop is None and made.receiver_url is not None
            self.shown = Shown(self.merchant, object if can_change else self._moment)
            """What the merchant shows."""
            self._made = made
            own = type(made).receive is not Merchant.receive
            receive = made.receive if own else receiving.poster(self._receiver_url(made))
            self._receiver = receive if self.shop is None else self.shop.calls(receive)
        except BaseException:
            self.close()
            raise

    def _moment(self) -> object:
        # At the same moment a merchant shows the same. One over sockets may also work between two calls.
        box = self.double.sandbox
        return self._entered, box.now, box.journal.requests.total

    def close(self) -> None:
        """End the threads of a shop that is served, and free its port."""
        if self.shop is not None:
            self.shop.close()

    def add_finding(self, rule: Rule, text: str, policy: str | None = None) -> None:
        """Record a broken rule, which may be about a policy; `text` continues the sentence `The merchant …`."""
        self.findings.add(Finding(rule, f"The merchant {text}"), policy)

    def add_findings(self, found: Iterable[tuple[Rule, str]], policy: str | None = None) -> None:
        """Record broken rules, which may be about a policy; each text continues the sentence `The merchant …`."""
        for rule, text in found:
            self.add_finding(rule, text, policy)

    def _note_call(self, name: str, asked: str) -> None:
        box = self.double.sandbox
        if name in _ACTS:
            self.acts.append((box.journal.sequence, Row(box.now, MERCHANT, asked)))
        box.recording.add(Remark(f"call of the shop: {asked}"))

    def _note_refusal(self, noted: int, refused: Refused) -> None:
        """Add to the note of a call, the first after so many, that the merchant has declined it, and why."""
        why = printable(str(refused)[:_LONGEST_REASON])
        for place, (sequence, row) in islice(enumerate(self.acts), noted, noted + 1):
            self.acts[place] = sequence, replace(row, result=f"declined: {why}" if why else "declined")

    def call(self, name: str, *arguments: object, limit: Limit | None = None) -> Any:  # noqa: ANN401 - as the methods
        """Call a method of the adapter; None when it refused, raised or was killed. An exception becomes a finding."""
        asked = f"{name}({', '.join(map(str, arguments))})"
        noted = len(self.acts)
        self._note_call(name, asked)
        failures = self.failures
        self._activity += 1
        self._entered += 1
        self.service.calls_running += 1
        self.was_taken = self.was_declined = False
        try:
            with (
                self._alone(),
                self._operation(limit),
                self._watched(),
            ):
                result = self._do(name, arguments)
                # A call that came in between has set them too.
                self.was_taken, self.was_declined = True, False
                return result
        except Refused as refused:
            self.was_taken, self.was_declined = False, True
            self._note_refusal(noted, refused)
        except Blocked:
            pass  # it ends when the call ends in which it came
        except ProcessKilled:
            self.was_taken = self.was_declined = False
            if self.service.calls_running > 1:
                raise
            self.service.killed = True
        except Runaway as runaway:
            self.add_finding(Rule.ENDLESS, f"{runaway} ({asked})")
            self._stop_shop(name)
        except Hanging as hanging:
            self._hung(asked, hanging)
            self._stop_shop(name)
        except Exception as error:  # noqa: BLE001 - whatever a merchant raises is a finding
            if not self._excused(error, failures):
                self._crashed(f"The merchant's {asked} raised {place_of(error)}{self._hint(error)}")
        finally:
            self.service.calls_running -= 1
            if self.service.killed and not self.service.calls_running:
                self._restart()
        return None

    def order_of_deposit(self, external_identifier: str) -> str:
        """Return the id of the order that a deposit is for, as the adapter says; what it raises becomes a finding."""
        if not self.names_deposits:
            return external_identifier
        asked = f"order_of_deposit({external_identifier!r})"
        try:
            found: object = self._made.order_of_deposit(external_identifier)
        except Exception as error:  # noqa: BLE001 - whatever an adapter raises is a finding
            self._crashed(f"The merchant's {asked} raised {place_of(error)}")
            return external_identifier
        if isinstance(found, str):
            return found
        self._crashed(f"The adapter's {asked} returned {found!r}; it must return a text")
        return external_identifier

    def _do(self, name: str, arguments: Sequence[object]) -> Any:  # noqa: ANN401 - as the methods
        if name == "restart":
            self._clock.forget()
            self.service.shared_limit.forget()
        elif name != "close":
            self._clock.set(self.merchant)
        try:
            result = getattr(self.merchant, name)(*arguments)
        except Refused:
            self._drain()
            raise
        if name != "close":
            self._drain()
        return result

    def _drain(self) -> None:
        if self.service.killed:
            return
        if self.service.calls_running == 1:
            self.merchant.drain()
        elif self.shop is not None:
            # What it waits for may wait for the end of the outer call. A shop elsewhere goes on with this when that has
            # ended; one in this thread would wait without end.
            with suppress(Blocked):
                self.merchant.drain()

    def _operation(self, limit: Limit | None = None) -> AbstractContextManager[None]:
        # A job may look at each order, and ask again for each refund.
        subjects = sum(1 + order.refund_calls for order in self.orders)
        return self.service.operation(limit, more_calls=_CALLS_FOR_EACH * subjects)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        # The limit is in real time, whatever time the merchant sees.
        with self._watchdog.watch(), self._shop_time.shown() if self._shop_time else nullcontext():
            yield

    @contextmanager
    def _alone(self) -> Iterator[None]:
        # Webhooks wait until the call is over where the merchant must not be entered twice.
        if not self.merchant.interleaves:
            self.double.receiver = None
        try:
            yield
        finally:
            self.double.receiver = self.receive

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Let the rules look at what the merchant shows. What raises, hangs or loops ends the block with a finding."""
        before = self.shown.asking
        try:
            with self._operation(), self._watched():
                yield
        except Runaway as runaway:
            self.add_finding(Rule.ENDLESS, f"{runaway} ({self.shown.asking})")
        except Blocked:
            pass  # what the merchant shows is not known while another call is running
        except Hanging as hanging:
            self._hung(self.shown.asking, hanging)
        except WrongReturn as wrong:
            self._crashed(str(wrong))
        except Exception as error:
            if self.shown.asking == before:
                raise  # not by the merchant
            self._crashed(f"The merchant's {self.shown.asking} raised {place_of(error)}{self._hint(error)}")
        finally:
            self.shown.asking = before

    def statuses(self, orders: Sequence[Order] | None = None) -> list[str]:
        """Return the status that the merchant shows for each order, or for some; none when it raised or hung."""
        found: list[str] = []
        with self.looking():
            found += [self.shown.order_status(order.id) for order in (self.orders if orders is None else orders)]
        return found

    def receive(self, webhook: Webhook) -> int:
        """Hand a webhook to the merchant and check its answer; `Unreachable` when there is none."""
        if self.down:
            raise Unreachable
        due, words = receiving.classify(webhook, self.double.sandbox, self.now() // 1000)
        if self.ahead is not None and due == Due.ACCEPT and not self.service.calls_running:
            make, self.ahead = self.ahead, None
            with suppress(Unreachable):
                self.receive(make(webhook))
        self.due = due
        before = self._view() if due != Due.ACCEPT else []
        behind = [self.is_behind(order) for order in self.orders] if due != Due.ACCEPT else []
        interruption = self._prepare(webhook) if due == Due.ACCEPT and not self.service.calls_running else None
        failures, activity = self.failures, self._activity
        points, acts, limited = self.service.points, self.service.acts, self.service.limits_met
        try:
            status, took = self._answer(webhook, dies=interruption is Act.KILL_LATER and self.can_be_killed)
        except Blocked:
            # As of a receiver that answers too late: the service sends the webhook again.
            raise Unreachable("timeout", "the receiver waits for another call") from None
        self.answers.append((webhook.delivery.event.type, status, self.double.sandbox.journal.requests.total))
        if interruption is not None:
            self.interrupted_points = self.service.points.since(points)
        self.service.interruptions.clear()
        if status is None:
            raise Unreachable("reset", "the merchant's process died")
        excused = self.failures > failures or self.service.limits_met > limited
        is_its_own = interruption is None and acts == self.service.acts
        if took > self.service.webhook_seconds and not excused and is_its_own:
            limit = f"the service waits {self.service.webhook_seconds:g} s"
            self.add_finding(Rule.ANSWER, f"takes {took:g} s to answer {words}; {limit}")
        if due == Due.ACCEPT and self._verifies_by_the_wall_clock(webhook, status):
            self._crashed(_WALL_CLOCK + (_FOLLOW if self.shop is None else _ASK))
        else:
            self._judge(status, due, words, excused=excused)
        is_alone = due != Due.ACCEPT and activity == self._activity
        if is_alone and _differ(before, after := self._view()) and not self._has_caught_up(before, after, behind):
            self._judge_change(due, words, before, after)
        self.on_received(webhook, status if due == Due.ACCEPT else 0, not self.service.calls_running)
        if interruption is Act.LOSE_ANSWER:
            raise Unreachable("timeout", "the answer was lost")
        return status

    @property
    def failures(self) -> int:
        """Return how often the merchant got no whole answer, or none to a read, or its database failed, or may have.

        What it does then is excused. A webhook may come while another call is running, and meet what was to fail there.
        A database that keeps transactions apart may refuse one when another one has come in between.
        """
        service = self.service
        of_database = service.database_failures + service.transactions_entered
        return len(service.lost) + service.reads_refused + of_database

    def _make(self, make: MakeMerchant) -> Merchant:
        lacking = [
            text
            for name, text in NEEDED.items()
            if isinstance(make, type) and getattr(make, name, None) is getattr(Merchant, name)
        ]
        # A shop that is served may know the address of its receiver only when it has started.
        if isinstance(make, type) and make.receive is Merchant.receive and not (make.receiver_url or self.shop):  # type: ignore[attr-defined]
            lacking.append("receive(webhook), or receiver_url for a receiver that listens")
        if lacking:
            raise AdapterMisfit(f"The adapter {make.__name__} lacks " + "; ".join(lacking))
        try:
            with self._watched():
                made = make(self.service) if self.shop is None else self.shop.start(make)
        except Hanging:
            raise AdapterMisfit(f"The adapter {_name_of(make)} hangs while it is being made") from None
        except Exception as error:
            raised = place_of(error)
            raise AdapterMisfit(f"The adapter {_name_of(make)} raised {raised} while it was being made") from error
        if not isinstance(made, Merchant):
            raise AdapterMisfit(f"The adapter is a {type(made).__name__}; derive it from paydouble.stateful.Merchant")
        return made

    def never_reached(self) -> Iterator[tuple[Rule, str]]:
        """Yield that a shop over sockets has not called the service, though a customer wanted to pay.

        One that was killed may have been about to.
        """
        box = self.double.sandbox
        if (
            self.shop is None
            or self._was_killed
            or box.journal.requests.total
            or not any(order.deposit_due for order in self.orders)
        ):
            return
        others = self.double.unclaimed.log.entries
        if others:
            last = f"{others[-1].method} {others[-1].target} was answered {others[-1].status}"
            key = self.double.identity.business_key
            yield Rule.CRASH, f"has sent no request with the business key {key!r} ({last}); check its credentials"
        else:
            yield Rule.CRASH, f"has sent no request to {self.service.base_url}; check its base URL"

    def _receiver_url(self, made: Merchant) -> str:
        if not made.receiver_url:
            lacking = f"The adapter {type(made).__name__} lacks receive(webhook), and has no receiver_url"
            raise AdapterMisfit(f"{lacking} once it is made")
        return made.receiver_url

    @property
    def lives_through_days(self) -> bool:
        """Whether the merchant knows it when hours or a day pass."""
        return self.shop is None or knows_play_time(type(self._made))

    @property
    def can_be_killed(self) -> bool:
        """Whether the merchant's process can be killed: one over sockets is, by `restart`."""
        return self.shop is None or self.shop.has_restart

    @property
    def can_refund(self) -> bool:
        """Whether the adapter has refunds."""
        return type(self._made).refund is not Merchant.refund

    @property
    def names_deposits(self) -> bool:
        """Whether the external identifier of a deposit may be another text than the order's id."""
        return type(self._made).order_of_deposit is not Merchant.order_of_deposit

    def can_act(self, kind: InterruptionKind) -> bool:
        """Return whether an interruption of this kind is possible with the merchant."""
        return (self.merchant.interleaves or not kind.enters) and (self.can_be_killed or not kind.kills)

    def interrupt(self, kind: InterruptionKind, at: Point, act: Callable[[], object]) -> None:
        """Let an act come `at` a point of the merchant's code."""
        after, named = (0, at) if isinstance(at, str) else (at, None)
        self.service.interruptions.append(
            Interruption(after, act, in_database=kind.in_database, enters=kind.enters, waits_for=named)
        )

    def _prepare(self, webhook: Webhook) -> Act | None:
        planned, self.interruption = self.interruption, None
        if planned is None:
            return None
        carry_out = planned.act
        if self.can_act(planned.kind):
            if carry_out is None:
                planned.note()
            else:

                def act() -> None:
                    planned.note()
                    carry_out(webhook)

                self.interrupt(planned.kind, planned.at, act)
        return planned.kind.act

    def deliver_again(self, webhook: Webhook) -> None:
        """Hand a webhook over once more, while it is worked on."""
        status = self._answer_beside(webhook)
        if status is not None:
            self._judge(status, Due.ACCEPT, "a webhook that comes twice at the same time", excused=False)

    def deliver_another(self, webhook: Webhook) -> None:
        """Hand over an earlier webhook of the same object, while this one is worked on."""
        event = webhook.delivery.event
        others = [each for each in self.double.sandbox.journal.events.entries if each.object_id == event.object_id]
        earlier = [each for each in others if each.id != event.id and each.created_at <= event.created_at]
        for each in earlier[-1:]:
            self._deliver_beside(webhook, each)

    def deliver_later(self, webhook: Webhook, by: int) -> None:
        """Let time (milliseconds) pass, and hand over the later webhooks of the payment, while this one is worked on.

        A service sends those of its refunds and disputes at the same time, and goes on with those of one object when it
        has given up waiting for the answer. They come again when it has arrived.
        """
        self.double.advance(by=by)
        payment, made = self._payment_of(webhook.delivery), tuple(self.double.sandbox.outbox.deliveries.values())
        for each in islice(dropwhile(lambda each: each is not webhook.delivery, made), 1, None):
            if self._payment_of(each) == payment:
                later = replace(webhook, delivery=each)
                status = self._deliver_beside(later, each.event)
                if status is not None:
                    self.on_received(later, status, False)  # noqa: FBT003 - not the outermost

    def _payment_of(self, delivery: Delivery) -> str:
        """Return the id of the payment that an event is about, or of the object that has none."""
        object_id = delivery.event.object_id
        payment: str = getattr(self.double.sandbox.ledger.find(object_id), "payin_id", object_id)
        return payment

    def _deliver_beside(self, webhook: Webhook, event: Event) -> int | None:
        status = self._answer_beside(self._signed(webhook, event.body, self.now() // 1000))
        if status is not None:
            self._judge(status, Due.ACCEPT, f"a {event.type} that comes at the same time", excused=False)
        return status

    def _answer_beside(self, webhook: Webhook) -> int | None:
        """Return the answer to a webhook that comes while another one is worked on; None when there is none.

        One that waits for the other one is worked on when that is over, and its answer comes too late.
        """
        try:
            return self._answer(webhook).status
        except Blocked:
            return None

    def hand_over(self, delivery: Delivery, header: str, body: bytes) -> None:
        """Hand a webhook to the receiver that is like an earlier one, with another signature and body."""
        attempt = delivery.attempts[-1]
        earlier = Webhook(attempt.url, attempt.headers, body, delivery, attempt.number + 1)
        with suppress(Unreachable):
            self.receive(self.with_header(earlier, header, body))

    def with_header(self, webhook: Webhook, header: str, body: bytes) -> Webhook:
        """Return a webhook with another signature header and body."""
        name = self.double.sandbox.settings.webhooks.signature_header
        headers = tuple((key, header if key == name else value) for key, value in webhook.headers)
        return replace(webhook, headers=headers, body=body)

    def _answer(self, webhook: Webhook, *, dies: bool = False) -> _Answer:
        """Return the merchant's answer.

        It `dies` after its answer, before it has done what is then under way.
        """
        answer = _Answer(None)
        start, answers_took = self.double.sandbox.tick(), self.service.answers_took
        self._activity += 1
        activity, failures = self._activity, self.failures
        self._entered += 1
        self.service.calls_running += 1
        try:
            with self._operation(), self._watched():
                self._clock.set(self.merchant)
                status = self._receiver(webhook)
                took = (self.double.sandbox.tick() - start) / 1000 - (self.service.answers_took - answers_took)
                answer = _Answer(status, took)
                self.service.killed |= dies
                self._drain()
        except ProcessKilled:
            self.service.killed = True
            return answer
        except Runaway as runaway:
            self.add_finding(Rule.ENDLESS, f"{runaway} (receive)")
            self._stop_shop("receive")
            return _Answer(500)
        except Hanging as hanging:
            self._hung("receive(webhook)", hanging)
            self._stop_shop("receive")
            return _Answer(500)
        except Exception as error:  # noqa: BLE001 - whatever a merchant raises is an answer of 500
            if not self._excused(error, failures):
                self._crashed(self._no_answer(error))
            return _Answer(500)
        finally:
            self.service.calls_running -= 1
            if activity == self._activity:
                self._activity -= 1  # nothing else was called meanwhile
            if self.service.killed and not self.service.calls_running:
                self._restart()
        if status not in _STATUSES:  # None, a text, or a number that is no status
            self._crashed(f"The adapter's receive returned {status!r}; it must return an HTTP status")
            return _Answer(500)
        return answer

    def _no_answer(self, error: Exception) -> str:
        if isinstance(error, Unreachable):
            return f"The merchant's receiver gave no answer: {error}{self._busy_hint(error)}"
        return f"The merchant's receive raised {place_of(error)}{self._hint(error)}"

    def _judge(self, status: int, due: Due, words: str, *, excused: bool) -> None:
        if status >= 500:  # noqa: PLR2004 - HTTP
            # While another call is running it may be busy with the same order; the service sends the webhook again.
            is_busy = self.service.calls_running > 0 and status == HTTPStatus.SERVICE_UNAVAILABLE
            if not (excused or is_busy):
                self.add_finding(Rule.ANSWER, f"answers {status} to {words}")
        elif due == Due.REJECT:
            if status < 400:  # noqa: PLR2004 - HTTP
                self.add_finding(Rule.ANSWER, f"answers {status} to {words}")
        elif status >= 300 and due in {Due.ACCEPT, Due.ACKNOWLEDGE}:  # noqa: PLR2004 - HTTP
            # While the order is being paid it may answer that it does not know the order yet.
            early = self.service.calls_running > 0 and status in {404, 409, 425, 429}
            if not (excused or early):
                self.add_finding(Rule.ANSWER, f"answers {status} to {words}")

    def _verifies_by_the_wall_clock(self, webhook: Webhook, status: int) -> bool:
        """Return whether a webhook was refused for its time alone: signed by this machine's clock it is accepted."""
        if not 400 <= status < 500 or self.service.calls_running or abs(_wall() - self.now()) <= _TOLERANCE_MS:  # noqa: PLR2004 - HTTP
            return False
        answer = self._answer(self._signed(webhook, webhook.body, _wall() // 1000)).status
        return answer is not None and 200 <= answer < 300  # noqa: PLR2004 - HTTP

    def _signed(self, webhook: Webhook, body: bytes, at: int) -> Webhook:
        return self.with_header(webhook, signing.sign(body, self.service.webhook_secret, at), body)

    def _view(self) -> _View:
        found: _View = []
        with self.looking():
            for each in self.orders:
                shown, name = self.shown, each.id
                effects = dict(shown.effects(name))
                found.append((shown.order_status(name), shown.balance(name), shown.shipments(name), effects))
        return found

    def _has_caught_up(self, before: _View, after: _View, behind: Sequence[bool]) -> bool:
        """Return whether each order that has changed was behind, and is not any more.

        Whatever comes may wake a receiver that has events to work on, which it has acknowledged before.
        """
        changed = [number for number, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
        return all(behind[number] and not self.is_behind(self.orders[number]) for number in changed)

    def _judge_change(self, due: Due, words: str, before: _View, after: _View) -> None:
        changes = list(zip(before, after, strict=True))
        is_left = due in {Due.DOUBT, Due.IGNORE} and all(starmap(_is_left_to_a_person, changes))
        if not (is_left or due == Due.DOUBT):
            self.add_finding(Rule.FORGED, f"changes its state because of {words}")
        for order, (old, new) in zip(self.orders, changes, strict=False):
            order.was_wronged |= is_left and old != new

    def _excused(self, error: BaseException, failures: int) -> bool:
        if self.shop is not None and self.failures > failures:
            return True  # what a shop elsewhere makes of a lost answer, or of its database, cannot be traced back to it
        seen: BaseException | None = error
        while seen is not None:
            if isinstance(seen, DatabaseDown):
                return True
            seen = seen.__cause__ or seen.__context__
        return self.service.is_own(error)

    def _hung(self, call: str, hanging: Hanging) -> None:
        if str(hanging):
            self.add_finding(Rule.CRASH, f"hangs: {call} has not come back; {hanging}")
            return
        inside = "; it came while another call was running, so it may wait for a lock: then set interleaves to false"
        limit = f"after {self._watchdog.seconds:g} s{inside if self.service.calls_running > 1 else ''}"
        self.add_finding(Rule.CRASH, f"hangs: {call} has not come back {limit}")

    def _hint(self, error: BaseException) -> str:
        # An HTTP client wraps what it meets.
        met = f"{error!r} {error.__cause__!r} {error.__context__!r}".lower()
        is_gone = self.shop is not None and "connect" in met
        return "; the connection to the shop failed, so it has ended, or was not started" if is_gone else ""

    def _busy_hint(self, unreachable: Unreachable) -> str:
        is_entered_twice = unreachable.kind == "timeout" and self.service.calls_running > 1
        return ", while another call was running; does interleaves have to be false?" if is_entered_twice else ""

    def _stop_shop(self, name: str) -> None:
        # A shop elsewhere goes on until its process ends; in process the exception has ended the call.
        if self.shop is not None and name not in {"restart", "close"}:
            self.service.killed = True

    def _crashed(self, sentence: str) -> None:
        self.findings.add(Finding(Rule.CRASH, sentence))

    def _restart(self) -> None:
        self._was_killed = True
        self.service.killed = False
        self.service.interruptions.clear()
        # What became of the call in which it was killed is asked for afterwards.
        taken, declined = self.was_taken, self.was_declined
        self.call("restart")
        self.was_taken, self.was_declined = taken, declined
        if self.shop is not None:
            self.shop.threads.release()


def _differ(before: _View, after: _View) -> bool:
    # One that is shorter is of a merchant that could not be asked for the rest while another call was running.
    return len(before) == len(after) and before != after


def _is_left_to_a_person(before: _Seen, after: _Seen) -> bool:
    # Its status has changed to `review`, and nothing else; its balance may wait for that person.
    return before == after or (after[0] == "review" and after[1] in {None, before[1]} and after[2:] == before[2:])


def _name_of(make: MakeMerchant) -> str:
    return getattr(make, "__name__", repr(make))


def _serve(
    make: MakeMerchant, double: InProcess, add_finding: Callable[[Rule, str], None], patience_seconds: float
) -> ServedShop:
    from paydouble.stateful.served_shop import ServedShop  # noqa: PLC0415 - most plays need no server

    return ServedShop(make, double, add_finding, patience_seconds)


def _wall() -> int:
    return time.time_ns() // 1_000_000
