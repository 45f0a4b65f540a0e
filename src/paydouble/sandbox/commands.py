"""What a timer can hold. Plain data, so that timers can be printed, compared and replayed."""

from __future__ import annotations

from dataclasses import dataclass

from paydouble.scenarios.model import Step


@dataclass(slots=True, frozen=True)
class PlayStep:
    """Take the step at `index` of a script."""

    object_id: str
    steps: tuple[Step, ...]
    index: int


@dataclass(slots=True, frozen=True)
class ExpirePayIn:
    """Cancel a pay-in that nobody paid in time."""

    object_id: str


@dataclass(slots=True, frozen=True)
class MissEvidence:
    """Close a dispute as lost: `evidence_due_by` has come without evidence."""

    object_id: str


@dataclass(slots=True, frozen=True)
class DecideDispute:
    """Close a dispute whose evidence has been reviewed."""

    object_id: str


@dataclass(slots=True, frozen=True)
class MakeAttempt:
    """Send a delivery again."""

    delivery_id: str


Command = PlayStep | ExpirePayIn | MissEvidence | DecideDispute | MakeAttempt
