"""A play: the double, a merchant's code, and the steps that a machine or a test takes with both.

Each public command is one step. After each step the rules that hold at any time are checked. `end` removes all faults,
lets everything settle, and checks the rules that hold then. A command that has nothing to act on does nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from typing import Any, Final, NamedTuple, Self

from paydouble.api.handlers import LARGEST_PAGE
from paydouble.api.handlers.pay_ins import play_scenario
from paydouble.api.operations import OPERATIONS
from paydouble.api.schemas import DepositRequest, DisputeView
from paydouble.config import Settings, load_settings
from paydouble.core.durations import parse_duration
from paydouble.core.errors import ApiError, IllegalTransition, UsageError
from paydouble.core.money import MINOR_DIGITS, parse_amount
from paydouble.inprocess import Webhook
from paydouble.payments.lifecycle import PAY_IN, UNSUCCESSFUL, unfinished
from paydouble.payments.resources import Dispute, PayIn, Refund
from paydouble.runfile.recorded import Taped, taped
from paydouble.sandbox import Sandbox
from paydouble.sandbox.recording import Remark
from paydouble.stateful import expected, invariants
from paydouble.stateful.acknowledged import Acknowledged, Shows, ShowsEach
from paydouble.stateful.coverage import Trial, Tried
from paydouble.stateful.crafted import AHEAD, Crafted
from paydouble.stateful.driver import Driver, MakeMerchant, PlannedInterruption
from paydouble.stateful.expected import ELSEWHERE, ExpectedState, Order
from paydouble.stateful.findings import Finding, Rule, by_cause
from paydouble.stateful.left_to_jobs import LeftToJobs
from paydouble.stateful.policies import CANCELLED_ORDER, DOUBLE_PAYMENT, REFUND_LIMIT
from paydouble.stateful.prices import price_for
from paydouble.stateful.provider import OF_LATE_FAILURES, OF_REFUNDS, PAYER_ACTS, PROVIDER_ACTS
from paydouble.stateful.service import Interruption, Points
from paydouble.stateful.story import Story
from paydouble.stateful.troubles import (
    AFTERWARDS,
    AT_POINTS,
    CANCEL_MEANWHILE,
    DIALECTS,
    DURATIONS,
    INJECTED,
    JOB_INTERRUPTIONS,
    LOSES_NOTES,
    MEANWHILE,
    OF_ROTATION,
    OWN_REFUND_TROUBLES,
    POST_TROUBLES,
    READ_TROUBLES,
    REFUND_MEANWHILE,
    SCENARIOS,
    SHARES,
    SLOW_REFUND,
    SLOW_SCENARIOS,
    TO_THE_END,
    WEBHOOK_INTERRUPTIONS,
    WEBHOOK_TROUBLES,
    Trouble,
    documents_of,
    faults_of,
    next_request,
    parsed_faults,
)
from paydouble.stateful.verdicts import DatabaseDown, MerchantBug, ProcessKilled

_ROUNDS: Final = 6
_A_SECOND: Final = 1000
_MOMENT_MS: Final = 100
_HOUR: Final = 3_600_000
_DAY: Final = 24 * _HOUR
_MOST_TIMERS: Final = 10_000
_MOST_PAY_INS: Final = 20
_TIMERS_AT_ONCE: Final = 25
# More orders than a play otherwise has.
_CROWD: Final = 4
# A client that tries five times (contract section 7) outlasts these.
_SHORT: Final = (0, 1, 2)
_TOO_MANY: Final = 429
_NEVER_ASKED: Final = (
    "; no event told it, and it asked the service nothing (for a shop that never asks: reconciles = False)"
)
_DID_NOT_ASK: Final = (
    "; in the end its jobs ran {times} times, an hour apart, and asked the service nothing (a shop that does it"
    " less often needs a shorter interval in the test)"
)
_DISPUTE_READS: Final = {each.name for each in OPERATIONS if each.method == "GET" and each.answer is DisputeView}
_MOST_JOBS: Final = 1000
_settings: dict[str, Settings] = {}


class _Disturbance(NamedTuple):
    # What disturbs a refund.
    trouble: str = "none"
    meanwhile: str = "none"
    at: int = 0
    lasts: int | str = 0
    then: str = "none"


class _Pending(NamedTuple):
    # A trouble whose faults are armed; whether it acts is known when they are removed.
    table: str
    name: str
    state: str
    fault_ids: list[str]


class Play:
    """One run of one merchant. As a context manager it calls `end`, unless something was raised before."""

    def __init__(
        self,
        merchant: MakeMerchant,
        *,
        dialect: str = "plain",
        seed: int = 0,
        patience_seconds: float = 10.0,
        shows: Shows | ShowsEach = "",
    ) -> None:
        """Start with an empty shop. `patience_seconds` is the limit in real time of one call of the adapter.

        `shows` is when the merchant shows what a webhook said: `at once`, `after jobs` when a background job works on
        it first, or nothing when it only asks the service, and cannot be held to it. A mapping says it for each of
        `acknowledged.FAMILIES`.

        `UsageError` for an unknown dialect, `AdapterMisfit` for an adapter that cannot be used.
        """
        if dialect not in _settings:
            _settings[dialect] = load_settings(_named(DIALECTS, dialect, "dialect"))
        self.orders: list[Order] = []
        self.story = Story(dialect, seed)
        self._shows = shows
        self.trials = [Trial("dialect", dialect, "none", "none")]
        """What has acted so far."""
        self._name = getattr(merchant, "__name__", "make_merchant")
        self._driver = Driver(merchant, _settings[dialect], seed, self.orders, patience_seconds)
        self._driver.on_received = self._check_webhook
        self._double = self._driver.double
        self._box = self._double.sandbox
        self._acknowledged = Acknowledged(self._box, shows)
        self.fired = 0
        """How often the faults of the latest click fired."""
        self.followed = False
        """Whether the latest click sent a request that met its `then`."""
        self.armed_fired: list[int] = []
        """At the end, how often those of each disturbance of reads or webhooks fired."""
        self.reported: MerchantBug | None = None
        """What the play was ended with, once a rule was broken."""
        self.reached = Points()
        """How many points the merchant's code passed in the latest click or refund."""
        self._seen = 0
        self._ended = self._collecting = False
        self._reads_disturbed = False
        self._job_failed_at: int | None = None
        """When background jobs last met a failure; None as long as they have not."""
        self._own_refunds_disturbed = self._own_refunds_disturbed_to_the_end = False
        self._refunds_taken: dict[Hashable, str] = {}
        """For each case of a refund after a won dispute, the order of which the merchant took it."""
        self._left_to_jobs = False
        """Whether work on a webhook was cut short. A merchant that has stored it may leave the rest to its jobs."""
        self._pending: list[_Pending] = []
        self._left = LeftToJobs(self.story.calls)
        self._orders_named: dict[str, str] = {}
        """By the external identifier of a deposit, the order's id, once it is known."""

    def __enter__(self) -> Self:
        """Return the play."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Call `end`, unless something was raised, and close the merchant."""
        try:
            if kind is None:
                self.end()
        finally:
            self.close()

    def close(self) -> None:
        """Close the merchant."""
        self._driver.call("close")
        self._driver.close()

    @property
    def failed(self) -> bool:
        """Whether a rule was broken."""
        return bool(self._driver.findings)

    @property
    def tried(self) -> Tried:
        """Return what has acted so far, and what was found and is accepted."""
        found = self._driver.findings
        return Tried(self.trials, found.accepted, found.allowed)

    def status(self, order: int = 1) -> str:
        """Return the status that the merchant shows for an order."""
        return str(self._driver.call("order_status", self._order(order)[0].id))

    def shipments(self, order: int = 1) -> int | None:
        """Return how often the merchant fulfilled an order; None when the adapter does not count."""
        shipped: int | None = self._driver.call("shipments", self._order(order)[0].id)
        return shipped

    def balance(self, order: int = 1) -> Decimal | None:
        """Return the money that the merchant has of an order; None when the adapter keeps no balance."""
        held: Decimal | None = self._driver.call("balance", self._order(order)[0].id)
        return held

    def is_as_expected(self, order: int = 1) -> bool:
        """Return whether the merchant shows for an order all that the ledger says about it now."""
        target, _ = self._order(order)
        target.status = self.status(order)
        state = expected.expected_state(self._box, target)
        found = ["it shows nothing"]
        with self._driver.looking():
            found = list(invariants.of_effects(self._driver.shown, target, state))
        return not found

    @property
    def answers(self) -> Sequence[tuple[str, int | None, int]]:
        """The type of each event that was handed over, the status of the answer, and the number of requests then."""
        return self._driver.answers

    @property
    def points(self) -> Points:
        """How many points the merchant's code has passed."""
        return self._driver.service.points

    @property
    def interrupted_points(self) -> Points:
        """How many points the merchant's code passed in the webhook that was to be interrupted last."""
        return self._driver.interrupted_points

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox, for tests that look into it."""
        return self._box

    # What customers do

    def order(self, amount: str = "49.90", currency: str = "EUR") -> None:
        """Place the next order; they are called `order-1`, `order-2` and so on.

        In the merchant's first currency, when it does not sell in the given one.
        """
        amount, currency = price_for(self._driver.merchant.currencies, amount, currency)
        order = self._new_order(amount, currency)
        with self._step(f"{order.id} is placed: {amount} {currency}", f"play.order({amount!r}, {currency!r})"):
            self._take_a_moment()
            self.orders.append(order)
            self._driver.call("place_order", order.id, order.money, currency)

    def pay(  # noqa: PLR0913 - what can disturb a click
        self,
        order: int = 1,
        trouble: str = "none",
        *,
        meanwhile: str = "none",
        at: int = 0,
        scenario: str = SCENARIOS[0],
        lasts: int | str = 0,
        then: str = "none",
    ) -> None:
        """The customer presses the button. `meanwhile` happens `at` a point of the merchant's code, counted from 0.

        A trouble `lasts` for so many replies, or to the `end` of the play; for 0 it has its own number. The request
        after the first one meets `then`, one of `AFTERWARDS`.
        """
        disturbed = _Disturbance(trouble, meanwhile, at if meanwhile in AT_POINTS else 0, lasts, then)
        self._click("pay", order, disturbed, scenario)

    def retry(self, order: int = 1, trouble: str = "none", *, lasts: int | str = 0) -> None:
        """The customer presses the button again."""
        self._click("retry", order, _Disturbance(trouble, lasts=lasts), SCENARIOS[0])

    def crowd(self, orders: int = 25) -> None:
        """So many orders are placed and paid, more than a page of a list holds."""
        with self._step(f"{orders} orders are placed and paid for", f"play.crowd({orders})"):
            for _ in range(orders):
                amount, currency = price_for(self._driver.merchant.currencies, "49.90", "EUR")
                order = self._new_order(amount, currency)
                self.orders.append(order)
                self._driver.call("place_order", order.id, order.money, currency)
                self._note_click(order)
                self._create_deposit("pay", order)

    def other_system(self, payments: int = LARGEST_PAGE + 1) -> None:
        """Another system of the same business takes so many payments: more than the largest page of a list holds.

        They belong to no order of the shop.
        """
        words = f"Another system of the same business takes {payments} payments"
        with self._step(words, f"play.other_system({payments})", in_scenario=False):
            scenario = self._box.scenario(SCENARIOS[0])
            for number in range(payments):
                play_scenario(self._box, _payment_elsewhere(number), scenario)

    def returns(self, order: int = 1) -> None:
        """The payer comes back to the shop's page."""
        target, number = self._order(order)
        with self._step(f"The payer of {target.id} comes back to the shop", f"play.returns({number})"):
            self._take_a_moment()
            self._driver.call("customer_returns", target.id)

    def refund(  # noqa: PLR0913 - what can disturb a refund
        self,
        order: int = 1,
        share: str = "all",
        trouble: str = "none",
        *,
        meanwhile: str = "none",
        at: int = 0,
        lasts: int | str = 0,
        then: str = "none",
    ) -> None:
        """The merchant refunds a share of an order: one of `SHARES`, where `most` is two thirds.

        `meanwhile`, `at`, `lasts` and `then` are as for `pay`.
        """
        target, number = self._order(order)
        refund_id = self._next_refund(target, int(target.amount * _named(SHARES, share, "share")))
        options = _options(share=share, trouble=trouble, meanwhile=meanwhile, at=at, lasts=lasts, then=then)
        call = f"play.refund({number}{options})"
        disturbed = _possible_at_once(_Disturbance(trouble, meanwhile, at, lasts, then))
        self._refund(target, refund_id, disturbed, call, f"{share} of it")

    def refund_again(self, order: int = 1, trouble: str = "none") -> None:
        """The last refund of an order is requested again, under the same refund id."""
        target, number = self._order(order)
        if target.refunds_requested:
            refund_id = next(reversed(target.refunds_requested))
            call = f"play.refund_again({number}{_options(trouble=trouble)})"
            self._refund(target, refund_id, _Disturbance(trouble), call, "the same once more")

    def cancel(self, order: int = 1, *, meanwhile: str = "none", at: int = 0) -> None:
        """The customer cancels an order. `meanwhile` and `at` are as for `pay`; the names are in `CANCEL_MEANWHILE`."""
        target, number = self._order(order)
        words = _named(CANCEL_MEANWHILE, meanwhile, "meanwhile")
        call = f"play.cancel({number}{_options(meanwhile=meanwhile, at=at if meanwhile in AT_POINTS else 0)})"
        with self._step("; ".join(filter(None, (f"The customer cancels {target.id}", words))), call):
            self._take_a_moment()
            points, acts = self._driver.service.points, self._driver.service.acts
            was_cancelled = target.was_cancelled_paid
            self._interrupt(meanwhile, at, target, lambda: None)
            self._cancel(target)
            if meanwhile in LOSES_NOTES and self._driver.service.acts > acts:
                target.was_cancelled_paid = was_cancelled  # nobody told the customer that it is cancelled
            self._driver.service.interruptions.clear()
            self.reached = self._driver.service.points.since(points)

    # What the world does

    def wait(self, time: str, *, jobs_every: str = "") -> None:
        """Let time pass; then the merchant's background jobs run, and meanwhile as often as `jobs_every` says.

        `UsageError` when they would run more than 1000 times.
        """
        if not self._driver.lives_through_days and is_a_day(time):
            return
        whole = parse_duration(time)
        pause = parse_duration(jobs_every) if jobs_every else whole
        if pause * _MOST_JOBS < whole:
            raise UsageError(
                f"jobs_every={jobs_every!r} is too often: in {time} at most {_MOST_JOBS} runs are possible"
            )
        often = f", and background jobs run every {jobs_every}" if jobs_every else ""
        with self._step(f"{time} pass{often}", f"play.wait({time!r}{_options(jobs_every=jobs_every)})"):
            self._neglect(time)
            heard = [self._heard_of(order) for order in self.orders]
            runs = [self._box.journal.requests.total]
            for passed in range(0, whole, pause):
                self._double.advance(by=min(pause, whole - passed))
                self._run_jobs()
                runs.append(self._box.journal.requests.total)
            self._add_findings(invariants.of_pauses_between_jobs(self._box, runs))
            for order, known in zip(self.orders, heard, strict=True):
                order.worked_off = known
            self._left.note_jobs(self._box, self.orders)

    def pass_time(self, time: str) -> None:
        """Let time pass without any background job."""
        if not self._driver.lives_through_days and is_a_day(time):
            return
        with self._step(f"{time} pass, and no background job runs", f"play.pass_time({time!r})"):
            self._neglect(time)
            self._double.advance(by=parse_duration(time))

    def work_off(self) -> None:
        """The merchant's background jobs run, and get no answer to any read: what was acknowledged has to suffice."""
        with self._step(
            "Background jobs run, and no read gets an answer", "play.work_off()", documents_of(_MUTE), in_scenario=False
        ):
            armed = self._arm(_MUTE)
            self._acknowledged.begin_jobs()
            self._tick()
            self._disarm(armed)
            self._left_to_jobs = False
            self._check_view()
            self._check_acknowledged(jobs_ran=True)

    def outage(self, time: str) -> None:
        """The merchant's receiver cannot be reached for a time."""
        if not self._driver.lives_through_days and is_a_day(time):
            return
        with self._step(f"The merchant's receiver is down for {time}", f"play.outage({time!r})"):
            self._driver.down = True
            self._neglect(time)
            self._double.advance(by=parse_duration(time))
            self._driver.down = False
            self._run_jobs()

    def dead_line(self, order: int = 1, time: str = "80h", *, restarted: bool = False, lasts: int | str = 0) -> None:
        """The customer pays, the connection is lost both ways after the commit, and comes back after a time.

        The merchant may be `restarted` meanwhile. Then the customer clicks again. For so many replies more (`lasts`),
        or to the `end` of the play, none comes through after that time either.
        """
        if not self._driver.lives_through_days and is_a_day(time):
            return
        target, number = self._order(order)
        if target.is_cancelled:
            return
        between = "the merchant is restarted meanwhile; " if restarted else ""
        sentence = f"{target.id} is paid for, and no reply and no webhook comes through for {time}; {between}"
        call = f"play.dead_line({number}, {time!r}{_options(restarted=restarted, lasts=lasts)})"
        clauses = [f"{sentence}then a second click", _named(DURATIONS, lasts, "duration")]
        with self._step("; ".join(filter(None, clauses)), call, documents_of(_DEAD), in_scenario=False):
            self._note_click(target)
            target.disturbed = True
            armed = self._arm(_DEAD)
            self._driver.down = True
            self._create_deposit("pay", target)
            self._double.advance(by=parse_duration(time))
            self._neglect(time)
            self._disarm(armed)
            if lasts:
                self._arm(_STILL_DEAD, lasts)
                target.disturbed_to_the_end |= lasts == TO_THE_END
            if restarted:
                self._driver.call("restart")
            self._note_click(target)
            self._create_deposit("retry", target)
            self._driver.down = lasts == TO_THE_END
            self._driver.call("tick")

    def restart(self) -> None:
        """The merchant's process is killed and started again."""
        with self._step("The merchant is restarted", "play.restart()"):
            self._driver.call("restart")

    def reads(self, trouble: str, *, lasts: int | str = 0) -> None:
        """The next answers to GET requests are disturbed: one of `READ_TROUBLES`.

        It `lasts` for so many answers, or to the `end` of the play; for 0 it has its own number.
        """
        found = _named(READ_TROUBLES, trouble, "trouble")
        clauses = [_sentence(found.description), _named(DURATIONS, lasts, "duration")]
        call = f"play.reads({trouble!r}{_options(lasts=lasts)})"
        with self._step("; ".join(filter(None, clauses)), call, documents_of(found, lasts, method="GET")):
            self._reads_disturbed = True
            self._pending.append(_Pending("reads", trouble, self._state(), self._arm(found, lasts, method="GET")))

    def own_refunds(self, trouble: str, *, lasts: int | str = 0) -> None:
        """The next refund that the merchant makes without a request is disturbed: one of `OWN_REFUND_TROUBLES`.

        Such as of money that came for an order that was cancelled, or paid already. The trouble `lasts` for so many
        replies, or to the `end` of the play; for 0 it has its own number.
        """
        found = _named(OWN_REFUND_TROUBLES, trouble, "trouble")
        match = {"operation": "refund-creation"}
        sentence = f"At the next refund that the merchant makes, {found.description}"
        clauses = [sentence, _named(DURATIONS, lasts, "duration")]
        call = f"play.own_refunds({trouble!r}{_options(lasts=lasts)})"
        with self._step("; ".join(filter(None, clauses)), call, documents_of(found, lasts, **match)):
            # It waits for any refund, also for one that is asked for, and of an order that is placed later.
            self._own_refunds_disturbed = True
            self._own_refunds_disturbed_to_the_end |= lasts == TO_THE_END
            for order in self.orders:
                order.refunds_disturbed_to_the_end |= lasts == TO_THE_END
                # One that was asked for and is left to a job may meet it.
                order.refunds_due.clear()
                order.refunds_given_up.update(order.refunds_requested)
            self._pending.append(_Pending("own refund", trouble, self._state(), self._arm(found, lasts, **match)))

    def webhooks(self, trouble: str) -> None:
        """The next webhooks are disturbed: one of `WEBHOOK_TROUBLES`."""
        found = _named(WEBHOOK_TROUBLES, trouble, "trouble")
        if self._is_of_rotation(trouble):
            return
        with self._step(_sentence(found.description), f"play.webhooks({trouble!r})", documents_of(found)):
            self._pending.append(_Pending("webhooks", trouble, self._state(), self._arm(found)))

    def interrupt_webhook(self, what: str, at: int = 0) -> None:
        """The merchant's work on the next webhook is interrupted `at` a point of its code."""
        words = _named(WEBHOOK_INTERRUPTIONS, what, "interruption")
        with self._step(words, f"play.interrupt_webhook({what!r}{_options(at=at)})"):
            state = self._state()
            acted = Trial("interrupted webhook", what, state, "accept")
            self._left_to_jobs = True
            self._driver.interruption = PlannedInterruption(
                what, at, lambda: self.trials.append(acted), self._payer_returns, self._customer_clicks
            )

    def interrupt_jobs(self, what: str, at: int = 0) -> None:
        """The merchant's background jobs run, and are interrupted `at` a point of their code."""
        words = _named(JOB_INTERRUPTIONS, what, "interruption")
        with self._step(f"Background jobs run, and {words}", f"play.interrupt_jobs({what!r}{_options(at=at)})"):
            order = self.orders[-1] if self.orders else None
            acts: dict[str, Callable[[], Any]] = {
                "dies": _kill,
                "database down": _break,
                "jobs meanwhile": lambda: self._driver.call("tick"),
                "click meanwhile": lambda: self._click_again(order),
                "payer returns meanwhile": lambda: self._come_back(order),
                "events meanwhile": lambda: self._double.advance(by=_UNTIL_PAID_MS),
            }
            acted = Trial("interrupted job", what, self._state(), "none")

            def act() -> None:
                self.trials.append(acted)
                acts[what]()

            for each in self.orders:
                each.disturbed = True
            self._left_to_jobs = True
            service = self._driver.service
            if self._driver.merchant.interleaves or not what.endswith("meanwhile"):
                in_database, enters = what == "database down", what.endswith("meanwhile")
                service.interruptions.append(Interruption(at, act, in_database=in_database, enters=enters))
            points = service.points
            self._tick()
            service.interruptions.clear()
            self.reached = service.points.since(points)

    def webhook_ahead(self, how: str) -> None:
        """Something comes just ahead of the next webhook, which must still have its effect: one of `AHEAD`."""
        found = _named(AHEAD, how, "webhook")
        if self._is_of_rotation(how):
            return
        sentence = f"Just ahead of the next webhook comes {found.description}"
        with self._step(sentence, f"play.webhook_ahead({how!r})"):
            state = self._state()

            def make(webhook: Webhook) -> Webhook:
                self.trials.append(Trial("webhook ahead", how, state, "none"))
                secret, now = self._driver.service.webhook_secret, self._driver.now() // 1000
                return self._driver.with_header(webhook, *found.make(webhook.body, secret, now))

            self._driver.ahead = make

    def inject(self, how: str, which: int = 1) -> None:
        """An earlier webhook is sent again, as it was or changed: one of `INJECTED`; the newest is number 1."""
        found = _named(INJECTED, how, "webhook")
        if self._is_of_rotation(how):
            return
        done = [each for each in self._box.outbox.deliveries.values() if each.status == "delivered" and not each.queue]
        if not done:
            return
        place = (which - 1) % len(done)
        delivery = done[-1 - place]
        about = f"{_sentence(found.description)} ({delivery.event.type})"
        match = {"object_id": delivery.event.object_id}
        call = f"play.inject({how!r}, {place + 1})"
        documents = documents_of(found, **match) if isinstance(found, Trouble) else ()
        with self._step(about, call, documents, in_scenario=False):
            state = self._state()
            if isinstance(found, Crafted):
                secret, now = self._driver.service.webhook_secret, self._driver.now() // 1000
                self._driver.hand_over(delivery, *found.make(delivery.event.body, secret, now))
            else:
                armed = self._arm(found, **match)
                self._box.redeliver(delivery)
                self._double.deliver()
                self._disarm(armed)
            self.trials.append(Trial("injected webhook", how, state, self._driver.expectation))

    def provider(self, what: str, order: int = 1) -> None:
        """The payment provider acts on its own: one of `PROVIDER_ACTS`."""
        act = _named(PROVIDER_ACTS, what, "act")
        if what in OF_REFUNDS and not self._driver.can_refund:
            return
        if what in OF_LATE_FAILURES and not self._driver.merchant.refunds_can_fail_late:
            return
        self._act("provider", act, what, order)

    def payer(self, what: str, order: int = 1) -> None:
        """The payer acts, where the order's payment waits for that: one of `PAYER_ACTS`."""
        self._act("payer", _named(PAYER_ACTS, what, "act of a payer"), what, order)

    # The end

    def end(self) -> None:
        """Remove all faults, let everything settle, and check the rules that hold at the end."""
        self._ended = True
        asked_before = self._box.journal.requests.total
        with self._checked():
            self._close_pending()
            self._box.reset(frozenset({"faults"}))
            self._driver.interruption = self._driver.ahead = None
            self._driver.down = False
            self._driver.service.interruptions.clear()
            for round_number in range(_ROUNDS):
                before = self._driver.statuses(), self._box.journal.events.total
                self._driver.call("tick")
                self._until_idle(self._box.now + _HOUR)
                self._until_idle()
                after = self._driver.statuses(), self._box.journal.events.total
                if self._runs_away() or (round_number and self._box.idle and before == after):
                    break
            self._driver.call("tick")
        self._add_findings(self._driver.never_reached())
        # The contract promises events, so a merchant that never reads disputes need not know of lost ones.
        reads_disputes = any(entry.operation in _DISPUTE_READS for entry in self._box.journal.requests.entries)
        reads = any(entry.method == "GET" for entry in self._box.journal.requests.entries)
        asked = self._box.journal.requests.total > asked_before
        not_told = _DID_NOT_ASK.format(times=round_number + 2) if reads else _NEVER_ASKED
        known: list[tuple[Order, str, ExpectedState]] = []
        for order, status in zip(self.orders, self._driver.statuses(), strict=False):
            found = expected.expected_state(self._box, order)
            merchant = self._driver.merchant
            alone, has_heard = merchant.retries_by_itself, self._acknowledged.has_heard_of
            has_heard_all = has_heard([*found.pay_ins, *found.refunds, *found.disputes])
            with self._driver.looking():
                shown = self._driver.shown
                self._add_findings(invariants.of_refusals(order, found))
                if self._acknowledged.missed_a_late_change(order, found) or not (merchant.reconciles or has_heard_all):
                    continue
                known.append((order, status, found))
                hint = "" if asked or has_heard_all else not_told
                if reads_disputes or has_heard(found.disputes):
                    self._add_findings(_with(hint, invariants.of_settled(shown, order, status, found)))
                ended = invariants.at_end(self._box, shown, order, status, found, retries_by_itself=alone)
                self._add_findings(_with(hint, ended))
                if alone:
                    self._add_findings(invariants.of_double_payment(order, status, found), DOUBLE_PAYMENT)
                    self._add_findings(invariants.of_cancelled_order(order, status, found), CANCELLED_ORDER)
        if self._driver.merchant.retries_by_itself:
            self._add_findings(invariants.of_kept_money(known))
        if not self._reads_disturbed:  # which an earlier order may not have met
            self._add_findings(self._left.at_end(self._box, self.orders))
        self._report()

    # Inside

    def _act(
        self, table: str, act: Callable[[Sandbox, Order, ExpectedState], str | None], what: str, order: int
    ) -> None:
        target, number = self._order(order)
        state = self._state()
        try:
            words = act(self._box, target, expected.expected_state(self._box, target))
        except (ApiError, IllegalTransition, UsageError):
            words = None
        if words is not None:
            self.trials.append(Trial(table, what, state, "none"))
            with self._step(f"{target.id}: {words}", f"play.{table}({what!r}, {number})"):
                target.late_money_is_news |= what == "late money"
                self._double.deliver()
                # Nothing else that either of them does has the same time: a receiver could not order the two.
                self._double.advance(by=_A_SECOND)

    def _new_order(self, amount: str, currency: str) -> Order:
        number = len(self.orders) + 1
        order_of = self._order_named if self._driver.names_deposits else str
        return Order(
            f"order-{number}",
            parse_amount(amount, currency),
            currency,
            order_of,
            refunds_disturbed_to_the_end=self._own_refunds_disturbed_to_the_end,
        )

    def _its_deposits(self, order: Order) -> dict[str, str]:
        """Return what the requests for deposits of an order are matched by."""
        of_all = {"operation": "deposit-creation"}
        # The identifier that the merchant will send is not known.
        return of_all if self._driver.names_deposits else {**of_all, "external_identifier": order.id}

    def _order_named(self, external_identifier: str) -> str:
        found = self._orders_named.get(external_identifier)
        if found is None:
            found = external_identifier
            if not external_identifier.startswith(ELSEWHERE):
                found = self._driver.order_of_deposit(external_identifier)
            # One that the merchant cannot tell yet is asked for again.
            if any(order.id == found for order in self.orders):
                self._orders_named[external_identifier] = found
        return found

    def _take_a_moment(self) -> None:
        # People need it between two acts, and a shop may ask for the newest of what they did.
        self._double.advance(by=_MOMENT_MS)

    def _is_of_rotation(self, name: str) -> bool:
        """Return whether this comes only while a secret is rotated, which the merchant has not said to support."""
        return name in OF_ROTATION and not self._driver.merchant.rotates_secrets

    def _until_idle(self, to: int | None = None) -> None:
        # A merchant that answers each event with another deposit never comes to rest; the ledger shows it early.
        for _ in range(_MOST_TIMERS // _TIMERS_AT_ONCE):
            if self._double.advance(to=to, limit=_TIMERS_AT_ONCE) < _TIMERS_AT_ONCE:
                return
            self._add_findings(invariants.of_ledger(self._box, self.orders))
            if self._runs_away():
                return

    def _runs_away(self) -> bool:
        return self.failed and self._box.ledger.count(PayIn) > _MOST_PAY_INS

    @contextmanager
    def _step(
        self, sentence: str, call: str, faults: Sequence[dict[str, Any]] = (), *, in_scenario: bool = True
    ) -> Iterator[None]:
        self.story.add(sentence, call, faults, in_scenario=in_scenario)
        self._box.recording.add(Remark(sentence))
        with self._checked():
            yield

    @contextmanager
    def _checked(self) -> Iterator[None]:
        yield
        self._double.deliver()
        self._add_findings(invariants.of_requests(self._box, self._seen))
        self._add_findings(invariants.of_repeated_refusals(self._box, self.orders, self._seen))
        self._add_findings(
            invariants.of_endless_refusals(self._box, self.orders, self._driver.service.lost, self._seen)
        )
        self._add_findings(invariants.of_declined_orders(self._box, self.orders, self._seen))
        self._add_findings(invariants.of_refund_targets(self._box, self.orders, self._seen))
        self._add_findings(invariants.of_ledger(self._box, self.orders))
        self._seen = self._box.journal.requests.total
        self._check_view()
        self._report()

    def _check_view(self, orders: Sequence[Order] | None = None) -> None:
        looked_at = self.orders if orders is None else orders
        with self._driver.looking():
            for order in looked_at:
                status = self._driver.shown.order_status(order.id)
                found = expected.expected_state(self._box, order)
                self._add_findings(invariants.of_view(self._driver.shown, order, status, found))
                order.status = status
                order.shipped = self._driver.shown.shipments(order.id) or 0
                order.was_shipped |= order.shipped > 0
                order.was_given_back = expected.is_given_back(found) and not order.refunded_elsewhere
            self._add_findings(invariants.of_own_rules(self._driver.shown))

    def _check_webhook(self, webhook: Webhook, answer: int, outermost: bool) -> None:  # noqa: FBT001 - the driver's call
        order = self._order_of(webhook)
        # Of a crowd the others are looked at after the step; each webhook would ask for all of them otherwise.
        self._check_view([order] if order is not None and len(self.orders) > _CROWD else None)
        if order is None or not 200 <= answer < 300:  # noqa: PLR2004 - HTTP
            return
        self._acknowledged.note(order, webhook.delivery.event, answer)
        if outermost and not self._left_to_jobs:
            self._check_acknowledged(jobs_ran=False)

    def _check_acknowledged(self, *, jobs_ran: bool) -> None:
        # One that wanted to ask the service before it acted could not, while reads were disturbed.
        if not self._reads_disturbed:
            with self._driver.looking():
                merchant = self._driver.shown
                self._add_findings(self._acknowledged.findings(merchant, self.orders, jobs_ran=jobs_ran))

    def _add_findings(self, found: Iterable[tuple[Rule, str]], policy: str | None = None) -> None:
        for rule, text in found:
            self._driver.add_finding(rule, text, policy)

    def _report(self) -> None:
        if self._driver.findings and not self._collecting:
            self._collect_consequences()
            first, *others = by_cause(self._driver.findings)
            self.story.shows = self._shows if first.rule == Rule.LOST else ""
            text = self.story.report(first.text, [each.text for each in others], self._name, self._box)
            self.reported = bug = MerchantBug(first.text, text, first.rule, self.story.calls, self.story.dialect)
            bug.taped = self.taped(first)
            raise bug

    def taped(self, finding: Finding | None = None) -> Taped | None:
        """Return the recording of the play so far, with a finding as its verdict; None when it is too long to keep."""
        with suppress(UsageError):
            found = taped(self._box, self._double.pipeline)
            if finding is not None:
                found.end.update({"verdict": f"{finding.text}.", "rule": finding.rule.name})
            found.header["play"] = {
                "merchant": self._name,
                "seed": self.story.seed,
                "dialect": self.story.dialect,
                "shows": self._shows if isinstance(self._shows, str) else dict(self._shows),
                "calls": list(self.story.calls),
            }
            return found
        return None

    def _collect_consequences(self) -> None:
        # What follows from a broken rule may show at the end only, and explain more than what was noticed first.
        if not self._ended and all(each.rule > Rule.ENDLESS for each in self._driver.findings):
            self._collecting = True
            self.end()
            self._collecting = False

    def _click(self, how: str, order: int, disturbed: _Disturbance, scenario: str) -> None:
        target, number = self._order(order)
        if target.is_cancelled:  # it has no button any more
            return
        disturbed = self._possible(disturbed, target)
        trouble, meanwhile, at, lasts, then = disturbed
        met = POST_TROUBLES[trouble]
        clauses = [f"{target.id} is paid for" if how == "pay" else f"The customer clicks again to pay {target.id}"]
        clauses += [met.description, _named(DURATIONS, lasts, "duration"), _named(MEANWHILE, meanwhile, "meanwhile")]
        clauses.append(_afterwards(then))
        if scenario != SCENARIOS[0]:
            clauses.append(f"its scenario will be {scenario}")
        match = self._its_deposits(target)
        options = _options(trouble=trouble, meanwhile=meanwhile, at=at, scenario=scenario, lasts=lasts, then=then)
        following = next_request(documents_of(POST_TROUBLES[then], **match))
        documents = [*following, *documents_of(met, lasts, **match)]
        with self._step("; ".join(filter(None, clauses)), f"play.{how}({number}{options})", documents):
            self._take_a_moment()
            self._note_click(target)
            was_disturbed, was_clicked = target.disturbed, target.was_clicked
            was_refused = invariants.was_refused(self._box, target)
            target.disturbed |= not trouble == meanwhile == then == "none"
            # A trouble of an earlier click that lasts to the end comes first, and asks for another pause.
            pause = None if target.disturbed_to_the_end else _pause_seconds(met, then)
            has_ended = target.status in {"failed", "cancelled"}
            self._box.activate_scenario(scenario)
            state, pay_ins = self._state(), len(expected.expected_state(self._box, target).pay_ins)
            second = self._arm_documents(following)
            armed = self._arm(met, lasts, **match)
            first = self._arm(_FIRST) if meanwhile == "webhook first" and self._driver.merchant.interleaves else []
            if first:
                self.story.faults += documents_of(_FIRST)
                self.story.scenario_faults += documents_of(_FIRST)
            self._interrupt(meanwhile, at, target, lambda: self._driver.call("pay", target.id))
            start = self._box.journal.requests.total
            self._create_deposit(how, target, pause, clicked=meanwhile == "second click")
            self._let_jobs_repeat(armed, second, pause)
            self._note_requests("POST", trouble, state, armed, start)
            self._note_following("POST", then, state, second, start)
            self._note_requests("meanwhile", meanwhile, state, first, start)
            self._note_scenario(target, scenario, state, pay_ins)
            if has_ended and trouble == meanwhile == then == "none":
                self._add_findings(invariants.of_new_wish(self._box, target, start))
            self.fired = sum(self._box.faults.get(fault_id).fired for fault_id in armed)
            self._disarm([*first, *second, *([] if lasts == TO_THE_END else armed)])
            target.disturbed_to_the_end |= lasts == TO_THE_END
            target.key_has_stored_error |= trouble == "stored 500"
            may_be_closed = target.given_up or was_refused or target.disturbed_to_the_end or self._reads_disturbed
            if not (may_be_closed or target.is_cancelled) and self._gets_through(disturbed, target):
                target.deposit_due = f"the customer has pressed the button and {_outcome(target, met.description)}"
            self._note_unmade(
                target,
                disturbed,
                first=not was_clicked and scenario == SCENARIOS[0],
                limited=not (may_be_closed or was_disturbed),
            )

    def _note_scenario(self, target: Order, scenario: str, state: str, pay_ins: int) -> None:
        made = expected.expected_state(self._box, target).pay_ins
        if len(made) > pay_ins:
            is_slow = scenario in SLOW_SCENARIOS
            table = "slow scenario" if is_slow or scenario == SLOW_REFUND else "scenario"
            self.trials.append(Trial(table, scenario, state, "new"))
            if is_slow:
                # Its money comes after days, when a merchant may have sold the goods to somebody else.
                target.paid_late.update(each.id for each in made)

    @staticmethod
    def _gets_through(disturbed: _Disturbance, target: Order) -> bool:
        """Return whether a click leads to a deposit in spite of what disturbs it."""
        trouble, meanwhile, _, lasts, then = disturbed
        may_be_forgotten = meanwhile in LOSES_NOTES or target.key_has_stored_error
        met = POST_TROUBLES[trouble].gets_through or trouble == "none"
        return met and lasts in _SHORT and _gets_through(then) and not may_be_forgotten

    def _possible(self, disturbed: _Disturbance, target: Order) -> _Disturbance:
        """Return what disturbs a click, without a refusal of what the service carries out: it never does that."""
        disturbed = _possible_at_once(disturbed)
        pay_ins = expected.expected_state(self._box, target).pay_ins
        was_made = any(each.status not in UNSUCCESSFUL for each in pay_ins)
        refuses = POST_TROUBLES[disturbed.trouble].refuses
        return disturbed._replace(trouble="none", lasts=0) if refuses and was_made else disturbed

    def _note_unmade(self, target: Order, disturbed: _Disturbance, *, first: bool, limited: bool) -> None:
        """Note what can be asked of a click that has met one trouble and nothing else.

        `first` is whether it is the order's first, `limited` whether only a 429 can keep its deposit from being made.
        """
        trouble, meanwhile, _, lasts, then = disturbed
        met = POST_TROUBLES[trouble]
        was_plain = meanwhile == then == "none" and lasts != TO_THE_END
        if was_plain and trouble != "none" and first:
            self._left.add(self._box, target, (trouble, lasts))
        is_limited = limited and was_plain and met.retry_after_seconds is not None
        target.limited = met.description if is_limited else None
        # One that gives up after a few tries may wait until its key is no longer valid before it says so.
        target.limited_until = 0 if lasts in _SHORT else self._box.now + _DAY

    def _create_deposit(
        self, how: str, target: Order, retry_after_seconds: float | None = None, *, clicked: bool = False
    ) -> None:
        start = self._box.journal.requests.total
        interrupted, points = bool(self._driver.service.interruptions), self._driver.service.points
        failures, before = self._driver.failures, expected.expected_state(self._box, target)
        self._driver.call(how, target.id, retry_after_seconds=retry_after_seconds)
        if not clicked:
            self._compare_declined(target, before)
        # Only where nothing can be under way: this is the first click, and each answer has arrived.
        if self._driver.was_declined and not clicked and not target.was_clicked:
            is_known = failures == self._driver.failures
            if is_known and invariants.is_refused_only(self._box, target, start) and self._is_unpaid(target):
                target.declined_after = self._box.journal.requests.total
        over = all(each.status in UNSUCCESSFUL for each in expected.expected_state(self._box, target).pay_ins)
        if over and not self._sent("deposit-creation", start):
            self._run_the_job(interrupted, retry_after_seconds)
        self._driver.service.interruptions.clear()
        self.reached = self._driver.service.points.since(points)
        # A key that an earlier click has made may never have been sent.
        clicked, target.was_clicked = clicked or target.was_clicked, True
        target.was_clicked_again |= clicked
        self._add_findings(invariants.of_keys(self._box, self.orders, start, clicked=clicked))

    def _is_unpaid(self, target: Order) -> bool:
        return bool({"unpaid", "failed", "cancelled"} & set(self._driver.statuses([target])))

    def _sent(self, operation: str, start: int) -> bool:
        log = self._box.journal.requests
        return any(entry.operation == operation for entry in list(log.entries)[start - log.evicted :])

    def _run_the_job(self, interrupted: bool, retry_after_seconds: float | None) -> None:  # noqa: FBT001 - one fact
        # A merchant that leaves its request to a background job would otherwise send it when the trouble is over.
        if not interrupted or self._driver.service.interruptions:
            self._run_jobs(retry_after_seconds)

    def _let_jobs_repeat(self, met: list[str], following: list[str], retry_after_seconds: float | None) -> None:
        """Let a merchant that leaves its next request to a job send it while that request still meets its trouble."""
        if following and self._has_fired(met) and not self._has_fired(following):
            self._double.advance(by=_NEXT_JOB_MS)
            self._run_jobs(retry_after_seconds)

    def _has_fired(self, fault_ids: list[str]) -> bool:
        return any(self._box.faults.get(fault_id).fired for fault_id in fault_ids)

    def _run_jobs(self, retry_after_seconds: float | None = None) -> None:
        self._tick(retry_after_seconds)
        # A job that has failed may not have come to what it had to learn, and may do nothing for a while.
        if self._job_failed_at is None or self._box.now - self._job_failed_at >= _HOUR:
            for order in self.orders:
                order.late_money_is_news = False

    def _tick(self, retry_after_seconds: float | None = None) -> None:
        failures = self._driver.failures
        self._driver.call("tick", retry_after_seconds=retry_after_seconds)
        if self._driver.failures > failures:
            self._job_failed_at = self._box.now

    @staticmethod
    def _next_refund(target: Order, amount: int) -> str:
        refund_id = f"{target.id}-refund-{len(target.refunds_requested) + 1}"
        target.refunds_requested[refund_id] = amount
        return refund_id

    def _refund(self, target: Order, refund_id: str, disturbed: _Disturbance, call: str, what: str) -> None:
        trouble, meanwhile, at, lasts, then = disturbed
        met = _named(POST_TROUBLES, trouble, "trouble")
        requested = target.refunds_requested[refund_id]
        amount = Decimal(requested).scaleb(-MINOR_DIGITS[target.currency])
        clauses = [f"{target.id} is refunded: {what}", met.description, _named(DURATIONS, lasts, "duration")]
        clauses += [_named(REFUND_MEANWHILE, meanwhile, "meanwhile"), _afterwards(then)]
        following = next_request(documents_of(POST_TROUBLES[then], operation="refund-creation"))
        documents = [*following, *documents_of(met, lasts, operation="refund-creation")]
        with self._step("; ".join(filter(None, clauses)), call, documents):
            self._take_a_moment()
            state, start = self._state(), self._box.journal.requests.total
            may_refund = self._may_refund(target, refund_id)
            case = self._case_of_refund(target, requested)
            rest = expected.refundable(expected.expected_state(self._box, target))
            knows_rest = self._knows_rest(target, refund_id)
            target.disturbed |= disturbed != _Disturbance() or self._own_refunds_disturbed
            second = self._arm_documents(following)
            armed = self._arm(met, lasts, operation="refund-creation")
            other = self._next_refund(target, requested) if meanwhile == "another refund" else refund_id
            self._interrupt(meanwhile, at, target, lambda: self._driver.call("refund", target.id, other, amount))
            interrupted, points = bool(self._driver.service.interruptions), self._driver.service.points
            # A trouble of an earlier refund that lasts to the end comes first, and asks for another pause. So does one
            # that waits for any refund.
            met_before = target.refunds_disturbed_to_the_end or self._own_refunds_disturbed
            pause = None if met_before else _pause_seconds(met, then)
            before = expected.expected_state(self._box, target)
            self._driver.call("refund", target.id, refund_id, amount, retry_after_seconds=pause)
            if meanwhile == "none":
                self._compare_declined(target, before)
            by_itself = self._is_made_by_itself(target, refund_id, disturbed)
            was_taken, was_declined = self._driver.was_taken, self._driver.was_declined
            if was_taken:
                target.refund_ids_taken.add(refund_id)
            if may_refund and was_taken:
                target.refunds_taken.append((rest, requested))
            elif may_refund and was_declined and not target.disturbed:
                target.refusals += invariants.of_refused_refund(target, before, requested, rest)
            if trouble == meanwhile == "none" and not self._own_refunds_disturbed:
                self._compare_refund(target, requested, case, rest if knows_rest else None)
            if may_refund and by_itself and meanwhile == "none" and was_taken:
                target.refunds_due[refund_id] = _outcome(target, met.description)
            if not self._sent("refund-creation", start):
                self._run_the_job(interrupted, pause)
            self._driver.service.interruptions.clear()
            self.reached = self._driver.service.points.since(points)
            self._let_jobs_repeat(armed, second, pause)
            self._note_requests("refund", trouble, state, armed, start)
            self._note_following("refund", then, state, second, start)
            self.fired = sum(self._box.faults.get(fault_id).fired for fault_id in armed)
            self._disarm([*second, *([] if lasts == TO_THE_END else armed)])
            target.refunds_disturbed_to_the_end |= lasts == TO_THE_END
            target.refunds_asked[refund_id] += 1

    def _is_made_by_itself(self, target: Order, refund_id: str, disturbed: _Disturbance) -> bool:
        """Return whether a refund that was taken has to be made in spite of what disturbs it."""
        trouble, _, _, lasts, then = disturbed
        met = POST_TROUBLES[trouble]
        # A refund that was taken is a promise, so a job waits for a 429's reset where a customer would click again.
        gets_through = met.gets_through or met.retry_after_seconds is not None
        by_itself = trouble == "none" or (gets_through and self._driver.merchant.retries_by_itself)
        by_itself &= lasts in _SHORT and _gets_through(then) and not target.refunds_disturbed_to_the_end
        return by_itself and refund_id not in target.refunds_given_up and not self._own_refunds_disturbed

    def _compare_declined(self, target: Order, before: ExpectedState) -> None:
        if self._driver.was_declined:
            after = expected.expected_state(self._box, target)
            shows_no = self._is_unpaid(target)
            self._add_findings(invariants.of_declined_and_made(target, before, after, shows_no=shows_no))

    def _heard_of(self, target: Order) -> frozenset[tuple[str, int]]:
        """Return the objects of an order and their latest changes, when the merchant has heard of all."""
        state = expected.expected_state(self._box, target)
        resources: list[PayIn | Refund | Dispute] = [*state.pay_ins, *state.refunds, *state.disputes]
        heard = self._acknowledged.has_heard_of(resources)
        return frozenset((each.id, each.updated_at) for each in resources) if heard else frozenset()

    def _case_of_refund(self, target: Order, requested: int) -> Hashable:
        """Return what makes two refunds the same; None where the merchant may not know what has happened.

        A policy may forbid a refund, so a merchant is compared with what it did in the same case: where nothing was
        given back and nothing is disputed, or where all disputes are won.
        """
        state = expected.expected_state(self._box, target)
        is_known = bool(state.paid) and self._heard_of(target) == target.worked_off and not self._reads_disturbed
        is_usual = not (target.paid_late or target.is_cancelled or expected.amount_differs(state))
        if not (is_known and is_usual and target.status in {"paid", "partly_refunded"}):
            return None
        price = target.amount, target.currency, requested
        if state.disputes:
            is_won = all(each.status == "won" for each in state.disputes)
            numbers = len(state.pay_ins), len(state.refunds), len(state.disputes)
            return (*price, *numbers) if is_won and not target.disturbed else None
        return price if len(state.paid) == 1 and not (state.refunds or target.refund_calls) else None

    def _compare_refund(self, target: Order, requested: int, case: Hashable, rest: int | None) -> None:
        if rest is not None and self._driver.was_taken and requested > rest:
            self._add_findings([invariants.of_refund_limit(target, requested, rest)], REFUND_LIMIT)
        if case is not None and self._driver.was_taken:
            self._refunds_taken.setdefault(case, target.id)
        elif self._driver.was_declined and case in self._refunds_taken:
            state = expected.expected_state(self._box, target)
            self._add_findings([invariants.of_unequal_refusal(target, state, requested, self._refunds_taken[case])])

    def _knows_rest(self, target: Order, refund_id: str) -> bool:
        # Whether the merchant knows what is left, and this refund is a new one.
        state = expected.expected_state(self._box, target)
        objects: list[PayIn | Refund | Dispute] = [*state.pay_ins, *state.refunds, *state.disputes]
        is_new = refund_id not in target.refunds_asked
        return is_new and not target.disturbed and self._acknowledged.has_heard_of(objects)

    def _may_refund(self, target: Order, refund_id: str) -> bool:
        # Whether a refund can be made, as far as the ledger says and the merchant shows.
        state = expected.expected_state(self._box, target)
        wanted = Counter(target.refunds_requested[each] for each in {refund_id, *target.refunds_due})
        # Of those that were taken, one that has failed takes no money any more.
        taken = Counter(each.amount for each in state.refunds if each.status != "failed")
        taken += wanted - Counter(each.amount for each in expected.own_refunds(target, state))
        return (
            len(state.paid) == 1
            and not (state.disputes or target.paid_late or target.is_cancelled or expected.amount_differs(state))
            and not self._reads_disturbed
            and target.status in {"paid", "partly_refunded"}
            and sum(taken.elements()) <= target.amount
        )

    def _neglect(self, time: str) -> None:
        # After hours without a job an attempt whose outcome was unknown may be given up, and a key be too old.
        if parse_duration(time) >= _HOUR:
            # A limit is the whole business's, so the requests of other orders wait as well.
            was_limited = any(entry.status == _TOO_MANY for entry in self._box.journal.requests.entries)
            for order in self.orders:
                may_wait = was_limited and not expected.expected_state(self._box, order).pay_ins
                order.given_up |= order.disturbed or may_wait
                order.limited = None
                if order.given_up:
                    order.deposit_due = None
                    order.refunds_due.clear()
                    order.refunds_given_up.update(order.refunds_requested)

    def _cancel(self, target: Order) -> None:
        before = target.is_cancelled
        paid = bool(expected.expected_state(self._box, target).paid)
        # Before the call, since events that come while it runs are judged by it.
        target.is_cancelled = target.disturbed = True
        target.deposit_due = target.limited = None
        self._left.discard(target)
        self._driver.call("cancel", target.id)
        if self._driver.was_declined:
            target.is_cancelled = before
        elif paid:
            target.was_cancelled_paid = True

    def _interrupt(self, meanwhile: str, at: int, target: Order, click: Callable[[], Any]) -> None:
        acted = Trial("meanwhile", meanwhile, self._state(), "none")

        def act(what: Callable[[], Any]) -> Callable[[], None]:
            def note_and_act() -> None:
                self.trials.append(acted)
                what()

            return note_and_act

        interruptions = self._driver.service.interruptions
        if meanwhile == "events come" and self._driver.merchant.interleaves:
            interruptions.append(Interruption(at, act(lambda: self._double.advance(by=_UNTIL_PAID_MS)), enters=True))
        elif meanwhile in {"second click", "another refund"} and self._driver.merchant.interleaves:
            interruptions.append(Interruption(at, act(click), enters=True))
        elif meanwhile == "jobs run" and self._driver.merchant.interleaves:
            interruptions.append(Interruption(at, act(lambda: self._driver.call("tick")), enters=True))
        elif meanwhile == "cancelled" and self._driver.merchant.interleaves:
            interruptions.append(Interruption(at, act(lambda: self._cancel(target)), enters=True))
        elif meanwhile == "dies" and self._driver.can_be_killed:
            interruptions.append(Interruption(at, act(_kill)))
        elif meanwhile == "database down":
            interruptions.append(Interruption(at, act(_break), in_database=True))

    def _order_of(self, webhook: Webhook) -> Order | None:
        found: Any = self._box.ledger.find(webhook.delivery.event.object_id)
        found = self._box.ledger.find(getattr(found, "payin_id", "")) or found
        named = getattr(found, "external_identifier", None)
        return next((order for order in self.orders if order.owns(named)), None)

    def _payer_returns(self, webhook: Webhook) -> None:
        self._come_back(self._order_of(webhook))

    def _customer_clicks(self, webhook: Webhook) -> None:
        self._click_again(self._order_of(webhook))

    def _come_back(self, order: Order | None) -> None:
        if order is not None:
            self._driver.call("customer_returns", order.id)

    def _click_again(self, order: Order | None) -> None:
        if order is not None and not order.is_cancelled:
            self._note_click(order)
            order.disturbed = order.was_clicked_again = True
            self._driver.call("retry", order.id)

    def _note_click(self, order: Order) -> None:
        self._left.discard(order)
        order.declined_after = None
        # A click on an order that is paid, or being paid, allows no further deposit. Of money that has just come for a
        # payment that had ended, a merchant that works on events in a job may not know yet.
        pay_ins = expected.expected_state(self._box, order).pay_ins
        is_news = order.late_money_is_news and order.status in {"unpaid", *UNSUCCESSFUL}
        if all(each.status in UNSUCCESSFUL or (is_news and each.id in order.paid_late) for each in pay_ins):
            order.clicks = len(pay_ins) + 1

    def _order(self, number: int) -> tuple[Order, int]:
        if not self.orders:
            self.order()  # the shortest plays begin with a plain order
        place = (number - 1) % len(self.orders)
        return self.orders[place], place + 1

    def _arm(self, trouble: Trouble, lasts: int | str = 0, **match: str) -> list[str]:
        return [self._box.add_fault(fault).id for fault in faults_of(trouble, lasts, **match)]

    def _arm_documents(self, documents: Sequence[dict[str, Any]]) -> list[str]:
        return [self._box.add_fault(fault).id for fault in parsed_faults(documents)]

    def _disarm(self, fault_ids: list[str]) -> None:
        for fault_id in fault_ids:
            self._box.remove_fault(fault_id)

    # What was tried

    def _state(self) -> str:
        if not self.orders:
            return "none"
        state = expected.expected_state(self._box, self.orders[-1])
        if state.disputes:
            return "disputed"
        if state.refunds:
            return "refunded"
        if state.paid:
            return "paid"
        if not state.pay_ins:
            return "none"
        return "open" if any(each.status in unfinished(PAY_IN) for each in state.pay_ins) else "ended"

    def _note_requests(self, table: str, name: str, state: str, fault_ids: list[str], start: int) -> None:
        log = self._box.journal.requests
        sent = [entry for entry in list(log.entries)[start - log.evicted :] if entry.method == "POST"]
        met = [entry for entry in sent if set(fault_ids) & set(entry.faults)] if fault_ids else sent
        fired = any(self._box.faults.get(fault_id).fired for fault_id in fault_ids) or not fault_ids
        if fired and sent and (fault_ids or name == "none"):
            self.trials.append(Trial(table, name, state, (met or sent)[0].verdict))

    def _note_following(self, table: str, name: str, state: str, fault_ids: list[str], start: int) -> None:
        self.followed = self._has_fired(fault_ids)
        if self.followed:
            self._note_requests(table, name, state, fault_ids, start)

    def _close_pending(self) -> None:
        for table, name, state, fault_ids in self._pending:
            fired = sum(self._box.faults.get(fault_id).fired for fault_id in fault_ids)
            self.armed_fired.append(fired)
            if fired:
                self.trials.append(Trial(table, name, state, "none"))
        self._pending.clear()


def _payment_elsewhere(number: int) -> DepositRequest:
    return DepositRequest.model_validate(
        {
            "amount": Decimal("49.90"),
            "currency": "EUR",
            "external_identifier": f"{ELSEWHERE}{number + 1}",
            "payment_method": {"type": "CREDIT_CARD"},
            "customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"},
        }
    )


