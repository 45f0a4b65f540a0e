"""Effects on webhooks, each a value with its attributes.

An effect on an event acts once, when the event is made; an effect on an attempt acts on each attempt.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from itertools import accumulate
from typing import Annotated, ClassVar, Literal, Protocol, Self

from pydantic import Field, model_validator

from paydouble.config import Duration, Flag, Whole
from paydouble.faults import bodies
from paydouble.faults.base import Delaying, Effect, Json, Path
from paydouble.faults.plans import AttemptPlan, Copies, EventPlan, Reordering, SignatureMode, Strategy
from paydouble.faults.seeded_values import SeededValues

Point = Literal["event", "attempt"]
"""The injection points of a webhook: when the event is made, or before each attempt to deliver it."""


class EventFacts(Protocol):
    """What an effect can find out about an event, or an attempt to deliver it, before it acts on it."""

    @property
    def attempt(self) -> int | None:
        """Return the number of the attempt that is about to be made, from 1; None when the event is being made."""

    @property
    def has_endpoint(self) -> bool:
        """Return whether there is an endpoint to send the event to."""

    @property
    def in_a_request(self) -> bool:
        """Return whether a request that has not been answered yet caused it."""

    def may_tie(self) -> bool:
        """Return whether its object has had an event before, and no final state."""


class WebhookEffect(Effect):
    """Base of the effects on webhooks."""

    point: ClassVar[Point]
    summary: ClassVar[str]
    """What was done, as a short label for timelines."""
    needs_endpoint: ClassVar[bool] = True
    """Whether it changes the sending, and so cannot act on an event without an endpoint."""

    def can_act(self, event: EventFacts) -> bool:
        """Return whether the effect has something to act on."""
        return event.has_endpoint or not self.needs_endpoint


class EventEffect(WebhookEffect):
    """Base of the effects that act once, when an event is made."""

    point: ClassVar[Point] = "event"

    @abstractmethod
    def apply(self, plan: EventPlan, seeded: SeededValues) -> None:
        """Note what this firing does."""


class AttemptEffect(WebhookEffect):
    """Base of the effects that act on each attempt."""

    point: ClassVar[Point] = "attempt"

    @abstractmethod
    def apply(self, plan: AttemptPlan, seeded: SeededValues) -> None:
        """Note what this firing does."""


class Delay(EventEffect, Delaying):
    """The event is sent late, on the sandbox's clock; those after it do not wait for it."""

    exposes: ClassVar = "polls too early, or not at all, when a webhook is late"
    summary: ClassVar = "delayed"
    type: Literal["delay"] = "delay"

    def apply(self, plan: EventPlan, seeded: SeededValues) -> None:
        """Add the delay."""
        plan.delay_ms += self.milliseconds(seeded)


class Drop(EventEffect):
    """The event is never sent."""

    exposes: ClassVar = "relies on webhooks alone and never reads the status"
    summary: ClassVar = "dropped"
    type: Literal["drop"] = "drop"

    def apply(self, plan: EventPlan, seeded: SeededValues) -> None:
        """Drop it."""
        plan.drop = True


class Hold(EventEffect):
    """The event waits until it is released."""

    exposes: ClassVar = "cannot go on while an event is missing"
    summary: ClassVar = "held"
    type: Literal["hold"] = "hold"

    def apply(self, plan: EventPlan, seeded: SeededValues) -> None:
        """Hold it."""
        plan.hold = True


class Duplicate(EventEffect):
    """The same event again: later, in parallel, after a successful delivery, or under a new id."""

    exposes: ClassVar = "ships, books or sends an e-mail twice"
    summary: ClassVar = "copied"
    type: Literal["duplicate"] = "duplicate"
    copies: Whole = Field(1, ge=1, le=1000)
    spacing: Duration = 0
    concurrent: Flag = False
    new_id: Flag = False
    after_success: Flag = False

    def apply(self, plan: EventPlan, seeded: SeededValues) -> None:
        """Add the copies."""
        plan.copies.append(Copies(self.copies, self.spacing, self.concurrent, self.new_id, self.after_success))


