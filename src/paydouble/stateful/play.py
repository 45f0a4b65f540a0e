"""A play: the double, a merchant's code, and the steps that a machine or a test takes with both.

Each public command is one step. After each step the rules that hold at any time are checked. `end` removes all faults,
lets everything settle, and checks the rules that hold then. A command that has nothing to act on does nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import cache
from typing import Any, Final, Self

from paydouble.api.handlers.pay_ins import play_scenario
from paydouble.api.schemas import STAND_IN_CUSTOMER, DepositRequest
from paydouble.config import LARGEST_PAGE, Settings, load_settings
from paydouble.core.durations import UNITS_MS, parse_duration
from paydouble.core.errors import UsageError
from paydouble.core.money import parse_amount
from paydouble.inprocess import Webhook
from paydouble.payments.lifecycle import UNSUCCESSFUL
from paydouble.payments.resources import PayIn
from paydouble.runfile.recorded import Taped
from paydouble.sandbox import Sandbox
from paydouble.sandbox.recording import Remark
from paydouble.stateful import expected, rules
from paydouble.stateful.acknowledged import Acknowledged
from paydouble.stateful.coverage import Trial, Tried
from paydouble.stateful.crafted import AHEAD, Crafted
from paydouble.stateful.debts import Debts, Ways
from paydouble.stateful.disturbance import Disturbance, Limit
from paydouble.stateful.driver import Driver, MakeMerchant, PlannedInterruption
from paydouble.stateful.expected import ELSEWHERE, ExpectedState, Order
from paydouble.stateful.findings import Rule
from paydouble.stateful.held_to import Shows, checked, while_disputed
from paydouble.stateful.in_the_end import InTheEnd
from paydouble.stateful.interruptions import (
    AT_POINTS,
    CANCEL_MEANWHILE,
    JOB_INTERRUPTIONS,
    KINDS,
    LOSES_NOTES,
    MEANWHILE,
    REFUND_MEANWHILE,
    WEBHOOK_INTERRUPTIONS,
    Act,
    Point,
    checked_point,
    told_at,
)
from paydouble.stateful.judging import Judge
from paydouble.stateful.left_to_jobs import LeftToJobs
from paydouble.stateful.meanwhile import UNTIL_PAID_MS, Meanwhile
from paydouble.stateful.merchant import CLOSED
from paydouble.stateful.policies import (
    AFTER_A_LIMIT,
    INDEPENDENT,
    REFUND_LIMIT,
)
from paydouble.stateful.prices import other_than, price_for
from paydouble.stateful.provider import (
    ACTS_ELSEWHERE,
    BEYOND_THE_CONTRACT,
    OF_REFUNDS,
    PAYER_ACTS,
    PROVIDER_ACTS,
    ProviderAct,
    carried_out,
)
from paydouble.stateful.reporting import Reporter
from paydouble.stateful.requested_refunds import RequestedRefund, RequestedRefunds
from paydouble.stateful.service import Points
from paydouble.stateful.settling import Settling
from paydouble.stateful.story import Story
from paydouble.stateful.trials import Trials
from paydouble.stateful.troubles import (
    CANCELLATION_TROUBLES,
    DIALECTS,
    DURATIONS,
    INJECTED,
    LONGER_THAN_A_CLICK,
    OF_ROTATION,
    ORDER_READ_TROUBLES,
    OWN_REFUND_TROUBLES,
    POLICY_OF_DIALECT,
    READ_TROUBLES,
    SCENARIOS,
    SHARES,
    SLOW_SCENARIOS,
    TO_THE_END,
    WEBHOOK_TROUBLES,
    Trouble,
    documents_of,
    faults_of,
    named,
    next_requests,
    parsed_faults,
)
from paydouble.stateful.verdicts import MerchantBug

_A_SECOND: Final = 1000
_MOMENT_MS: Final = 100
_HOUR: Final = UNITS_MS["h"]
_DAY: Final = UNITS_MS["d"]
_MOST_JOBS: Final = 1000


class Play:
    """One run of one merchant. As a context manager it calls `end`, unless something was raised before."""

    def __init__(
        self,
        merchant: MakeMerchant,
        *,
        dialect: str = "plain",
        seed: int = 0,
        patience_seconds: float = 10.0,
        shows: Shows = "",
    ) -> None:
        """Start with an empty shop. `patience_seconds` is the limit in real time of one call of the adapter.

        `shows` is when the merchant shows what a webhook said: `at once`, `after jobs` when a background job works on
        it first, or nothing when it only asks the service, and cannot be held to it. A mapping says it for each of
        `held_to.FAMILIES`, and under `disputed` what it shows of an open dispute, some of `held_to.Disputed`.

        `UsageError` for an unknown dialect, or a setting that cannot be. `AdapterMisfit` for an adapter that cannot be
        used.
        """
        own = json.dumps(getattr(merchant, "settings", {}), default=_plain)
        settings = _settings_of(dialect, own)
        self.orders: list[Order] = []
        self.story = Story(dialect, seed)
        try:
            self._shows = checked(shows)
        except ValueError as error:
            raise UsageError(str(error), member="shows") from None
        self._driver = Driver(merchant, settings, seed, self.orders, patience_seconds)
        self._driver.findings.policy = POLICY_OF_DIALECT.get(dialect)
        self._driver.findings.steps = self.story.sentences
        self._add_findings = self._driver.add_findings
        self._double = self._driver.double
        self._box = self._double.sandbox
        self._acknowledged = Acknowledged(self._box, shows)
        self._left = LeftToJobs(self.story.calls)
        alone = self._driver.merchant.retries_by_itself
        alike = self._driver.names_deposits
        ways = Ways(alone, alike, self._driver.lives_through_days, self._driver.merchant.reconciles)
        self._debts = Debts(self._box, self.orders, self._left, ways)
        self._refunds = RequestedRefunds(self._box, self._acknowledged, self._debts)
        self._judge = Judge(self._driver, self._acknowledged, self._debts, self.orders)
        self._driver.on_received = self._judge.judge_webhook
        self._driver.is_behind = self._judge.is_behind
        self.noted = Trials(self._box, self.orders, dialect)
        """What has acted so far, and how often its faults fired."""
        self._meanwhile = Meanwhile(self._driver, self._debts, self.noted, self._cancel, self._place_order)
        self._reporter = Reporter(
            self._driver, self.story, self.orders, self._shows, getattr(merchant, "__name__", "make_merchant")
        )
        self.reported: MerchantBug | None = None
        """What the play was ended with, once a rule was broken."""
        self.reached = Points()
        """How many points the merchant's code passed in the latest click or refund."""
        self._ended = self._collecting = False
        self._job_failed_at: int | None = None
        """When background jobs last met a failure; None as long as they have not."""
        self._jobs_wait = False
        """Whether no job runs just because a request was left to it."""
        self._lasting: list[dict[str, Any]] = []
        """The faults that are not removed in the end."""
        self._in_the_end = InTheEnd(self._driver, self._acknowledged, self.orders)
        self._settling = Settling(self._driver, self.orders, self._tick)
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
    def trials(self) -> Sequence[Trial]:
        """Return what has acted so far."""
        return self.noted.acted

    @property
    def tried(self) -> Tried:
        """Return what has acted so far, and what was found and is accepted."""
        found = self._driver.findings
        in_review = self._ended and any(order.status == "review" for order in self.orders)
        return Tried(self.trials, found.accepted, found.allowed, in_review)

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

    def is_as_expected(self, order: int = 1, *, ships: bool = True) -> bool:
        """Return whether the merchant shows for an order what the ledger says about it now; its goods if it `ships`."""
        target, _ = self._order(order)
        target.status = self.status(order)
        state = expected.expected_state(self._box, target)
        found = ["it shows nothing"]
        with self._driver.looking():
            found = list(rules.shown.of_effects(self._driver.shown, target, state, ships=ships))
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
            if self._driver.was_declined and order.may_be_too_expensive:
                self.orders.remove(order)

    def pay(  # noqa: PLR0913 - what can disturb a click
        self,
        order: int = 1,
        trouble: str = "none",
        *,
        meanwhile: str = "none",
        at: Point = 0,
        scenario: str = SCENARIOS[0],
        lasts: int | str = 0,
        then: str = "none",
    ) -> None:
        """The customer presses the button. `meanwhile` happens `at` a point of the merchant's code.

        Points are counted from 0; `request` is the one at which its request has been carried out, `sending` the one at
        which it is on its way, and `commit` the first one just before a commit at which another transaction can go on.
        A trouble `lasts` for so many replies within this call, or to the `end` of the play; for 0 it has its own
        number. The request after the first one meets `then`, one of `AFTERWARDS`; with several, such as `429, 403`,
        each further request meets the next one.
        """
        disturbed = Disturbance(trouble, meanwhile, at if meanwhile in AT_POINTS else 0, lasts, then)
        self._click("pay", order, disturbed, scenario)

    def retry(self, order: int = 1, trouble: str = "none", *, lasts: int | str = 0) -> None:
        """The customer presses the button again."""
        self._click("retry", order, Disturbance(trouble, lasts=lasts), SCENARIOS[0])

    def crowd(self, orders: int = 25, *, scenario: str = SCENARIOS[0]) -> None:
        """So many orders are placed, and their customers press the button: more than a page of a list holds.

        All payments take the course of `scenario`, one of `SCENARIOS`.
        """
        named(dict.fromkeys(SCENARIOS), scenario, "scenario of a crowd")
        words = f"{orders} orders are placed and paid for"
        if scenario != SCENARIOS[0]:
            words = f"{orders} orders are placed, and their payments begin; their scenario will be {scenario}"
        with self._step(words, f"play.crowd({orders}{_options(scenario=scenario)})"):
            self._box.activate_scenario(scenario)
            for _ in range(orders):
                order = self._place_order()
                self._debts.allow_deposit(order)
                self._create_deposit("pay", order)

    def other_system(self, payments: int = LARGEST_PAGE + 1, *, then: str = "none") -> None:
        """Another system of the same business takes so many payments: more than the largest page of a list holds.

        They belong to no order of the shop. `then` is one of `ACTS_ELSEWHERE`: each is paid and disputed, or it is paid
        and a half of it is refunded.
        """
        words = f"Another system of the same business takes {payments} payments"
        course, act = named(ACTS_ELSEWHERE, then, "course of payments elsewhere")
        call = f"play.other_system({payments}{_options(then=then)})"
        with self._step("; ".join(filter(None, (words, course))), call, in_scenario=False):
            scenario = self._box.scenario(SCENARIOS[0])
            made = [play_scenario(self._box, _payment_elsewhere(each), scenario) for each in range(payments)]
            for each in made:
                act(self._box, self._box.ledger.get(PayIn, each["id"]))

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
        at: Point = 0,
        lasts: int | str = 0,
        then: str = "none",
    ) -> None:
        """The merchant refunds a share of an order: one of `SHARES`, where `most` is two thirds.

        `meanwhile`, `at`, `lasts` and `then` are as for `pay`.
        """
        target, number = self._order(order)
        refund_id = self._next_refund(target, int(target.amount * named(SHARES, share, "share")))
        options = _options(share=share, trouble=trouble, meanwhile=meanwhile, at=at, lasts=lasts, then=then)
        call = f"play.refund({number}{options})"
        disturbed = Disturbance(trouble, meanwhile, at, lasts, then).possible_at_once()
        self._refund(target, refund_id, disturbed, call, f"{share} of it")

    def refund_again(self, order: int = 1, trouble: str = "none", *, lasts: int | str = 0) -> None:
        """The last refund of an order is requested again, under the same refund id; `lasts` is as for `pay`."""
        target, number = self._order(order)
        if target.refunds_requested:
            refund_id = next(reversed(target.refunds_requested))
            call = f"play.refund_again({number}{_options(trouble=trouble, lasts=lasts)})"
            self._refund(target, refund_id, Disturbance(trouble, lasts=lasts), call, "the same once more")

    def refund_for_all(self, share: str = "all", trouble: str = "none") -> None:
        """The merchant refunds a share of each order: one of `SHARES`. After a `crowd`, more than a page of a list.

        Each request of that moment meets the trouble, so all of the refunds may have to wait for a job.
        """
        part = named(SHARES, share, "share")
        disturbed = Disturbance(trouble, lasts=LONGER_THAN_A_CLICK if trouble != "none" else 0)
        documents = documents_of(disturbed.met, TO_THE_END, operation="refund-creation")
        clauses = [f"Each order is refunded: {share} of it", disturbed.met.description]
        call = f"play.refund_for_all({share!r}{_options(trouble=trouble)})"
        with self._step("; ".join(filter(None, clauses)), call, documents, in_scenario=False):
            state, start, armed = self.noted.state(), self._box.journal.requests.total, self._arm_documents(documents)
            for target in self.orders:
                self._take_a_moment()
                asked = self._refunds.request(target, self._next_refund(target, int(target.amount * part)))
                self._call_refund(asked, disturbed, self._debts.disturb_refund(target, disturbed))
            self.noted.note_requests("refund", trouble, state, armed, start)
            self._disarm(armed)

    def cancel(self, order: int = 1, *, meanwhile: str = "none", at: Point = 0) -> None:
        """The customer cancels an order. `meanwhile` and `at` are as for `pay`; the names are in `CANCEL_MEANWHILE`."""
        target, number = self._order(order)
        words = told_at(named(CANCEL_MEANWHILE, meanwhile, "meanwhile"), at)
        call = f"play.cancel({number}{_options(meanwhile=meanwhile, at=at if meanwhile in AT_POINTS else 0)})"
        with self._step("; ".join(filter(None, (f"The customer cancels {target.id}", words))), call):
            self._take_a_moment()
            points, acts = self._driver.service.points, self._driver.service.acts
            was_cancelled, cancellations = target.was_cancelled_paid, target.cancellations
            self._meanwhile.interrupt("meanwhile", meanwhile, at, target, self._meanwhile.cancel)
            self._cancel(target)
            if meanwhile in LOSES_NOTES and self._driver.service.acts > acts:
                # Nobody told the customer that it is cancelled.
                target.was_cancelled_paid, target.cancellations = was_cancelled, cancellations
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
            self._debts.neglect(parse_duration(time))
            heard = [self._acknowledged.heard_of(expected.expected_state(self._box, order)) for order in self.orders]
            runs = [self._box.journal.requests.total]
            for passed in range(0, whole, pause):
                self._double.advance(by=min(pause, whole - passed))
                with self._judge.paid_kept():
                    self._run_jobs()
                self._add_findings(self._debts.after_a_limit(), AFTER_A_LIMIT)
                runs.append(self._box.journal.requests.total)
            self._add_findings(rules.requests.of_pauses_between_jobs(self._box, runs))
            for order, known in zip(self.orders, heard, strict=True):
                order.worked_off = known
            self._left.note_jobs(self._box, self.orders)

    def pass_time(self, time: str) -> None:
        """Let time pass without any background job."""
        if not self._driver.lives_through_days and is_a_day(time):
            return
        with self._step(f"{time} pass, and no background job runs", f"play.pass_time({time!r})"):
            self._debts.neglect(parse_duration(time))
            self._double.advance(by=parse_duration(time))

    def jobs_wait(self) -> None:
        """What the merchant leaves to its background jobs waits until a later step runs them.

        Otherwise a refund or a click that has sent no request is followed by the jobs at once.
        """
        with self._step("What the merchant leaves to its jobs waits for a while", "play.jobs_wait()"):
            self._jobs_wait = True

    def work_off(self, times: int = 1) -> None:
        """The merchant's background jobs run, and get no answer to any read: what was acknowledged has to suffice.

        They run so many `times`, an hour apart. One that was killed may have left its work to a run after some time.
        """
        often = f" {times} times, an hour apart" if times > 1 else ""
        sentence = f"Background jobs run{often}, and no read gets an answer"
        call = f"play.work_off({times if times > 1 else ''})"
        with self._step(sentence, call, documents_of(_MUTE), in_scenario=False):
            armed, lost = self._arm(_MUTE), len(self._driver.service.lost)
            for run in range(times):
                if run:
                    self._double.advance(by=_HOUR)
                self._acknowledged.begin_jobs()
                self._tick()
            self._disarm(armed)
            self._judge.left_to_jobs = False
            self._judge.judge_view()
            self._judge.judge_acknowledged(jobs_ran=True, asked_in_vain=len(self._driver.service.lost) > lost)

    def outage(self, time: str) -> None:
        """The merchant's receiver cannot be reached for a time."""
        if not self._driver.lives_through_days and is_a_day(time):
            return
        with self._step(f"The merchant's receiver is down for {time}", f"play.outage({time!r})"):
            self._driver.down = True
            self._debts.neglect(parse_duration(time))
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
        clauses = [f"{sentence}then a second click", named(DURATIONS, lasts, "duration")]
        with self._step("; ".join(filter(None, clauses)), call, documents_of(_DEAD), in_scenario=False):
            self._debts.allow_deposit(target)
            target.disturbed = True
            armed = self._arm(_DEAD)
            self._driver.down = True
            self._create_deposit("pay", target)
            self._double.advance(by=parse_duration(time))
            self._debts.neglect(parse_duration(time))
            self._disarm(armed)
            if lasts:
                self._arm(_STILL_DEAD, lasts)
                target.disturbed_to_the_end |= lasts == TO_THE_END
            if restarted:
                self._driver.call("restart")
            self._debts.allow_deposit(target)
            self._create_deposit("retry", target)
            self._driver.down = lasts == TO_THE_END
            self._tick()

    def restart(self) -> None:
        """The merchant's process is killed and started again."""
        with self._step("The merchant is restarted", "play.restart()"):
            self._driver.call("restart")

    def reads(self, trouble: str, *, lasts: int | str = 0) -> None:
        """The next answers to GET requests are disturbed: one of `READ_TROUBLES`.

        It `lasts` for so many answers, or to the `end` of the play; for 0 it has its own number.
        """
        found = named(READ_TROUBLES, trouble, "trouble")
        with self._waiting("reads", "reads", trouble, found, lasts, method="GET"):
            self._debts.reads_disturbed = True

    def reads_of(self, trouble: str, order: int = 1) -> None:
        """From now on each read about an order is disturbed, also in the end: one of `ORDER_READ_TROUBLES`.

        That is each read of a payment, refund or dispute of it, and of a list that is filtered by it. What the merchant
        then shows for it is not judged; what it shows for other orders is.
        """
        found = named(ORDER_READ_TROUBLES, trouble, "trouble")
        target, number = self._order(order)
        documents = [
            document
            for identifier in self._identifiers(target)
            for document in documents_of(found, method="GET", external_identifier=identifier)
        ]
        words, call = f"From now on each read about {target.id} {found.description}", f"play.reads_of({trouble!r}"
        with self._step(words, f"{call}{f', {number}' * (number > 1)})", documents, in_scenario=False):
            target.is_unreadable = True
            if found.tells_nothing:
                self._in_the_end.policy_of_others = INDEPENDENT
            self._lasting += documents
            self.noted.note_armed("reads of one order", trouble, self._arm_documents(documents))

    def own_refunds(self, trouble: str, *, lasts: int | str = 0) -> None:
        """The merchant's next request for a refund is disturbed: one of `OWN_REFUND_TROUBLES`.

        Also one that nobody has asked for, such as of money that came for an order that was cancelled, and one that a
        job makes. The trouble `lasts` for so many
        replies, or to the `end` of the play; for 0 it has its own number.
        """
        found = named(OWN_REFUND_TROUBLES, trouble, "trouble")
        where, match = "at the next refund that the merchant makes, ", {"operation": "refund-creation"}
        with self._waiting("own_refunds", "own refund", trouble, found, lasts, where, **match) as armed:
            self._debts.disturb_own_refunds(map(self._box.faults.get, armed), found, lasts)

    def cancellations(self, trouble: str, *, lasts: int | str = 0) -> None:
        """The next request that cancels a payment is disturbed: one of `CANCELLATION_TROUBLES`.

        The trouble `lasts` for so many replies, or to the `end` of the play; for 0 it has its own number.
        """
        found = named(CANCELLATION_TROUBLES, trouble, "trouble")
        where, match = "at the next request that cancels a payment, ", {"operation": "pay-in-cancellation"}
        with self._waiting("cancellations", "cancellation", trouble, found, lasts, where, **match):
            pass

    def webhooks(self, trouble: str) -> None:
        """The next webhooks are disturbed: one of `WEBHOOK_TROUBLES`."""
        found = named(WEBHOOK_TROUBLES, trouble, "trouble")
        if self._is_of_rotation(trouble):
            return
        with self._step(_sentence(found.description), f"play.webhooks({trouble!r})", documents_of(found)):
            self.noted.note_armed("webhooks", trouble, self._arm(found))

    def interrupt_webhook(self, what: str, at: Point = 0) -> None:
        """The merchant's work on the next webhook is interrupted `at` a point of its code."""
        words = told_at(named(WEBHOOK_INTERRUPTIONS, what, "interruption"), at)
        kind = KINDS[what]
        with self._step(words, f"play.interrupt_webhook({what!r}{_options(at=at)})"):
            state = self.noted.state()
            self._judge.left_to_jobs = True
            carry_out = self._meanwhile.carrying_out(kind.act, self._meanwhile.click_again)

            def do_to_its_order(webhook: Webhook) -> object:
                return carry_out and carry_out(self._judge.order_of(webhook))

            deliver = {
                Act.AGAIN: self._driver.deliver_again,
                Act.ANOTHER: self._driver.deliver_another,
                # The sandbox waits for the answer to one webhook of an object before it sends the next.
                Act.EVENTS: lambda webhook: self._driver.deliver_later(webhook, UNTIL_PAID_MS),
            }.get(kind.act)
            act = deliver or (carry_out and do_to_its_order)
            self._driver.interruption = PlannedInterruption(
                kind, checked_point(at), lambda: self.noted.note("interrupted webhook", what, state, "accept"), act
            )

    def interrupt_jobs(self, what: str, at: Point = 0) -> None:
        """The merchant's background jobs run, and are interrupted `at` a point of their code."""
        words = told_at(named(JOB_INTERRUPTIONS, what, "interruption"), at)
        with self._step(f"Background jobs run, and {words}", f"play.interrupt_jobs({what!r}{_options(at=at)})"):
            order = self.orders[-1] if self.orders else None
            undisturbed, start = [each for each in self.orders if not each.disturbed], self._box.journal.requests.total
            for each in undisturbed:
                each.disturbed = True
            self._judge.left_to_jobs = True
            service = self._driver.service
            self._meanwhile.interrupt("interrupted job", what, at, order, self._meanwhile.click_again)
            points = service.points
            self._tick()
            service.interruptions.clear()
            self.reached = service.points.since(points)
            if KINDS[what].loses_notes and not self._has_sent(start):
                # No request lacks a note, so all that is known of each order is what it was before.
                for each in undisturbed:
                    each.disturbed = False

    def webhook_ahead(self, how: str) -> None:
        """Something comes just ahead of the next webhook, which must still have its effect: one of `AHEAD`."""
        found = named(AHEAD, how, "webhook")
        if self._is_of_rotation(how):
            return
        sentence = f"Just ahead of the next webhook comes {found.description}"
        with self._step(sentence, f"play.webhook_ahead({how!r})"):
            state = self.noted.state()

            def make(webhook: Webhook) -> Webhook:
                self.noted.note("webhook ahead", how, state)
                secret, now = self._driver.service.webhook_secret, self._driver.now() // 1000
                return self._driver.with_header(webhook, *found.make(webhook.body, secret, now))

            self._driver.ahead = make

    def inject(self, how: str, which: int = 1) -> None:
        """An earlier webhook is sent again, as it was or changed: one of `INJECTED`; the newest is number 1."""
        found = named(INJECTED, how, "webhook")
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
            state = self.noted.state()
            if isinstance(found, Crafted):
                secret, now = self._driver.service.webhook_secret, self._driver.now() // 1000
                self._driver.hand_over(delivery, *found.make(delivery.event.body, secret, now))
            else:
                armed = self._arm(found, **match)
                self._box.redeliver(delivery)
                self._double.deliver()
                self._disarm(armed)
            self.noted.note("injected webhook", how, state, self._driver.due)

    def provider(self, what: str, order: int = 1) -> None:
        """The payment provider acts on its own: one of `PROVIDER_ACTS`."""
        act = named(PROVIDER_ACTS, what, "act")
        if self._is_expected(what):
            target, number = self._order(order)
            self._act("provider", act, what, f"play.provider({what!r}, {number})", [target])

    def provider_for_all(self, what: str) -> None:
        """The payment provider acts on each order, a second after the other: one of `PROVIDER_ACTS`.

        After a `crowd`, that is more disputes or refunds than a page of a list holds.
        """
        act = named(PROVIDER_ACTS, what, "act")
        if self._is_expected(what):
            self._act("provider", act, what, f"play.provider_for_all({what!r})", self.orders)

    def payer(self, what: str, order: int = 1) -> None:
        """The payer acts, where the order's payment waits for that: one of `PAYER_ACTS`."""
        act, (target, number) = named(PAYER_ACTS, what, "act of a payer"), self._order(order)
        self._act("payer", act, what, f"play.payer({what!r}, {number})", [target])

    # The end

    def end(self) -> None:
        """Remove all faults, let everything settle, and check the rules that hold at the end."""
        self._ended = True
        asked_before = self._box.journal.requests.total
        self._end_disturbances()
        times = self._settling.settle()
        self._judge_step()
        self._add_findings(self._driver.never_reached())
        asked = self._box.journal.requests.total > asked_before
        known: list[tuple[Order, str, ExpectedState]] = []
        for order, status in zip(self.orders, self._driver.statuses(), strict=False):
            found = expected.expected_state(self._box, order)
            if self._in_the_end.judge(order, status, found, "" if asked else self._in_the_end.not_told(times)):
                known.append((order, status, found))
        if self._driver.merchant.retries_by_itself:
            self._add_findings(rules.kept_money.of_kept_money(known))
        if not self._debts.reads_disturbed:  # which an earlier order may not have met
            self._add_findings(self._left.at_end(self._box, self._judge.readable()))
        self._report()

    def _end_disturbances(self) -> None:
        self.noted.end()
        self._box.reset(frozenset({"faults"}))
        self._arm_documents(self._lasting)
        self._driver.interruption = self._driver.ahead = None
        self._driver.down = False
        self._driver.service.interruptions.clear()

    # Inside

    @contextmanager
    def _waiting(  # noqa: PLR0913, PLR0917 - the command, and what it arms
        self, command: str, table: str, name: str, found: Trouble, lasts: int | str, where: str = "", **match: str
    ) -> Iterator[list[str]]:
        """Take the step of a trouble that waits for what comes in a later step; yields the ids of its faults."""
        clauses = [_sentence(where + found.description), named(DURATIONS, lasts, "duration")]
        call = f"play.{command}({name!r}{_options(lasts=lasts)})"
        with self._step("; ".join(filter(None, clauses)), call, documents_of(found, lasts, **match)):
            armed = self._arm(found, lasts, **match)
            yield armed
            self.noted.note_armed(table, name, armed)

    def _is_expected(self, what: str) -> bool:
        """Return whether the merchant has to understand what comes of an act of the provider."""
        if what in OF_REFUNDS and not self._driver.can_refund:
            return False
        beyond = BEYOND_THE_CONTRACT.get(what)
        return beyond is None or bool(getattr(self._driver.merchant, beyond.setting))

    def _act(
        self,
        table: str,
        act: ProviderAct,
        what: str,
        call: str,
        orders: Sequence[Order],
    ) -> None:
        state = self.noted.state()
        waiting = iter(orders)
        for first in waiting:
            words = carried_out(act, self._box, first)
            if words is None:
                continue
            self.noted.note(table, what, state)
            whose = first.id if len(orders) == 1 else "Each order"
            with self._step(f"{whose}: {words}", call):
                self._let_act_be_told(what, first)
                for each in waiting:
                    if carried_out(act, self._box, each) is not None:
                        self._let_act_be_told(what, each)

    def _let_act_be_told(self, what: str, target: Order) -> None:
        target.late_money_is_news |= what == "late money"
        target.was_beyond_the_contract |= what in BEYOND_THE_CONTRACT or what in OF_REFUNDS
        self._double.deliver()
        # Nothing else that either of them does has the same time: a receiver could not order the two.
        self._double.advance(by=_A_SECOND)

    def _new_order(self, amount: str, currency: str) -> Order:
        number = len(self.orders) + 1
        order_of = self._order_named if self._driver.names_deposits else str
        placed_at = self._box.now
        order = Order(f"order-{number}", parse_amount(amount, currency), currency, order_of, placed_at=placed_at)
        order.while_disputed = frozenset(while_disputed(self._shows))
        self._debts.placed(order)
        return order

    def _place_order(self) -> Order:
        """Place one more order of the usual price, as a part of a step."""
        amount, currency = price_for(self._driver.merchant.currencies, "49.90", "EUR")
        order = self._new_order(amount, currency)
        self.orders.append(order)
        self._driver.call("place_order", order.id, order.money, currency)
        return order

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

    def _identifiers(self, order: Order) -> list[str]:
        """Return the external identifiers of an order's deposits, as far as they are known."""
        made = {each.external_identifier for each in expected.expected_state(self._box, order).pay_ins}
        return sorted(made or {order.id})

    def _take_a_moment(self) -> None:
        # People need it between two acts, and a shop may ask for the newest of what they did.
        self._double.advance(by=_MOMENT_MS)

    def _is_of_rotation(self, name: str) -> bool:
        """Return whether this comes only while a secret is rotated, which the merchant has not said to support."""
        return name in OF_ROTATION and not self._driver.merchant.rotates_secrets

    @contextmanager
    def _step(
        self, sentence: str, call: str, faults: Sequence[dict[str, Any]] = (), *, in_scenario: bool = True
    ) -> Iterator[None]:
        self.story.add(sentence, call, faults, in_scenario=in_scenario)
        self._box.recording.add(Remark(sentence))
        yield
        self._judge_step()

    def _judge_step(self) -> None:
        self._double.deliver()
        self._judge.judge_step()
        self._report()

    def _report(self) -> None:
        if self._driver.findings and not self._collecting:
            sent = self._reporter.sent()
            self._collect_consequences()
            self.reported = self._reporter.bug(sent)
            raise self.reported

    def taped(self) -> Taped | None:
        """Return the recording of the play so far; None when it is too long to keep."""
        return self._reporter.taped()

    def _collect_consequences(self) -> None:
        # What follows from a broken rule may show at the end only, and explain more than what was noticed first.
        if not self._ended and all(each.rule > Rule.ENDLESS for each in self._driver.findings):
            self._collecting = True
            self.end()
            self._collecting = False

    def _click(self, how: str, order: int, disturbed: Disturbance, scenario: str) -> None:
        target, number = self._order(order)
        if target.is_cancelled:  # it has no button any more
            return
        disturbed = self._possible(disturbed, target)
        trouble, meanwhile, at, lasts, then = disturbed
        pressed = f"{target.id} is paid for" if how == "pay" else f"The customer clicks again to pay {target.id}"
        course = f"its scenario will be {scenario}" if scenario != SCENARIOS[0] else ""
        clauses = [pressed, *disturbed.clauses(MEANWHILE), course]
        match = self._its_deposits(target)
        options = _options(trouble=trouble, meanwhile=meanwhile, at=at, scenario=scenario, lasts=lasts, then=then)
        following = next_requests(disturbed.following, **match)
        other = other_than(self._driver.merchant.currencies, target.currency)
        met = _settled_in(other, documents_of(disturbed.met, lasts, **match))
        documents = [*following, *met]
        with self._step("; ".join(filter(None, clauses)), f"play.{how}({number}{options})", documents):
            self._take_a_moment()
            self._debts.allow_deposit(target)
            click = self._debts.begin_click(target, disturbed, is_usual=scenario == SCENARIOS[0])
            has_ended = target.status in CLOSED
            self._box.activate_scenario(scenario)
            state, pay_ins = self.noted.state(), len(expected.expected_state(self._box, target).pay_ins)
            second = self._arm_documents(following)
            armed = self._arm_documents(met)
            first = (
                self._arm(_FIRST) if disturbed.act is Act.WEBHOOK_FIRST and self._driver.merchant.interleaves else []
            )
            if first:
                self.story.faults += documents_of(_FIRST)
                self.story.scenario_faults += documents_of(_FIRST)
            self._meanwhile.interrupt("meanwhile", meanwhile, at, target, lambda _: self._driver.call("pay", target.id))
            start = self._box.journal.requests.total
            declined = self._create_deposit(
                how,
                target,
                click.limit,
                clicked=disturbed.act is Act.CLICK,
                cancelled=disturbed.act is Act.CANCEL,
            )
            self._let_jobs_repeat(armed, second, click.limit)
            self.noted.note_requests("POST", trouble, state, armed, start)
            self.noted.note_following("POST", then, state, second, start)
            self.noted.note_requests("meanwhile", meanwhile, state, first, start)
            self._note_scenario(target, scenario, state, pay_ins)
            if has_ended and disturbed.is_none:
                self._add_findings(rules.requests.of_new_wish(self._box, target, start))
            self.noted.note_fired(armed)
            self._disarm([*first, *second, *([] if disturbed.lasts_to_the_end else armed)])
            self._debts.end_click(
                click, was_declined=declined, was_met=self.noted.fired > 0, was_followed=self.noted.followed
            )

    def _note_scenario(self, target: Order, scenario: str, state: str, pay_ins: int) -> None:
        made = expected.expected_state(self._box, target).pay_ins
        if len(made) > pay_ins:
            self.noted.note("scenario", scenario, state, "new")
            if scenario in SLOW_SCENARIOS:
                # Its money comes after days, when a merchant may have sold the goods to somebody else.
                target.paid_late.update(each.id for each in made)

    def _possible(self, disturbed: Disturbance, target: Order) -> Disturbance:
        """Return what disturbs a click, without a refusal of what the service carries out: it never does that."""
        disturbed = disturbed.possible_at_once()
        pay_ins = expected.expected_state(self._box, target).pay_ins
        was_made = any(each.status not in UNSUCCESSFUL for each in pay_ins)
        return disturbed.without_trouble() if disturbed.met.refuses and was_made else disturbed

    def _create_deposit(
        self,
        how: str,
        target: Order,
        limit: Limit | None = None,
        *,
        clicked: bool = False,
        cancelled: bool = False,
    ) -> bool:
        """Call the merchant; return whether it declined without a request for a deposit.

        `clicked` and `cancelled` are whether another click, or the order's cancellation, comes while it is called.
        """
        start = self._box.journal.requests.total
        interrupted, points = bool(self._driver.service.interruptions), self._driver.service.points
        failures, before = self._driver.failures, expected.expected_state(self._box, target)
        self._driver.call(how, target.id, limit=limit)
        # What comes in between may have made the deposit, or may be why a deposit that was made is not wanted.
        if self._driver.was_declined and not (clicked or cancelled) and self._is_unpaid(target):
            after = expected.expected_state(self._box, target)
            self._add_findings(rules.refusals.of_declined_deposit(target, before, after))
        # Only where nothing can be under way: this is the first click, and each answer has arrived.
        if self._driver.was_declined and not clicked and not target.was_clicked:
            is_known = failures == self._driver.failures
            if is_known and rules.answers.is_refused_only(self._box, target, start) and self._is_unpaid(target):
                target.declined_after = self._box.journal.requests.total
        # Another customer may have sent one meanwhile.
        is_asked_for = rules.answers.is_asked_for(self._box, target, self.orders, start)
        declined = self._driver.was_declined and not is_asked_for
        over = all(each.status in UNSUCCESSFUL for each in expected.expected_state(self._box, target).pay_ins)
        if over and not is_asked_for:
            self._run_the_job(interrupted, limit)
        self._driver.service.interruptions.clear()
        self.reached = self._driver.service.points.since(points)
        # A key that an earlier click has made may never have been sent.
        clicked, target.was_clicked = clicked or target.was_clicked, True
        target.was_clicked_again |= clicked
        self._add_findings(rules.requests.of_keys(self._box, self.orders, start, clicked=clicked))
        return declined

    def _is_unpaid(self, target: Order) -> bool:
        return bool({"unpaid", "failed", "cancelled"} & set(self._driver.statuses([target])))

    def _asks_for_refund(self, start: int) -> bool:
        log = self._box.journal.requests
        return any(entry.operation == "refund-creation" for entry in log.since(start))

    def _has_sent(self, start: int) -> bool:
        """Return whether the merchant has sent a POST since a number of requests."""
        log = self._box.journal.requests
        return any(entry.method == "POST" for entry in log.since(start))

    def _run_the_job(self, interrupted: bool, limit: Limit | None) -> None:  # noqa: FBT001 - one fact
        # A merchant that leaves its request to a background job would otherwise send it when the trouble is over.
        if self._jobs_wait:
            return
        if not interrupted or self._driver.service.interruptions:
            self._run_jobs(limit)

    def _let_jobs_repeat(self, met: list[str], following: list[str], limit: Limit | None) -> None:
        """Let a merchant that leaves its next request to a job send it while that request still meets its trouble."""
        if following and not self._jobs_wait and self.noted.has_fired(met) and not self.noted.has_fired(following):
            self._double.advance(by=_NEXT_JOB_MS)
            self._run_jobs(limit)

    def _run_jobs(self, limit: Limit | None = None) -> None:
        self._tick(limit)
        # A job that has failed may not have come to what it had to learn, and may do nothing for a while.
        if self._job_failed_at is None or self._box.now - self._job_failed_at >= _HOUR:
            for order in self.orders:
                order.late_money_is_news = False

    def _tick(self, limit: Limit | None = None) -> None:
        self._jobs_wait = False
        failures, acts = self._driver.failures, self._driver.service.acts

        def were_cut_short() -> bool:
            is_disturbed = self._debts.reads_disturbed or self._driver.service.acts > acts
            return is_disturbed or self._driver.failures > failures

        with self._judge.disputes_known(), self._acknowledged.jobs(were_cut_short):
            self._driver.call("tick", limit=limit)
        if self._driver.failures > failures:
            self._job_failed_at = self._box.now

    @staticmethod
    def _next_refund(target: Order, amount: int) -> str:
        refund_id = f"{target.id}-refund-{len(target.refunds_requested) + 1}"
        target.refunds_requested[refund_id] = amount
        return refund_id

    def _refund(self, target: Order, refund_id: str, disturbed: Disturbance, call: str, what: str) -> None:
        trouble, meanwhile, at, lasts, then = disturbed
        requested = target.refunds_requested[refund_id]
        clauses = [f"{target.id} is refunded: {what}", *disturbed.clauses(REFUND_MEANWHILE)]
        following = next_requests(disturbed.following, operation="refund-creation")
        documents = [*following, *documents_of(disturbed.met, lasts, operation="refund-creation")]
        with self._step("; ".join(filter(None, clauses)), call, documents):
            self._take_a_moment()
            state, start = self.noted.state(), self._box.journal.requests.total
            asked = self._refunds.request(target, refund_id)
            limit = self._debts.disturb_refund(target, disturbed)
            second = self._arm_documents(following)
            armed = self._arm(disturbed.met, lasts, operation="refund-creation")
            other = self._next_refund(target, requested) if disturbed.act is Act.REFUND else refund_id

            def request_meanwhile(_: Order | None) -> None:
                self._driver.call("refund", target.id, other, asked.money)
                target.refunds_asked[other] += 1
                if self._driver.was_taken:
                    target.refund_ids_taken.add(other)

            self._meanwhile.interrupt("meanwhile", meanwhile, at, target, request_meanwhile)
            interrupted, points = bool(self._driver.service.interruptions), self._driver.service.points
            self._call_refund(asked, disturbed, limit)
            if not self._asks_for_refund(start):
                self._run_the_job(interrupted, limit)
            if disturbed.act is Act.REFUND and asked.is_possible:
                at_once = rules.refund_requests.of_refunds_at_once(self._box, target, asked.rest, start)
                self._add_findings(at_once, REFUND_LIMIT)
            self._driver.service.interruptions.clear()
            self.reached = self._driver.service.points.since(points)
            self._let_jobs_repeat(armed, second, limit)
            self.noted.note_requests("refund", trouble, state, armed, start)
            self.noted.note_following("refund", then, state, second, start)
            self.noted.note_fired(armed)
            self._disarm([*second, *([] if disturbed.lasts_to_the_end else armed)])
            self._debts.end_refund(disturbed)

    def _call_refund(self, asked: RequestedRefund, disturbed: Disturbance, limit: Limit | None = None) -> None:
        """Call the merchant for a refund, and judge whether it takes it."""
        order, start = asked.order, self._box.journal.requests.total
        with self._judge.disputes_known():
            self._driver.call("refund", order.id, asked.refund_id, asked.money, limit=limit)
        if disturbed.meanwhile == "none" and self._driver.was_declined:
            after = expected.expected_state(self._box, order)
            self._add_findings(rules.refusals.of_declined_refund(order, asked.before, after))
        does = "takes" if self._driver.was_taken else "asks the service for" if self._asks_for_refund(start) else ""
        if does and self._refunds.is_too_much(asked, disturbed):
            self._add_findings([rules.refusals.of_refund_limit(order, does, asked.amount, asked.rest)], REFUND_LIMIT)
        if self._driver.was_taken:
            self._refunds.take(asked, disturbed)
        elif self._driver.was_declined:
            self._add_findings(self._refunds.refuse(asked, disturbed))
        order.refunds_asked[asked.refund_id] += 1

    def _cancel(self, target: Order) -> None:
        before, cancellations = target.is_cancelled, target.cancellations
        database_failures = self._driver.service.database_failures
        paid = bool(expected.expected_state(self._box, target).paid)
        # Before the call, since events that come while it runs are judged by it.
        self._debts.cancel(target)
        with self._judge.disputes_known():
            self._driver.call("cancel", target.id)
        if not self._driver.was_declined:
            target.cancellations += 1
            target.was_cancelled_paid |= paid
            return
        # A refusal may be all that an adapter makes of an answer of 500, which may come after the commit.
        is_known = self._driver.service.database_failures == database_failures
        if is_known and target.cancellations == cancellations:  # no second click has cancelled it meanwhile
            target.is_cancelled = before

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


def _settled_in(currency: str, documents: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return faults; one that settles a payment in another currency does so in this one."""
    return [
        {**each, "effect": {**each["effect"], "to": currency}} if each["effect"]["type"] == "currency_drift" else each
        for each in documents
    ]


def _payment_elsewhere(number: int) -> DepositRequest:
    return DepositRequest.model_validate(
        {
            "amount": Decimal("49.90"),
            "currency": "EUR",
            "external_identifier": f"{ELSEWHERE}{number + 1}",
            "payment_method": {"type": "CREDIT_CARD"},
            "customer": dict(STAND_IN_CUSTOMER),
        }
    )


# A job's first pauses are seconds.
_NEXT_JOB_MS: Final = 10_000


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


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)


@cache
def _settings_of(dialect: str, own: str) -> Settings:
    """Return the settings of a dialect over those of the merchant's deployment, which are JSON."""
    return load_settings(named(DIALECTS, dialect, "dialect"), load_settings(json.loads(own)))


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]
