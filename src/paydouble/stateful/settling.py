"""How a play comes to rest in the end: background jobs run until nothing changes.

Jobs that run each minute repeat a lost request long before an order's hold is over, so the first pauses are short.
Whatever is due after days comes when jobs have had their turns each hour: a request whose outcome is unknown has to be
repeated while its key is valid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Final

from paydouble.core.durations import UNITS_MS
from paydouble.payments.resources import PayIn
from paydouble.stateful import expected, rules
from paydouble.stateful.driver import Driver
from paydouble.stateful.expected import Order

_ROUNDS: Final = 8
_ROUNDS_OF_HOURS: Final = 2
_FIRST_PAUSES: Final = (UNITS_MS["m"], 10 * UNITS_MS["m"])
_HOUR: Final = UNITS_MS["h"]
_DAY: Final = UNITS_MS["d"]
_MOST_TIMERS: Final = 10_000
_TIMERS_AT_ONCE: Final = 25
_MOST_PAY_INS: Final = 20


class Settling:
    """Lets one play come to rest."""

    def __init__(self, driver: Driver, orders: Sequence[Order], run_jobs: Callable[[], None]) -> None:
        """Take the merchant's driver, the orders, which may still grow, and what runs the merchant's jobs once."""
        self._driver = driver
        self._double = driver.double
        self._box = driver.double.sandbox
        self._orders = orders
        self._run_jobs = run_jobs

    def settle(self) -> int:
        """Let jobs and time go on until nothing changes and no refund is due; returns how often the jobs have run."""
        return self._let_jobs_end() + self._wait_for_refunds()

    def _let_jobs_end(self) -> int:
        """Let jobs run until nothing changes; returns how often they have run."""
        for pause in _FIRST_PAUSES:
            self._run_jobs()
            self._until_idle(self._box.now + pause)
        times = len(_FIRST_PAUSES)
        for round_number in range(_ROUNDS):
            before = self._progress()
            self._run_jobs()
            self._until_idle(self._box.now + _HOUR)
            if round_number >= _ROUNDS_OF_HOURS:
                self._until_idle()
            times += 1
            is_over = round_number and self._box.idle and before == self._progress()
            if is_over or self._runs_away() or round_number + 1 == _ROUNDS:
                self._run_jobs()
                times += 1
                # What this run has learned may be worked on in the next one.
                if self._runs_away() or before == self._progress():
                    break
        return times

    def _wait_for_refunds(self) -> int:
        """Let a day pass while a refund stays refused, or is not made; returns how often the jobs have run.

        The merchant may wait so long before it repeats one that has failed or was refused, and refuse others until
        then.
        """
        times, until = 0, self._box.now + _DAY + _HOUR
        while self._box.now < until and not self._runs_away() and self._lacks_refunds():
            self._run_jobs()
            self._until_idle(self._box.now + _HOUR)
            times += 1
        return times + self._let_jobs_end() if times else 0

    def _lacks_refunds(self) -> bool:
        states = ((order, expected.expected_state(self._box, order)) for order in self._orders)
        return any(
            [
                *rules.refusals.of_refusals(order, state),
                *rules.at_the_end.of_refunds_due(self._box, order, order.status, state),
            ]
            for order, state in states
        )

    def _progress(self) -> object:
        """Return what changes as long as a play is not over: what the merchant shows, and the events."""
        balances: list[Decimal | None] = []
        with self._driver.looking():
            balances += [self._driver.shown.balance(order.id) for order in self._orders]
        return self._driver.statuses(), balances, self._box.journal.events.total

    def _until_idle(self, to: int | None = None) -> None:
        # A merchant that answers each event with another deposit never comes to rest; the ledger shows it early.
        for _ in range(_MOST_TIMERS // _TIMERS_AT_ONCE):
            if self._double.advance(to=to, limit=_TIMERS_AT_ONCE) < _TIMERS_AT_ONCE:
                return
            self._driver.add_findings(rules.ledger.of_ledger(self._box, self._orders))
            if self._runs_away():
                return

    def _runs_away(self) -> bool:
        return bool(self._driver.findings) and self._box.ledger.count(PayIn) > _MOST_PAY_INS