# A job's first pauses are seconds.
_NEXT_JOB_MS: Final = 10_000
# A plain payment has succeeded by then.
_UNTIL_PAID_MS: Final = 10_000


def _outcome(target: Order, met: str) -> str:
    """Return what became of a request, for a sentence; an earlier request may have met a trouble."""
    return met or ("this request got through" if target.disturbed else "nothing went wrong")


_DEAD: Final = Trouble("", ({"on": "api", "phase": "after_commit", "effect": {"type": "connection_reset"}},))
_STILL_DEAD: Final = Trouble("", tuple({**fault, "times": 1} for fault in _DEAD.faults))
_MUTE: Final = Trouble("", ({"on": "api", "match": {"method": "GET"}, "effect": {"type": "connection_reset"}},))
_FIRST: Final = Trouble(
    "",
    ({"on": "webhooks", "times": 1, "match": {"event_type": "pay-in.created"}, "effect": {"type": "before_response"}},),
)


def is_a_day(time: Any) -> bool:  # noqa: ANN401 - an argument of any command
    """Return whether an argument is a duration of a day or longer."""
    try:
        return parse_duration(time) >= _DAY
    except ValueError:
        return False


def _kill() -> None:
    raise ProcessKilled


def _break() -> None:
    raise DatabaseDown("the database is down")


