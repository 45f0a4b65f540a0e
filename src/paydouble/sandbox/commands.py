"""What a timer can hold. Plain data, so that timers can be printed, compared and replayed.

Named tuples: two are made for every deposit, and a frozen dataclass takes five times as long to make.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from paydouble.scenarios.steps import Step


class PlayStep(NamedTuple):
    """Take the step at `place` of a script."""

    object_id: str
    steps: tuple[Step, ...]
    place: int


class ExpirePayIn(NamedTuple):
    """Cancel a pay-in that nobody paid in time."""

    object_id: str


class MissEvidence(NamedTuple):
    """Close a dispute as lost: `evidence_due_by` has come without evidence."""

    object_id: str


class DecideDispute(NamedTuple):
    """Close a dispute whose evidence has been reviewed."""

    object_id: str


class MakeAttempt(NamedTuple):
    """Send a delivery again."""

    delivery_id: str


class EndGathering(NamedTuple):
    """Let the events of a window go, though it is not full."""

    key: str


# What belongs to deliveries rather than to the resources that they tell of.
DELIVERY_COMMANDS: Final = (MakeAttempt, EndGathering)
Command = PlayStep | ExpirePayIn | MissEvidence | DecideDispute | MakeAttempt | EndGathering
