"""What a branch asks: what the merchant has done by the time that the step is due."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from paydouble.scenarios.base import EventType, FileModel


class Moment(FileModel):
    """A refund that was asked for before an event of the pay-in or of its disputes, or after it."""

    before: EventType | None = None
    after: EventType | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.before is None) == (self.after is None):
            message = "give before or after, and not both, with an event type"
            raise ValueError(message)
        return self


RefundState = Literal["none", "requested", "succeeded", "failed"]


class When(FileModel):
    """All that is given must hold."""

    refund: RefundState | Moment | None = Field(None, union_mode="left_to_right")
    """Refunds of the pay-in: `none` asked for, any `requested`, `succeeded` or `failed`; or when it was asked for."""
    evidence: Literal["none", "submitted"] | None = None
    """Whether the merchant has handed in evidence against a dispute of the pay-in."""
    dispute: Literal["none", "open", "won", "lost", "accepted"] | None = None
    """The latest dispute of the pay-in; `open` while it is not decided."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_fields_set:
            message = "asks nothing; give refund, evidence or dispute"
            raise ValueError(message)
        return self
