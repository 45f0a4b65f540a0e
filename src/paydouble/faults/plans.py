"""What firing faults do: plain values that the core and the shell carry out.

A `Plan` is for a request of the API, an `EventPlan` for an event when it is made, an `AttemptPlan` for one attempt to
deliver it. Effects that fire together write into the same plan: times add up, an answer replaces the one before, and
changes of a body follow each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from paydouble.faults.seeded_values import SeededValues
from paydouble.faults.wire import Wire

Document = dict[str, Any]
BodyChange = Callable[[bytes], bytes]
Strategy = Literal["reverse", "swap", "shuffle", "permutation"]
SignatureMode = Literal[
    "missing",
    "empty",
    "malformed",
    "non_ascii",
    "wrong_secret",
    "stale",
    "future",
    "v0_only",
    "two_v1",
    "uppercase",
    "reordered",
]


class Answer(NamedTuple):
    """An answer in place of the operation's own."""

    status: int
    code: str
    message: str
    envelope: Literal["A", "B"] | None = None
    details: Document | None = None
    headers: tuple[tuple[str, str], ...] = ()
    raw: bytes | None = None
    content_type: str = "application/json"


class Limited(NamedTuple):
    """The headers of an injected 429. `reset_ms` counts from now; without `unit` the sandbox's own applies."""

    limit: int
    remaining: int
    reset_ms: int
    unit: Literal["epoch_seconds", "delta_seconds", "epoch_milliseconds"] | None
    headers: Literal["full", "missing", "malformed", "past"]


@dataclass(slots=True)
class Plan:
    """Everything that the faults of one injection point do to one request."""

    fired: list[str] = field(default_factory=list)
    delay_ms: int = 0
    answer: Answer | None = None
    limited: Limited | None = None
    store_answer: bool = False
    """The false answer itself is stored under the key (`sticky_5xx`)."""
    forget: bool = False
    """The operation is carried out, and its key forgotten (`lost_record`)."""
    wire: Wire | None = None
    drift: str | None = None
    """Amount by which the settled amount will differ, as a decimal text."""
    settled_in: str | None = None
    """The currency in which the amount will be settled."""
    rewrite: list[Callable[[Document], None]] = field(default_factory=list)
    """Changes to the true answer's parsed body."""
    stale_for_ms: int | None = None
    not_found_for_ms: int | None = None
    """How young an object must be for a read to show its older state, or no object at all; 0 for any age."""
    expire_rate: bool = False
    remove_method: str | None = None

    @property
    def speaks(self) -> bool:
        """Return whether the operation's own answer is replaced, or broken on the wire."""
        return self.answer is not None or self.wire is not None


@dataclass(slots=True, frozen=True)
class Copies:
    """Further deliveries of an event; times are on the sandbox's clock, in milliseconds."""

    count: int
    spacing_ms: int
    concurrent: bool
    new_id: bool
    after_success: bool


class Reordering(NamedTuple):
    """How events are gathered in a window and sent in another order, once it is full or after `max_wait_ms`."""

    fault_id: str
    strategy: Strategy
    window: int
    order: tuple[int, ...]
    max_wait_ms: int
    each_object: bool
    seeded: SeededValues

    def arrange(self, count: int) -> list[int]:
        """Return the order in which `count` events are sent, as their places in the order in which they were made."""
        match self.strategy:
            case "reverse":
                return list(range(count - 1, -1, -1))
            case "swap":
                swapped = [place + 1 if place % 2 == 0 else place - 1 for place in range(count)]
                return [min(place, count - 1) for place in swapped]
            case "shuffle":
                return self.seeded.order("shuffle", count)
            case _:
                chosen = [place - 1 for place in self.order if place <= count]
                return chosen + [place for place in range(count) if place not in chosen]


@dataclass(slots=True)
class EventPlan:
    """What happens to an event when it is made."""

    fired: list[str] = field(default_factory=list)
    delay_ms: int = 0
    drop: bool = False
    hold: bool = False
    copies: list[Copies] = field(default_factory=list)
    reordering: Reordering | None = None
    lead_ms: int | None = None
    """The event is sent before the reply of the request that caused it; the reply follows so much later."""
    tie: bool = False
    foreign: SeededValues | None = None
    offsets: tuple[int, ...] | None = None
    attempts: int | None = None
    livemode: bool | None = None


@dataclass(slots=True)
class AttemptPlan:
    """What happens to one attempt."""

    fired: list[str] = field(default_factory=list)
    before_signing: list[BodyChange] = field(default_factory=list)
    after_signing: list[BodyChange] = field(default_factory=list)
    signature: SignatureMode | None = None
    age_seconds: int = 0
    transport: Literal["plain", "chunked", "drip", "reset"] = "plain"
    drip_chunks: int = 1
    drip_seconds: float = 0.0
