"""The façade of one isolated business: commands in, events and due attempts out.

Each command of the control API first fires the timers that are due (`tick`); before a command of the API the pipeline
does so. A timer that was due earlier than a command therefore fires before it, even if the event loop is late. Nothing
here waits, sends or reads the machine's time. Instants and durations are in milliseconds, amounts in minor units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from paydouble.config import RateLimit, Settings, guards
from paydouble.core.clock import Clock
from paydouble.core.errors import UnknownThing, UsageError
from paydouble.core.ids import Ids
from paydouble.core.instants import LATEST_MS, Stamps, write_instant
from paydouble.core.seeded_random import SeededRandom
from paydouble.core.timers import Timers
from paydouble.faults.table import FaultTable
from paydouble.feed import Feed
from paydouble.guards.idempotency import Keys
from paydouble.guards.rate_limit import Quota
from paydouble.journal import Journal, RequestEntry
from paydouble.payments.catalogue import Catalogue, catalogue_of
from paydouble.payments.events import Event
from paydouble.payments.ledger import Ledger
from paydouble.payments.resources import Dispute, Document, Failure, Order, PayIn, Payout, Refund, Resource
from paydouble.sandbox.commands import DELIVERY_COMMANDS, CloseWindow, Command, MakeAttempt
from paydouble.sandbox.delivery_scheduler import DeliveryScheduler
from paydouble.sandbox.identity import Identity
from paydouble.sandbox.manual_delivery import ManualDelivery
from paydouble.sandbox.overlay import Overlay
from paydouble.sandbox.publishing import Publisher, Publishing
from paydouble.sandbox.recording import Beginning, Recording, Settled, Taken, Ticked
from paydouble.sandbox.scenario_selector import ScenarioSelector
from paydouble.sandbox.trimming import ATTEMPT_BYTES, Trimmer
from paydouble.scenarios.library import Library
from paydouble.webhooks.deliveries import Attempt, Delivery, Outbox, Outcome, Secrets

if TYPE_CHECKING:
    from paydouble.core.clock import ClockMode
    from paydouble.faults.armed import Armed
    from paydouble.faults.model import Fault
    from paydouble.sandbox.script_runner import ScriptRunner
    from paydouble.scenarios.model import Scenario
    from paydouble.scenarios.play import PayerAction


# Attempts that one endpoint has in flight on a real clock, so that a slow answer does not delay other objects' events.
REAL_IN_FLIGHT: Final = 8
MOST_TIMERS: Final = 1_000_000
"""An advance of the clock stops after this many timers, unless the caller gives another limit."""
# The parts of a sandbox that `reset` can forget. A control call that gives no scope forgets all of them.
RESET_SCOPES: Final = ("state", "faults", "requests", "deliveries", "clock", "scenarios")


class Sandbox:
    """One business, and the payment service as it sees it."""

    # A class with more than thirty attributes is slow without slots, and this one is read dozens of times per request.
    __slots__ = (
        "__weakref__",
        "_catalogue",
        "_make_clock",
        "_scripts",
        "awaited",
        "checkout_base",
        "checkpoints",
        "clock",
        "errors",
        "faults",
        "feed",
        "fired",
        "first_scenario",
        "forks",
        "generation",
        "guarded",
        "identity",
        "ids",
        "journal",
        "keys",
        "ledger",
        "manual",
        "now",
        "outbox",
        "overlay",
        "publisher",
        "quota",
        "randomness",
        "recording",
        "scenarios",
        "scheduler",
        "secrets",
        "settings",
        "timers",
        "trimmer",
    )

    def __init__(  # noqa: PLR0913 - what a sandbox is created with
        self,
        identity: Identity,
        settings: Settings,
        make_clock: Callable[[], Clock],
        *,
        notification_url: str | None = None,
        checkout_base: str = "/_paydouble/checkout/",
        library: Library | None = None,
    ) -> None:
        """Start with an empty ledger; `make_clock` is called again by a reset.

        `UsageError` when the settings name a scenario that does not exist.
        """
        self.identity = identity
        self._adopt(settings)
        self.checkout_base = checkout_base
        self.checkpoints: dict[str, Sandbox] = {}
        """By id: copies of this sandbox, which nothing changes (`sandbox/forking.py`)."""
        self.forks = 0
        """How many forks have got an id that was derived from that of this sandbox."""
        self.randomness = SeededRandom(identity.seed)
        self.generation = 0
        """How many resets have started a new series of ids."""
        self.ids = Ids(self.randomness)
        self.scenarios = ScenarioSelector(library or Library())
        self.check_scenario(settings.scenario)
        self.first_scenario = settings.scenario
        self.overlay = Overlay()
        self._make_clock = make_clock
        self.journal = Journal(settings.journal_limit, settings.journal_bytes)
        self.outbox = Outbox(settings.journal_limit)
        self.feed = Feed(settings.journal_limit)
        self.faults = FaultTable(self.randomness)
        self.timers: Timers[Command] = Timers()
        self.scheduler = DeliveryScheduler(self.outbox, self.timers, self.ids, self.feed.add)
        clock = make_clock()
        self.recording = Recording(
            Beginning(identity, settings, notification_url, checkout_base, clock.mode, clock.rate, clock.now()),
            self.journal,
            self.outbox,
        )
        self.trimmer = Trimmer(self.journal, self.outbox, self.feed)
        self.publisher = Publisher(
            journal=self.journal,
            trimmer=self.trimmer,
            feed=self.feed,
            faults=self.faults,
            outbox=self.outbox,
            scheduler=self.scheduler,
            recording=self.recording,
            settings=settings,
            notification_url=notification_url,
        )
        self.manual = ManualDelivery(self.publisher, self.outbox, self.scheduler, self.feed)
        self.start(clock)
        # The default scenario needs no settings, so a start with it reads no file.
        if settings.scenario != Settings.model_fields["scenario"].default:
            self._replace(self._with_scenario(None, settings))

    def start(self, clock: Clock) -> None:
        """Begin with an empty ledger and a clock; faults, journals, scenarios and settings stay."""
        self.clock = clock
        self.now = clock.now()
        # Only ids depend on the generation; rates and the random values of faults depend on the seed alone.
        self.ids = Ids(SeededRandom(self.identity.seed, self.generation))
        self.secrets = Secrets(self.identity.webhook_secret)
        self.timers = Timers()
        self.scheduler.move(self.timers, self.ids)
        self.keys = Keys()
        self.quota = Quota()
        self.errors = 0
        self.fired = 0
        self.awaited: dict[str, object] = {}
        """By idempotency key or target: the requests that clients will probably repeat, since a reply was lost.

        The value is a token, new for each lost reply. Only an auto clock fills this: it waits for the repeated request
        (`runtime/pump.py`).
        """
        stamp = Stamps(seconds=self.settings.timestamps == "seconds").write
        self.ledger = Ledger(self.ids, stamp, Publishing(self.publisher))
        self.publisher.start(self.ids, self.ledger)
        self._scripts: ScriptRunner | None = None
        """What `scripts` returns, once it was used."""

    @property
    def scripts(self) -> ScriptRunner:
        """Return the script runner; it is loaded with the first resource, so that a sandbox starts fast."""
        if self._scripts is None:
            from paydouble.sandbox.script_runner import ScriptRunner  # noqa: PLC0415 - see above

            self._scripts = ScriptRunner(
                self.ledger, self.timers, self.settings, self.scenarios, self.publisher.histories
            )
        return self._scripts

    # Time

    def tick(self) -> int:
        """Fire every timer that is due, each at its own instant; returns the clock's time."""
        now = self.clock.now()
        due = self.timers.next_due()
        if due is not None and due <= now:
            self.recording.add(Ticked(now))
        while due is not None and due <= now:
            self.fire(due)
            due = self.timers.next_due()
        self.now = now
        return now

    def instants(self, *, by: int | None = None, to: int | None = None, limit: int = MOST_TIMERS) -> Iterator[int]:
        """Advance the clock `by` milliseconds, or `to` an instant, or until nothing is left to happen; yield each stop.

        The first stop is now; each later stop is an instant at which timers have fired. At each stop the caller first
        finishes what these have started, and then asks for the next stop. After `limit` timers, or when the caller
        stops asking, the clock stays where it is. `UsageError` for an instant in the past or after the year 9998.
        """
        now = self.tick()
        if by is not None:
            to = now + by
        if to is not None and not now <= to < LATEST_MS:
            where = "in the past" if to < now else "after the year 9998"
            instant = write_instant(to) if to < LATEST_MS else "that"
            raise UsageError(f"{instant} is {where}; the clock stands at {write_instant(now)}", member="to")
        last = LATEST_MS - 1 if to is None else to
        before = self.fired
        yield now
        while self.fired - before < limit:
            due = self.timers.next_due()
            if due is None or due > last:
                break
            self.clock.jump(due)
            yield self.tick()
        else:
            return
        if to is not None:
            self.clock.jump(to)
            self.recording.reached(self.tick())

    def fire(self, instant: int) -> int:
        """Fire the timers that are due at or before an instant, in order; returns how many."""
        self.now = max(self.now, instant)
        before = self.fired
        while timer := self.timers.pop_due(instant):
            self.fired += 1
            self._execute(timer.command)
        return self.fired - before

    def _execute(self, command: Command) -> None:
        match command:
            case MakeAttempt(delivery_id):
                delivery = self.outbox.deliveries.get(delivery_id)
                if delivery is not None:
                    self.outbox.enqueue(delivery)
            case CloseWindow(key):
                self.scheduler.close_window(key, self.now)
            case _:
                self.scripts.fire(command, self.now)

    def set_clock(self, clock: Clock) -> None:
        """Use another clock from now on; `UsageError` when it is behind this one."""
        # Compared with the last instant that was used: a real clock goes on after the caller has read it.
        start = clock.now()
        if start < self.now:
            raise UsageError(
                "a clock never goes back; choose a start that is not in the sandbox's past", member="start"
            )
        self.recording.did("clock-set", self.now, mode=clock.mode, rate=clock.rate, start=start)
        self.clock = clock
        self.tick()
        self.feed.note("clock", self.now)

    def go_on(self, clock: Clock, make_clock: Callable[[], Clock]) -> None:
        """Continue with a clock, and let resets make others; `UsageError` when the clock is behind this one."""
        self.set_clock(clock)
        self._make_clock = make_clock

    def note_restart(self, mode: ClockMode, rate: float, checkout_base: str) -> None:
        """Note that another process goes on with the sandbox; clocks that resets make have this mode and rate."""
        self.recording.did("restart", self.now, mode=mode, rate=rate, checkout_base=checkout_base)
        self.checkout_base = checkout_base

    def note_answer(self, entry: RequestEntry) -> None:
        """Note that a request was answered; if a fault acted on it, an auto clock waits for its retry."""
        if entry.faults:
            self.note_loss(entry)
        else:
            self.awaited.pop(entry.key or entry.target, None)

    def note_loss(self, entry: RequestEntry) -> None:
        """Note that the client of a request did not get its answer."""
        if self.clock.mode == "auto":
            self.awaited[entry.key or entry.target] = object()  # a new one for each loss, which restarts the wait

    # Commands of the API

    def create_pay_in(self, scenario: Scenario, order: Order) -> tuple[PayIn, Document]:
        """Create a deposit that plays a scenario; returns the pay-in and its document."""
        now = self.now
        start_plan = scenario.start_plan
        if start_plan.prepares:
            self.prepare(scenario, order.external_identifier)
        created = self.ledger.create_pay_in(now, order, checkout_base=self.checkout_base, scenario=start_plan.scenario)
        self.scenarios.begin(created[0], scenario)
        (self._scripts or self.scripts).begin_pay_in(created[0], start_plan, now)
        return created

    def prepare(self, scenario: Scenario, external_identifier: str) -> None:
        """Apply a scenario's settings and arm its faults, for an order that is about to play it."""
        if scenario.settings is not None:
            self._replace(self.overlay.apply(scenario, self.settings))
        if scenario.faults:
            # With the number of the deposit's own request, so that it does not count as older than the faults.
            self.faults.arm_order(external_identifier, scenario.name, scenario.faults, self.now, self.journal.sequence)

    def cancel_pay_in(self, pay_in: PayIn) -> None:
        """Cancel a pay-in at the merchant's request; `IllegalTransition` when it is too late."""
        self.scripts.move(pay_in, "cancelled", self.now)

    def create_refund(
        self, pay_in: PayIn, *, amount: int | None, reason: str | None, external_identifier: str | None
    ) -> Refund:
        """Start a refund, which plays its pay-in's scenario; without an `amount` it is about all that is left.

        `ApiError` when the pay-in cannot be refunded, or not by this amount.
        """
        refund = self.ledger.create_refund(
            self.now,
            pay_in,
            amount=amount,
            reason=reason,
            external_identifier=external_identifier,
            disputed_too=self.settings.refunds.while_disputed == "allow",
        )
        self.scripts.begin_refund(refund, self.scenarios.of(pay_in), self.now)
        return refund

    def open_refund(self, pay_in: PayIn, *, amount: int | None = None, reason: str | None = None) -> Refund:
        """Start a refund as the merchant's staff does on the provider's own pages, so without an external identifier.

        Without an `amount` it is about all that is left. `ApiError` as `create_refund`.
        """
        self.recording.did("refund-open", self.now, id=pay_in.id, amount=amount, reason=reason)
        return self.create_refund(pay_in, amount=amount, reason=reason, external_identifier=None)

    def open_dispute(
        self, pay_in: PayIn, *, amount: int | None = None, reason: str = "fraudulent", force: bool = False
    ) -> Dispute:
        """Open a dispute, as the provider does; without an `amount` it is about all that is not disputed yet.

        `ApiError` when the pay-in cannot be disputed, or not by this amount. With `force` the money may be disputed
        already.
        """
        self.recording.did("dispute-open", self.now, id=pay_in.id, amount=amount, reason=reason, force=force)
        return self.scripts.open_dispute(pay_in, amount=amount, reason=reason, now=self.now, force=force)

    def submit_evidence(self, dispute: Dispute, evidence: dict[str, str]) -> None:
        """Add evidence to a dispute, and begin its review; `IllegalTransition` or `ApiError` when it is too late."""
        self.ledger.add_evidence(dispute, evidence, self.now)
        self.scripts.review(dispute, self.now)

    def accept_dispute(self, dispute: Dispute) -> None:
        """Accept a dispute, so that the payer gets the money back; `IllegalTransition` when it is closed."""
        self.scripts.move(dispute, "accepted", self.now)

    def create_payout(self, **members: Any) -> Payout:  # noqa: ANN401 - the members of Ledger.create_payout
        """Start a payout, which plays its default script."""
        payout = self.ledger.create_payout(self.now, **members)
        self.scripts.begin_payout(payout, self.now)
        return payout

    # Commands of the control API

    def force_transition(
        self, resource: Resource, to: str, *, failure: Failure | None = None, force: bool = False
    ) -> None:
        """Move a resource to a state now, and end its script; `IllegalTransition` unless allowed or forced."""
        self.tick()
        self.recording.did("transition", self.now, id=resource.id, to=to, failure=failure, force=force)
        self.scripts.move(resource, to, self.now, failure=failure, force=force)

    def payer_acts(self, pay_in: PayIn, done: PayerAction) -> None:
        """Let the payer act, and play what follows at once; `ApiError` when the script does not wait for the payer."""
        self.tick()
        self.recording.did("pay-in-payer", self.now, id=pay_in.id, act=done)
        self.scripts.payer_acts(pay_in, done, self.now)
        self.tick()

    def apply(self, settings: Settings) -> None:
        """Change the settings; `UsageError` when they contradict the sandbox's scenario or name an unknown one."""
        self.tick()
        self.recording.did("sandbox-change", self.now, settings=settings)
        self.check_scenario(settings.scenario)
        self.put(self._with_scenario(self.active_scenario, settings))

    def put(self, settings: Settings) -> None:
        """Use these settings from now on, without checks."""
        self._adopt(settings)
        self.publisher.settings = settings
        if self._scripts is not None:
            self._scripts.settings = settings
        self.ledger.stamp = Stamps(seconds=settings.timestamps == "seconds").write
        self.journal.requests.resize(settings.journal_limit)
        self.journal.events.resize(settings.journal_limit)
        self.outbox.limit = settings.journal_limit
        self.journal.most_bytes = settings.journal_bytes
        self.trimmer.keep(0)

    def _replace(self, settings: Settings) -> None:
        if settings is not self.settings:
            self.put(settings)

    def _with_scenario(self, active: str | None, settings: Settings) -> Settings:
        """Return settings with those of the active or default scenario on top; `UsageError` when they contradict."""
        return self.overlay.follow(self.scenario(active or settings.scenario), settings)

    def _adopt(self, settings: Settings) -> None:
        self._catalogue: Catalogue | None = None
        self.settings = settings
        self.guarded = guards(settings)
        """Whether a request with the right secret may still be refused."""

    @property
    def catalogue(self) -> Catalogue:
        """Return what this business offers; computed on first use, and again after the settings have changed."""
        if self._catalogue is None:
            self._catalogue = catalogue_of(self.settings.catalogue)
        return self._catalogue

    @property
    def notification_url(self) -> str | None:
        """Return the target of events whose pay-in has no URL of its own."""
        return self.publisher.notification_url

    def set_notification_url(self, url: str | None) -> None:
        """Change the target of future events, and of the open deliveries to the old one; with None these end unsent."""
        self.tick()
        self.recording.did("webhook-change", self.now, notification_url=url)
        self.publisher.notification_url = url
        for delivery in self.outbox.retarget(url):
            self.timers.cancel_subject(delivery.id)
            self.feed.add(delivery)

    def rotate_secret(self, grace: int) -> str:
        """Return a new webhook secret; the old one signs too for `grace` milliseconds of the sandbox's clock."""
        self.tick()
        self.recording.did("webhook-rotate", self.now, grace=grace)
        self.secrets.rotate(self.ids.make("whsec"), self.now, grace)
        return self.secrets.current

    def replace_secret(self, secret: str) -> None:
        """Sign with another webhook secret from now on, and with no former one."""
        self.tick()
        self.recording.did("webhook-replace", self.now, secret=secret)
        self.secrets.replace(secret)

    def emit_event(self, kind: str, resource: Resource) -> Event:
        """Publish an event about a resource as it is now; `UsageError` if the type is unknown or does not fit."""
        self.tick()
        self.recording.did("event-emit", self.now, type=kind, id=resource.id)
        return self.manual.emit_event(kind, resource, self.now)

    def send_test_webhook(self, kind: str) -> Event:
        """Publish a sample event of a documented type, about an object that exists only in it."""
        self.tick()
        self.recording.did("webhook-test", self.now, type=kind)
        return self.manual.send_test_webhook(kind, self.now, self.settings.disputes.response_window)

    def redeliver(self, delivery: Delivery) -> None:
        """Send a delivery again, now; `UsageError` while an attempt is in flight."""
        self.tick()
        self.recording.did("delivery-redeliver", self.now, id=delivery.id)
        self.manual.redeliver(delivery, self.now)

    def failed_deliveries(self, since: int | None) -> list[Delivery]:
        """Return the deliveries whose latest attempt has failed; with `since`, of attempts due from this instant on."""
        self.tick()
        return self.manual.failed_deliveries(since)

    def hold(self, delivery: Delivery) -> None:
        """Hold a delivery; `UsageError` when it is settled."""
        self.tick()
        self.recording.did("delivery-hold", self.now, id=delivery.id)
        self.manual.hold(delivery)

    def release(self, delivery: Delivery) -> None:
        """Send a held delivery, now; `UsageError` when it is not held."""
        self.tick()
        self.recording.did("delivery-release", self.now, id=delivery.id)
        self.manual.release(delivery, self.now)

    def add_fault(self, fault: Fault) -> Armed:
        """Add a fault, and return it; `UsageError` when its id is taken or there are too many."""
        self.tick()
        self.recording.did("fault-add", self.now, fault=fault)
        return self.faults.add(fault, self.now, self.journal.next())

    def change_fault(self, fault_id: str, fault: Fault) -> Armed:
        """Replace the declaration of a fault, and return it; `UnknownThing` when there is none."""
        self.tick()
        self.recording.did("fault-change", self.now, id=fault_id, fault=fault)
        return self.faults.change(fault_id, fault)

    def remove_fault(self, fault_id: str) -> None:
        """Remove a fault; `UnknownThing` when there is none."""
        self.tick()
        self.recording.did("fault-remove", self.now, id=fault_id)
        self.faults.remove(fault_id)

    def set_quota(self, rule: RateLimit | None) -> None:
        """Set or remove the rate limit; its first window starts unused."""
        self.apply(self.settings.model_copy(update={"rate_limit": rule}))
        if rule is not None:
            self.restart_quota()

    def restart_quota(self) -> None:
        """Let the rate limit begin with an unused window."""
        self.recording.did("quota-restart", self.now)
        self.quota.restart()

    def become(self, *, id: str, business_key: str, business_secret: str, webhook_secret: str | None) -> None:  # noqa: A002
        """Go on as another business with the same seed: the first command of a fork.

        A `webhook_secret` replaces the present one. What was in flight in the original was neither sent nor carried out
        here: such attempts are made again, and the idempotency keys of such requests are free.
        """
        self.recording.did(
            "sandbox-fork",
            self.now,
            id=id,
            business_key=business_key,
            business_secret=business_secret,
            webhook_secret=webhook_secret,
        )
        self.identity = self.identity._replace(id=id, business_key=business_key, business_secret=business_secret)
        if webhook_secret is not None:
            self.identity = self.identity._replace(webhook_secret=webhook_secret)
            self.secrets.replace(webhook_secret)
        self.outbox.take_back()
        self.keys.release_in_flight()
        self.recording.waiting = 0

    def upload_scenario(self, scenario: Scenario) -> None:
        """Use a scenario for its name from the next pay-in on; `UsageError` when there are too many uploads."""
        self.tick()
        self.recording.did("scenario-add", self.now, scenario=scenario)
        self.scenarios.upload(scenario)

    def reset(self, scope: frozenset[str], *, same_ids: bool = False) -> dict[str, int]:
        """Forget the parts that the scope names (`RESET_SCOPES`); returns how many records were removed or cancelled.

        A reset of the state restarts the counters behind the ids. The new ids also depend on the number of resets: a
        receiver that remembers the old ids would take the same ones for duplicates. With `same_ids` they do not.
        """
        clock = self._make_clock() if {"state", "clock"} <= scope else self.clock
        self.recording.did("sandbox-reset", self.now, scope=sorted(scope), same_ids=same_ids, start=clock.now())
        removed: dict[str, int] = {}
        if "deliveries" in scope:
            removed |= self._forget_deliveries()
        if "faults" in scope:
            removed["faults"] = self.faults.clear()
        if "requests" in scope:
            removed["requests"] = self.journal.requests.clear()
        if "scenarios" in scope:
            removed |= self._forget_scenarios()
        if "state" in scope:
            removed |= self._forget_state(scope, clock, same_ids=same_ids)
        if {"deliveries", "faults", "requests"} <= scope:
            self.journal.sequence = 0  # no record with a number is left
            self.journal.stripped = False
        self.feed.note("reset", {"scope": sorted(scope), "removed": removed})
        if scope >= frozenset(RESET_SCOPES) and not self.recording.waiting and self.overlay.scenario is None:
            self.recording.restart(self._beginning())
        return removed

    def _beginning(self) -> Beginning:
        return Beginning(
            self.identity,
            self.settings,
            self.notification_url,
            self.checkout_base,
            self.clock.mode,
            self.clock.rate,
            self.now,
            self.generation,
            self.faults.made,
        )

    def _forget_state(self, scope: frozenset[str], clock: Clock, *, same_ids: bool) -> dict[str, int]:
        removed = {
            "pay_ins": self.ledger.count(PayIn),
            "refunds": self.ledger.count(Refund),
            "disputes": self.ledger.count(Dispute),
            "idempotency_keys": len(self.keys),
            "timers_cancelled": len(self.timers),
        }
        waiting = self.timers.pending()
        ids = self.ids
        self.scenarios.restart()
        self.faults.forget_orders()
        self.generation += not same_ids
        self.start(clock)
        if same_ids:
            # Events and requests that are kept keep their ids, so new ones must not get the same.
            kept = (("evt", "deliveries"), ("req", "requests"))
            self.ids.go_on_from(ids, *(prefix for prefix, part in kept if part not in scope))
        for timer in waiting:
            if isinstance(timer.command, DELIVERY_COMMANDS):
                removed["timers_cancelled"] -= 1
                self.timers.schedule(timer.due, timer.command, timer.subject)
        return removed

    def _forget_deliveries(self) -> dict[str, int]:
        for timer in self.timers.pending():
            if isinstance(timer.command, DELIVERY_COMMANDS):
                self.timers.cancel(timer)
        self.scheduler.clear()
        events = self.journal.events.clear()
        deliveries, cancelled = self.outbox.clear()
        return {"events": events, "deliveries": deliveries, "deliveries_cancelled": cancelled}

    def _forget_scenarios(self) -> dict[str, int]:
        uploads, active = self.scenarios.clear()
        if self.settings.scenario not in self.scenarios.names():
            # The setting named an uploaded scenario. Deposits now play the one that the sandbox was created with.
            self.put(self.settings.model_copy(update={"scenario": self.first_scenario}))
        self._replace(self._with_scenario(self.active_scenario, self.settings))
        return {"scenarios": uploads, "active_scenario": active}

    def close(self) -> None:
        """Stop notifying listeners: a request in flight may end after its sandbox was deleted."""
        self.feed.close()

    # Delivery, driven by the shell

    @property
    def most_in_flight(self) -> int:
        """Return how many attempts an endpoint may have in flight at a time."""
        chosen = self.settings.webhooks.in_flight
        if chosen is not None:
            return chosen
        # A test that moves the clock relies on the order in which events arrive.
        return REAL_IN_FLIGHT if self.clock.mode == "real" else 1

    def ready_endpoints(self) -> list[str]:
        """Return the endpoints to which an attempt can be sent now."""
        return self.outbox.ready_endpoints(self.most_in_flight)

    def next_attempt(self, endpoint: str, wall: int) -> tuple[Delivery, Attempt] | None:
        """Take the next attempt for an endpoint, or None; `wall` is the machine's time in milliseconds."""
        taken = self.outbox.next_attempt(
            endpoint,
            settings=self.settings.webhooks,
            secrets=self.secrets,
            now=self.now,
            wall=wall,
            most=self.most_in_flight,
            plan_for=lambda delivery: self.publisher.plan_attempt(delivery, self.now),
        )
        if taken is not None:
            delivery, attempt = taken
            attempt.sequence = self.journal.next()
            self.recording.add(Taken(delivery, attempt, endpoint, self.now, wall))
            self.trimmer.keep(ATTEMPT_BYTES + attempt.own_bytes(delivery.event))
        return taken

    def settle(self, delivery: Delivery, attempt: Attempt, outcome: Outcome) -> None:
        """Record the outcome of an attempt, and schedule the next one unless it was the last."""
        self.recording.add(Settled(delivery, attempt, outcome, self.now))
        due = self.outbox.settle(delivery, attempt, outcome, settings=self.settings.webhooks)
        if due is not None:
            self.timers.schedule(due, MakeAttempt(delivery.id), delivery.id)
        elif delivery.status == "delivered" and delivery.copies_after_success:
            self.scheduler.succeeded(delivery, self.now)
        self.feed.note("attempt", delivery, attempt)
        self.trimmer.keep(outcome.size)

    # Queries

    def check_scenario(self, name: str) -> None:
        """Raise `UsageError` when there is no scenario of this name; reads no file."""
        self.scenarios.check(name)

    def scenario(self, name: str) -> Scenario:
        """Return a scenario by name, an uploaded one first; `UsageError` when there is none."""
        return self.scenarios.get(name)

    def choose_scenario(self, deposit: Mapping[str, Any]) -> Scenario:
        """Return the scenario for a deposit, from its parsed request; `UsageError` for an unknown name."""
        return self.scenarios.choose(deposit, self.settings.scenario)

    def activate_scenario(self, name: str | None) -> None:
        """Make every new pay-in play a scenario; with None each chooses its own. `UsageError` for an unknown name."""
        self.tick()
        self.recording.did("scenario-activate", self.now, name=name)
        if name is not None:
            self.scenarios.check(name, "name")
        self._replace(self._with_scenario(name, self.settings))  # first, so that a refusal changes nothing
        self.scenarios.activate(name)

    @property
    def active_scenario(self) -> str | None:
        """Return the name of the scenario that every new pay-in plays, or None when each chooses."""
        return self.scenarios.active

    def delivery(self, delivery_id: str) -> Delivery:
        """Return a delivery by id; `UnknownThing` when it is not kept (any more)."""
        found = self.outbox.deliveries.get(delivery_id)
        if found is None:
            raise UnknownThing(f"There is no delivery {delivery_id!r} in sandbox {self.identity.id}.")
        return found

    @property
    def idle(self) -> bool:
        """Return whether nothing will happen without a call: no timer is set, and no delivery is due or in flight."""
        return not len(self.timers) and self.outbox.quiet


def check_scope(scope: frozenset[str], *, same_ids: bool) -> None:
    """Raise `UsageError` for an unusable scope of a reset; callers check it before they change anything."""
    unknown = sorted(scope - frozenset(RESET_SCOPES))
    if unknown:
        parts = ", ".join(RESET_SCOPES)
        raise UsageError(f"{unknown[0]!r} is not a part of a sandbox; there are: {parts}", member="scope")
    if "clock" in scope and "state" not in scope:
        raise UsageError("a reset of the clock needs one of the state; add 'state' to the scope", member="scope")
    if same_ids and "state" not in scope:
        raise UsageError("only a reset of the state can repeat ids; add 'state' to the scope", member="same_ids")
