"""A fault that stands ready in a sandbox, with its counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paydouble.faults.model import Fault

Test = tuple[str, str | int, bool]
"""Member, value or pattern, and whether it is a pattern."""


@dataclass(slots=True, eq=False)
class Armed:
    """A fault with its counts. `matched` counts what it was asked about and fits, `fired` what it acted on."""

    fault: Fault
    id: str
    sequence: int
    created_at: int
    tests: tuple[Test, ...]
    draws_as: str = ""
    """What its draws depend on in place of its id, when they do."""
    stage: tuple[str, str] | None = None
    """The order and the scenario that it belongs to; None for a fault that a test has added."""
    matched: int = 0
    fired: int = 0

    def alive(self, now: int) -> bool:
        """Return whether it can still fire."""
        fault = self.fault
        if not fault.enabled or (fault.times is not None and self.fired >= fault.times):
            return False
        return fault.ttl is None or now - self.created_at < fault.ttl


def tests_of(fault: Fault) -> tuple[Test, ...]:
    """Return what a fault asks of a request or an event."""
    given = fault.match.model_dump(exclude_none=True)
    return tuple((member, value, isinstance(value, str) and "*" in value) for member, value in given.items())
