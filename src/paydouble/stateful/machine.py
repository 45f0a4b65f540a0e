"""The machine: Hypothesis chooses what happens to a merchant, and shrinks what went wrong to a short story."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from paydouble.core.errors import UsageError
from paydouble.stateful.merchant import Merchant
from paydouble.stateful.play import REFUNDS, TWISTS, UPSETS, Play
from paydouble.stateful.provider import ACTS
from paydouble.stateful.troubles import DIALECTS, HOOKS, LIVES, POSTS, READS, STRIKES

# Amounts that binary floats get wrong, and currencies without minor digits, with two and with three.
PRICES: Final = (("49.90", "EUR"), ("19.99", "USD"), ("4.35", "GBP"), ("1500", "JPY"), ("1.005", "KWD"))
TIMES: Final = ("6s", "1s", "10m", "25h", "3d")
MOST_ORDERS: Final = 4
REFUND_CHAINS: Final = ((), ("all",), ("half",), ("most", "most"), ("half", "all"))
PROVIDER_CHAINS: Final = (
    ("refund fails late",),
    ("dispute",),
    ("dispute", "dispute lost"),
    ("dispute", "dispute won"),
    ("dispute", "dispute won", "dispute reopened"),
)

_prices = st.sampled_from(PRICES)
_posts = st.sampled_from(list(POSTS))
_hooks = st.lists(st.sampled_from(list(HOOKS)), max_size=3, unique=True)
_orders = st.integers(1, MOST_ORDERS)
_points = st.integers(0, 3)
"""A point of the merchant's code; the first ones are those at which most is lost."""
_PHASES: Final = tuple(phase for phase in Phase if phase is not Phase.explain)