def _options(**given: object) -> str:
    plain = {
        "trouble": "none",
        "meanwhile": "none",
        "at": 0,
        "scenario": SCENARIOS[0],
        "share": "all",
        "jobs_every": "",
        "restarted": False,
        "lasts": 0,
        "then": "none",
    }
    return "".join(f", {name}={value!r}" for name, value in given.items() if value != plain[name])


def _afterwards(then: str) -> str:
    met: Trouble = _named({name: POST_TROUBLES[name] for name in AFTERWARDS}, then, "trouble of the next request")
    return met.description and f"at the next request {met.description}"


def _pause_seconds(met: Trouble, then: str) -> float | None:
    # The least of both, since either can come first.
    asked = [each for each in (met.retry_after_seconds, POST_TROUBLES[then].retry_after_seconds) if each is not None]
    return min(asked, default=None)


def _gets_through(then: str) -> bool:
    return then == "none" or POST_TROUBLES[then].gets_through


def _with(hint: str, found: Iterable[tuple[Rule, str]]) -> Iterator[tuple[Rule, str]]:
    return ((rule, text + hint) for rule, text in found)


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]


def _possible_at_once(disturbed: _Disturbance) -> _Disturbance:
    """Return what disturbs a request, without a refusal that would meet only one of two that come at once."""
    refuses = _named(POST_TROUBLES, disturbed.trouble, "trouble").refuses
    sends_two = disturbed.meanwhile in {"second click", "another refund", "jobs run"}
    return disturbed._replace(trouble="none", lasts=0) if refuses and sends_two else disturbed


def _named(table: Mapping[Any, Any], name: int | str, what: str) -> Any:  # noqa: ANN401 - as the table
    if name not in table:
        raise UsageError(f"there is no {what} {name!r}; there are: {', '.join(map(str, table))}")
    return table[name]
