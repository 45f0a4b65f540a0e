"""The machine: it runs a catalogue of short plays over a merchant, and then a hunt with random ones.

The catalogue (`catalogue.py`) is fixed and comes first, so that no part of the vocabulary is left to chance. In the
hunt Hypothesis chooses the steps, and shrinks a failure; each example prefers half of the vocabulary
(`preferences.py`).

**A play** (`play.py`) is a sequence of steps with one sandbox and one merchant. Before a step its troubles are armed as
faults, after it they are removed; what is due is delivered, and the rules are checked (`judging.py`). At the end all
faults are removed, time passes until nothing more happens (`settling.py`), and the rules of the end are checked
(`in_the_end.py`). What comes in between, while the merchant's code runs, is in `meanwhile.py`; a broken rule becomes a
report in `reporting.py`.

```
   MerchantMachine            catalogue, then hunt: chooses steps and troubles, shortens a failure
        │
      Play ── Story           one step after another, and their description
        │
     Driver ──────────────►  the merchant's adapter: pay, receive, tick, …
        │                          │ service.call, now, sleep, checkpoint
        │ findings                 ▼
        │◄───────────────────  Service       an answer or an error, as a client gets it; interruptions
        │                          │
   receive(webhook)           InProcess      the sandbox: pipeline, faults, clock, deliveries
        ▲                          │
        └──────────────────────────┘
```

**Troubles** (`troubles.py`, `interruptions.py`, `crafted.py`, `provider.py`) are a vocabulary of named values: what
disturbs a POST, a read or a webhook; webhooks that are forged, replayed or unexpected; what happens while a call runs
(a second click, a kill, a webhook that overtakes the reply), or a webhook or a job; what the provider and the payer do
on their own.
`trials.py` notes what of it has acted in a play, `coverage.py` adds that up.

**A verdict** comes from these comparisons, none of which knows the merchant's code:

- `rules/requests.py` and `Service`: the requests and pauses against the client's part of the contract.
- `receiving.classify`: each webhook's bytes against the receiver's part; its answer has to fit.
- `rules/ledger.py`: the sandbox's deposits and refunds against what customers asked for.
- `rules/shown.py` and `at_the_end.py`: what the merchant shows against the expected state (`expected.py`).
- `acknowledged.py`: what it shows after an event that it has acknowledged against what it shows without any trouble.
- `requested_refunds.py`, `left_to_jobs.py`: what it does for one order against what it did for another one.

What a merchant owes after a trouble, and what excuses it, is noted on each order (`debts.py`); the rules of the end ask
for what is owed.

**It is deterministic**: one thread, one sandbox with a fixed seed, and a clock that only steps and sleeps move. The
same choices give the same requests, ids, bodies and order; a merchant that draws nothing of its own repeats exactly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from itertools import count
from typing import Any, ClassVar, Final, Literal

from hypothesis import HealthCheck, Phase, event, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from paydouble.core.errors import UsageError
from paydouble.stateful.calibration import when_it_shows
from paydouble.stateful.catalogue_run import CatalogueRun, Extent, Part, first_of, part_of
from paydouble.stateful.coverage import Coverage
from paydouble.stateful.crafted import AHEAD
from paydouble.stateful.held_to import Shows
from paydouble.stateful.holds import hold_of
from paydouble.stateful.hunting import Hunting, TimeIsUp
from paydouble.stateful.interruptions import (
    CANCEL_MEANWHILE,
    JOB_INTERRUPTIONS,
    MEANWHILE,
    REFUND_MEANWHILE,
    WEBHOOK_INTERRUPTIONS,
    Point,
)
from paydouble.stateful.lifecycles import lifecycles
from paydouble.stateful.merchant import Merchant, knows_play_time
from paydouble.stateful.play import Play
from paydouble.stateful.plays.parts import POINTS
from paydouble.stateful.policies import demanded
from paydouble.stateful.preferences import MOST_PREFERENCES, Preferences
from paydouble.stateful.prices import PRICES
from paydouble.stateful.progress import Progress
from paydouble.stateful.provider import PAYER_ACTS, PROVIDER_ACTS
from paydouble.stateful.ran import Ran
from paydouble.stateful.steps import CataloguePlay, parsed, step
from paydouble.stateful.story import WHAT_HAPPENED
from paydouble.stateful.troubles import (
    AFTERWARDS,
    CANCELLATION_TROUBLES,
    DIALECTS,
    DURATIONS,
    INJECTED,
    ORDER_READ_TROUBLES,
    OWN_REFUND_TROUBLES,
    PAYER_SCENARIOS,
    POLICY_OF_DIALECT,
    POST_TROUBLES,
    READ_TROUBLES,
    REFUND_TROUBLES,
    SCENARIOS,
    SLOW_REFUND,
    SLOW_SCENARIOS,
    WEBHOOK_TROUBLES,
)
from paydouble.stateful.verdicts import AdapterMisfit, MerchantBug
from paydouble.testing.shop_time import unfrozen_session

TIMES: Final = ("6s", "1s", "10m", "25h", "3d")
# While a plain payment is created, pending and processing.
_UNDER_WAY: Final = ("1s", "2500ms", "5s")
MOST_ORDERS: Final = 4
_ROUND: Final = 60
summaries: Final[list[Ran]] = []
"""What the machines of this process have tried, for the end of a test run."""
_ONCE: Final = (
    "This happened once: the same play passed when it was repeated. Either the merchant does not repeat itself (it "
    "draws random numbers, reads the clock of this computer, or keeps something from one play to the next), or this "
    "computer stalled while a call was running."
)
REFUND_CHAINS: Final = ((), ("all",), ("half",), ("most", "most"), ("half", "all"))
PAYER_CHAINS: Final = ((), *((each,) for each in PAYER_ACTS), *(("pays", each) for each in PAYER_ACTS))
PROVIDER_CHAINS: Final = (
    ("refund fails late",),
    ("dispute",),
    ("dispute", "dispute lost"),
    ("dispute", "dispute accepted"),
    ("dispute half", "dispute lost"),
    ("dispute half", "another dispute", "dispute lost", "dispute won"),
    ("dispute", "dispute under review", "dispute lost"),
    ("dispute", "dispute won"),
    ("dispute", "dispute won", "dispute reopened"),
)

_LENGTH: Final = 3
_PAUSES: Final = {"": (), "jobs": (step("wait", "10s"),), "no jobs": (step("pass_time", "10s"),)}

_prices = st.sampled_from(PRICES)
_post_troubles = st.sampled_from(list(POST_TROUBLES))
_webhook_troubles = st.lists(st.sampled_from(list(WEBHOOK_TROUBLES)), max_size=3, unique=True)
_orders = st.integers(1, MOST_ORDERS)
_points = st.sampled_from(POINTS)
"""A point of the merchant's code; the first ones are those at which most is lost."""
_afterwards = st.sampled_from(AFTERWARDS)
_durations = st.sampled_from(list(DURATIONS))
_PHASES: Final = tuple(phase for phase in Phase if phase is not Phase.explain)

