"""Deposits that a click could not make, and that were left to the merchant's jobs.

A merchant may give an attempt up after a few tries, so no deposit is due by that alone. But what its jobs did for one
order they have to do for another one after the same trouble and the same waits, whatever becomes of other orders. Where
a trouble cannot be tied to one order, it may meet another one's request, which is a trouble of its own for that one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from paydouble.sandbox import Sandbox
from paydouble.stateful import expected, rules
from paydouble.stateful.expected import Order
from paydouble.stateful.findings import Found, Rule

# Steps besides waits after which two orders can still be compared: other orders and their clicks.
_OTHERS: Final = ("play.order(", "play.pay(")
_WAIT: Final = "play.wait("

Met = tuple[str, int | str]
"""A trouble and how long it lasts."""


class _Left(NamedTuple):
    met: Met
    place: int
    """How many calls the play had until the click."""


class _Made(NamedTuple):
    order_id: str
    waits: list[str]
    """The waits until the deposit."""
    statuses: frozenset[int | None]
    """Of the answers to its requests, also to those before it."""


class LeftToJobs:
    """The attempts of one play that were left to jobs."""

    def __init__(self, calls: list[str]) -> None:
        """Start with none; `calls` are those of the play, which grow."""
        self._calls = calls
        self._left: dict[str, _Left] = {}
        self._made: dict[Met, _Made] = {}
        """The first deposit that jobs have made after each trouble."""

    def add(self, box: Sandbox, order: Order, met: Met) -> None:
        """Note an order whose first click met a trouble and nothing else, when it has made no deposit."""
        if not expected.expected_state(box, order).pay_ins:
            self._left[order.id] = _Left(met, len(self._calls))

    def discard(self, order: Order) -> None:
        """Note that the customer clicks again."""
        self._left.pop(order.id, None)

    def note_jobs(self, box: Sandbox, orders: Iterable[Order]) -> None:
        """Note what jobs have made after a wait."""
        for order in orders:
            left = self._left.get(order.id)
            if left is None or not expected.expected_state(box, order).pay_ins:
                continue
            waits = self._waits_since(left)
            if waits is not None:
                self._made.setdefault(left.met, _Made(order.id, waits, rules.answers.statuses_of_deposits(box, order)))
            del self._left[order.id]

    def at_end(self, box: Sandbox, orders: Iterable[Order]) -> Iterator[Found]:
        """Yield the orders for which jobs made nothing, though they did for another one after the same."""
        for order in orders:
            left = self._left.get(order.id)
            made = self._made.get(left.met) if left is not None else None
            if left is None or made is None or expected.expected_state(box, order).pay_ins:
                continue
            waits = self._waits_since(left)
            waited_as_long = waits is not None and waits[: len(made.waits)] == made.waits
            if waited_as_long and rules.answers.statuses_of_deposits(box, order) <= made.statuses:
                alike = f"its jobs made one for {made.order_id} after the same trouble"
                yield Rule.OWED, f"never made a deposit for {order.id}, though {alike}"

    def _waits_since(self, left: _Left) -> list[str] | None:
        # None when something has happened that may make a difference.
        since = self._calls[left.place :]
        if not all(call.startswith((_WAIT, *_OTHERS)) for call in since):
            return None
        return [call for call in since if call.startswith(_WAIT)]
