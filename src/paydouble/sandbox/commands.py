"""The commands that a timer can hold. Plain data, so that timers can be printed, compared and replayed.

They are named tuples, since two are made for every deposit: a frozen dataclass takes five times as long to make.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from paydouble.scenarios.steps import Step


class PlayStep(NamedTuple):
    """Play the step of a script at index `place`."""

    object_id: str
    steps: tuple[Step, ...]
    place: int


class ExpirePayIn(NamedTuple):
    """Cancel a pay-in that nobody paid in time."""

    object_id: str


class MissEvidence(NamedTuple):
    """Close a dispute as lost: `evidence_due_by` has passed without evidence."""

    object_id: str


class DecideDispute(NamedTuple):
    """Close a dispute whose evidence has been reviewed."""

    object_id: str


class MakeAttempt(NamedTuple):
    """Send a delivery again."""

    delivery_id: str


class CloseWindow(NamedTuple):
    """Send the events of a reordering window, though it is not full."""

    key: str


# Commands about deliveries; the others are about resources.
DELIVERY_COMMANDS: Final = (MakeAttempt, CloseWindow)
Command = PlayStep | ExpirePayIn | MissEvidence | DecideDispute | MakeAttempt | CloseWindow