# Most payments succeed soon, since the rules about money need some.
_OTHER_SCENARIOS: Final = (*SCENARIOS[1:], *SLOW_SCENARIOS, SLOW_REFUND)
_scenarios = st.sampled_from([*[SCENARIOS[0]] * len(_OTHER_SCENARIOS), *_OTHER_SCENARIOS])
_few_orders = precondition(lambda self: len(self.play.orders) < MOST_ORDERS)
# What is shown for an order that cannot be read is not judged.
_has_others = precondition(lambda self: len(self.play.orders) > 1)
_can_cancel = precondition(lambda self: step("cancel").missing(self.merchant) is None)


PhaseName = Literal["catalogue", "hunt"]
PHASES: Final[tuple[PhaseName, ...]] = ("catalogue", "hunt")
"""What a run consists of, in this order: the fixed plays of the catalogue, and a hunt with random plays."""


class MerchantMachine(RuleBasedStateMachine):
    """Derive from it, name your adapter, and collect its `TestCase`.

    ```python
    class ShopMachine(MerchantMachine):
        merchant = ShopAdapter

    TestShop = ShopMachine.TestCase
    ```
    """

    merchant: ClassVar[type[Merchant] | None] = None
    """The adapter: a `Merchant`."""
    seed: ClassVar[int] = 0
    """The sandbox's seed, from which its ids are drawn."""
    patience_seconds: ClassVar[float] = 10.0
    """What one call of the adapter may take in real time."""
    phases: ClassVar[tuple[PhaseName, ...]] = PHASES
    """What is run of `PHASES`."""
    catalogue_seconds: ClassVar[float | None] = None
    """How long the catalogue goes on, in real time; None for all of it. The dearest mistakes come first."""
    seconds: ClassVar[float | None] = None
    """How long a run goes on at most, both phases together, in real time; None for no such limit."""
    hunt_seconds: ClassVar[float | None] = None
    """How long the hunt goes on, in real time; None for as many examples as Hypothesis's `max_examples` says."""
    first_play: ClassVar[int] = 1
    """The number of the play with which the catalogue begins, to go on where an earlier run has ended."""
    part: ClassVar[tuple[int, int]] = (1, 1)
    """Which part of the catalogue is run, and of how many, for several runners of a CI: `(2, 4)` is every fourth play,
    from the second on. The hunt belongs to the first part."""
    parts: ClassVar[int] = 1
    """In how many tests `TestCase` runs the catalogue, each with a part of it and with `seconds` of its own. Under
    pytest-xdist, `pytest -n 4` runs four of them at the same time, each in a process of its own."""
    most_findings: ClassVar[int] = 1
    """After how many different findings the catalogue ends. The hunt follows only where it has found nothing."""
    found: ClassVar[list[MerchantBug]]
    """What the latest run has found; the report that it raises has all of it."""
    coverage: ClassVar[Coverage]
    """What the latest run has tried, and what it has not."""
    preferences: ClassVar[Preferences]
    shows: ClassVar[Shows] = ""
    misfits: ClassVar[list[AdapterMisfit]]
    hunting: ClassVar[Hunting]
    preferred: Callable[[str, str], str]
    play: Play

    def __init_subclass__(cls) -> None:
        """Run all phases as the machine's test case, without Hypothesis's explain phase, which is slow.

        The report of a failure explains more than that phase.
        """
        super().__init_subclass__()
        cls.coverage = Coverage()
        cls.preferences, cls.misfits, cls.found = Preferences(), [], []
        cls.hunting = Hunting(str, None, None)
        _check_parts(cls)
        test: Any = cls.TestCase
        test.settings = settings(test.settings, phases=_PHASES)
        if cls.parts == 1:
            test.runTest = cls._test(cls)
            return
        for number in range(1, cls.parts + 1):
            members = {"part": (number, cls.parts), "parts": 1, "__module__": cls.__module__}
            part = type(cls.__name__, (cls,), members)
            setattr(test, f"test_part_{number}_of_{cls.parts}", cls._test(part))

    @classmethod
    def _test(cls, tested: type[MerchantMachine]) -> Callable[[Any], None]:
        """Return the test that runs a machine: this one, or one of its parts."""

        def run_test(self: Any) -> None:  # noqa: ANN401 - a unittest.TestCase with Hypothesis's settings
            __tracebackhide__ = True
            try:
                tested.run(self.settings)
            except (MerchantBug, UsageError, AdapterMisfit) as error:
                if isinstance(error, MerchantBug):
                    summaries.append(_ran(tested, len(tested.found)))
                # All frames are the machine's; where the merchant's code raised, the text or the cause says so.
                raise error.with_traceback(None) from error.__cause__
            finally:
                cls.coverage, cls.found = tested.coverage, tested.found

        run_test.is_hypothesis_test = True  # type: ignore[attr-defined]  # what Hypothesis's pytest plugin looks for
        run_test._hypothesis_state_machine_class = tested  # type: ignore[attr-defined]  # noqa: SLF001 - as above
        return run_test

    @classmethod
    def run(cls, hunt: settings) -> Coverage:
        """Run the phases over the merchant; `hunt` are Hypothesis's settings for the hunt. Returns what was tried.

        `MerchantBug` with the report of the first failure. Without one, pytest ends with a summary of what was tried;
        after an interruption also with what was found before it.
        """
        merchant = cls._merchant()
        cls.coverage, cls.preferences = Coverage(merchant.accepts), Preferences()
        cls.misfits, cls.found = [], []
        if "catalogue" in cls.phases and cls.first_play != 1:
            first_of(merchant, cls.first_play, "first_play")
        part = part_of(*cls.part, "part")
        if "catalogue" not in cls.phases and part.of > 1:
            raise UsageError("the hunt has no parts; leave it out", member="part")
        is_patched = merchant.follows_time and not merchant.served
        with (
            unfrozen_session() if is_patched else nullcontext(),
            _serving(merchant),
            closing(Progress(cls.__name__)) as progress,
        ):
            try:
                cls._run_phases(merchant, hunt, progress)
            except MerchantBug as bug:
                cls.found = cls.found or [bug]
                raise
            except KeyboardInterrupt:
                # Also what it was still looking for a shorter play of.
                latest = cls.hunting.found
                cls.found = cls.found or ([] if latest is None else [latest])
                reports = tuple(map(str, cls.found))
                summaries.append(_ran(cls, len(cls.found))._replace(interrupted=True, reports=reports))
                raise
        summaries.append(_ran(cls))
        return cls.coverage

    @classmethod
    def _run_phases(cls, merchant: type[Merchant], hunt: settings, progress: Progress) -> None:
        until = None if cls.seconds is None else time.monotonic() + cls.seconds
        cls.shows = when_it_shows(merchant, cls.seed, cls.patience_seconds)
        run = CatalogueRun(merchant, cls.seed, cls.patience_seconds, cls.shows, progress)
        if "catalogue" in cls.phases:
            if not merchant.served or knows_play_time(merchant):
                progress("how long an order is kept that nobody pays")
                run = run._replace(hold=hold_of(merchant, cls.seed, cls.patience_seconds, until))
            seconds = _shorter(cls.catalogue_seconds, until)
            run.all(cls.coverage, cls.found, Extent(seconds, cls.first_play, cls.most_findings, Part(*cls.part)))
            if cls.found:
                raise _together(cls.found)
        if "hunt" in cls.phases and cls.part[0] == 1:
            most = hunt.max_examples if cls.hunt_seconds is None else None
            cls.hunting = Hunting(progress, most, _shorter(cls.hunt_seconds, until))
            try:
                cls._hunt(hunt)
                cls.coverage.examples_left_out = cls.hunting.left_out
            except Flaky:
                # Hypothesis names either the failure or, when a repetition ends earlier, its own test data.
                bug = cls.hunting.found
                if bug is None:
                    raise
                once = MerchantBug(bug.verdict, f"{bug}\n\n{_ONCE}", bug.rule, bug.calls, bug.dialect)
                once.taped = bug.taped
                raise once from None
            except MerchantBug as bug:
                play = CataloguePlay(tuple(parsed(call) for call in bug.calls), dialect=bug.dialect)
                shortest = run.shortest(play, bug)
                if shortest is bug:
                    raise
                raise shortest from None

    @classmethod
    def _hunt(cls, hunt: settings) -> None:
        try:
            cls._hunt_on(hunt)
        except (TimeIsUp, Exception) as error:
            # Hypothesis may take an example that ends at once for one that draws less than it did before.
            if cls.hunting.is_over and isinstance(error, TimeIsUp | Flaky):
                return
            # Hypothesis may have reported it as an example that is not the same when it is repeated.
            if cls.misfits:
                raise cls.misfits[0] from None
            raise

    @classmethod
    def _hunt_on(cls, hunt: settings) -> None:
        if cls.hunt_seconds is None:
            run_state_machine_as_test(cls, settings=hunt)
            return
        first = getattr(cls, "_hypothesis_internal_use_seed", None)
        for number in count():
            # Hypothesis counts examples, not seconds; each round has a seed of its own, from the first.
            each: Any = type(cls.__name__, (cls,), {})
            if first is not None or hunt.derandomize:
                seeded(f"{first}/{number}")(each)
            each.coverage, each.preferences, each.misfits = cls.coverage, cls.preferences, cls.misfits
            each.hunting = cls.hunting
            run_state_machine_as_test(each, settings=settings(hunt, max_examples=_ROUND))

    @classmethod
    def _merchant(cls) -> type[Merchant]:
        if cls.merchant is None:
            raise UsageError(f"{cls.__name__}.merchant is not set; name the class of your adapter there")
        return cls.merchant

    @initialize(dialect=st.sampled_from(list(DIALECTS)), preference=st.integers(0, MOST_PREFERENCES))
    def start(self, dialect: str, preference: int = 0) -> None:
        """Start with an empty shop, and with half of the vocabulary preferred."""
        merchant = self._merchant()
        if POLICY_OF_DIALECT.get(dialect) not in {None, *demanded(merchant.demands)}:
            dialect = "plain"  # nothing that an example meets there would be a finding
        self.hunting.begin()
        self.preferred = self.preferences.of(preference, self.coverage)
        try:
            self.play = Play(
                merchant, dialect=dialect, seed=self.seed, patience_seconds=self.patience_seconds, shows=self.shows
            )
        except AdapterMisfit as misfit:
            self.misfits.append(misfit)
            raise

    @_few_orders
    @rule(price=_prices, troubles=st.lists(_post_troubles, min_size=1, max_size=2))
    def buy(self, price: tuple[str, str], troubles: list[str]) -> None:
        """One or two orders are placed and paid, each with one trouble."""
        for trouble in troubles:
            self.play.order(*price)
            self.play.pay(len(self.play.orders), self.preferred("POST", trouble))

    @_few_orders
    @rule(price=_prices, trouble=_post_troubles, meanwhile=st.sampled_from(list(MEANWHILE)[1:]), at=_points)
    def buy_interrupted(self, price: tuple[str, str], trouble: str, meanwhile: str, at: Point) -> None:
        """An order is placed and paid, and something happens meanwhile."""
        self.play.order(*price)
        self.play.pay(len(self.play.orders), self.preferred("POST", trouble), meanwhile=meanwhile, at=at)

    @_few_orders
    @rule(price=_prices, troubles=_webhook_troubles, scenario=_scenarios)
    def buy_and_wait(self, price: tuple[str, str], troubles: list[str], scenario: str) -> None:
        """An order is placed and paid, its webhooks are disturbed, and time passes."""
        self.play.order(*price)
        for trouble in troubles:
            self.play.webhooks(self.preferred("webhooks", trouble))
        self.play.pay(len(self.play.orders), scenario=scenario)
        self.play.wait("10s")

    @_few_orders
    @rule(price=_prices, time=st.sampled_from(["80h", "1h", "25h"]), restarted=st.booleans(), lasts=_durations)
    def buy_on_a_dead_line(self, price: tuple[str, str], time: str, restarted: bool, lasts: int | str) -> None:  # noqa: FBT001 - Hypothesis passes it
        """An order is placed, and the connection is lost while it is paid."""
        self.play.order(*price)
        self.play.dead_line(len(self.play.orders), time, restarted=restarted, lasts=lasts)

    @_few_orders
    @rule(price=_prices, refunds=st.sampled_from(REFUND_CHAINS), acts=st.sampled_from(PROVIDER_CHAINS))
    def buy_and_refund(self, price: tuple[str, str], refunds: tuple[str, ...], acts: tuple[str, ...]) -> None:
        """An order is placed, paid and refunded, and then the provider acts."""
        self.play.order(*price)
        number = len(self.play.orders)
        self.play.pay(number)
        self.play.wait("10s")
        for share in refunds:
            self.play.refund(number, share)
        if refunds:
            self.play.wait("10s")
        for act in acts:
            self.play.provider(act, number)

    @_few_orders
    @rule(
        price=_prices,
        troubles=_webhook_troubles,
        which=st.integers(0, len(lifecycles(_LENGTH)) - 1),
        pauses=st.lists(st.sampled_from(list(_PAUSES)), min_size=_LENGTH, max_size=_LENGTH),
    )
    def buy_and_live(self, price: tuple[str, str], troubles: list[str], which: int, pauses: list[str]) -> None:
        """An order is placed and paid, and then refunds, a cancellation and a dispute meet."""
        self.play.order(*price)
        number = len(self.play.orders)
        self.play.pay(number)
        self.play.wait("10s")
        for trouble in troubles:
            self.play.webhooks(self.preferred("webhooks", trouble))
        for act, pause in zip(lifecycles(_LENGTH, number)[which], pauses, strict=True):
            for each in (act, *_PAUSES[pause]):
                if each.missing(self._merchant()) is None:
                    each.take(self.play)

    @_few_orders
    @rule(price=_prices, scenario=st.sampled_from(PAYER_SCENARIOS), acts=st.sampled_from(PAYER_CHAINS))
    def buy_and_let_the_payer_act(self, price: tuple[str, str], scenario: str, acts: tuple[str, ...]) -> None:
        """An order is placed, and its payment waits until the payer acts."""
        self.play.order(*price)
        number = len(self.play.orders)
        self.play.pay(number, scenario=self.preferred("scenario", scenario))
        for act in acts:
            self.play.payer(self.preferred("payer", act), number)
            self.play.returns(number)

    @_few_orders
    @rule(price=_prices)
    def buy_and_pay_late(self, price: tuple[str, str]) -> None:
        """An order is placed, its payment expires, and the money arrives later."""
        self.play.order(*price)
        number = len(self.play.orders)
        self.play.pay(number, scenario="abandoned")
        self.play.wait("25h")
        self.play.provider("late money", number)

    @_can_cancel
    @_few_orders
    @rule(
        price=_prices,
        time=st.sampled_from(_UNDER_WAY),
        trouble=st.sampled_from(list(CANCELLATION_TROUBLES)),
        lasts=_durations,
        meanwhile=st.sampled_from(list(CANCEL_MEANWHILE)),
        at=_points,
    )
    def buy_and_cancel(  # noqa: PLR0913, PLR0917 - what can disturb a cancellation
        self, price: tuple[str, str], time: str, trouble: str, lasts: int | str, meanwhile: str, at: Point
    ) -> None:
        """An order is cancelled while its payment is under way, and the request for that is disturbed."""
        self.play.order(*price)
        number = len(self.play.orders)
        self.play.pay(number)
        self.play.pass_time(time)
        self.play.cancellations(self.preferred("cancellation", trouble), lasts=lasts)
        self.play.cancel(number, meanwhile=meanwhile, at=at)
        # A job may send the request, while the payment still waits.
        self.play.wait("1s")
        self.play.wait("10s")

    @rule(
        order=_orders,
        trouble=_post_troubles,
        meanwhile=st.sampled_from(list(MEANWHILE)),
        at=_points,
        lasts=_durations,
        then=_afterwards,
    )
    def pay(self, order: int, trouble: str, meanwhile: str, at: Point, lasts: int | str, then: str = "none") -> None:  # noqa: PLR0913, PLR0917 - what can disturb a click
        """A customer pays an order, paid or not."""
        self.play.pay(order, self.preferred("POST", trouble), meanwhile=meanwhile, at=at, lasts=lasts, then=then)

    @rule(order=_orders, trouble=_post_troubles)
    def retry(self, order: int, trouble: str) -> None:
        """A customer clicks again."""
        self.play.retry(order, self.preferred("POST", trouble))

    @rule(order=_orders)
    def returns(self, order: int) -> None:
        """A payer comes back to the shop."""
        self.play.returns(order)

    @rule(
        order=_orders,
        share=st.sampled_from(["all", "half", "most"]),
        trouble=st.sampled_from(REFUND_TROUBLES),
        meanwhile=st.sampled_from(list(REFUND_MEANWHILE)),
        at=_points,
        lasts=_durations,
    )
    def refund(self, order: int, share: str, trouble: str, meanwhile: str, at: Point, lasts: int | str) -> None:  # noqa: PLR0913, PLR0917 - what can disturb a refund
        """The merchant refunds an order."""
        self.play.refund(order, share, self.preferred("refund", trouble), meanwhile=meanwhile, at=at, lasts=lasts)

    @rule(order=_orders)
    def refund_again(self, order: int) -> None:
        """The last refund is requested again."""
        self.play.refund_again(order)

    @_can_cancel
    @rule(order=_orders, meanwhile=st.sampled_from(list(CANCEL_MEANWHILE)), at=_points)
    def cancel(self, order: int, meanwhile: str, at: Point) -> None:
        """A customer cancels an order."""
        self.play.cancel(order, meanwhile=meanwhile, at=at)

    @rule(time=st.sampled_from(TIMES))
    def wait(self, time: str) -> None:
        """Time passes."""
        self.play.wait(time)

    @rule(time=st.sampled_from(TIMES))
    def pass_time(self, time: str) -> None:
        """Time passes, and no background job runs."""
        self.play.pass_time(time)

    @rule()
    def work_off(self) -> None:
        """Background jobs run, and no read gets an answer."""
        self.play.work_off()

    @rule(time=st.sampled_from(["1h", "50h", "80h"]))
    def outage(self, time: str) -> None:
        """The merchant's receiver is down."""
        self.play.outage(time)

    @rule()
    def restart(self) -> None:
        """The merchant is restarted."""
        self.play.restart()

    @rule(trouble=st.sampled_from(list(READ_TROUBLES)), lasts=_durations)
    def reads(self, trouble: str, lasts: int | str) -> None:
        """Reads are disturbed."""
        self.play.reads(self.preferred("reads", trouble), lasts=lasts)

    @_has_others
    @rule(trouble=st.sampled_from(list(ORDER_READ_TROUBLES)), order=_orders)
    def reads_of(self, trouble: str, order: int) -> None:
        """Nothing can be read about an order."""
        self.play.reads_of(self.preferred("reads of one order", trouble), order)

    @rule(trouble=st.sampled_from(list(OWN_REFUND_TROUBLES)), lasts=_durations)
    def own_refunds(self, trouble: str, lasts: int | str) -> None:
        """A refund that nobody has asked for is disturbed."""
        self.play.own_refunds(self.preferred("own refund", trouble), lasts=lasts)

    @_can_cancel
    @rule(trouble=st.sampled_from(list(CANCELLATION_TROUBLES)), lasts=_durations)
    def cancellations(self, trouble: str, lasts: int | str) -> None:
        """A request that cancels a payment is disturbed."""
        self.play.cancellations(self.preferred("cancellation", trouble), lasts=lasts)

    @rule(what=st.sampled_from(list(JOB_INTERRUPTIONS)), at=_points)
    def interrupt_jobs(self, what: str, at: Point) -> None:
        """Background jobs run, and are interrupted."""
        self.play.interrupt_jobs(self.preferred("interrupted job", what), at)

    @rule(how=st.sampled_from(list(AHEAD)))
    def webhook_ahead(self, how: str) -> None:
        """Something comes just ahead of the next webhook."""
        self.play.webhook_ahead(self.preferred("webhook ahead", how))

    @rule(what=st.sampled_from(list(WEBHOOK_INTERRUPTIONS)), at=_points)
    def interrupt_webhook(self, what: str, at: Point) -> None:
        """The merchant is interrupted while it handles a webhook."""
        self.play.interrupt_webhook(self.preferred("interrupted webhook", what), at)

    @rule(hows=st.lists(st.sampled_from(list(INJECTED)), min_size=1, max_size=3), which=st.integers(1, 5))
    def inject(self, hows: list[str], which: int) -> None:
        """Forged, repeated or unexpected webhooks arrive."""
        for how in hows:
            self.play.inject(self.preferred("injected webhook", how), which)

    @rule(acts=st.permutations(list(PROVIDER_ACTS)), order=_orders)
    def provider(self, acts: list[str], order: int) -> None:
        """The provider acts on its own, in the first way that is possible."""
        before = len(self.play.story.calls)
        for what in acts:
            self.play.provider(self.preferred("provider", what), order)
            if len(self.play.story.calls) > before:
                break

    def teardown(self) -> None:
        """End the play, unless it has failed."""
        play: Play | None = self.__dict__.pop("play", None)
        if play is None:
            return
        try:
            if not play.failed:
                play.end()
        finally:
            play.close()
            self.coverage.add(play.tried)
            self.coverage.examples += 1
            self.hunting.end(play.reported)
            for table, name in dict.fromkeys((trial.table, trial.name) for trial in play.trials):
                event(f"{table}: {name}")


