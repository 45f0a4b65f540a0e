"""A fault that stands ready in a sandbox, with its counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paydouble.core.globs import matcher

if TYPE_CHECKING:
    from paydouble.faults.model import Fault

Test = tuple[str, str | int, Callable[[str], bool] | None]
"""Member, value or pattern, and for a pattern what says whether a text is of it."""


@dataclass(slots=True, eq=False)
class Armed:
    """A fault with its counts. `matched` counts what it was asked about and fits, `fired` what it acted on."""

    fault: Fault
    id: str
    sequence: int
    created_at: int
    tests: tuple[Test, ...]
    random_subject: str = ""
    """What its draws depend on in place of its id, when they do."""
    order: tuple[str, str] | None = None
    """The order and the scenario that it belongs to; None for a fault that a test has added."""
    matched: int = 0
    fired: int = 0
    armed_at: int = 0
    """Its place in the sandbox's order of what happens: what has a smaller number came before it was armed."""

    def alive(self, now: int) -> bool:
        """Return whether it can still fire."""
        fault = self.fault
        if not fault.enabled or (fault.times is not None and self.fired >= fault.times):
            return False
        return fault.ttl is None or now - self.created_at < fault.ttl


def tests_of(fault: Fault) -> tuple[Test, ...]:
    """Return what a fault asks of a request or an event."""
    given = fault.match.model_dump(exclude_none=True)
    return tuple(
        (member, value, matcher(value) if isinstance(value, str) and "*" in value else None)
        for member, value in given.items()
    )
