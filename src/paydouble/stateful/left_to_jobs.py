"""Deposits that a click could not make, and that were left to the merchant's jobs.

A merchant may give an attempt up after a few tries, so no deposit is due by that alone. But what its jobs did for one
order they have to do for another one after the same trouble and the same waits, whatever becomes of other orders.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from paydouble.sandbox import Sandbox
from paydouble.stateful import expected
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


class LeftToJobs:
    """The attempts of one play that were left to jobs."""

    def __init__(self, calls: list[str]) -> None:
        """Start with none; `calls` are those of the play, which grow."""
        self._calls = calls
        self._left: dict[str, _Left] = {}
        self._made: dict[Met, tuple[str, list[str]]] = {}
        """The order for which jobs made the deposit, and the waits until then."""

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
                self._made.setdefault(left.met, (order.id, waits))
            del self._left[order.id]

    def at_end(self, box: Sandbox, orders: Iterable[Order]) -> Iterator[Found]:
        """Yield the orders for which jobs made nothing, though they did for another one after the same."""
        for order in orders:
            left = self._left.get(order.id)
            earlier, needed = self._made.get(left.met, ("", [])) if left is not None else ("", [])
            if left is None or not earlier or expected.expected_state(box, order).pay_ins:
                continue
            waits = self._waits_since(left)
            if waits is not None and waits[: len(needed)] == needed:
                made = f"its jobs made one for {earlier} after the same trouble"
                yield Rule.OWED, f"never made a deposit for {order.id}, though {made}"

    def _waits_since(self, left: _Left) -> list[str] | None:
        # None when something has happened that may make a difference.
        since = self._calls[left.place :]
        if not all(call.startswith((_WAIT, *_OTHERS)) for call in since):
            return None
        return [call for call in since if call.startswith(_WAIT)]