def _ran(machine: type[MerchantMachine], findings: int = 0) -> Ran:
    return Ran(machine.__name__, machine.coverage, findings, module=machine.__module__)


def _check_parts(machine: Any) -> None:  # noqa: ANN401 - what a user has written into the class
    if not isinstance(machine.parts, int) or machine.parts < 1:
        raise UsageError(f"{machine.__name__}.parts is {machine.parts!r}; give a number from 1 on", member="parts")
    if machine.parts > 1 and machine.part != (1, 1):
        raise UsageError(f"{machine.__name__} has parts and is itself a part; leave one of them out", member="parts")


def _serving(merchant: type[Merchant]) -> AbstractContextManager[None]:
    if not merchant.served:
        return nullcontext()
    from paydouble.stateful.play_server import serving  # noqa: PLC0415 - most machines need no server

    return serving(merchant.service_port)


def _together(found: Sequence[MerchantBug]) -> MerchantBug:
    """Return one report of several findings; the first's verdict is that of all."""
    first = found[0]
    title = "Finding {number} of {of}:\n\n" if len(found) > 1 else ""
    texts = (f"{title.format(number=number, of=len(found))}{_placed(bug)}" for number, bug in enumerate(found, 1))
    both = MerchantBug(first.verdict, "\n\n\n".join(texts), first.rule, first.calls, first.dialect)
    both.taped, both.others, both.place = first.taped, first.others, first.place
    return both


