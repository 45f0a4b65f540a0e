"""A scenario as a value: which life a pay-in, its refunds and its disputes lead (design of the file format in docs)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from paydouble.config import Duration, Flag


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class FailureSpec(_Model):
    """What the API shows of a failed pay-in or refund."""

    code: str = Field("declined", min_length=1, max_length=64)
    message: str = Field("The payment was declined.", min_length=1, max_length=500)


class PayInStep(_Model):
    """One transition of a pay-in, some time after the one before it."""

    after: Duration
    to: Literal["created", "pending", "processing", "succeeded", "failed", "cancelled"]
    failure: FailureSpec | None = None
    force: Flag = False


class RefundStep(_Model):
    """One transition of a refund."""

    after: Duration
    to: Literal["created", "processing", "succeeded", "failed"]
    failure: FailureSpec | None = None
    force: Flag = False


class DisputeStep(_Model):
    """One transition of a dispute."""

    after: Duration
    to: Literal["needs_response", "under_review", "won", "lost", "accepted"]
    force: Flag = False


class PayoutStep(_Model):
    """One transition of a payout; no file scripts these yet."""

    after: Duration
    to: Literal["created", "processing", "succeeded", "failed", "returned"]
    failure: FailureSpec | None = None
    force: Flag = False


Step = PayInStep | RefundStep | DisputeStep | PayoutStep


class Lifecycle(_Model):
    """The scripts; a refund or a dispute without one leads its default life."""

    pay_in: tuple[PayInStep, ...] = ()
    refund: tuple[RefundStep, ...] | None = None
    dispute: tuple[DisputeStep, ...] = ()


class Scenario(_Model):
    """One file."""

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)
    summary: str = Field(min_length=1, max_length=300)
    lifecycle: Lifecycle
    expect: tuple[str, ...] = ()
