"""The faults of scenarios: each order that plays a scenario gets its own armed copies, with their own counts.

They are armed when the order's deposit is requested, before anything is decided. So a fault before the commit acts on
that very deposit, and a retry of it finds the same copies, used up or not. They are looked up by order: ten thousand
orders cost a request no more than one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from paydouble.faults.armed import Armed, tests_of

if TYPE_CHECKING:
    from paydouble.faults.model import Fault

# Orders whose faults are kept; above it the oldest order loses its faults.
MOST_ORDERS: Final = 10_000
Order = tuple[str, str]


class OrderFaults:
    """Armed faults by order: its external identifier and the name of its scenario."""

    __slots__ = ("_armed", "_by_order", "_orders", "points")

    def __init__(self) -> None:
        """Start without any."""
        self._orders: dict[Order, int] = {}
        # Separate from `_orders`: faults that a test has cleared must not be armed again by the next retry.
        self._by_order: dict[str, list[Armed]] = {}
        self._armed: dict[str, Armed] = {}
        self.points: dict[str, int] = {}
        """How many there are at each injection point; a point without any is not in it."""

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
                # Its random values depend on the order, not on how many orders came before it.
                random_subject=f"{scenario}/{identifier}/{place}",
                order=order,
                armed_at=armed_at,
            )
            self._armed[armed.id] = armed
            self._by_order.setdefault(identifier, []).append(armed)
            self.points[fault.point] = self.points.get(fault.point, 0) + 1
        return len(faults)

    def candidates(self, point: str, identifier: str) -> list[Armed]:
        """Return the faults of an order at an injection point."""
        return [armed for armed in self._by_order.get(identifier, ()) if armed.fault.point == point]

    def get(self, fault_id: str) -> Armed | None:
        """Return one by id, or None."""
        return self._armed.get(fault_id)

    def change(self, armed: Armed, fault: Fault) -> None:
        """Replace the declaration of an armed fault; its counts stay."""
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
        """Disarm all and return how many they were; a retry of an order does not arm them again."""
        count = len(self._armed)
        self._armed.clear()
        self._by_order.clear()
        self.points.clear()
        return count

    def forget(self) -> None:
        """Disarm all, and forget which orders have had theirs."""
        self.clear()
        self._orders.clear()

    def _uncount(self, armed: Armed) -> None:
        point = armed.fault.point
        self.points[point] -= 1
        if not self.points[point]:
            del self.points[point]