def _placed(bug: MerchantBug) -> str:
    """Return a report with the play of the catalogue that has found it."""
    if bug.place is None:
        return str(bug)
    verdict, what_happened, story = str(bug).partition(WHAT_HAPPENED)
    found = f"Play {bug.place.number:,} of {bug.place.of:,} of the catalogue found this"
    return f"{verdict}{found}. After a fix, first_play = {bug.place.number} begins with it.\n\n{what_happened}{story}"


def _shorter(seconds: float | None, until: float | None) -> float | None:
    """Return the shorter of a limit and of what is left of another one."""
    left = None if until is None else max(0.0, until - time.monotonic())
    return min((each for each in (seconds, left) if each is not None), default=None)


def explore(
    merchant: type[Merchant],
    *,
    seed: int = 0,
    examples: int = 200,
    steps: int = 12,
    phases: tuple[PhaseName, ...] = PHASES,
) -> Coverage:
    """Run the machine over a merchant with a fixed seed; returns what was tried.

    `MerchantBug` with the report when it finds one.
    """
    machine: Any = type(f"{merchant.__name__}Machine", (MerchantMachine,), {"merchant": merchant, "phases": phases})
    found: Coverage = seeded(seed)(machine).run(hunt_settings(examples, steps))
    return found


def hunt_settings(examples: int, steps: int) -> settings:
    """Return settings for a hunt outside of a test: nothing is stored, and the only report is the machine's."""
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
        print_blob=False,
    )