class Reorder(EventEffect):
    """Events are sent in another, reproducible order: `window` of them are gathered first, of each object or of all."""

    exposes: ClassVar = "overwrites a newer state with an older event, or fails on an object before its created event"
    summary: ClassVar = "reordered"
    type: Literal["reorder"] = "reorder"
    strategy: Strategy = "reverse"
    window: Whole = Field(2, ge=2, le=10_000)
    order: tuple[Annotated[Whole, Field(ge=1)], ...] | None = None
    """For `permutation`: which event of the window is sent first, second, …; `[2, 1, 3]`."""
    each: Literal["object", "sandbox"] = "object"
    patience: Duration = 3_600_000
    """How long a window waits on the sandbox's clock; then it is sent though it is not full, so no event is lost."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.strategy == "permutation") != (self.order is not None):
            message = "order goes with strategy permutation, and only with it"
            raise ValueError(message)
        if self.order is not None and sorted(self.order) != list(range(1, self.window + 1)):
            message = f"order must name each place from 1 to {self.window} (the window) once"
            raise ValueError(message)
        return self

    def apply(self, plan: EventPlan, seeded: SeededValues) -> None:
        """Gather it in the window."""
        plan.reordering = Reordering(
            seeded.fault_id, self.strategy, self.window, self.order or (), self.patience, self.each == "object", seeded
        )


class BeforeResponse(EventEffect):
    """The webhook arrives before the API's own reply; the reply follows `lead` (real time) later."""

    exposes: ClassVar = "gets a webhook for an order that it has not stored yet"
    summary: ClassVar = "sent before the reply"
    type: Literal["before_response"] = "before_response"
    lead: Duration = 0

    def apply(self, plan: EventPlan, seeded: SeededValues) -> None:
        """Send it before the reply."""
        plan.lead_ms = self.lead

    def can_act(self, event: EventFacts) -> bool:
        """Return whether a reply is still to come."""
        return super().can_act(event) and event.in_a_request


class Signature(AttemptEffect):
    """A signature header that a receiver must refuse, or an unusual one that it must accept."""

    exposes: ClassVar = "does not verify, verifies wrongly, or answers 500 to a header that it cannot parse"
    summary: ClassVar = "signature"
    type: Literal["signature"] = "signature"
    mode: SignatureMode
    age: Duration | None = None
    """For `stale` (310 s without it) and `future` (1 h without it)."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.age is not None and self.mode not in {"stale", "future"}:
            message = "age goes with the modes stale and future"
            raise ValueError(message)
        return self

    def apply(self, plan: AttemptPlan, seeded: SeededValues) -> None:
        """Set the form of the signature."""
        plan.signature = self.mode
        age = self.age if self.age is not None else {"stale": 310_000, "future": 3_600_000}.get(self.mode, 0)
        plan.age_seconds = age // 1000


class Tamper(AttemptEffect):
    """A member is changed after signing."""

    exposes: ClassVar = "accepts a body that nobody signed"
    summary: ClassVar = "tampered with"
    type: Literal["tamper"] = "tamper"
    path: Path = "data.object.amount"
    value: Json = 1

    def apply(self, plan: AttemptPlan, seeded: SeededValues) -> None:
        """Change it after signing."""
        plan.after_signing.append(partial(bodies.set_path, path=self.path, value=self.value))


class Payload(AttemptEffect):
    """A body that is validly signed and hard to process."""

    exposes: ClassVar = "answers 500 to an unexpected body, or processes half of it"
    summary: ClassVar = "payload"
    type: Literal["payload"] = "payload"
    mode: Literal[
        "invalid_json",
        "empty",
        "truncated",
        "unknown_type",
        "extra_members",
        "null_members",
        "huge",
        "escaped",
        "unicode",
        "big_number",
    ]

    def apply(self, plan: AttemptPlan, seeded: SeededValues) -> None:
        """Change the body."""
        plan.before_signing.append(partial(bodies.payload, mode=self.mode))


class Formatting(AttemptEffect):
    """The same JSON in other bytes, validly signed.

    Events are `compact` already; `escaped_slashes` needs a slash, as in an order number.
    """

    exposes: ClassVar = "verifies its own serialisation instead of the received bytes"
    summary: ClassVar = "formatting"
    type: Literal["formatting"] = "formatting"
    mode: Literal["compact", "pretty", "key_order", "escaped_slashes", "trailing_newline"]

    def apply(self, plan: AttemptPlan, seeded: SeededValues) -> None:
        """Change the spelling."""
        plan.before_signing.append(partial(bodies.formatting, mode=self.mode))


class Tie(EventEffect):
    """The event has the same `created_at` as the event of its object before it, unless that one had a final state.

    A merchant could not know which of two final states is the newer one.
    """

    exposes: ClassVar = "orders events by time alone"
    summary: ClassVar = "of the same instant as the one before"
    needs_endpoint: ClassVar = False
    type: Literal["tie"] = "tie"

    def apply(self, plan: EventPlan, seeded: SeededValues) -> None:
        """Use the earlier time."""
        plan.tie = True

    def can_act(self, event: EventFacts) -> bool:
        """Return whether the object has had an event before, and no final state."""
        return super().can_act(event) and event.may_tie()


class ChangeOnResend(AttemptEffect):
    """The same id with another body, from the second attempt on; validly signed."""

    exposes: ClassVar = "believes the later body, or does the work again for it"
    summary: ClassVar = "changed on resend"
    type: Literal["change_on_resend"] = "change_on_resend"
    path: Path = "data.object.amount"
    value: Json = 1

    def apply(self, plan: AttemptPlan, seeded: SeededValues) -> None:
        """Change it."""
        plan.before_signing.append(partial(bodies.set_path, path=self.path, value=self.value))

    def can_act(self, event: EventFacts) -> bool:
        """Return whether it is a resend."""
        return super().can_act(event) and (event.attempt or 1) > 1


class Foreign(EventEffect):
    """An event of another business is sent before the event, validly signed with this business's secret."""

    exposes: ClassVar = "books a payment that is not its own"
    summary: ClassVar = "a foreign one before it"
    type: Literal["foreign"] = "foreign"

    def apply(self, plan: EventPlan, seeded: SeededValues) -> None:
        """Add the foreign event."""
        plan.foreign = seeded