# Most payments come to an end that there is something to lose of.
_lives = st.sampled_from([LIVES[0]] * 3 + list(LIVES[1:]))
_few_orders = precondition(lambda self: len(self.play.orders) < MOST_ORDERS)


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
    play: Play

    def __init_subclass__(cls) -> None:
        """Leave Hypothesis's explaining out: it takes longer than search and shrinking, and a story explains."""
        super().__init_subclass__()
        test: Any = cls.TestCase
        test.settings = settings(test.settings, phases=_PHASES)

    @initialize(dialect=st.sampled_from(list(DIALECTS)))
    def raise_the_curtain(self, dialect: str) -> None:
        """Begin with an empty shop."""
        if self.merchant is None:
            raise UsageError(f"{type(self).__name__}.merchant is not set; name the class of your adapter there")
        self.play = Play(self.merchant, dialect=dialect, seed=self.seed, patience_seconds=self.patience_seconds)

    @_few_orders
    @rule(price=_prices, troubles=st.lists(_posts, min_size=1, max_size=2))
    def buy(self, price: tuple[str, str], troubles: list[str]) -> None:
        """An order or two are placed and paid, and with each one thing goes wrong."""
        for trouble in troubles:
            self.play.order(*price)
            self.play.pay(len(self.play.orders), trouble)

    @_few_orders
    @rule(price=_prices, trouble=_posts, twist=st.sampled_from(list(TWISTS)[1:]), at=_points)
    def buy_with_a_twist(self, price: tuple[str, str], trouble: str, twist: str, at: int) -> None:
        """An order is placed and paid, and something comes in between."""
        self.play.order(*price)
        self.play.pay(len(self.play.orders), trouble, twist=twist, at=at)

    @_few_orders
    @rule(price=_prices, troubles=_hooks, life=_lives)
    def buy_and_wait(self, price: tuple[str, str], troubles: list[str], life: str) -> None:
        """An order is placed and paid, its webhooks do not come as they should, and time passes."""
        self.play.order(*price)
        for trouble in troubles:
            self.play.webhooks(trouble)
        self.play.pay(len(self.play.orders), life=life)
        self.play.wait("10s")

    @_few_orders
    @rule(price=_prices, time=st.sampled_from(["80h", "1h", "25h"]), restarted=st.booleans())
    def buy_on_a_dead_line(self, price: tuple[str, str], time: str, restarted: bool) -> None:  # noqa: FBT001 - Hypothesis passes it
        """An order is placed, and the line goes dead while it is paid."""
        self.play.order(*price)
        self.play.dead_line(len(self.play.orders), time, restarted=restarted)

    @_few_orders
    @rule(price=_prices, refunds=st.sampled_from(REFUND_CHAINS), acts=st.sampled_from(PROVIDER_CHAINS))
    def buy_and_regret(self, price: tuple[str, str], refunds: tuple[str, ...], acts: tuple[str, ...]) -> None:
        """An order is placed, paid and refunded, and then the provider has a say."""
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
    @rule(price=_prices)
    def buy_and_come_late(self, price: tuple[str, str]) -> None:
        """An order is placed, its payment expires, and the money comes after all."""
        self.play.order(*price)
        number = len(self.play.orders)
        self.play.pay(number, life="abandoned")
        self.play.wait("25h")
        self.play.provider("late money", number)

    @rule(order=_orders, trouble=_posts, twist=st.sampled_from(list(TWISTS)), at=_points)
    def pay(self, order: int, trouble: str, twist: str, at: int) -> None:
        """A customer pays what may have been paid."""
        self.play.pay(order, trouble, twist=twist, at=at)

    @rule(order=_orders, trouble=_posts)
    def retry(self, order: int, trouble: str) -> None:
        """A customer clicks again."""
        self.play.retry(order, trouble)

    @rule(order=_orders)
    def returns(self, order: int) -> None:
        """A payer comes back."""
        self.play.returns(order)

    @rule(
        order=_orders,
        share=st.sampled_from(["all", "half", "most"]),
        trouble=st.sampled_from(REFUNDS),
        twist=st.sampled_from(["none", "second click", "dies"]),
    )
    def refund(self, order: int, share: str, trouble: str, twist: str) -> None:
        """Money goes back."""
        self.play.refund(order, share, trouble, twist=twist)

    @rule(order=_orders)
    def refund_again(self, order: int) -> None:
        """A clerk clicks twice."""
        self.play.refund_again(order)

    @rule(time=st.sampled_from(TIMES))
    def wait(self, time: str) -> None:
        """Time passes."""
        self.play.wait(time)

    @rule(time=st.sampled_from(["1h", "50h", "80h"]))
    def outage(self, time: str) -> None:
        """The merchant is down."""
        self.play.outage(time)

    @rule()
    def restart(self) -> None:
        """The merchant is started anew."""
        self.play.restart()

    @rule(trouble=st.sampled_from(list(READS)))
    def reads(self, trouble: str) -> None:
        """Reads go wrong."""
        self.play.reads(trouble)

    @rule(what=st.sampled_from(list(UPSETS)), at=_points)
    def upset(self, what: str, at: int) -> None:
        """The merchant is hit while it works."""
        self.play.upset(what, at)

    @rule(hows=st.lists(st.sampled_from(list(STRIKES)), min_size=1, max_size=3), which=st.integers(1, 5))
    def strike(self, hows: list[str], which: int) -> None:
        """Somebody forges, or repeats."""
        for how in hows:
            self.play.strike(how, which)

    @rule(what=st.sampled_from(list(ACTS)), order=_orders)
    def provider(self, what: str, order: int) -> None:
        """The provider has the last word."""
        self.play.provider(what, order)

    def teardown(self) -> None:
        """Heal, settle, judge."""
        play: Play | None = self.__dict__.pop("play", None)
        if play is None:
            return
        try:
            if not play.failed:
                play.end()
        finally:
            play.close()


def explore(merchant: type[Merchant], *, seed: int = 0, examples: int = 200, steps: int = 12) -> None:
    """Run the machine over a merchant with a fixed seed; raises `MerchantBug` with the story when it finds one."""
    machine = type(f"{merchant.__name__}Machine", (MerchantMachine,), {"merchant": merchant})
    machine._hypothesis_internal_use_seed = seed  # type: ignore[attr-defined]  # noqa: SLF001 - what `hypothesis.seed` sets
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
            report_multiple_bugs=False,
            print_blob=False,
        ),
    )
