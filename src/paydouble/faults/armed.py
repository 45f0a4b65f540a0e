"""A fault that is armed in a sandbox, with its counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paydouble.core.globs import matcher

if TYPE_CHECKING:
    from paydouble.faults.model import Fault

Test = tuple[str, str | int, Callable[[str], bool] | None]
"""A member of `match`, its value or pattern, and for a pattern the compiled matcher."""


@dataclass(slots=True, eq=False)
class Armed:
    """A fault with its counts: `matched` counts the matches, `fired` those that it acted on."""

    fault: Fault
    id: str
    sequence: int
    created_at: int
    tests: tuple[Test, ...]
    random_subject: str = ""
    """What its random values depend on instead of its id; empty for the id."""
    order: tuple[str, str] | None = None
    """The order and the scenario that it was armed for; None for a fault that a test has added."""
    matched: int = 0
    fired: int = 0
    armed_at: int = 0
    """The number from `Journal.next` when it was armed: records with a smaller number came before it."""

    def is_active(self, now: int) -> bool:
        """Return whether it can still fire."""
        fault = self.fault
        if not fault.enabled or (fault.times is not None and self.fired >= fault.times):
            return False
        return fault.ttl is None or now - self.created_at < fault.ttl


def tests_of(fault: Fault) -> tuple[Test, ...]:
    """Return the tests that a request or an event must pass to match a fault."""
    given = fault.match.model_dump(exclude_none=True)
    return tuple(
        (member, value, matcher(value) if isinstance(value, str) and "*" in value else None)
        for member, value in given.items()
    )