class Livemode(EventEffect):
    """The event comes from the wrong environment."""

    exposes: ClassVar = "treats a sandbox's event as real money"
    summary: ClassVar = "with another livemode"
    needs_endpoint: ClassVar = False
    type: Literal["livemode"] = "livemode"
    value: Flag = True

    def apply(self, plan: EventPlan, seeded: SeededValues) -> None:
        """Set the member."""
        plan.livemode = self.value


class Chunked(AttemptEffect):
    """Transfer-Encoding: chunked instead of a Content-Length."""

    exposes: ClassVar = "needs a Content-Length"
    summary: ClassVar = "chunked"
    type: Literal["chunked"] = "chunked"

    def apply(self, plan: AttemptPlan, seeded: SeededValues) -> None:
        """Send it in chunks."""
        plan.transport = "chunked"


class SlowDelivery(AttemptEffect):
    """The request's body arrives slowly: in `chunks` parts, spread over a time."""

    exposes: ClassVar = "blocks a worker on a slow sender"
    summary: ClassVar = "sent in drips"
    type: Literal["slow_body"] = "slow_body"
    chunks: Whole = Field(5, ge=2, le=1000)
    over: Duration = 1000

    def apply(self, plan: AttemptPlan, seeded: SeededValues) -> None:
        """Send the body in parts."""
        plan.transport = "drip"
        plan.drip_chunks = self.chunks
        plan.drip_seconds = self.over / 1000


class ResetDelivery(AttemptEffect):
    """The connection is reset in the middle of the request, after the head and half of the body; also over TLS."""

    exposes: ClassVar = "acts on half a request"
    summary: ClassVar = "broken off half-way"
    type: Literal["connection_reset"] = "connection_reset"

    def apply(self, plan: AttemptPlan, seeded: SeededValues) -> None:
        """Reset the connection."""
        plan.transport = "reset"


class Schedule(EventEffect):
    """The retry schedule of this delivery and its copies, shortened to `attempts` or with its own `delays`."""

    exposes: ClassVar = "relies on a retry that does not come"
    summary: ClassVar = "on another schedule"
    type: Literal["schedule"] = "schedule"
    attempts: Whole = Field(1, ge=1, le=100)
    delays: tuple[Duration, ...] | None = Field(None, max_length=100)
    """Delay before the second attempt, the third, …; the contract's own without them."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.delays is not None and len(self.delays) < self.attempts - 1:
            message = f"{self.attempts} attempts need {self.attempts - 1} delays between them"
            raise ValueError(message)
        return self

    def apply(self, plan: EventPlan, seeded: SeededValues) -> None:
        """Set the retry schedule."""
        if self.delays is not None:
            plan.offsets = tuple(accumulate((0, *self.delays)))[: self.attempts]
        else:
            plan.attempts = self.attempts


AnyWebhookEffect = Annotated[
    Delay
    | Drop
    | Hold
    | Duplicate
    | Reorder
    | BeforeResponse
    | Signature
    | Tamper
    | Payload
    | Formatting
    | Tie
    | ChangeOnResend
    | Foreign
    | Livemode
    | Chunked
    | SlowDelivery
    | ResetDelivery
    | Schedule,
    Field(discriminator="type"),
]
