"""What comes in between: acts that are carried out while the merchant's code runs, at a point of it.

`interruptions.py` names the acts and the points. Here each act is done to the order that is worked on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, assert_never

from paydouble.stateful.debts import Debts
from paydouble.stateful.driver import Driver
from paydouble.stateful.expected import Order
from paydouble.stateful.interruptions import KINDS, Act, Point, checked_point
from paydouble.stateful.provider import PAYER_ACTS, PROVIDER_ACTS, ProviderAct, carried_out
from paydouble.stateful.trials import Trials
from paydouble.stateful.verdicts import DatabaseDown, ProcessKilled

DoTo = Callable[[Order | None], object]
"""Does something to the order that is worked on; None when it is not known which one that is."""
UNTIL_PAID_MS: Final = 10_000
"""A plain payment has succeeded by then."""


class Meanwhile:
    """Lets things come in between in one play."""

    def __init__(
        self,
        driver: Driver,
        debts: Debts,
        noted: Trials,
        cancel: Callable[[Order], None],
        place_order: Callable[[], Order],
    ) -> None:
        """Take the merchant's driver, what is owed and what was tried, what cancels an order, and what places one."""
        self._driver = driver
        self._double = driver.double
        self._box = driver.double.sandbox
        self._debts = debts
        self._noted = noted
        self._cancel = cancel
        self._place_order = place_order

    def interrupt(self, table: str, what: str, at: Point, order: Order | None, click: DoTo) -> None:
        """Let something come `at` a point of the merchant's code, while the next call is running.

        `click` is what the customer does once more; `table` is what the act is noted under.
        """
        kind, state, at = KINDS.get(what), self._noted.state(), checked_point(at)
        if kind is None or not self._driver.can_act(kind):
            return
        carry_out = self.carrying_out(kind.act, click)
        if carry_out is not None:

            def act() -> None:
                self._noted.note(table, what, state)
                carry_out(order)

            self._driver.interrupt(kind, at, act)

    def carrying_out(  # noqa: C901, PLR0911, PLR0912 - a case for each act
        self, act: Act, click: DoTo
    ) -> DoTo | None:
        """Return what does an act; None for one that comes with a reply or a webhook."""
        match act:
            case Act.CLICK | Act.REFUND:
                return click
            case Act.KILL:
                return _kill
            case Act.BREAK:
                return _break
            case Act.EVENTS:
                return lambda _: self._double.advance(by=UNTIL_PAID_MS)
            case Act.JOBS:
                return lambda _: self._driver.call("tick")
            case Act.WORK:
                return lambda _: (self._double.advance(by=UNTIL_PAID_MS), self._driver.call("tick"))
            case Act.CANCEL:
                return self.cancel
            case Act.PAY:
                return self._pay
            case Act.PAYER:
                return partial(self._payer_does, PAYER_ACTS["pays"])
            case Act.DISPUTE:
                return partial(self._payer_does, PROVIDER_ACTS["dispute"])
            case Act.CUSTOMER:
                return self._another_customer()
            case Act.RETURN:
                return self._come_back
            case Act.WEBHOOK_FIRST | Act.LOSE_ANSWER | Act.KILL_LATER | Act.AGAIN | Act.ANOTHER:
                return None
            case _:
                assert_never(act)

    def cancel(self, order: Order | None) -> None:
        """Let the customer cancel the order."""
        if order is not None:
            self._cancel(order)

    def click_again(self, order: Order | None) -> None:
        """Let the customer press the button again."""
        if order is not None and not order.is_cancelled:
            self._debts.allow_deposit(order)
            order.disturbed = order.was_clicked_again = True
            self._driver.call("retry", order.id)

    def _pay(self, order: Order | None) -> None:
        if order is not None:
            self._debts.allow_deposit(order)
            how, order.was_clicked = "retry" if order.was_clicked else "pay", True
            self._driver.call(how, order.id)

    def _payer_does(self, act: ProviderAct, order: Order | None) -> None:
        if order is not None and carried_out(act, self._box, order) is not None:
            self._double.advance(by=UNTIL_PAID_MS)
            self._driver.call("tick")

    def _come_back(self, order: Order | None) -> None:
        if order is not None:
            self._driver.call("customer_returns", order.id)

    def _another_customer(self) -> DoTo:
        """Place an order; return the click that pays it, for a moment at which the merchant works on something else."""
        order = self._place_order()
        # What waits for the other's requests may meet these.
        order.disturbed = True

        def click(_: Order | None) -> None:
            self._debts.allow_deposit(order)
            self._driver.call("pay", order.id)
            order.was_clicked = True

        return click


def _kill(_: Order | None) -> None:
    raise ProcessKilled


def _break(_: Order | None) -> None:
    raise DatabaseDown("the database is down")
