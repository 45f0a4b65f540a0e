"""The faults of scenarios: each order that plays one has armed copies of its own, with counts of their own.

They are armed when the order's deposit is asked for, so that one which acts before the commit finds the very deposit,
and a retry of it finds the same copies, used up or not. They are looked up by order, so ten thousand orders cost a
request no more than one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from paydouble.faults.armed import Armed, tests_of

if TYPE_CHECKING:
    from paydouble.faults.model import Fault

# Orders whose faults are kept; beyond it the oldest order has none any more.
MOST_ORDERS: Final = 10_000
Order = tuple[str, str]


class OrderFaults:
    """Armed faults by order: its external identifier and the name of its scenario."""

    __slots__ = ("_armed", "_by_order", "_orders", "points")

    def __init__(self) -> None:
        """Start without any."""
        self._orders: dict[Order, int] = {}
        # Apart from the orders themselves: faults that somebody has cleared do not come back with the next retry.
        self._by_order: dict[str, list[Armed]] = {}
        self._armed: dict[str, Armed] = {}
        self.points: dict[str, int] = {}
        """How many there are at each point at which faults are asked; a point that has none is not in it."""

    def __iter__(self) -> Iterator[Armed]:
        """Iterate in the order in which they were armed."""
        return iter(tuple(self._armed.values()))

    def __len__(self) -> int:
        """Count them."""
        return len(self._armed)

    def arm(self, order: Order, faults: Sequence[Fault], now: int, first_sequence: int, armed_at: int = 0) -> int:
        """Arm the faults of an order's scenario, once; returns how many were armed."""
        if order in self._orders:
            return 0
        number = next(reversed(self._orders.values()), 0) + 1
        self._orders[order] = number
        if len(self._orders) > MOST_ORDERS:
            oldest = next(iter(self._orders))
            del self._orders[oldest]
            for armed in tuple(self._by_order.get(oldest[0], ())):
                if armed.order == oldest:
                    self.remove(armed)
        identifier, scenario = order
        for place, fault in enumerate(faults, 1):
            armed = Armed(
                fault,
                f"{scenario}-{number}.{fault.id or place}",
                first_sequence + place,
                now,
                (*tests_of(fault), ("scenario", scenario, None)),
                # Drawn by what it is about, so that another order before it shifts nothing.
                random_subject=f"{scenario}/{identifier}/{place}",
                order=order,
                armed_at=armed_at,
            )
            self._armed[armed.id] = armed
            self._by_order.setdefault(identifier, []).append(armed)
            self.points[fault.point] = self.points.get(fault.point, 0) + 1
        return len(faults)

    def candidates(self, point: str, identifier: str) -> list[Armed]:
        """Return what an order's scenarios have for a point."""
        return [armed for armed in self._by_order.get(identifier, ()) if armed.fault.point == point]

    def get(self, fault_id: str) -> Armed | None:
        """Return one by id, or None."""
        return self._armed.get(fault_id)

    def change(self, armed: Armed, fault: Fault) -> None:
        """Put another declaration in."""
        self._uncount(armed)
        armed.fault = fault
        armed.tests = (*tests_of(fault), ("scenario", armed.order[1], None)) if armed.order else tests_of(fault)
        self.points[fault.point] = self.points.get(fault.point, 0) + 1

    def remove(self, armed: Armed) -> None:
        """Disarm one."""
        self._uncount(armed)
        del self._armed[armed.id]
        identifier = armed.order[0] if armed.order else ""
        siblings = self._by_order[identifier]
        siblings.remove(armed)
        if not siblings:
            del self._by_order[identifier]

    def clear(self) -> int:
        """Disarm all; orders that have had theirs get none again. Returns how many those were."""
        count = len(self._armed)
        self._armed.clear()
        self._by_order.clear()
        self.points.clear()
        return count

    def forget(self) -> None:
        """Disarm all, and forget which orders there were."""
        self.clear()
        self._orders.clear()

    def _uncount(self, armed: Armed) -> None:
        point = armed.fault.point
        self.points[point] -= 1
        if not self.points[point]:
            del self.points[point]
